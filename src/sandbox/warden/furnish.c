/*
 * Furnishing a branch: completing its mounts and files.
 *
 * Theory of operation. C1, process 1 of the new namespaces, was user code a moment ago and may be
 * hostile. So C1 only waits, and a helper does the work. The helper is a child of the warden. It
 * closes the descriptors that it does not need, is not dumpable, enters C1's namespaces and becomes
 * the one user there. It mounts over directories of the box's root. These directories can be
 * trusted, since the root is read-only and was made by retort. The helper fills the new store
 * before anyone else can see it. While the helper works, C1 can harm only its own branch. The only
 * one of our processes that C1 can see is the helper's child that mounts /proc. If C1 kills this
 * child, the branch fails.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/warden/furnish.h"

#include "base/fd.h"
#include "sandbox/cgroup_file.h"
#include "sandbox/syscalls.h"
#include "sandbox/warden/copy.h"
#include "sandbox/warden/root_op.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A pid that every pid namespace can assign. A namespace assigns pids below its maximum
 * (kernel.pid_max), and this maximum is at least 301. */
enum { PROC_PID = 300 };
enum { C1_END_MS = 100 }; /* longest wait for the end of C1 after a step has failed */
enum { STORE_USER, STORE_TMP, STORE_SHM, STORE_END_ };

/* The directories of the store, and where they appear in the box. The whole store is first mounted
 * on /tmp. The directory for /tmp comes last, because it then hides the store. */
static const struct {
	const char *name, *at;
	mode_t mode;
} store_dirs[STORE_END_] = {
	[STORE_USER] = {"user", "/home/user", 0755},
	[STORE_TMP] = {"tmp", "/tmp", 01777},
	[STORE_SHM] = {"shm", "/dev/shm", 01777},
};

struct work {
	const struct making *m;
	struct root root; /* that of a box with an image */
	pid_t c1;
	int c1_fd;
	int sock;
	/* cgroup v2: the open file cgroup.procs of the branch's leaf. The helper moves C1, the
	 * branch's first process, into the leaf, and later writes to this file to join the leaf
	 * itself. In v1 or without a cgroup: -1. */
	int procs_fd;
	int old[STORE_END_], new[STORE_END_];
	int store, proc; /* detached mounts; proc: of a branch with an image */
	int root_tree;	 /* the root of a branch with an image, mounted in that of C1 */
};

static bool has_image(const struct work *w)
{
	return w->m->root.n_image_fds > 0;
}

/* Return whether the helper moves C1, the branch's first process, into its cgroup. */
static bool must_move(const struct making *m)
{
	return !m->is_v1 && m->n_join_fds > 0;
}

/* Close what the helper does not need. The warden's descriptors include the sockets and listeners
 * of all boxes, and the engine's socket. */
static int step_close(struct work *w, struct err *err)
{
	int kept[WIRE_BINDS_MAX + CGROUP_JOIN_FDS + 8] = {
		w->sock, w->c1_fd, w->m->root.workspace_fd, w->m->parent_store_fd};
	size_t n = 4;
	for (unsigned i = 0; i < w->m->root.n_mounts; i++)
		kept[n++] = w->m->mounts[i].tree_fd;
	for (unsigned i = 0; i < w->m->root.n_image_fds; i++)
		kept[n++] = w->m->image_fds[i];
	for (int i = 0; i < w->m->n_join_fds; i++)
		kept[n++] = w->m->join_fds[i];
	int r = fd_close_others(kept, n);
	return r < 0 ? err_sys(err, ERR_BOX, -r, "close what a helper need not have") : 0;
}

/* Move C1, the branch's first process, into the branch's cgroup, in cgroup v2 only. In cgroup
 * v1, C1 joins its cgroup by itself, which is a thousand times quicker than being moved. */
static int step_move(struct work *w, struct err *err)
{
	if (!must_move(w->m))
		return 0;
	w->procs_fd = cgroup_leaf_move(w->m->join_fds[0], w->c1);
	return w->procs_fd < 0
		? err_sys(err, ERR_BOX, -w->procs_fd, "move the branch into its cgroup")
		: 0;
}

/* If the user of the box is root, map the ids of C1: C1 may not do it itself. The kernel takes a
 * map from the user namespace above only, in which the helper has all capabilities. */
static int step_map(struct work *w, struct err *err)
{
	char path[64];
	struct pollfd c1 = {.fd = w->c1_fd, .events = POLLIN};
	if (w->m->ids.uid != 0)
		return 0;
	snprintf(path, sizeof path, "/proc/%d/ns/user", (int)w->c1);
	cleanup_fd int ns = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_fd int above = ns < 0 ? -1 : ioctl(ns, NS_GET_PARENT);
	if (above < 0 || setns(above, CLONE_NEWUSER) < 0)
		return err_sys(err, ERR_BOX, errno, "enter the user namespace of the box");
	/* The number is that of C1 as long as C1 lives. */
	if (poll(&c1, 1, 0) != 0)
		return err_set(err, ERR_GONE, "the branch's first process ended");
	return idmap_write_same(w->c1, &w->m->ids, err);
}

static int step_enter(struct work *w, struct err *err)
{
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "become not dumpable");
	if (setns(w->c1_fd,
		    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
			    CLONE_NEWUTS) < 0)
		return err_sys(err, ERR_BOX, errno, "enter the branch's namespaces");
	int r = child_become_user(&w->m->ids, err);
	if (r < 0)
		return r;
	/* The change of ids has set "dumpable" to the system's default, which may be 1. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || chdir("/") < 0)
		return err_sys(err, ERR_BOX, errno, "enter the branch's root");
	(void)umask(0);
	if (has_image(w) && unshare(CLONE_NEWNS) < 0)
		return err_sys(err, ERR_BOX, errno, "mount namespace of the helper");
	return 0;
}

static int step_old(struct work *w, struct err *err)
{
	for (int i = 0; i < STORE_END_; i++) {
		w->old[i] = open(store_dirs[i].at, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (w->old[i] < 0)
			return err_sys(err, ERR_BOX, errno, "open the box's %s", store_dirs[i].at);
	}
	return 0;
}

/*
 * Fork into the new pid namespace. The child gets a pid far from those that the kernel assigns
 * next, because pid 2 must stay free for the driver, which may not exist yet. Returns: as clone3().
 */
static pid_t enter_pids(uint64_t flags)
{
	pid_t number = PROC_PID;
	struct clone_args args = {.flags = flags,
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&number,
		.set_tid_size = 1};
	return sys_clone3(&args);
}

/*
 * Fork as enter_pids() does, but let the child run on the same CPU as this process.
 * There the child runs as soon as this process waits for it. On another CPU the child might have to
 * wait for C1, the branch's first process. C1 may be copying the driver there, and the kernel does
 * not interrupt the copying to run the child.
 */
static pid_t enter_pids_here(uint64_t flags)
{
	cpu_set_t here, allowed;
	bool is_moved = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
	CPU_ZERO(&here);
	CPU_SET((unsigned)sched_getcpu(), &here);
	is_moved = is_moved && sched_setaffinity(0, sizeof here, &here) == 0;
	pid_t pid = enter_pids(flags);
	if (pid != 0 && is_moved)
		(void)sched_setaffinity(0, sizeof allowed, &allowed);
	return pid;
}

static int mount_proc(const struct work *w)
{
	if (!has_image(w))
		return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	int fs = fsopen("proc", FSOPEN_CLOEXEC);
	int tree = fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0
		? -1
		: fsmount(fs, FSMOUNT_CLOEXEC,
			  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return tree < 0 ? -1 : dup3(tree, w->proc, O_CLOEXEC);
}

/*
 * Mount a new /proc, from a child in the new pid namespace: /proc shows the namespace of the
 * process that mounts it. In a box with an image, this happens before the helper enters the other
 * namespaces: part of /proc is read-only there, and the kernel then refuses a new one. The mount is
 * a descriptor, which the child shares with the helper.
 */
static int make_proc(struct work *w, struct err *err)
{
	int status = 0;
	pid_t pid = enter_pids_here(has_image(w) ? CLONE_FILES : 0);
	/* EAGAIN: a user namespace above this one has reached its RLIMIT_NPROC */
	if (pid < 0 && errno == EAGAIN) {
		err_set(err, ERR_LIMIT,
			"the session and its branches have too many processes for another one");
		return err_hint(
			err, "close some of its branches, or make sessions with more --pids");
	}
	if (pid < 0)
		return err_sys(err, ERR_BOX, errno, "fork in the branch");
	if (pid == 0)
		_exit(mount_proc(w) < 0 ? errno : 0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status))
		return err_set(err, ERR_BOX, "mounting the branch's /proc was killed");
	return WEXITSTATUS(status) == 0
		? 0
		: err_sys(err, ERR_BOX, WEXITSTATUS(status), "mount the branch's /proc");
}

static int step_proc_of_image(struct work *w, struct err *err)
{
	if (!has_image(w))
		return 0;
	w->proc = open("/dev/null", O_RDONLY | O_CLOEXEC); /* has the number for the mount */
	if (w->proc < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 || setns(w->c1_fd, CLONE_NEWPID) < 0)
		return err_sys(err, ERR_BOX, errno, "enter the branch's pid namespace");
	return make_proc(w, err);
}

static int step_proc(struct work *w, struct err *err)
{
	return has_image(w) ? 0 : make_proc(w, err);
}

/* Mount a new devpts. The parent's would show its terminals to the branch. */
static int step_terminals(struct work *w, struct err *err)
{
	return has_image(w) ? 0 : root_mount_terminals("/dev/pts", err);
}

/* The settings of the kernel that are limits. They are written to a /proc that C1 does not see, if
 * the box has an image, and sees as read-only. */
static int step_sysctls(struct work *w, struct err *err)
{
	cleanup_fd int proc = has_image(w) ? fcntl(w->proc, F_DUPFD_CLOEXEC, 0)
					   : open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return err_sys(err, ERR_BOX, errno, "open the branch's /proc");
	/* The host name is inherited from the parent. */
	int r = child_network(w->m, proc, err);
	return r < 0 ? r : child_quotas(w->m, true, proc, err);
}

/* Join the branch's cgroup, so that the memory of the copied files counts for the branch. */
static int step_join(struct work *w, struct err *err)
{
	if (w->procs_fd >= 0 && write(w->procs_fd, "0", 1) < 0)
		return err_sys(err, ERR_BOX, errno, "enter the branch's cgroup");
	for (int i = 0; w->m->is_v1 && i < w->m->n_join_fds; i++)
		if (write(w->m->join_fds[i], "0", 1) < 0)
			return err_sys(err, ERR_BOX, errno, "enter the branch's cgroup");
	return 0;
}

static int store_set(int fs, const char *key, uint64_t value)
{
	char text[32];
	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	return fsconfig(fs, FSCONFIG_SET_STRING, key, text, 0);
}

static int step_store(struct work *w, struct err *err)
{
	const uint64_t *limit = w->m->root.limits->value;
	uint64_t bytes = limit[LIMIT_disk_bytes] + (has_image(w) ? ROOT_IMAGE_BYTES : 0);
	uint64_t files =
		limit[LIMIT_disk_inodes] + 1 + (has_image(w) ? ROOT_IMAGE_FILES : STORE_END_);
	cleanup_fd int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "mode", "755", 0) < 0 ||
		store_set(fs, "size", bytes) < 0 || store_set(fs, "nr_inodes", files) < 0 ||
		fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "make the branch's store");
	w->store = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (w->store < 0)
		return err_sys(err, ERR_BOX, errno, "mount the branch's store");
	for (int i = 0; i < STORE_END_; i++) {
		const char *name = store_dirs[i].name;
		if (mkdirat(w->store, name, store_dirs[i].mode) < 0)
			return err_sys(err, ERR_BOX, errno, "mkdir %s in the store", name);
		w->new[i] = openat(w->store, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (w->new[i] < 0)
			return err_sys(err, ERR_BOX, errno, "open %s in the store", name);
	}
	if (has_image(w) &&
		(mkdirat(w->store, ROOT_UPPER, 0755) < 0 || mkdirat(w->store, ROOT_WORK, 0755) < 0))
		return err_sys(err, ERR_BOX, errno, "mkdir in the store");
	return 0;
}

#define LINKS "links" /* in the store, as long as the changes are copied */

static bool remove_link(void *arg, const char *name)
{
	const int *links = arg;
	(void)unlinkat(*links, name, 0); /* not the directory's own names */
	return true;
}

/* Copy what the parent has changed of its image. */
static int copy_upper(struct work *w, struct err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	cleanup_fd int from = openat(w->m->parent_store_fd, ROOT_UPPER, flags);
	cleanup_fd int to = openat(w->store, ROOT_UPPER, flags);
	if (from < 0 || to < 0 || mkdirat(w->store, LINKS, 0700) < 0)
		return err_sys(err, ERR_BOX, errno, "open the changes of the image");
	cleanup_fd int links = openat(w->store, LINKS, flags);
	int r = links < 0 ? err_sys(err, ERR_BOX, errno, "open a directory of the store")
			  : copy_tree(from, to, links, err);
	if (r == 0 &&
		(cgroup_file_each(links, ".", remove_link, &links) < 0 ||
			unlinkat(w->store, LINKS, AT_REMOVEDIR) < 0))
		r = err_sys(err, ERR_BOX, errno, "remove a directory of the store");
	return r;
}

static int step_copy(struct work *w, struct err *err)
{
	int r = 0;
	for (int i = 0; r == 0 && i < STORE_END_; i++)
		if (i != STORE_USER || w->m->root.workspace_fd < 0)
			r = copy_tree(w->old[i], w->new[i], -1, err);
	return r == 0 && has_image(w) ? copy_upper(w, err) : r;
}

static int mount_on(int tree_fd, const char *at, struct err *err)
{
	if (move_mount(tree_fd, "", AT_FDCWD, at, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, ERR_BOX, errno, "mount the branch's %s", at);
	return 0;
}

/*
 * Mount the directories of the branch's store at their places in the box.
 * The whole store must be mounted before, since until Linux 6.15 a directory can be bound only if
 * the file system that contains it is mounted. So first mount the whole store on /tmp. Last, mount
 * the store's directory for /tmp there, which hides the whole store.
 */
static int step_mount(struct work *w, struct err *err)
{
	static const int order[] = {STORE_USER, STORE_SHM, STORE_TMP};
	if (has_image(w))
		return 0;
	int r = mount_on(w->store, store_dirs[STORE_TMP].at, err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(order); i++) {
		const char *at = store_dirs[order[i]].at;
		if (order[i] == STORE_USER && w->m->root.workspace_fd >= 0) {
			r = mount_on(w->m->root.workspace_fd, at, err);
			continue;
		}
		cleanup_fd int tree = open_tree(
			w->new[order[i]], "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		r = tree < 0 ? err_sys(err, ERR_BOX, errno, "bind the branch's %s", at)
			     : mount_on(tree, at, err);
	}
	return r;
}

static int step_volumes(struct work *w, struct err *err)
{
	return has_image(w) ? 0 : root_mount_volumes(w->m->mounts, w->m->root.n_mounts, err);
}

/*
 * Make the root of a box with an image anew: an overlay has one directory for what is changed, and
 * the branch has its own. Nobody sees it before it is complete, since it is made in a mount
 * namespace of the helper. Then it is mounted in that of C1, and becomes its root. C1 has no other
 * process yet: it waits with its clone of the driver, since the kernel could overlook a process
 * that is just being made.
 */
static int step_root(struct work *w, struct err *err)
{
	if (!has_image(w))
		return 0;
	w->root = w->m->root;
	w->root.is_branch = true;
	w->root.store_tree = w->store;
	w->root.proc_tree = w->proc;
	int r = root_make(&w->root, err);
	if (r == 0)
		r = root_seal_sysctls("proc/sys", err);
	w->root_tree = r < 0
		? -1
		: open_tree(AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	/* Programs of the box may have moved what is in its root, so only "/" is used of it. */
	if (r == 0 && (w->root_tree < 0 || setns(w->c1_fd, CLONE_NEWNS) < 0))
		r = err_sys(err, ERR_BOX, errno, "enter the branch's mounts again");
	if (r == 0)
		r = mount_on(w->root_tree, "/", err);
	if (r == 0 && fchdir(w->root_tree) < 0)
		r = err_sys(err, ERR_BOX, errno, "enter the branch's root");
	return r < 0 ? r : root_pivot(err);
}

/* Open the workspace where it is mounted, since the engine goes up from there. C1 can see it by
 * now, so make sure that it is the one. */
static int open_home(const struct work *w)
{
	struct stat is, want;
	cleanup_fd int fd = has_image(w)
		? sys_open_beneath(w->root_tree, "home/user", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
		: open("/home/user", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int workspace = w->m->root.workspace_fd >= 0 ? w->m->root.workspace_fd : w->new[STORE_USER];
	if (fd < 0 || fstat(fd, &is) < 0 || fstat(workspace, &want) < 0)
		return -1;
	errno = EXDEV;
	return is.st_dev == want.st_dev && is.st_ino == want.st_ino ? take_fd(fd) : -1;
}

static int step_hand_out(struct work *w, struct err *err)
{
	cleanup_fd int proc = openat(has_image(w) ? w->proc : AT_FDCWD,
		has_image(w) ? "." : "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int home = open_home(w);
	const struct root_seen seen = {.proc = proc,
		.home = home,
		.store = has_image(w) ? w->root.store_fd : w->new[STORE_TMP]};
	return root_hand_out(w->sock, &seen, NULL, 0, err);
}

static int (*const steps[])(struct work *w, struct err *err) = {
	step_close,
	step_move,
	step_proc_of_image,
	step_map,
	step_enter,
	step_old,
	step_proc,
	step_terminals,
	step_sysctls,
	step_join,
	step_store,
	step_copy,
	step_mount,
	step_volumes,
	step_root,
	step_hand_out,
};

/* If C1 has ended, its namespaces have ended, and any step fails by that. Then only the driver
 * knows the reason. The kernel first kills what is in the namespaces, and needs a moment to end C1.
 */
static void explain(const struct work *w, struct err *err)
{
	struct pollfd c1 = {.fd = w->c1_fd, .events = POLLIN};
	if (err->code == ERR_BOX && poll(&c1, 1, C1_END_MS) > 0)
		err_set(err, ERR_GONE, "the branch's first process ended");
}

static attr_noreturn void helper_main(struct work *w)
{
	struct err err = {0};
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "retort-furnish");
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (steps[i](w, &err) < 0) {
			explain(w, &err);
			(void)fd_send(w->sock, &err, sizeof err, NULL, 0);
			_exit(1);
		}
	_exit(0);
}

bool furnish_is_first(const struct making *m)
{
	return must_move(m) || m->root.n_image_fds > 0;
}

int furnish_start(struct furnish *f, const struct making *m, pid_t c1, int c1_fd, struct err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, ERR_BOX, errno, "socketpair");
	cleanup_fd int theirs = pair[1];
	cleanup_fd int ours = pair[0];
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(err, ERR_BOX, errno, "fork a helper");
	if (pid == 0) {
		struct work work = {
			.m = m, .c1 = c1, .c1_fd = c1_fd, .sock = theirs, .procs_fd = -1};
		helper_main(&work);
	}
	f->pid = pid;
	f->sock = take_fd(ours);
	return 0;
}

void furnish_stop(struct furnish *f)
{
	if (f->pid > 0) {
		(void)kill(f->pid, SIGKILL);
		while (waitpid(f->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	fd_close(&f->sock);
	f->pid = 0;
}

int furnish_result(struct furnish *f, int fds[SEEN_LISTENER], struct err *err)
{
	struct err said = {0};
	size_t n_fds = 0;
	ssize_t n = fd_recv(f->sock, &said, sizeof said, fds, SEEN_LISTENER, &n_fds);
	if (n != (ssize_t)sizeof said)
		return err_set(err, ERR_BOX, "the helper that furnishes a branch died");
	int r = n_fds == SEEN_LISTENER ? root_check_proc(fds[SEEN_PROC], &said) : 1;
	if (r == 0)
		return 0;
	for (size_t i = 0; i < n_fds; i++)
		fd_close(&fds[i]);
	err_check(&said);
	*err = said;
	return said.sys ? -said.sys : -err_errno(said.code);
}
