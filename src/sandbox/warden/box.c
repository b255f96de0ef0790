/*
 * Making a box.
 *
 * Theory of operation. The warden clones a child into new user, mount, pid, network, IPC and UTS
 * namespaces and writes its id maps, which only it can do; the child waits for that. The child then
 * puts itself into the cgroup leaf, unshares the cgroup namespace (so that the leaf is its root),
 * becomes the one user there is, makes its root, brings up the loopback, sends back descriptors of
 * what it sees (/proc, workspace), drops every capability and becomes init by execveat. All of that
 * is the table `steps`; a failing step sends its error up the socket and the child is gone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/warden/box.h"

#include "base/fd.h"
#include "sandbox/init/lock.h"
#include "sandbox/proc_usage.h"
#include "sandbox/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

enum { BOX_READY_MS = 10000, BOX_CLOSE_FDS_FROM = 4 };

/* What the child hands out, in this order. */
enum { SEEN_PROC, SEEN_WORKSPACE, SEEN_STORE, SEEN_END_ };

/* What the child works with; all of it was made before the clone. */
struct making {
	const struct box_host *host;
	struct root root;
	struct root_mount mounts[WIRE_BINDS_MAX];
	int sync;      /* the child's end: "go" in, descriptors or an error out */
	int init_sock; /* becomes WIRE_SOCK_FD of init */
	int join_fds[CGROUP_JOIN_FDS];
	int n_join_fds;
	bool is_v1;
	unsigned n_cpus;   /* pin the box to that many, or 0 */
	bool is_uncounted; /* no cgroup counts the box's memory */
	unsigned slot;
};

static int step_wait(struct making *m, struct err *err)
{
	char go;
	(void)prctl(PR_SET_NAME, "retort-box");
	ssize_t n = read(m->sync, &go, 1);
	return n == 1 ? 0 : err_set(err, ERR_GONE, "the warden is gone");
}

static int step_cgroup(struct making *m, struct err *err)
{
	for (int i = 0; m->is_v1 && i < m->n_join_fds; i++)
		if (write(m->join_fds[i], "0", 1) < 0)
			return err_sys(err, ERR_BOX, errno, "enter the cgroup");
	if (unshare(CLONE_NEWCGROUP) < 0)
		return err_sys(err, ERR_BOX, errno, "cgroup namespace");
	return 0;
}

static int step_ids(struct making *m attr_unused, struct err *err)
{
	/* The first change of ids must not clear the capabilities that the next steps need. */
	if (prctl(PR_SET_KEEPCAPS, 1) < 0 ||
		setresgid(IDMAP_BOX_ID, IDMAP_BOX_ID, IDMAP_BOX_ID) < 0 ||
		setresuid(IDMAP_BOX_ID, IDMAP_BOX_ID, IDMAP_BOX_ID) < 0 ||
		prctl(PR_SET_KEEPCAPS, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "become the box's user");
	/* After the change of ids, which clears it: when the warden dies, so does the box. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_sys(err, ERR_BOX, errno, "tie the box to the warden");
	return 0;
}

static int step_root(struct making *m, struct err *err)
{
	(void)umask(022);
	return root_make(&m->root, err);
}

/*
 * What the kernel counts for a user across namespaces, so that a box cannot use up its user's
 * share. A kernel that lacks one of these has nothing to use up.
 */
static int step_quotas(struct making *m attr_unused, struct err *err)
{
	static const struct {
		const char *path, *value;
	} quotas[] = {
		{"/proc/sys/user/max_inotify_instances", "16"},
		{"/proc/sys/user/max_inotify_watches", "4096"},
	};
	for (size_t i = 0; i < ARRAY_LEN(quotas); i++) {
		cleanup_fd int fd = open(quotas[i].path, O_WRONLY | O_CLOEXEC);
		int r = fd < 0 ? 0 : fd_write_all(fd, quotas[i].value, strlen(quotas[i].value));
		if (r < 0)
			return err_sys(err, ERR_BOX, -r, "write %s", quotas[i].path);
	}
	return 0;
}

static int step_network(struct making *m attr_unused, struct err *err)
{
	struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
	strcpy(request.ifr_name, "lo");
	cleanup_fd int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || ioctl(sock, SIOCSIFFLAGS, &request) < 0)
		return err_sys(err, ERR_BOX, errno, "bring up the loopback");
	return 0;
}

static int step_host_name(struct making *m attr_unused, struct err *err)
{
	if (sethostname("retort", 6) < 0)
		return err_sys(err, ERR_BOX, errno, "set the host name");
	return 0;
}

/* Pin to neighbouring CPUs of those we may use; different boxes start at different ones. */
static int step_cpus(struct making *m, struct err *err)
{
	cpu_set_t may, pin;
	unsigned n_may, taken = 0, skipped = 0;
	if (m->n_cpus == 0)
		return 0;
	if (sched_getaffinity(0, sizeof may, &may) < 0)
		return err_sys(err, ERR_BOX, errno, "read the CPU affinity");
	n_may = (unsigned)CPU_COUNT(&may);
	CPU_ZERO(&pin);
	for (unsigned cpu = 0; taken < MIN(m->n_cpus, n_may); cpu = (cpu + 1) % CPU_SETSIZE) {
		if (!CPU_ISSET(cpu, &may) || skipped++ < m->slot % n_may)
			continue;
		CPU_SET(cpu, &pin);
		taken++;
	}
	if (sched_setaffinity(0, sizeof pin, &pin) < 0)
		return err_sys(err, ERR_BOX, errno, "pin the box to %u CPUs", m->n_cpus);
	return 0;
}

static int step_hand_out(struct making *m, struct err *err)
{
	struct err none = {0};
	cleanup_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int home = open("/home/user", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int store = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || home < 0 || store < 0)
		return err_sys(err, ERR_BOX, errno, "open /proc, the workspace or /tmp");
	if (faccessat(home, ".", W_OK, 0) < 0) {
		int r = err_sys(err, ERR_ACCESS, errno, "workspace not writable for the box");
		err_hint(err, "choose a directory that you own, on a local file system");
		return r;
	}
	ssize_t n = fd_send(m->sync, &none, sizeof none, (int[]){proc, home, store}, SEEN_END_);
	return n < 0 ? err_sys(err, ERR_GONE, (int)-n, "the warden is gone") : 0;
}

/* While the bounding set can still be emptied: init has no capability any more from its execution
 * on. */
static int step_capabilities(struct making *m attr_unused, struct err *err)
{
	return lock_drop_caps(err);
}

/* Does not return on success. */
static int step_init(struct making *m, struct err *err)
{
	static char name[] = "retort-init", pinned[] = "pinned", uncounted[] = "uncounted";
	char *const argv[] = {name, m->is_uncounted ? uncounted : m->n_cpus ? pinned : NULL, NULL};
	static char *const envp[] = {NULL};
	if (dup3(m->init_sock, WIRE_SOCK_FD, 0) < 0 && m->init_sock != WIRE_SOCK_FD)
		return err_sys(err, ERR_BOX, errno, "hand init its socket");
	if (m->init_sock == WIRE_SOCK_FD)
		(void)fcntl(WIRE_SOCK_FD, F_SETFD, 0);
	(void)execveat(m->host->init_fd, "", argv, envp, AT_EMPTY_PATH);
	return err_sys(err, ERR_BOX, errno, "start init");
}

static const struct {
	const char *name;
	int (*step)(struct making *m, struct err *err);
} steps[] = {
	{"wait for the id maps", step_wait},
	{"cgroup", step_cgroup},
	{"ids", step_ids},
	{"cpus", step_cpus},
	{"root", step_root},
	{"quotas", step_quotas},
	{"network", step_network},
	{"host name", step_host_name},
	{"hand out", step_hand_out},
	{"capabilities", step_capabilities},
	{"init", step_init},
};

/* The warden's ends of the two sockets to a box's first process. */
struct ends {
	int sync, control;
};

static void ends_done(struct ends *ends)
{
	fd_close(&ends->sync);
	fd_close(&ends->control);
}

/*
 * Until it executes init, the child has copies of all that the warden holds. Those by whose end
 * somebody would notice the warden's death are closed first: the engine's socket, and the warden's
 * ends of ours.
 */
static attr_noreturn void child_main(struct making *m, struct ends *wardens)
{
	struct err err = {0};
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)close(WIRE_SOCK_FD);
	ends_done(wardens);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (steps[i].step(m, &err) < 0)
			break;
	(void)fd_send(m->sync, &err, sizeof err, NULL, 0);
	_exit(1);
}

/* Detach one bind from the host's tree, with the attributes it is to have in the box. */
static int detach_bind(const struct box_host *host, unsigned slot, const struct warden_bind *bind,
	struct root_mount *out, struct err *err)
{
	struct stat st;
	uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	cleanup_fd int fd = open(bind->src, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, ERR_NOT_FOUND, errno, "open %s", bind->src);
	if (st.st_dev != bind->dev || st.st_ino != bind->ino)
		return err_set(err, ERR_NOT_FOUND, "%s changed while the box was made", bind->src);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return err_set(err, ERR_USAGE, "%s is no file or directory", bind->src);
	bool is_dir_needed = bind->kind == BIND_WORKSPACE || bind->kind == BIND_ROOTFS;
	if (is_dir_needed && !S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "%s is no directory", bind->src);
	cleanup_fd int tree = open_tree(
		fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0)
		return err_sys(err, ERR_BOX, errno, "clone the mount of %s", bind->src);
	int r = bind->kind == BIND_DRIVER ? 0 : idmap_mount(&host->ids, slot, tree, err);
	if (r < 0)
		return r;
	if (bind->kind != BIND_VOLUME_RW && bind->kind != BIND_WORKSPACE)
		attributes |= MOUNT_ATTR_RDONLY;
	struct mount_attr attr = {.attr_set = attributes, .propagation = MS_PRIVATE};
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) < 0)
		return err_sys(err, ERR_BOX, errno, "mount attributes of %s", bind->src);
	*out = (struct root_mount){
		.tree_fd = take_fd(tree), .is_dir = S_ISDIR(st.st_mode), .dst = bind->dst};
	return 0;
}

static void making_done(struct making *m)
{
	fd_close(&m->sync);
	fd_close(&m->init_sock);
	fd_close(&m->root.workspace_fd);
	fd_close(&m->root.rootfs_fd);
	for (unsigned i = 0; i < m->root.n_mounts; i++)
		fd_close(&m->mounts[i].tree_fd);
	for (int i = 0; i < m->n_join_fds; i++)
		fd_close(&m->join_fds[i]);
}

static int take_binds(struct making *m, unsigned slot, const struct box_spec *spec, struct err *err)
{
	for (unsigned i = 0; i < spec->n_binds; i++) {
		const struct warden_bind *bind = &spec->binds[i];
		struct root_mount mount;
		int r = detach_bind(m->host, slot, bind, &mount, err);
		if (r < 0)
			return r;
		if (bind->kind == BIND_WORKSPACE || bind->kind == BIND_ROOTFS) {
			int *fd = bind->kind == BIND_ROOTFS ? &m->root.rootfs_fd
							    : &m->root.workspace_fd;
			fd_close(fd);
			*fd = mount.tree_fd;
		} else {
			m->mounts[m->root.n_mounts++] = mount;
		}
	}
	return 0;
}

static pid_t box_clone(struct making *m)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
			CLONE_NEWUTS,
		.exit_signal = SIGCHLD,
	};
	if (!m->is_v1 && m->n_join_fds == 1) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)m->join_fds[0];
	}
	return sys_clone3(&args);
}

/* Wait for what the child says: its descriptors, or the error that ended it. */
static int await_child(int sync, int fds[SEEN_END_], struct err *err)
{
	struct err said;
	size_t n_fds = 0;
	struct pollfd p = {.fd = sync, .events = POLLIN};
	int r;
	while ((r = poll(&p, 1, BOX_READY_MS)) < 0 && errno == EINTR)
		;
	if (r == 0)
		return err_set(
			err, ERR_BOX, "the box was not ready within %d s", BOX_READY_MS / 1000);
	ssize_t n = fd_recv(sync, &said, sizeof said, fds, SEEN_END_, &n_fds);
	if (n != (ssize_t)sizeof said)
		return err_set(err, ERR_BOX, "the box's first process died");
	if (n_fds == SEEN_END_)
		return 0;
	err_check(&said);
	*err = said;
	return said.sys ? -said.sys : -err_errno(said.code);
}

static void kill_child(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int clone_failed(struct err *err, int sys)
{
	int r = err_sys(err, ERR_BOX, sys, "new namespaces");
	return err_hint(err,
		       "this host does not let you make user namespaces: `retort doctor` tells "
		       "how to turn them on"),
	       r;
}

static int start_child(struct making *m, struct box *box, const struct box_host *host,
	struct ends *ours, int fds[SEEN_END_], struct err *err)
{
	pid_t pid = box_clone(m);
	if (pid < 0)
		return clone_failed(err, errno);
	if (pid == 0)
		child_main(m, ours);
	fd_close(&m->sync);
	int r = idmap_write(pid, IDMAP_BOX_ID, idmap_uid(&host->ids, box->slot),
		idmap_gid(&host->ids, box->slot), err);
	if (r == 0 && write(ours->sync, "g", 1) != 1)
		r = err_sys(err, ERR_BOX, errno, "let the box go on");
	if (r == 0)
		r = await_child(ours->sync, fds, err);
	if (r < 0) {
		kill_child(pid);
		return r;
	}
	box->pid = pid;
	return 0;
}

/* Who enforces the rows that no cgroup took. */
static void report_limits(const struct limits *limits, bool own_workspace, uint32_t by[LIMIT_END_])
{
	static const struct {
		enum limit limit;
		enum limit_by by;
	} rest[] = {
		{LIMIT_memory_bytes, LIMIT_BY_ENGINE},
		{LIMIT_pids, LIMIT_BY_RLIMIT},
		{LIMIT_timeout_ms, LIMIT_BY_ENGINE},
		{LIMIT_cpu_ms, LIMIT_BY_ENGINE},
		{LIMIT_output_bytes, LIMIT_BY_ENGINE},
		{LIMIT_file_bytes, LIMIT_BY_RLIMIT},
		{LIMIT_open_files, LIMIT_BY_RLIMIT},
	};
	for (size_t i = 0; i < ARRAY_LEN(rest); i++)
		if (by[rest[i].limit] == LIMIT_BY_NONE)
			by[rest[i].limit] = rest[i].by;
	/* Whole CPUs can be had by pinning; a part of one cannot. */
	if (by[LIMIT_cpu_milli] == LIMIT_BY_NONE && limits->value[LIMIT_cpu_milli] % 1000 == 0)
		by[LIMIT_cpu_milli] = LIMIT_BY_AFFINITY;
	by[LIMIT_disk_bytes] = own_workspace ? LIMIT_BY_MOUNT : LIMIT_BY_NONE;
	by[LIMIT_disk_inodes] = own_workspace ? LIMIT_BY_MOUNT : LIMIT_BY_NONE;
}

/* Everything made before the clone: sockets, the cgroup leaf and its descriptors. */
static int prepare(struct making *m, struct box *box, const struct box_spec *spec,
	struct ends *ours, uint32_t by[LIMIT_END_], struct err *err)
{
	char name[CGROUP_NAME_BYTES];
	enum limit_by who[LIMIT_END_] = {0};
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, ERR_BOX, errno, "socketpair");
	ours->sync = pair[0];
	m->sync = pair[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, ERR_BOX, errno, "socketpair");
	ours->control = pair[0];
	m->init_sock = pair[1];
	cgroup_leaf_name(name, box->slot);
	int r = cgroup_leaf_open(&box->leaf, &m->host->cgroup, name, spec->limits, who, err);
	if (r < 0)
		return r;
	for (int i = 0; i < LIMIT_END_; i++)
		by[i] = who[i];
	report_limits(spec->limits, m->root.workspace_fd < 0, by);
	if (by[LIMIT_cpu_milli] == LIMIT_BY_AFFINITY)
		m->n_cpus = (unsigned)(spec->limits->value[LIMIT_cpu_milli] / 1000);
	m->is_uncounted = by[LIMIT_memory_bytes] == LIMIT_BY_ENGINE;
	r = cgroup_leaf_join_fds(&box->leaf, m->join_fds);
	if (r < 0) {
		cgroup_leaf_close(&box->leaf);
		return err_sys(err, ERR_BOX, -r, "open the cgroup");
	}
	m->n_join_fds = r;
	return 0;
}

int box_create(struct box *box, const struct box_host *host, const struct box_spec *spec,
	uint32_t by[LIMIT_END_], int out_fds[WARDEN_FD_END_], struct err *err)
{
	int fds[SEEN_END_] = {-1, -1};
	cleanup(ends_done) struct ends ours = {-1, -1};
	cleanup(making_done) struct making m = {.host = host,
		.sync = -1,
		.init_sock = -1,
		.root = {.rootfs_fd = -1, .workspace_fd = -1, .limits = spec->limits},
		.is_v1 = host->cgroup.kind == CGROUP_V1,
		.slot = box->slot};
	m.root.mounts = m.mounts;
	int r = take_binds(&m, box->slot, spec, err);
	if (r == 0)
		r = prepare(&m, box, spec, &ours, by, err);
	if (r < 0)
		return r;
	r = start_child(&m, box, host, &ours, fds, err);
	if (r < 0) {
		cgroup_leaf_close(&box->leaf);
		return r;
	}
	box->refine_bytes = spec->limits->value[LIMIT_memory_bytes];
	box->proc_fd = fds[SEEN_PROC];
	box->store_fd = fds[SEEN_STORE];
	box->is_uncounted = m.is_uncounted;
	box->usage = (struct box_usage){0};
	box->state = BOX_LIVE;
	out_fds[WARDEN_FD_INIT] = take_fd(ours.control);
	out_fds[WARDEN_FD_WORKSPACE] = fds[SEEN_WORKSPACE];
	return 0;
}

/* Files in memory are memory, whoever counts. */
static uint64_t store_bytes(const struct box *box)
{
	struct statvfs st;
	if (!box->is_uncounted || fstatvfs(box->store_fd, &st) < 0)
		return 0;
	return (uint64_t)(st.f_blocks - st.f_bfree) * st.f_frsize;
}

void box_usage(struct box *box)
{
	struct box_usage now = {0};
	uint64_t peak = box->usage.memory_peak_bytes, cpu = box->usage.cpu_us;
	(void)proc_usage_read(box->proc_fd, box->refine_bytes, &now);
	now.memory_bytes += store_bytes(box);
	(void)cgroup_leaf_usage(&box->leaf, &now);
	now.memory_peak_bytes = MAX(MAX(now.memory_peak_bytes, now.memory_bytes), peak);
	now.cpu_us = MAX(now.cpu_us, cpu);
	box->usage = now;
}

void box_destroy(struct box *box)
{
	box_usage(box);
	kill_child(box->pid); /* init is the last of its pid namespace to be reaped */
	cgroup_leaf_close(&box->leaf);
	fd_close(&box->proc_fd);
	fd_close(&box->store_fd);
	box->state = BOX_FREE;
}
