/*
 * Making and destroying a box.
 *
 * Theory of operation. The warden clones a child into new user, mount, pid, network, IPC and UTS
 * namespaces. The child waits until the warden has written its id maps, which only the warden can
 * do. The child then joins the cgroup leaf, unshares the cgroup namespace (so that the leaf is its
 * root), becomes the box's one user, makes the box's root and brings up the loopback. It drops
 * every capability, sends descriptors of its /proc and workspace to the warden, and becomes init by
 * execveat(). These are the `steps` in child.c. If a step fails, the child sends the error to the
 * warden and exits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/warden/inside.h"

#include "base/fd.h"
#include "sandbox/proc_usage.h"
#include "sandbox/syscalls.h"
#include "sandbox/warden/census.h"
#include "sandbox/warden/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The wait for a new box consists of READY_PARTS short waits. If the machine stalls, only one of
 * them runs out during the stall. */
enum { BOX_READY_MS = 10000, READY_PARTS = 8, BOX_END_MS = 5000 };

/* Make a detached copy of a bind's mount, with the attributes that it is to have in the box. */
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
		return err_set(err, ERR_USAGE, "%s is not a file or directory", bind->src);
	bool is_image = bind->kind == BIND_IMAGE;
	bool is_dir_needed = bind->kind == BIND_WORKSPACE || is_image || bind->kind == BIND_LAYER;
	if (is_dir_needed && !S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "%s is not a directory", bind->src);
	/* the kernel makes no overlay of a directory below which something is mounted */
	cleanup_fd int tree = open_tree(fd, "",
		AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			(is_image ? 0 : AT_RECURSIVE));
	if (tree < 0)
		return err_sys(err, ERR_BOX, errno, "clone the mount of %s", bind->src);
	bool is_mapped = bind->kind != BIND_DRIVER && bind->kind != BIND_LAYER;
	int r = !is_mapped ? 0 : idmap_mount(&host->ids, slot, tree, err);
	if (r < 0)
		return r;
	if (bind->kind != BIND_VOLUME_RW && bind->kind != BIND_WORKSPACE)
		attributes |= MOUNT_ATTR_RDONLY;
	struct mount_attr attr = {.attr_set = attributes, .propagation = MS_PRIVATE};
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) < 0)
		return err_sys(err, ERR_BOX, errno, "mount attributes of %s", bind->src);
	*out = (struct root_mount){.tree_fd = take_fd(tree),
		.is_dir = S_ISDIR(st.st_mode),
		.is_volume = bind->kind == BIND_VOLUME_RO || bind->kind == BIND_VOLUME_RW,
		.dst = bind->dst};
	return 0;
}

void ends_done(struct ends *ends)
{
	fd_close(&ends->sync);
	fd_close(&ends->control);
}

void making_init(struct making *m, const struct box_host *host, const struct limits *limits)
{
	*m = (struct making){.host = host,
		.sync = -1,
		.init_sock = -1,
		.root = {.layer_fd = -1,
			.workspace_fd = -1,
			.limits = limits,
			.proc_tree = -1,
			.store_tree = -1,
			.store_fd = -1},
		.is_v1 = host->cgroup.kind == CGROUP_V1,
		.listener_fd = -1,
		.parent_store_fd = -1};
	m->root.mounts = m->mounts;
	m->root.image_fds = m->image_fds;
}

void making_done(struct making *m)
{
	fd_close(&m->sync);
	fd_close(&m->init_sock);
	fd_close(&m->root.workspace_fd);
	fd_close(&m->root.layer_fd);
	for (unsigned i = 0; i < m->root.n_image_fds; i++)
		fd_close(&m->image_fds[i]);
	for (unsigned i = 0; i < m->root.n_mounts; i++)
		fd_close(&m->mounts[i].tree_fd);
	for (int i = 0; i < m->n_join_fds; i++)
		fd_close(&m->join_fds[i]);
	m->root.n_mounts = m->root.n_image_fds = 0;
	m->n_join_fds = 0;
}

static int take_binds(struct making *m, unsigned slot, const struct box_spec *spec, struct err *err)
{
	struct root *root = &m->root;
	for (unsigned i = 0; i < spec->n_binds; i++) {
		const struct warden_bind *bind = &spec->binds[i];
		struct root_mount mount;
		bool is_image = bind->kind == BIND_IMAGE;
		bool is_of_host = bind->kind == BIND_WORKSPACE || bind->kind == BIND_VOLUME_RW;
		if (is_of_host && spec->has_own_files)
			return err_set(err, ERR_PROTOCOL, "a box with own files, and a host's");
		if (is_image ? root->n_image_fds == WIRE_LAYERS_MAX
			     : root->n_mounts == WIRE_VOLUMES_MAX)
			return err_set(
				err, ERR_LIMIT, "too many %s", is_image ? "layers" : "volumes");
		int r = detach_bind(m->host, slot, bind, &mount, err);
		if (r < 0)
			return r;
		int *const places[BIND_KIND_END_] = {
			[BIND_WORKSPACE] = &root->workspace_fd, [BIND_LAYER] = &root->layer_fd};
		int *fd = places[bind->kind];
		if (is_image)
			m->image_fds[root->n_image_fds++] = mount.tree_fd;
		else if (!fd)
			m->mounts[root->n_mounts++] = mount;
		else {
			fd_close(fd);
			*fd = mount.tree_fd;
		}
	}
	return root->n_image_fds == 0 || root->layer_fd < 0
		? 0
		: err_set(err, ERR_PROTOCOL, "a box with an image and the layer of a template");
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

/* Wait for the child's message: its descriptors, or the error because of which it gave up. */
static int await_child(int sync, size_t n_wanted, int fds[SEEN_END_], struct err *err)
{
	struct err said;
	size_t n_fds = 0;
	struct pollfd p = {.fd = sync, .events = POLLIN};
	int r, n_parts = READY_PARTS;
	do
		r = poll(&p, 1, BOX_READY_MS / READY_PARTS);
	while ((r < 0 && errno == EINTR) || (r == 0 && --n_parts > 0));
	if (r == 0)
		return err_set(
			err, ERR_BOX, "the box was not ready within %d s", BOX_READY_MS / 1000);
	ssize_t n = fd_recv(sync, &said, sizeof said, fds, SEEN_END_, &n_fds);
	if (n != (ssize_t)sizeof said)
		return err_set(err, ERR_BOX, "the box's first process died");
	if (n_fds == n_wanted && root_check_proc(fds[SEEN_PROC], &said) == 0)
		return 0;
	for (size_t i = 0; i < n_fds; i++)
		fd_close(&fds[i]);
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
	int r = idmap_write(pid, &m->ids, idmap_uid(&host->ids, box->slot),
		idmap_gid(&host->ids, box->slot), err);
	if (r == 0 && write(ours->sync, "g", 1) != 1)
		r = err_sys(err, ERR_BOX, errno, "let the box go on");
	if (r == 0)
		r = await_child(
			ours->sync, m->is_branchable ? SEEN_END_ : (size_t)SEEN_LISTENER, fds, err);
	if (r < 0) {
		kill_child(pid);
		return r;
	}
	box->pid = pid;
	return 0;
}

/* Complete @by: set who enforces the limits that no cgroup enforces. */
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
	/* Pinning can limit a box to whole CPUs only. */
	if (by[LIMIT_cpu_milli] == LIMIT_BY_NONE && limits->value[LIMIT_cpu_milli] % 1000 == 0)
		by[LIMIT_cpu_milli] = LIMIT_BY_AFFINITY;
	by[LIMIT_disk_bytes] = own_workspace ? LIMIT_BY_MOUNT : LIMIT_BY_NONE;
	by[LIMIT_disk_inodes] = own_workspace ? LIMIT_BY_MOUNT : LIMIT_BY_NONE;
}

static int open_sockets(struct making *m, struct ends *ours, struct err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, ERR_BOX, errno, "socketpair");
	ours->sync = pair[0];
	m->sync = pair[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, ERR_BOX, errno, "socketpair");
	ours->control = pair[0];
	m->init_sock = pair[1];
	return 0;
}

int making_open(struct making *m, const struct box_spec *spec, struct ends *ours, struct err *err)
{
	int r = take_binds(m, spec->ids_slot, spec, err);
	m->is_branchable = spec->is_branchable;
	m->ids = spec->ids;
	m->has_own_files = spec->has_own_files;
	return r < 0 ? r : open_sockets(m, ours, err);
}

int making_leaf(struct making *m, struct box *box, uint32_t by[LIMIT_END_], struct err *err)
{
	enum limit_by who[LIMIT_END_] = {0};
	const struct limits *limits = m->root.limits;
	m->slot = box->slot;
	box->bounds = (struct proc_bounds){.memory_bytes = limits->value[LIMIT_memory_bytes],
		.pids = limits->value[LIMIT_pids] + SPAWN_OWN};
	int r = spare_take(m->host->spare, &m->host->cgroup, limits, &box->leaf, who, err);
	if (r < 0)
		return r;
	if (m->is_branchable)
		spare_want(m->host->spare, &m->host->cgroup, limits);
	for (int i = 0; i < LIMIT_END_; i++)
		by[i] = who[i];
	report_limits(limits, m->root.workspace_fd < 0, by);
	/* RLIMIT_NPROC of a branchable box is raised to cover its branches too, so it does not
	 * enforce the box's own limit on processes. */
	if (m->is_branchable && by[LIMIT_pids] == LIMIT_BY_RLIMIT)
		by[LIMIT_pids] = LIMIT_BY_NONE;
	if (by[LIMIT_cpu_milli] == LIMIT_BY_AFFINITY)
		m->n_cpus = (unsigned)(limits->value[LIMIT_cpu_milli] / 1000);
	m->is_uncounted = by[LIMIT_memory_bytes] == LIMIT_BY_ENGINE;
	r = cgroup_leaf_join_fds(&box->leaf, m->join_fds);
	if (r < 0) {
		cgroup_leaf_close(&box->leaf);
		return err_sys(err, ERR_BOX, -r, "open the cgroup");
	}
	m->n_join_fds = r;
	return 0;
}

void box_init(struct box *box, unsigned slot)
{
	*box = (struct box){.slot = slot,
		.parent = BOX_NONE,
		.root = slot,
		.pid_fd = -1,
		.proc_fd = -1,
		.store_fd = -1,
		.listener_fd = -1};
}

int box_create(struct box *box, const struct box_host *host, const struct box_spec *spec,
	uint32_t by[LIMIT_END_], int out_fds[WARDEN_FD_END_], struct err *err)
{
	int fds[SEEN_END_] = {-1, -1, -1, -1, -1};
	struct stat st = {0};
	cleanup(ends_done) struct ends ours = {-1, -1};
	cleanup(making_done) struct making m;
	making_init(&m, host, spec->limits);
	int r = making_open(&m, spec, &ours, err);
	if (r == 0)
		r = making_leaf(&m, box, by, err);
	if (r < 0)
		return r;
	r = start_child(&m, box, host, &ours, fds, err);
	if (r < 0) {
		cgroup_leaf_close(&box->leaf);
		return r;
	}
	box->proc_fd = fds[SEEN_PROC];
	box->bounds.kernel_bytes = proc_kernel_bytes(box->proc_fd);
	box->store_fd = fds[SEEN_STORE];
	box->listener_fd = fds[SEEN_LISTENER];
	box->is_branchable = spec->is_branchable;
	box->has_image = m.root.n_image_fds > 0;
	box->ids = spec->ids;
	box->has_own_files = spec->has_own_files;
	if (spec->is_branchable && fstat(fds[SEEN_USER_NS], &st) == 0)
		box->user_ns = st.st_ino;
	fd_close(&fds[SEEN_USER_NS]);
	box->is_uncounted = m.is_uncounted;
	box->is_pinned = m.is_uncounted || m.n_cpus > 0;
	box->state = BOX_LIVE;
	out_fds[WARDEN_FD_INIT] = take_fd(ours.control);
	out_fds[WARDEN_FD_WORKSPACE] = fds[SEEN_WORKSPACE];
	return 0;
}

/* The memory that one file takes in a tmpfs besides its content. The kernel counts the memory of
 * extended attributes in units of this size, too, and reports each unit as one more used inode.
 * Source: BOGO_INODE_SIZE in shmem_fs.h. */
enum { INODE_BYTES = 1024 };

/* Return how much memory the files of the box's store take, since it counts against the memory
 * limit. If a cgroup counts this memory anyway, return 0. */
static uint64_t store_bytes(const struct box *box)
{
	struct statvfs st;
	if (!box->is_uncounted || fstatvfs(box->store_fd, &st) < 0)
		return 0;
	return (uint64_t)(st.f_blocks - st.f_bfree) * st.f_frsize +
		(uint64_t)(st.f_files - st.f_ffree) * INODE_BYTES;
}

void box_usage(struct box *box)
{
	struct box_usage now = {0};
	uint64_t peak = box->usage.memory_peak_bytes, cpu = box->usage.cpu_us;
	if (!cgroup_leaf_counts_all(&box->leaf)) {
		(void)proc_usage_read(box->proc_fd, &box->bounds, &now);
		now.memory_bytes += store_bytes(box);
	}
	(void)cgroup_leaf_usage(&box->leaf, &now);
	now.memory_peak_bytes = MAX(MAX(now.memory_peak_bytes, now.memory_bytes), peak);
	now.cpu_us = MAX(now.cpu_us, cpu);
	box->usage = now;
}

/* Kill a branch's init and wait until all processes of the branch have ended: only then does the
 * pidfd of its init become readable. We do not reap this init, since it is not our child. */
static void kill_branch(int pid_fd)
{
	struct pollfd p = {.fd = pid_fd, .events = POLLIN};
	(void)syscall(SYS_pidfd_send_signal, pid_fd, SIGKILL, NULL, 0);
	while (poll(&p, 1, BOX_END_MS) < 0 && errno == EINTR)
		;
}

void box_kill(const struct box *box)
{
	if (box->pid_fd >= 0)
		(void)syscall(SYS_pidfd_send_signal, box->pid_fd, SIGKILL, NULL, 0);
	else if (box->pid > 0)
		(void)kill(box->pid, SIGKILL);
}

void box_destroy(struct box *box)
{
	if (box->state == BOX_LIVE)
		box_usage(box);
	if (box->pid_fd >= 0)
		kill_branch(box->pid_fd);
	else if (box->pid > 0)
		/* init can be reaped only when all processes of the box are gone */
		kill_child(box->pid);
	cgroup_leaf_close(&box->leaf);
	fd_close(&box->proc_fd);
	fd_close(&box->store_fd);
	fd_close(&box->pid_fd);
	fd_close(&box->listener_fd);
	box->state = BOX_FREE;
}

void box_anchor(struct box *box)
{
	box_usage(box);
	cgroup_leaf_no_forks(&box->leaf);
	census_kill_own(box->proc_fd);
	fd_close(&box->store_fd);
	box->state = BOX_ANCHOR;
}
