/* The state after a step, kept: a guard, the workspace's files, what other runtimes said.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/digest.h"
#include "runtime/runtime.h"
#include "session/box/box.h"
#include "session/box/shadow.h"
#include "session/box/stem.h"

enum { CHECKPOINTS_MAX = 16, CHECKPOINTS_DEFAULT = 4 };

/* A text that many may hold. */
struct state_text {
	unsigned n_refs;
	struct loss_text loss; /* what it lacks */
	char s[];
};
struct state_text *state_text_new(
	const char *s, const struct loss_text *loss);	  /* NULL without memory */
struct state_text *state_text_hold(struct state_text *t); /* NULL is fine, here and below */
void state_text_let_go(struct state_text *t);

/*
 * A frozen copy of Python, shared by the checkpoints between which only other runtimes ran. Once
 * resumed it is empty until there is a copy again. It ends when the last lets go.
 */
struct guard {
	unsigned n_refs;
	struct box *box; /* held: where it is */
	int fd;		 /* or -1: not yet, not again yet, or none could be made */
	int due_fd;	 /* what @fd will be when the driver says that the guard is there; or -1 */
	int32_t pid;	 /* as its box sees it */
	struct loss loss;
};
struct guard *guard_new(struct box *box); /* NULL without memory */
struct guard *guard_hold(struct guard *g);
void guard_let_go(struct guard *g);

struct checkpoint {
	unsigned n_refs;
	int64_t made_ns;	 /* by the clock of lost_files_now_ns() */
	uint64_t id;		 /* of the STEP that it came with; 0: of none */
	char step[DIGEST_BYTES]; /* "" for before the first, "?" while that is not known */
	uint32_t mark;		 /* of init: what is newer came later; 0: the guard tells */
	bool is_guard_own;	 /* the guard was made right after the step */
	struct guard *guard;	 /* held; NULL: Python was not in use, or see @stem */
	struct stem *stem; /* held: Python was as in this, of which the box is a branch; or NULL */
	struct shadow *files; /* held, or NULL */
	struct state_text
		*states[RUNTIMES_MAX];	 /* what the others' drivers had said; held, or NULL */
	uint64_t versions[RUNTIMES_MAX]; /* the last step of each runtime */
};

/* NULL without memory. */
struct checkpoint *checkpoint_new(const char *step, uint64_t id);
struct checkpoint *checkpoint_hold(struct checkpoint *c);
void checkpoint_let_go(struct checkpoint *c);

/* The checkpoints of one session, oldest first. The last is that of the state it has: undoing can
 * go to @max others, which are at most CHECKPOINTS_MAX - 1. */
struct checkpoints {
	struct checkpoint *v[CHECKPOINTS_MAX + 1]; /* one that is about to go */
	unsigned n, max;
};

/* Takes @c over. The oldest goes when there is no room; see checkpoints_evict(). */
void checkpoints_add(struct checkpoints *all, struct checkpoint *c);
/* Let go of those behind the first @n, or of the oldest so that @n are left. */
void checkpoints_cut(struct checkpoints *all, unsigned n);
void checkpoints_evict(struct checkpoints *all, unsigned n);
/* The newest of @step; NULL when there is none. */
struct checkpoint *checkpoints_find(const struct checkpoints *all, const char *step);
