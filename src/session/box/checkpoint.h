/* A checkpoint, the saved state after a step: a guard, the workspace's files, and states of
 * runtimes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/digest.h"
#include "runtime/runtime.h"
#include "session/box/box.h"
#include "session/box/shadow.h"
#include "session/box/stem.h"

enum { CHECKPOINTS_MAX = 16, CHECKPOINTS_DEFAULT = 4 };

/* The state of a runtime as a text, shared by reference count. */
struct state_text {
	unsigned n_refs;
	struct loss_text loss; /* parts of the state that the text lacks */
	char s[];
};
struct state_text *state_text_new(
	const char *s, const struct loss_text *loss);	  /* NULL: no memory */
struct state_text *state_text_hold(struct state_text *t); /* NULL is allowed, also below */
void state_text_let_go(struct state_text *t);

/*
 * A guard: a frozen clone of Python, shared by the checkpoints between which only other runtimes
 * ran. After its process was resumed it has none, until Python clones itself again. Dropping the
 * last reference ends the process.
 */
struct guard {
	unsigned n_refs;
	struct box *box; /* box of the process, counted reference */
	int fd;		 /* socket to the process; -1: no process (yet) */
	int due_fd;	 /* engine's end of a socket, to become @fd at GUARD; or -1 */
	int32_t pid;	 /* process id in the box */
	struct loss loss;
};
struct guard *guard_new(struct box *box); /* never NULL */
struct guard *guard_hold(struct guard *g);
void guard_let_go(struct guard *g);

struct checkpoint {
	unsigned n_refs;
	int64_t made_ns;	 /* time of its creation, by lost_files_now_ns() */
	uint64_t id;		 /* id of the STEP; 0: not made by a step */
	char step[DIGEST_BYTES]; /* step's name; "": before the first step; "?": not known yet */
	uint32_t mark;	      /* mark set by init after older processes; 0: use the guard's age */
	bool is_guard_own;    /* @guard was made right after this step */
	struct guard *guard;  /* counted; NULL: Python not in use, or its state is in @stem */
	struct stem *stem;    /* stem with the same Python state, counted; or NULL */
	struct shadow *files; /* saved files, counted; or NULL */
	struct state_text *states[RUNTIMES_MAX]; /* other runtimes' states, counted; or NULL */
	uint64_t versions[RUNTIMES_MAX];	 /* id of each runtime's last step */
};

/* Make a checkpoint with one reference. Never NULL. */
struct checkpoint *checkpoint_new(const char *step, uint64_t id);
struct checkpoint *checkpoint_hold(struct checkpoint *c);
void checkpoint_let_go(struct checkpoint *c);

/* The checkpoints of one session, oldest first. The last one has the present state; an undo can go
 * back to @max others, at most CHECKPOINTS_MAX - 1. */
struct checkpoints {
	struct checkpoint *v[CHECKPOINTS_MAX + 1]; /* one spare place before an eviction */
	unsigned n, max;
};

/* Append @c, whose reference is taken over. The oldest checkpoint is evicted if there is no room.
 */
void checkpoints_add(struct checkpoints *all, struct checkpoint *c);
/* checkpoints_cut() drops all but the oldest @n; checkpoints_evict() all but the newest @n. */
void checkpoints_cut(struct checkpoints *all, unsigned n);
void checkpoints_evict(struct checkpoints *all, unsigned n);
/* Return the newest checkpoint of @step, or NULL. */
struct checkpoint *checkpoints_find(const struct checkpoints *all, const char *step);
