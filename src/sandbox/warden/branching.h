/*
 * The making of a branch: a state machine that never blocks on a box.
 *
 * WAIT      the engine has the descriptors; another branch of the same box has not reached
 * FURNISH
 *   HELLO     the driver is to say 'P', and to ask for its clone
 *   CLONE     the clone may go on, once; its child C1 is to say 'C'
 *   FURNISH   C1 is who it should be; the helper works
 *
 * Each state has a deadline. A branch that fails leaves nothing behind: C1 is killed, whether or
 * not it has identified itself; the helper, the cgroup leaf and the descriptors are removed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "sandbox/warden/furnish.h"
#include "sandbox/warden/inside.h"
#include "sandbox/warden/listener.h"

enum branching_state {
	BRANCHING_FREE,
	BRANCHING_WAIT,
	BRANCHING_HELLO,
	BRANCHING_CLONE,
	BRANCHING_FURNISH
};

struct branching {
	enum branching_state state;
	uint64_t id; /* of the request */
	int64_t deadline_ms;
	struct box *parent, *box;
	struct limits limits;
	uint32_t by[LIMIT_END_];
	struct making making;
	struct err leaf_err; /* why making the cgroup leaf failed; reported when C1 exists */
	struct ends ends;    /* without the control socket, which the engine has */
	pid_t stem, c1;	     /* the pids that sent 'P' and 'C'; 0: not yet */
	int c1_fd;
	struct furnish furnish;
	/* copied from the binds: the request is gone by then */
	char dst[WIRE_BINDS_MAX][WIRE_PATH_BYTES];
};

/* All boxes, for what must be looked up among them. */
struct boxes {
	struct box *v;
	size_t n;
};

/*
 * Begin to make a branch. @b is free except for `box` (a free one after box_init()) and `parent`
 * (a live one). @fds get what WARDEN_BRANCH answers with; the caller closes them.
 * Returns: how many, or negative errno with @b and the box free. Errors: as warden_branch().
 */
int branching_open(struct branching *b, const struct box_host *host, const struct box_spec *spec,
	int fds[WARDEN_PREPARED_END_], struct err *err);

/* Go from WAIT to HELLO. The caller ensures that at most one branch of a box is in HELLO or
 * CLONE. */
void branching_begin(struct branching *b);

/*
 * Something can be read from its sync socket, C1's descriptor or the helper's socket.
 * Returns: 1 when the branch is made: *workspace_fd is the caller's, @b is free and its box live;
 * 0 when it goes on; or negative errno: the caller calls branching_fail().
 */
int branching_hear(struct branching *b, const struct boxes *all, struct err *err);
int branching_hear_c1(struct branching *b, struct err *err);
int branching_hear_helper(struct branching *b, int *workspace_fd, struct err *err);

/* Is this the clone() that @b waits for? Reads the 'P' that was sent before it. */
bool branching_is_stem(struct branching *b, pid_t tid);

/* Allow the clone(); the cgroup leaf is made while the kernel copies the process. */
void branching_granted(struct branching *b);

/* Returns: 0, or negative errno when its deadline has passed, with the missing message in @err. */
int branching_check_late(const struct branching *b, struct err *err);

/* Undo everything. */
void branching_fail(struct branching *b, const struct boxes *all);
