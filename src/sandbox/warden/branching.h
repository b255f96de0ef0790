/*
 * Making a branch: a state machine, which never blocks on a box. Its states:
 *
 *   WAIT      The engine has the descriptors. Another branch of the same box is in HELLO or CLONE.
 *   HELLO     The driver must send 'P', and then ask for its clone().
 *   CLONE     The clone() was allowed. Its child C1 must send 'C'.
 *   FURNISH   C1 was checked and is the right process. The helper completes the namespaces.
 *
 * That the warden has allowed a clone() does not mean that the kernel carries it out. If a signal
 * is pending, the kernel makes no process, handles the signal and restarts the clone(), which then
 * asks again. The driver blocks signals, but SIGSTOP cannot be blocked, and the init of a box
 * around this one may stop and continue everything in it. So in CLONE, the same thread may ask
 * again. It is allowed again only if the earlier clone() has made nothing: the box has no first
 * process that belongs to no box. No such process can appear while the warden looks, since only the
 * thread that asks could make it, and that thread waits for the answer. A first process that has
 * ended does not count, since its whole pid namespace has ended with it. The warden must look,
 * because CLONE_VFORK does not stop a hostile driver for long: it continues when C1 executes a
 * program.
 *
 * Each state has a deadline. A branch that fails leaves nothing behind: C1 is killed, whether or
 * not it has identified itself, and the helper, the cgroup leaf and the descriptors are removed.
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
	uint64_t id; /* id of the request; both replies repeat it */
	int64_t deadline_ms;
	struct box *parent, *box;
	struct limits limits;
	uint32_t by[LIMIT_END_];
	struct making making;
	/* why the cgroup leaf could not be made; the error is reported once C1 exists */
	struct err leaf_err;
	unsigned n_allowed; /* how often the clone() was allowed */
	/* why the clone() was not allowed again; the error is reported when the driver gives up */
	struct err refusal;
	/* the warden's ends of the sockets; `control` is -1, since the engine has that one */
	struct ends ends;
	/* Pids. `stem` is the driver, which sends the byte 'P' and then calls clone(). `c1` is the
	 * first process of the branch, which sends the byte 'C'. 0: the byte has not arrived yet.
	 */
	pid_t stem, c1;
	int c1_fd;
	struct furnish furnish;
	/* copies of the binds' destinations, because the request is soon overwritten */
	char dst[WIRE_VOLUMES_MAX][WIRE_PATH_BYTES];
};

/* All boxes of the warden. */
struct boxes {
	struct box *v;
	size_t n;
};

/*
 * Begin to make a branch. @b must be free. The caller has set b->box to a free box (after
 * box_init()) and b->parent to a live box. @fds gets the descriptors for the reply to
 * WARDEN_BRANCH; the caller closes them. Returns: the number of these descriptors, or negative
 * errno with @b and the box free. Errors: as warden_branch().
 */
int branching_open(struct branching *b, const struct box_host *host, const struct box_spec *spec,
	int fds[WARDEN_PREPARED_END_], struct err *err);

/* Go from WAIT to HELLO. The caller ensures that at most one branch of a box is in HELLO
 * or CLONE. */
void branching_begin(struct branching *b);

/*
 * Read what has arrived:
 * - branching_hear(): at the sync socket;
 * - branching_hear_c1(): at the pidfd of C1, the branch's first process;
 * - branching_hear_helper(): at the socket of the helper, the process that completes the namespaces
 *   of the branch.
 * Returns:
 * - 1 when the branch is made. The caller owns *@workspace_fd, @b is free, and the box of the
 *   branch is live.
 * - 0 when the branch is still under way.
 * - Negative errno when the branch failed. The caller calls branching_fail().
 */
int branching_hear(struct branching *b, const struct boxes *all, struct err *err);
int branching_hear_c1(struct branching *b, struct err *err);
int branching_hear_helper(struct branching *b, int *workspace_fd, struct err *err);

/* Return whether a question about a clone() may be about @b: it is in the state HELLO or CLONE. */
bool branching_is_open(const struct branching *b);

/* Return whether thread @tid, which is blocked in clone(), may make the first process of @b. It may
 * if @b is open, if @tid has sent the byte 'P' for @b, and if an earlier clone() of @tid for @b has
 * made no process. If a 'P' has arrived but was not read yet, it is read first.
 * Blocks: for a repeated question, while it reads the box's /proc. */
bool branching_may_clone(struct branching *b, pid_t tid, const struct boxes *all);

/* Take note that the clone() was allowed. The first time, go from HELLO to CLONE, and make the
 * cgroup leaf while the kernel clones. Returns: whether this is the first time. */
bool branching_granted(struct branching *b);

/* Check the deadline of the present state. Returns: 0, or negative errno when it has passed; @err
 * then says what was missing. */
int branching_check_late(const struct branching *b, struct err *err);

/* Give up the branch: kill its processes, remove its leaf, and free @b and its box. */
void branching_fail(struct branching *b, const struct boxes *all);
