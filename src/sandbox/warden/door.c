/*
 * Opening doors in the namespaces of a box, by helpers.
 *
 * Theory of operation. A terminal belongs to the mount namespace of a box, a socket to its network
 * namespace, and only a process in that namespace can open it. The box's init could do so, but the
 * init of a branch may be hostile, and what it sends would have to be distrusted. So a child of the
 * warden does it, which lives for this one door. The helper closes the descriptors that it does not
 * need, is not dumpable, enters two namespaces of the box (the user namespace, and that of the
 * thing to open) and becomes the one user there. Then it opens the thing, sends the descriptor and
 * exits. With the user namespace it got every capability over the box, and it keeps them when it
 * becomes the user: so it can configure the box's network and bind ports below 1024, which programs
 * of the box cannot. It stays in the warden's pid namespace, so no process of the box can see,
 * signal or trace it. It calls nothing that a program of the box can delay: the path of the
 * terminal is below a read-only root made by retort, and no process of a box can mount anything
 * there. In the network namespace, the kernel alone answers, and at once. A program that has taken
 * a port of a listener gets no more by that than its own connections to that port.
 *
 * The warden polls the socket to the helper, checks what arrives, and never waits for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/warden/door.h"

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/door_check.h"
#include "sandbox/syscalls.h"
#include "sandbox/warden/door_net.h"
#include "sandbox/warden/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* DOOR_MS: how long a helper may take; it needs well under a millisecond. ENTER_MS: how long init
 * may take to begin or to end. */
enum { DOOR_MS = 10000, ENTER_MS = 2000 };

/* ---- in the helper ---- */

static int open_terminal(struct err *err)
{
	const int unlocked = 0;
	cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd = sys_open_beneath(
		root, "dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd >= 0 && ioctl(fd, TIOCSPTLCK, &unlocked) == 0)
		return take_fd(fd);
	/* ENOSPC: the box has its most, or all boxes together have those of the host */
	if (errno == ENOSPC)
		return err_fail(err, ERR_LIMIT, "close a terminal of this box or of another one",
			"no pseudo-terminal is left: a box has up to %d", ROOT_TERMINALS_MAX);
	return err_sys(err, ERR_BOX, errno, "open a terminal of the box");
}

static int open_socket(int family, struct err *err)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	return fd < 0 ? err_sys(err, ERR_BOX, errno, "make a socket in the box") : fd;
}

/* Open a table of sockets. The helper still sees the warden's /proc, in which `self/net` shows the
 * network namespace of the process that looks, and that is the box's now. */
static int open_listeners(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? err_sys(err, ERR_BOX, errno, "open %s in the box", path) : fd;
}

static int open_what(enum warden_door what, struct err *err)
{
	switch (what) {
	case WARDEN_DOOR_TERMINAL:
		return open_terminal(err);
	case WARDEN_DOOR_SOCKET:
		return open_socket(AF_INET, err);
	case WARDEN_DOOR_SOCKET6:
		return open_socket(AF_INET6, err);
	case WARDEN_DOOR_LISTENERS:
		return open_listeners("/proc/self/net/tcp", err);
	case WARDEN_DOOR_LISTENERS6:
		return open_listeners("/proc/self/net/tcp6", err);
	case WARDEN_DOOR_NET: /* door_net_open() */
	case WARDEN_DOOR_END_:
		break;
	}
	return err_set(err, ERR_INTERNAL, "unknown door %d", (int)what);
}

static int open_door(const struct door *d, struct door_opened *out, struct err *err)
{
	if (d->what == WARDEN_DOOR_NET)
		return door_net_open(d->net, out, err);
	int fd = open_what(d->what, err);
	if (fd < 0)
		return fd;
	*out = (struct door_opened){.fds = {fd}, .n = 1, .mask = 1};
	return 0;
}

/*
 * Enter namespaces of the box's init. The kernel refuses that at two moments, in which it has the
 * process guarded by the user namespace of whoever has started the warden: before the process has
 * executed init, since the box is made a moment earlier, and while init ends, which its pidfd does
 * not tell yet. Neither lasts long.
 */
static int enter_spaces(int pid_fd, int spaces, struct err *err)
{
	struct pollfd p = {.fd = pid_fd, .events = POLLIN};
	int64_t late_ms = clock_now_ms() + ENTER_MS;
	for (;;) {
		if (setns(pid_fd, spaces) == 0)
			return 0;
		int sys = errno;
		if (sys == ESRCH || (sys == EPERM && poll(&p, 1, 1) > 0))
			return err_set(err, ERR_GONE, "the box has ended");
		if (sys != EPERM || clock_now_ms() > late_ms)
			return err_sys(err, ERR_BOX, sys, "enter the box's namespaces");
	}
}

static int enter(int pid_fd, const struct box_ids *ids, enum warden_door what, struct err *err)
{
	const int space = what == WARDEN_DOOR_TERMINAL ? CLONE_NEWNS : CLONE_NEWNET;
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "become not dumpable");
	int r = enter_spaces(pid_fd, CLONE_NEWUSER | space, err);
	if (r == 0)
		r = child_become_user(ids, err);
	/* The change of ids has set "dumpable" to the system's default, which may be 1. */
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "become not dumpable");
	return r;
}

/* What the helper sends, with the descriptors. */
struct said {
	struct err err;
	uint32_t mask;
};

static attr_noreturn void helper_main(const struct door *d, int sock, int pid_fd)
{
	struct err err = {0};
	struct door_opened opened = {0};
	int kept[] = {sock, pid_fd};
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "retort-door");
	int r = fd_close_others(kept, ARRAY_LEN(kept));
	if (r < 0)
		r = err_sys(&err, ERR_BOX, -r, "close what a helper need not have");
	if (r == 0)
		r = enter(pid_fd, &d->box->ids, d->what, &err);
	if (r == 0)
		r = open_door(d, &opened, &err);
	const struct said said = {.err = err, .mask = opened.mask};
	(void)fd_send(sock, &said, sizeof said, opened.fds, r == 0 ? opened.n : 0);
	_exit(0);
}

/* ---- in the warden ---- */

int door_add(struct doors *all, uint64_t id, const struct box *box, enum warden_door what,
	const struct warden_net *net, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(all->v); i++)
		if (all->v[i].state == DOOR_FREE) {
			all->v[i] = (struct door){.state = DOOR_WAITS,
				.id = id,
				.box = box,
				.box_pid = box->pid,
				.what = what,
				.net = &all->nets[i],
				.sock = -1};
			if (what == WARDEN_DOOR_NET)
				all->nets[i] = *net;
			all->n_used++;
			return 0;
		}
	return err_fail(err, ERR_BUSY, "try again in a moment",
		"more than %d terminals and connections are being opened", WIRE_DOORS_MAX);
}

struct door *door_next(struct doors *all)
{
	struct door *next = NULL;
	if (all->n_running >= DOORS_AT_ONCE || all->n_running == all->n_used)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(all->v); i++)
		if (all->v[i].state == DOOR_WAITS && (!next || all->v[i].id < next->id))
			next = &all->v[i];
	return next;
}

int door_begin(struct doors *all, struct door *d, struct err *err)
{
	int pair[2];
	if (d->box->state != BOX_LIVE || d->box->pid != d->box_pid)
		return err_set(err, ERR_GONE, "the box has ended");
	/* A pidfd names the process for as long as we have it. The pid of a box that is not a
	 * branch is that of a child of ours, and stays its until we have reaped it. */
	cleanup_fd int own_fd =
		d->box->pid_fd < 0 ? (int)syscall(SYS_pidfd_open, d->box->pid, 0) : -1;
	int pid_fd = d->box->pid_fd < 0 ? own_fd : d->box->pid_fd;
	if (pid_fd < 0)
		return err_sys(err, ERR_GONE, errno, "the box's first process");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, ERR_BOX, errno, "socketpair");
	cleanup_fd int theirs = pair[1];
	cleanup_fd int ours = pair[0];
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(err, ERR_BOX, errno, "fork a helper");
	if (pid == 0)
		helper_main(d, theirs, pid_fd);
	d->pid = pid;
	d->sock = take_fd(ours);
	d->state = DOOR_RUNS;
	d->deadline_ms = clock_now_ms() + DOOR_MS;
	all->n_running++;
	return 0;
}

static int check_said(const struct door *d, const struct said *said, ssize_t bytes,
	const struct door_opened *opened, struct err *err)
{
	struct door_opened at = *opened;
	if (bytes == -EMFILE)
		return err_sys(err, ERR_BOX, EMFILE, "take what was opened in the box");
	if (bytes != (ssize_t)sizeof *said)
		return err_set(err, ERR_BOX, "the helper that opens something in a box died");
	if (said->err.code != ERR_NONE) {
		*err = said->err;
		err_check(err);
		return err->sys ? -err->sys : -err_errno(err->code);
	}
	if (!door_spread(at.fds, at.n, said->mask))
		return err_set(err, ERR_BOX, "the helper has sent %zu descriptors", at.n);
	return door_check(d->what, d->net, at.fds, err);
}

int door_hear(const struct door *d, struct door_opened *out, struct err *err)
{
	struct said said = {0};
	*out = (struct door_opened){0};
	ssize_t n = fd_recv(d->sock, &said, sizeof said, out->fds, ARRAY_LEN(out->fds), &out->n);
	int r = check_said(d, &said, n, out, err);
	while (r < 0 && out->n > 0)
		fd_close(&out->fds[--out->n]);
	out->mask = said.mask;
	return r;
}

int door_check_late(const struct door *d, struct err *err)
{
	if (d->deadline_ms > clock_now_ms())
		return 0;
	return err_set(err, ERR_BOX, "nothing was opened in the box within %d s", DOOR_MS / 1000);
}

void door_end(struct doors *all, struct door *d)
{
	if (d->state == DOOR_RUNS) {
		(void)kill(d->pid, SIGKILL);
		while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
			;
		fd_close(&d->sock);
		all->n_running--;
	}
	all->n_used--;
	d->state = DOOR_FREE;
}
