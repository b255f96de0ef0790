/*
 * A branch while it is made: a state machine that never waits for a box.
 *
 *   WAIT      the engine has the descriptors; another branch of the box is before FURNISH
 *   HELLO     the driver is to say 'P', and to ask for its clone
 *   CLONE     the clone may go on, once; its child C1 is to say 'C'
 *   FURNISH   C1 is who it should be; the helper works
 *
 * Each state has a deadline. A branch that fails leaves nothing: C1 is killed, whether it has said
 * who it is or not, the helper, the cgroup leaf and the descriptors go.
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
	struct err leaf_err; /* why there is no cgroup leaf; told when C1 is there */
	struct ends ends;    /* without the control socket's, which the engine has */
	pid_t stem, c1;	     /* who said 'P', who is to say 'C'; 0: nobody yet */
	int c1_fd;
	struct furnish furnish;
	char dst[WIRE_BINDS_MAX][WIRE_PATH_BYTES]; /* of the binds: the request is gone by then */
};

/* All boxes, for what must be looked up among them. */
struct boxes {
	struct box *v;
	size_t n;
};

/*
 * Begin, in @b (free, but for: box, a free one after box_init(), and parent, a live one).
 * @fds get what WARDEN_BRANCH answers with; the caller closes them.
 * Returns: how many, or negative errno with @b and the box free. Errors: as warden_branch().
 */
int branching_open(struct branching *b, const struct box_host *host, const struct box_spec *spec,
	int fds[WARDEN_PREPARED_END_], struct err *err);

/* From WAIT to HELLO. The caller sees to it that of one box no two are in HELLO or CLONE. */
void branching_begin(struct branching *b);

/*
 * Something can be read from its sync socket, C1's descriptor or the helper's socket.
 * Returns: 1 when the branch is made: *workspace_fd is the caller's, @b is free and its box live;
 * 0 when it goes on; or negative errno: the caller calls branching_fail().
 */
int branching_hear(struct branching *b, const struct boxes *all, struct err *err);
int branching_hear_c1(struct branching *b, struct err *err);
int branching_hear_helper(struct branching *b, int *workspace_fd, struct err *err);

/* Is this the clone that @b waits for? Reads the 'P' that was sent before it. */
bool branching_is_stem(struct branching *b, pid_t tid);

/* The clone goes on; while the kernel makes it, so does the cgroup leaf. */
void branching_granted(struct branching *b);

/* Returns: negative errno when its deadline has passed, with what did not come in time. */
int branching_check_late(const struct branching *b, struct err *err);

/* Undo everything. */
void branching_fail(struct branching *b, const struct boxes *all);
