/*
 * A checkpoint is the saved state after a step: a frozen clone of Python (the guard), the
 * workspace's files, and the states of other runtimes as text.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/digest.h"
#include "runtime/runtime.h"
#include "session/box/box.h"
#include "session/box/shadow.h"
#include "session/box/stem.h"

enum { CHECKPOINTS_MAX = 16, CHECKPOINTS_DEFAULT = 4 };

/* The state of a runtime as text, shared by reference count. */
struct state_text {
	unsigned n_refs;
	/* Parts of the runtime's state that are not in the text @s, such as open descriptors. */
	struct loss_text loss;
	char s[];
};
/* Copy the text @s and its losses into a new text state with one reference. Returns: NULL if
 * memory is exhausted. */
struct state_text *state_text_new(const char *s, const struct loss_text *loss);
/* state_text_hold() adds a reference, state_text_let_go() drops one. @t may be NULL. */
struct state_text *state_text_hold(struct state_text *t);
void state_text_let_go(struct state_text *t);

/*
 * A guard: a frozen clone of the Python process. Several checkpoints share one guard if only other
 * runtimes ran between them.
 * When a rollback has resumed the frozen process, that process is the Python driver. The guard then
 * has no process until the driver clones itself again.
 * When the last reference is dropped, the frozen process ends.
 */
struct guard {
	unsigned n_refs;
	struct box *box; /* counted reference to the box in which the guard's process runs */
	int fd;		 /* socket to the process, or -1 while the guard has no process */
	/* While a process for this guard is being made: the engine's end of the socket to it. It
	 * becomes @fd when the GUARD frame arrives. Otherwise -1. */
	int due_fd;
	int32_t pid; /* process id in the box */
	struct loss loss;
};
struct guard *guard_new(struct box *box); /* never NULL */
struct guard *guard_hold(struct guard *g);
void guard_let_go(struct guard *g);

struct checkpoint {
	unsigned n_refs;
	/* Time when the checkpoint was made, on the clock of lost_files_now_ns(). */
	int64_t made_ns;
	uint64_t id; /* id of the step's STEP frame, or 0 if no step made this checkpoint */
	/* Name of the step. It is "" for the state before the first step, and "?" until the name
	 * is known. */
	char step[DIGEST_BYTES];
	/*
	 * Number of a mark, which is a moment that init remembers. A rollback to the checkpoint
	 * ends the processes that started after this moment.
	 * 0: the checkpoint has no mark. Then a rollback that resumes the guard ends the processes
	 * that started after the guard.
	 */
	uint32_t mark;
	bool is_guard_own; /* @guard was made right after this step */
	/* Counted reference to the guard. NULL if Python is not in use, or if @stem has Python's
	 * state. */
	struct guard *guard;
	struct stem *stem; /* counted reference to the stem with the same Python state, or NULL */
	struct shadow *files; /* counted reference to the saved files, or NULL */
	/* For each runtime, a counted reference to its state as text. NULL if the runtime has no
	 * such text: Python never has one, because the guard or the stem has its state. */
	struct state_text *states[RUNTIMES_MAX];
	/* For each runtime, the id of the last step that it had run before the checkpoint. */
	uint64_t versions[RUNTIMES_MAX];
};

/* Make a checkpoint with one reference. Never NULL. */
struct checkpoint *checkpoint_new(const char *step, uint64_t id);
struct checkpoint *checkpoint_hold(struct checkpoint *c);
void checkpoint_let_go(struct checkpoint *c);

/* The checkpoints of one session, oldest first. The last one has the present state. @max, at
 * most CHECKPOINTS_MAX - 1, is the number of earlier states to which an undo can go back. */
struct checkpoints {
	/* room for CHECKPOINTS_MAX checkpoints and one that is being added */
	struct checkpoint *v[CHECKPOINTS_MAX + 1];
	unsigned n, max;
};

/* Drop all but the newest CHECKPOINTS_MAX checkpoints, then append @c, whose reference is taken
 * over. */
void checkpoints_add(struct checkpoints *all, struct checkpoint *c);
/* checkpoints_cut() keeps the oldest @n checkpoints and drops the others. checkpoints_evict()
 * keeps the newest @n. */
void checkpoints_cut(struct checkpoints *all, unsigned n);
void checkpoints_evict(struct checkpoints *all, unsigned n);
/* Return the newest checkpoint of @step, or NULL. */
struct checkpoint *checkpoints_find(const struct checkpoints *all, const char *step);
