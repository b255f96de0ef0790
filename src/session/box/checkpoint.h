/* The state after a step, kept: a guard, the workspace's files, the states of other runtimes.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/digest.h"
#include "runtime/runtime.h"
#include "session/box/box.h"
#include "session/box/shadow.h"
#include "session/box/stem.h"

enum { CHECKPOINTS_MAX = 16, CHECKPOINTS_DEFAULT = 4 };

/* The state of a runtime as a text; shared. */
struct state_text {
	unsigned n_refs;
	struct loss_text loss; /* the part of the state that it lacks */
	char s[];
};
struct state_text *state_text_new(
	const char *s, const struct loss_text *loss);	  /* NULL without memory */
struct state_text *state_text_hold(struct state_text *t); /* NULL is fine, here and below */
void state_text_let_go(struct state_text *t);

/*
 * A frozen clone of Python, shared by the checkpoints between which only other runtimes ran. After
 * it was resumed it has no process, until there is a clone again. The process ends when the last
 * holder lets go.
 */
struct guard {
	unsigned n_refs;
	struct box *box; /* held: the box that it is in */
	int fd;		 /* its socket; -1: there is no process (yet), or none could be made */
	int due_fd;	 /* becomes @fd when the driver says that the guard is there; or -1 */
	int32_t pid;	 /* as its box sees it */
	struct loss loss;
};
struct guard *guard_new(struct box *box); /* NULL without memory */
struct guard *guard_hold(struct guard *g);
void guard_let_go(struct guard *g);

struct checkpoint {
	unsigned n_refs;
	int64_t made_ns;	 /* by the clock of lost_files_now_ns() */
	uint64_t id;		 /* of its STEP; 0: it belongs to no step */
	char step[DIGEST_BYTES]; /* "": before the first step; "?": not known yet */
	uint32_t mark;		 /* of init: newer processes came later; 0: the guard tells */
	bool is_guard_own;	 /* the guard was made right after the step */
	struct guard *guard;	 /* held; NULL: Python was not in use, or @stem has it */
	struct stem *stem;	 /* held: it has the same Python; or NULL */
	struct shadow *files;	 /* held, or NULL */
	struct state_text *states[RUNTIMES_MAX]; /* states of the other runtimes; held, or NULL */
	uint64_t versions[RUNTIMES_MAX];	 /* the last step of each runtime */
};

/* NULL without memory. */
struct checkpoint *checkpoint_new(const char *step, uint64_t id);
struct checkpoint *checkpoint_hold(struct checkpoint *c);
void checkpoint_let_go(struct checkpoint *c);

/* The checkpoints of one session, oldest first. The last is that of the present state; an undo can
 * go to @max others, at most CHECKPOINTS_MAX - 1. */
struct checkpoints {
	struct checkpoint *v[CHECKPOINTS_MAX + 1]; /* one more, which is about to be dropped */
	unsigned n, max;
};

/* Takes over @c. When there is no room, the oldest is dropped; see checkpoints_evict(). */
void checkpoints_add(struct checkpoints *all, struct checkpoint *c);
/* Drop all behind the first @n; drop the oldest so that @n are left. */
void checkpoints_cut(struct checkpoints *all, unsigned n);
void checkpoints_evict(struct checkpoints *all, unsigned n);
/* The newest of @step, or NULL. */
struct checkpoint *checkpoints_find(const struct checkpoints *all, const char *step);
