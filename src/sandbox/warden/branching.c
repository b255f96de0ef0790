/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/branching.h"

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/cgroup_file.h"
#include "sandbox/proc_list.h"
#include "sandbox/warden/census.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* The bytes for which the processes of a branch wait; see drivers/python/branch.c. 'c': C1 may
 * clone the driver. 'g': the namespaces are complete. */
enum { WORD_CLONE = 'c', WORD_GO = 'g' };
enum {
	HELLO_MS = 10000,
	/* How long a branch may be in the state WAIT. It waits there while another branch of the
	 * same box is in the states HELLO and CLONE, each of which lasts at most HELLO_MS.
	 * WAIT_MS is longer than both together. */
	WAIT_MS = 3 * HELLO_MS,
	FURNISH_MS = 60000,
	/* How often a clone() is allowed for one branch. Without a limit, a driver could make the
	 * warden read /proc again and again. */
	ALLOWED_MAX = 64
};

static void free_branching(struct branching *b)
{
	making_done(&b->making);
	ends_done(&b->ends);
	furnish_stop(&b->furnish);
	fd_close(&b->c1_fd);
	b->parent->n_branchings--;
	b->state = BRANCHING_FREE;
}

static int check_spec(const struct box *parent, const struct box_spec *spec, struct err *err)
{
	if (!parent->is_branchable)
		return err_set(err, ERR_USAGE, "box %u is not made to be branched", parent->slot);
	if (parent->n_branchings >= WIRE_AHEAD_MAX)
		return err_set(err, ERR_LIMIT, "box %u is being branched already", parent->slot);
	if (parent->depth >= WIRE_DEPTH_MAX) {
		int r = err_set(
			err, ERR_LIMIT, "more than %d branches of branches", WIRE_DEPTH_MAX);
		return err_hint(err,
			       "rebuild the session by replaying it, or branch from an "
			       "earlier step"),
		       r;
	}
	unsigned n_layers = 0;
	for (unsigned i = 0; i < spec->n_binds; i++) {
		enum bind_kind kind = (enum bind_kind)spec->binds[i].kind;
		n_layers += kind == BIND_IMAGE;
		if (!parent->has_image && (kind == BIND_LAYER || kind == BIND_DRIVER))
			return err_set(err, ERR_PROTOCOL, "a branch has the root of its parent");
	}
	return parent->has_image == (n_layers > 0)
		? 0
		: err_set(err, ERR_PROTOCOL, "a branch has the image of its parent");
}

/* If the CPU limit of the branch is to be enforced by pinning, check that the branch cannot undo
 * the pinning. The branch has the same syscall filter as its parent. If this filter allows
 * changing the CPU affinity, do not pin the branch, and leave its CPU limit without enforcement. */
static void settle_cpus(struct branching *b)
{
	if (b->by[LIMIT_cpu_milli] != LIMIT_BY_AFFINITY || b->parent->is_pinned)
		return;
	b->by[LIMIT_cpu_milli] = LIMIT_BY_NONE;
	b->making.n_cpus = 0;
}

static int give_out(struct branching *b, int fds[WARDEN_PREPARED_END_], struct err *err)
{
	struct making *m = &b->making;
	fds[WARDEN_PREPARED_INIT_EXE] = fcntl(m->host->init_fd, F_DUPFD_CLOEXEC, 0);
	if (fds[WARDEN_PREPARED_INIT_EXE] < 0)
		return err_sys(err, ERR_BOX, errno, "descriptor of init");
	fds[WARDEN_PREPARED_CONTROL] = take_fd(b->ends.control);
	fds[WARDEN_PREPARED_SYNC] = take_fd(m->sync);
	fds[WARDEN_PREPARED_INIT] = take_fd(m->init_sock);
	return WARDEN_PREPARED_END_;
}

int branching_open(struct branching *b, const struct box_host *host, const struct box_spec *spec,
	int fds[WARDEN_PREPARED_END_], struct err *err)
{
	struct box *box = b->box, *parent = b->parent;
	int r = check_spec(parent, spec, err), on = 1;
	if (r < 0)
		return r;
	b->limits = *spec->limits;
	memset(b->by, 0, sizeof b->by);
	b->ends = (struct ends){-1, -1};
	b->stem = b->c1 = 0;
	b->c1_fd = -1;
	b->furnish = FURNISH_NONE;
	making_init(&b->making, host, &b->limits);
	b->leaf_err = b->refusal = (struct err){0};
	b->n_allowed = 0;
	r = making_open(&b->making, spec, &b->ends, err);
	b->making.parent_store_fd = parent->store_fd;
	for (unsigned i = 0; i < b->making.root.n_mounts; i++) {
		snprintf(b->dst[i], sizeof b->dst[i], "%s", b->making.mounts[i].dst);
		b->making.mounts[i].dst = b->dst[i];
	}
	if (r == 0)
		fd_refuse_passed(b->ends.sync);
	if (r == 0 && setsockopt(b->ends.sync, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
		r = err_sys(err, ERR_BOX, errno, "ask for credentials");
	if (r == 0)
		r = give_out(b, fds, err);
	if (r < 0) {
		free_branching(b);
		return r;
	}
	box->state = BOX_MAKING;
	box->parent = parent->slot;
	box->root = parent->root;
	box->depth = parent->depth + 1;
	parent->n_branches++;
	parent->n_branchings++;
	b->state = BRANCHING_WAIT;
	b->deadline_ms = clock_now_ms() + WAIT_MS;
	return r;
}

void branching_begin(struct branching *b)
{
	b->state = BRANCHING_HELLO;
	b->deadline_ms = clock_now_ms() + HELLO_MS;
}

/* Receive one byte and the pid of its sender, which the kernel fills in. If descriptors come
 * along, the kernel discards them, since there is no room for them. Returns: 1; 0 when nothing
 * is there; or -EPIPE. */
static int hear_byte(int sock, char *byte, pid_t *pid)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec iov = {.iov_base = byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof control.bytes};
	struct ucred who = {0};
	ssize_t n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	if (n == 0 || !c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
		return -EPIPE;
	memcpy(&who, CMSG_DATA(c), sizeof who);
	*pid = who.pid;
	return who.pid > 0 ? 1 : -EPIPE;
}

/* Check that C1 was made by the clone() that we allowed: its user namespace must be a child of the
 * parent's, and must not belong to a box. */
static int check_user_ns(struct branching *b, const struct boxes *all, struct err *err)
{
	char path[64];
	struct stat own = {0}, around = {0};
	snprintf(path, sizeof path, "/proc/%d/ns/user", (int)b->c1);
	cleanup_fd int ns = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_fd int parent = ns < 0 ? -1 : ioctl(ns, NS_GET_PARENT);
	if (parent < 0 || fstat(ns, &own) < 0 || fstat(parent, &around) < 0)
		return err_sys(err, ERR_BOX, errno, "look at the branch's namespaces");
	bool is_new = around.st_ino == b->parent->user_ns;
	for (size_t i = 0; is_new && i < all->n; i++)
		is_new = all->v[i].state == BOX_FREE || all->v[i].user_ns != own.st_ino;
	if (!is_new)
		return err_set(err, ERR_BOX, "the branch is not where it should be");
	b->box->user_ns = own.st_ino;
	return 0;
}

static int check_first(pid_t pid, struct err *err)
{
	struct proc_entry entry = {0};
	cleanup_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = proc < 0 ? -errno : proc_entry_read(&entry, proc, pid);
	if (r < 0)
		return err_sys(err, ERR_BOX, -r, "look at the branch's first process");
	return entry.is_first ? 0 : err_set(err, ERR_BOX, "the branch has another first process");
}

/* Lower the resource limits of C1, the branch's first process, to the limits of the branch, and
 * pin C1 to CPUs. C1 has inherited the resource limits of the parent's driver. If an inherited
 * limit is lower than that of the branch, it stays, since a limit cannot be raised. */
static int lower_limits(const struct branching *b, struct err *err)
{
	const uint64_t *limit = b->limits.value;
	const struct {
		enum __rlimit_resource resource;
		uint64_t most;
	} rows[] = {
		{RLIMIT_FSIZE, limit[LIMIT_file_bytes]},
		{RLIMIT_NOFILE, limit[LIMIT_open_files]},
		{RLIMIT_NPROC, limit[LIMIT_pids] + 1 + SPAWN_ROOM},
		{RLIMIT_DATA, b->making.is_uncounted ? limit[LIMIT_memory_bytes] * 2 : UINT64_MAX},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rlimit now;
		if (prlimit(b->c1, rows[i].resource, NULL, &now) < 0)
			return err_sys(err, ERR_BOX, errno, "read a limit of the branch");
		now.rlim_max = MIN(now.rlim_max, rows[i].most);
		now.rlim_cur = MIN(now.rlim_cur, now.rlim_max);
		if (prlimit(b->c1, rows[i].resource, &now, NULL) < 0)
			return err_sys(err, ERR_BOX, errno, "lower a limit of the branch");
	}
	return child_pin(b->c1, b->making.n_cpus, b->box->slot, err);
}

static int tell(struct branching *b, char word, struct err *err)
{
	if (send(b->ends.sync, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1)
		return 0;
	return err_set(err, ERR_GONE, "the branch's first process ended");
}

/* Tell C1, the branch's first process, to clone the driver. In cgroup v1, C1 then joins the
 * cgroup leaf by itself. For this, also send C1 the descriptors of the leaf's `tasks` files. */
static int tell_clone(struct branching *b, struct err *err)
{
	const struct making *m = &b->making;
	const char word = WORD_CLONE;
	size_t n_fds = m->is_v1 ? (size_t)m->n_join_fds : 0;
	if (fd_send(b->ends.sync, &word, 1, m->join_fds, n_fds) == 1)
		return 0;
	return err_set(err, ERR_GONE, "the branch's first process ended");
}

static int take_c1(struct branching *b, pid_t pid, const struct boxes *all, struct err *err)
{
	b->c1 = pid;
	b->c1_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (b->c1_fd < 0)
		return err_sys(err, ERR_BOX, errno, "watch the branch's first process");
	*err = b->leaf_err;
	int r = err->code == ERR_NONE ? check_user_ns(b, all, err) : -err_errno(err->code);
	if (r == 0)
		r = check_first(pid, err);
	if (r == 0)
		r = lower_limits(b, err);
	/* The checks relied on the pid. If the process of the pidfd is still alive now, no other
	 * process can have got its pid meanwhile. */
	if (r == 0 && syscall(SYS_pidfd_send_signal, b->c1_fd, 0, NULL, 0) < 0)
		r = err_set(err, ERR_GONE, "the branch's first process has ended");
	/* The helper process now completes the namespaces of the branch. Copying a large driver
	 * takes just as long. So let C1, the branch's first process, copy the driver now, while
	 * the helper works. But if the helper must move C1 into a cgroup, or give it a new root,
	 * C1 waits until the helper has finished. */
	if (r == 0 && !furnish_is_first(&b->making))
		r = tell_clone(b, err);
	if (r == 0)
		r = furnish_start(&b->furnish, &b->making, pid, b->c1_fd, err);
	if (r < 0)
		return r;
	b->state = BRANCHING_FURNISH;
	b->deadline_ms = clock_now_ms() + FURNISH_MS;
	return 0;
}

static int take_stem(struct branching *b, pid_t pid, struct err *err)
{
	if (census_user_ns(pid) != b->parent->user_ns)
		return err_set(
			err, ERR_BOX, "what asks for a branch is not in box %u", b->parent->slot);
	b->stem = pid;
	return 0;
}

int branching_hear(struct branching *b, const struct boxes *all, struct err *err)
{
	char byte = 0;
	pid_t pid = 0;
	int r = hear_byte(b->ends.sync, &byte, &pid);
	if (r == 0)
		return 0;
	if (r < 0 && b->refusal.code != ERR_NONE)
		return *err = b->refusal, -err_errno(err->code);
	if (r < 0)
		return err_set(err, ERR_GONE, "the driver gave up the branch");
	if (b->state == BRANCHING_HELLO && b->stem == 0 && byte == 'P')
		r = take_stem(b, pid, err);
	else if (b->state == BRANCHING_CLONE && byte == 'C')
		r = take_c1(b, pid, all, err);
	else
		r = err_set(err, ERR_PROTOCOL, "byte %d is not what a branch says now", byte);
	/* A check of a process that ended meanwhile fails for this reason alone. */
	if (r < 0 && kill(pid, 0) < 0 && errno == ESRCH)
		r = err_set(err, ERR_GONE, "the process that branches has ended");
	return r;
}

bool branching_is_open(const struct branching *b)
{
	return b->state == BRANCHING_HELLO || b->state == BRANCHING_CLONE;
}

/* Check that the clone() that was allowed to the stem has made no process, so that it can be
 * allowed again. branching.h explains why this is no race. */
static int check_again(const struct branching *b, const struct boxes *all, struct err *err)
{
	struct pollfd p = {.fd = b->ends.sync, .events = POLLIN};
	if (b->n_allowed >= ALLOWED_MAX)
		return err_fail(err, ERR_BOX,
			"branch when nothing in the session stops and continues its processes",
			"the driver asked for the clone of one branch more than %u times",
			b->n_allowed);
	/* The stem may have ended, and a process of another box may have its number. */
	if (census_user_ns(b->stem) != b->parent->user_ns)
		return err_set(err, ERR_BOX, "the process that branches has ended");
	int n = census_count_strays(b->parent, all->v, all->n);
	if (n < 0)
		return err_sys(err, ERR_BOX, -n, "look for first processes in the box");
	/* A first process that has sent its 'C' and has ended: branching_hear() decides. */
	if (n > 0 || poll(&p, 1, 0) != 0)
		return err_fail(err, ERR_BOX, "rebuild the session by replaying it",
			"the driver asked for a second first process of one branch");
	return 0;
}

bool branching_may_clone(struct branching *b, pid_t tid, const struct boxes *all)
{
	struct err err;
	if (b->state == BRANCHING_HELLO && b->stem == 0)
		/* In HELLO, branching_hear() does not use its second argument. */
		(void)branching_hear(b, all, &err);
	if (!branching_is_open(b) || b->stem != tid)
		return false;
	b->refusal = (struct err){0};
	return b->state == BRANCHING_HELLO || check_again(b, all, &b->refusal) == 0;
}

bool branching_granted(struct branching *b)
{
	if (b->n_allowed++ > 0)
		return false;
	b->state = BRANCHING_CLONE;
	b->deadline_ms = clock_now_ms() + HELLO_MS;
	if (making_leaf(&b->making, b->box, b->by, &b->leaf_err) == 0)
		settle_cpus(b);
	return true;
}

int branching_hear_c1(struct branching *b attr_unused, struct err *err)
{
	return err_set(err, ERR_GONE, "the branch's first process ended");
}

int branching_hear_helper(struct branching *b, int *workspace_fd, struct err *err)
{
	int fds[SEEN_LISTENER];
	struct box *box = b->box;
	int r = furnish_result(&b->furnish, fds, err);
	if (r < 0)
		return r;
	box->proc_fd = fds[SEEN_PROC];
	box->bounds.kernel_bytes = proc_kernel_bytes(box->proc_fd);
	box->store_fd = fds[SEEN_STORE];
	r = furnish_is_first(&b->making) ? tell_clone(b, err) : 0;
	/* Send one byte for init and one for the driver: both wait on this socket. */
	for (int i = 0; r == 0 && i < 2; i++)
		r = tell(b, WORD_GO, err);
	if (r < 0) {
		fd_close(&fds[SEEN_WORKSPACE]);
		return r;
	}
	box->pid = b->c1;
	box->pid_fd = take_fd(b->c1_fd);
	box->is_branchable = true;
	box->is_uncounted = b->making.is_uncounted;
	box->is_pinned = b->parent->is_pinned;
	box->has_image = b->parent->has_image;
	box->ids = b->parent->ids;
	box->has_own_files = b->parent->has_own_files;
	box->state = BOX_LIVE;
	*workspace_fd = fds[SEEN_WORKSPACE];
	free_branching(b);
	return 1;
}

int branching_check_late(const struct branching *b, struct err *err)
{
	static const char *const words[] = {[BRANCHING_WAIT] = "begun",
		[BRANCHING_HELLO] = "asked for",
		[BRANCHING_CLONE] = "started",
		[BRANCHING_FURNISH] = "furnished"};
	if (b->deadline_ms > clock_now_ms())
		return 0;
	int r = err_set(err, ERR_BOX, "the branch was not %s in time", words[b->state]);
	if (b->state == BRANCHING_HELLO) {
		err->sys = ETIMEDOUT; /* tells the engine that the driver hangs */
		err_hint(err, "see what os.register_at_fork() was given: that runs first");
	}
	return r;
}

void branching_fail(struct branching *b, const struct boxes *all)
{
	struct box *box = b->box;
	furnish_stop(&b->furnish);
	if (b->c1_fd >= 0)
		(void)syscall(SYS_pidfd_send_signal, b->c1_fd, SIGKILL, NULL, 0);
	fd_close(&b->ends.sync); /* the driver or C1 waits at the other end and now gives up */
	box->user_ns = 0;
	if (b->state == BRANCHING_CLONE)
		census_kill_strays(b->parent, all->v, all->n);
	b->parent->n_branches--;
	box_destroy(box);
	free_branching(b);
}
