/*
 * Clones a process into a new box, and adapts the copy to that box. branch.h explains the names: P
 * is the process that is branched, C1 is the clone that becomes the init of the new box, and C2 is
 * the copy of P.
 *
 * The first half makes the clones. P calls clone() with CLONE_VM | CLONE_VFORK and new namespaces:
 * P is suspended and C1 runs in P's memory, on a stack of its own. C1 therefore makes only system
 * calls and changes only errno in libc's state. It maps its user id, drops all capabilities, waits
 * for WORD_CLONE from the warden, and clones C2 with a plain SYS_clone, without CLONE_VM: C2 gets a
 * copy-on-write copy of the memory that P and C1 share. C2 returns to P's caller by longjmp() into
 * its copy of P's stack, which is intact because P has not run since. C1 then executes init, which
 * releases P.
 *
 * The second half, branch_settle(), adapts C2. It has inherited P's descriptors and mappings, which
 * lead into P's box. First the shared mappings are copied or mapped again (shared.c), because that
 * needs the old descriptors. Then every descriptor is replaced under its old number. Files are
 * opened again by path in the new box. Pipes and sockets with both ends in the process are created
 * again (sockets.c). All others become an end of a closed socketpair: a library that still uses the
 * number sees end-of-file, and never an unrelated file. Epoll instances are replaced in a second
 * pass, because they must watch the replacements.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "branch.h"

#include "epoll.h"
#include "anon_file.h"
#include "hugepages.h"
#include "own_path.h"
#include "private.h"
#include "shared.h"
#include "sockets.h"
#include "clone_attrs.h"
#include "thread_id.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/securebits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MESSAGE_QUEUES = 0x19800202 }; /* the kernel's MQUEUE_MAGIC, which no header defines */
enum { BRANCH_STACK_BYTES = 64 << 10, BRANCH_CAP_MAX = 63 };
enum { BRANCH_INIT_FD = 3, BRANCH_SYNC_FD = 4, BRANCH_OTHER_FD = 10 };
enum {
	BRANCH_FLAGS = CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD | CLONE_NEWUSER |
		CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
};
enum { RSEQ_BYTES_MIN = 32, RSEQ_SIGNATURE = 0x53053053 };

/* Where glibc, since 2.35, registers restartable sequences. Other libcs do not register them. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* What P passes to C1, and the error that comes back. C1 uses it in place, in P's memory. */
struct passage {
	const struct branch_fds *fds;
	int error; /* errno of C1's failure; 0 once C1 executes init */
	struct thread_id tid;
	void *robust_head; /* address of the robust futex list that libc has registered */
	size_t robust_bytes;
	char uid_map[48], gid_map[48]; /* of the user namespace of C1 */
	bool is_root;
	struct clone_attrs attrs;
	jmp_buf back;
};

enum { PATH_BYTES = 4096 };
/* The working directory of P. In a box with an image, C2 finds it by its name only: the kernel has
 * given C2 a new root. */
static char directory[PATH_BYTES];

int branch_fds_parse(struct branch_fds *out, const int *fds, size_t n)
{
	if (n != 3 + BRANCH_STDIO + 1)
		return -EPROTO;
	*out = (struct branch_fds){.sync = fds[0],
		.init_sock = fds[1],
		.init_exe = fds[2],
		.stdio = {fds[3], fds[4], fds[5]},
		.channel = fds[6]};
	return 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

void branch_fds_close(struct branch_fds *fds)
{
	close_one(&fds->sync);
	close_one(&fds->init_sock);
	close_one(&fds->init_exe);
	for (int i = 0; i < BRANCH_STDIO; i++)
		close_one(&fds->stdio[i]);
	close_one(&fds->channel);
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = write(fd, text, strlen(text));
	int r = n < 0 ? -errno : 0;
	(void)close(fd);
	return r;
}

/* Map the one user and the one group of the box to themselves. The kernel does not let a process
 * map root if it had no capability before; then the warden does it. Source: user_namespaces(7) */
static int map_ids(const struct passage *p)
{
	int r = write_file("/proc/self/setgroups", "deny");
	if (r == 0 && !p->is_root)
		r = write_file("/proc/self/uid_map", p->uid_map);
	return r == 0 && !p->is_root ? write_file("/proc/self/gid_map", p->gid_map) : r;
}

/*
 * The messages of the warden, one byte each. C1 waits for WORD_CLONE: the limits that C2 will
 * inherit are now set. With it may come descriptors of cgroups' `tasks` files, to which C1 writes
 * in order to join the cgroups. C2 and init, which C1 has become by then, wait for WORD_GO: the box
 * is furnished. End-of-file means that the warden has given up.
 */
enum { WORD_CLONE = 'c', WORD_GO = 'g', JOIN_MAX = 4 };

static int await_word(const struct branch_fds *fds, char word)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * JOIN_MAX)];
	} control;
	char said = 0;
	struct iovec iov = {.iov_base = &said, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof control.bytes};
	ssize_t n;
	do
		n = recvmsg(fds->sync, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	int r = n == 1 && said == word ? 0 : -ECONNABORTED;
	struct cmsghdr *c = n == 1 ? CMSG_FIRSTHDR(&msg) : NULL;
	for (size_t i = 0; c && CMSG_LEN(sizeof(int) * (i + 1)) <= c->cmsg_len; i++) {
		int fd = ((const int *)(const void *)CMSG_DATA(c))[i];
		if (r == 0 && write(fd, "0", 1) < 0)
			r = -errno;
		(void)close(fd);
	}
	return r;
}

static int tell_warden(const struct branch_fds *fds)
{
	return send(fds->sync, "C", 1, MSG_NOSIGNAL) < 0 ? -ECONNABORTED : 0;
}

/*
 * Drop all capabilities permanently. The new user namespace gave C1 all of them. The bounding set
 * comes first, because changing it requires a capability.
 */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	for (int cap = 0; cap <= BRANCH_CAP_MAX; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno == EINVAL && cap > 0)
				break;
			return -errno;
		}
	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

/* Execute init in this process. Returns: negative errno, and only if that failed. */
static int become_init(struct passage *p, pid_t driver)
{
	const struct branch_fds *fds = p->fds;
	static char name[] = "retort-init", branch[] = "branch";
	static char *const envp[] = {NULL};
	char number[16], *at = number + sizeof number;
	*--at = '\0';
	for (int n = driver; n > 0; n /= 10)
		*--at = (char)('0' + n % 10);
	char *const argv[] = {name, branch, at, NULL};
	int sock = fcntl(fds->init_sock, F_DUPFD_CLOEXEC, BRANCH_OTHER_FD);
	int sync = fcntl(fds->sync, F_DUPFD_CLOEXEC, BRANCH_OTHER_FD);
	int exe = fcntl(fds->init_exe, F_DUPFD_CLOEXEC, BRANCH_OTHER_FD);
	if (sock < 0 || sync < 0 || exe < 0 || dup3(sock, BRANCH_INIT_FD, 0) < 0 ||
		dup3(sync, BRANCH_SYNC_FD, 0) < 0)
		return -errno;
	p->error = 0;
	(void)syscall(SYS_execveat, exe, "", argv, envp, AT_EMPTY_PATH);
	return -errno;
}

/*
 * Run C1. C2 also starts in this function, on a copy of C1's stack, and must continue on its copy
 * of P's stack. So it leaves by longjmp() to P's setjmp(). The frames there are intact, because P
 * does not run until C1 has left the shared memory.
 */
static int c1_main(void *arg)
{
	struct passage *p = arg;
	int r = map_ids(p);
	if (r == 0)
		r = tell_warden(p->fds);
	if (r == 0)
		r = drop_capabilities();
	if (r == 0)
		r = await_word(p->fds, WORD_CLONE);
	if (r == 0) {
		/* Clone C2. Not by fork(), which runs at-fork handlers in P's memory. */
		pid_t driver = thread_id_clone(&p->tid, SIGCHLD);
		if (driver == 0)
			longjmp(p->back, 1); /* NOLINT(cert-err52-cpp) */
		r = driver < 0 ? -errno : become_init(p, driver);
	}
	p->error = -r;
	_exit(1); /* C1 is process 1 of its pid namespace: the kernel ends the others with it */
}

/* Register what libc needs and a clone lacks: the robust futex list and restartable sequences. */
static void restore_thread(const struct passage *p)
{
	if (p->robust_head)
		(void)syscall(SYS_set_robust_list, p->robust_head, p->robust_bytes);
#ifdef SYS_rseq
	if (&__rseq_size && __rseq_size > 0) {
		char *area = (char *)__builtin_thread_pointer() + __rseq_offset;
		unsigned bytes = __rseq_size < RSEQ_BYTES_MIN ? RSEQ_BYTES_MIN : __rseq_size;
		(void)syscall(SYS_rseq, area, bytes, 0, RSEQ_SIGNATURE);
	}
#endif
}

static int clone_c1(struct passage *p)
{
	/* C1's stack. It can be static: P has one thread, so it makes one branch at a time. */
	static char stack[BRANCH_STACK_BYTES] __attribute__((aligned(16)));
	if (setjmp(p->back) != 0) { /* NOLINT(cert-err52-cpp) */
		restore_thread(p);
		clone_attrs_restore(&p->attrs);
		if (await_word(p->fds, WORD_GO) < 0)
			_exit(1);
		return 0;
	}
	int pid = clone(c1_main, stack + sizeof stack, BRANCH_FLAGS, p);
	if (pid < 0)
		return -errno;
	return p->error ? -p->error : pid;
}

int branch_clone(const struct branch_fds *fds)
{
	struct passage p = {.fds = fds, .error = ECONNABORTED};
	sigset_t all, before;
	int r = thread_id_find(&p.tid);
	if (r < 0)
		return r;
	if (syscall(SYS_get_robust_list, 0, &p.robust_head, &p.robust_bytes) < 0)
		p.robust_head = NULL;
	/* in its new user namespace, C1 does not see them before they are mapped */
	p.is_root = getuid() == 0;
	snprintf(p.uid_map, sizeof p.uid_map, "%u %u 1", getuid(), getuid());
	snprintf(p.gid_map, sizeof p.gid_map, "%u %u 1", getgid(), getgid());
	if (!getcwd(directory, sizeof directory))
		directory[0] = '\0';
	clone_attrs_save(&p.attrs);
	(void)sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &before) < 0)
		return -errno;
	r = send(fds->sync, "P", 1, MSG_NOSIGNAL) == 1 ? clone_c1(&p) : -ECONNABORTED;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

/* ---- adapting C2 to the new box ---- */

enum { LINE_BYTES = 256 };

struct settling {
	int channel_fd;
	const int *keep;
	size_t n_keep;
	int own;	/* descriptor of /proc/self/fd while it is read, otherwise -1 */
	int dead;	/* end of a closed socketpair, -1 until it is first needed */
	bool has_epoll; /* an epoll instance was found, so a second pass is needed */
	struct stat stdio[BRANCH_STDIO]; /* status of the standard streams that P had */
	struct branch_report *report;
};

static bool is_kept(const struct settling *s, int fd)
{
	if (fd < BRANCH_STDIO || fd == s->channel_fd || fd == s->own || fd == s->dead ||
		shared_has(fd) || sockets_has(fd))
		return true;
	for (size_t i = 0; i < s->n_keep; i++)
		if (s->keep[i] == fd)
			return true;
	return false;
}

/* Move the open file @from to the descriptor number @fd. Returns: whether that succeeded. */
static bool replace(int fd, int from)
{
	int fd_flags = fcntl(fd, F_GETFD);
	if (from < 0)
		return false;
	bool is_done = dup3(from, fd, fd_flags & FD_CLOEXEC ? O_CLOEXEC : 0) == fd;
	(void)close(from);
	return is_done;
}

/*
 * Replace @fd by an end of a closed socketpair, and count it as lost unless it was dead already.
 * The number must stay in use: a library that still uses it must not find an unrelated file there.
 */
static void lose(struct settling *s, int fd)
{
	int pair[2];
	struct stat st;
	struct branch_report *r = s->report;
	bool is_there = fstat(fd, &st) == 0;
	unsigned *n = is_there && S_ISSOCK(st.st_mode) ? &r->n_sockets
		: is_there && S_ISFIFO(st.st_mode)     ? &r->n_pipes
						       : &r->n_others;
	*n += !is_there || !sockets_is_over(fd, &st);
	if (s->dead < 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
		(void)close(pair[1]);
		s->dead = pair[0];
	}
	if (!replace(fd, fcntl(s->dead, F_DUPFD_CLOEXEC, 0)))
		(void)close(fd);
}

/* Replace @fd by @now, its counterpart in this box. If @now is -1, @fd is lost. */
static void put(struct settling *s, int fd, int now)
{
	if (replace(fd, now))
		s->report->n_reopened++;
	else
		lose(s, fd);
}

static void proc_path(char out[LINE_BYTES], const char *dir, int fd)
{
	snprintf(out, LINE_BYTES, "/proc/self/%s/%d", dir, fd);
}

/*
 * Copy a file that has no name, or whose name another file has now. Returns: a descriptor, or -1.
 */
static int copy_unlinked(int fd, const struct stat *st, int flags)
{
	char path[LINE_BYTES];
	int copy = shared_copy_of(st->st_dev, st->st_ino);
	if (copy >= 0) {
		proc_path(path, "fd", copy);
		return open(path, flags);
	}
	return st->st_size > BRANCH_COPY_MAX ? -1 : anon_file_copy(fd, st->st_size);
}

/*
 * Open a file of P by its path, which leads through this box's mounts. Outside of the directories
 * that each box has for itself, the path must lead to the same file. If it does not, open the file
 * through @link in /proc. Returns: a file descriptor, or -1.
 */
static int open_again(
	const char *path, const char *link, int flags, const struct stat *st, bool is_own)
{
	struct stat now;
	int fd = open(path, flags | O_NOFOLLOW);
	if (is_own ||
		(fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == st->st_dev &&
			now.st_ino == st->st_ino))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return S_ISDIR(st->st_mode) ? -1 : open(link, flags);
}

/* Open the file of @fd again in this box. @file_system is the file system's magic number. */
static void renew_file(struct settling *s, int fd, const struct stat *st, long file_system)
{
	char link[LINE_BYTES], path[PATH_BYTES];
	/*
	 * Flags that must not be passed to open() again, if F_GETFL reports them. O_TMPFILE
	 * contains the bit O_DIRECTORY, with which open() fails for a regular file. With
	 * O_NOFOLLOW, open() fails for @link, which is a symbolic link.
	 */
	const int not_again = O_CREAT | O_EXCL | O_TRUNC | O_TMPFILE | O_NOFOLLOW;
	struct stat now;
	off_t at = lseek(fd, 0, SEEK_CUR);
	int flags = fcntl(fd, F_GETFL), new_fd = -1;
	proc_path(link, "fd", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n < 0 ? 0 : n] = '\0';
	/* P's /proc shows P's processes. So a file of /proc is opened in this box's /proc. */
	bool is_proc = file_system == PROC_SUPER_MAGIC;
	/* The system is an overlay of the box's own if the box has an image. */
	bool is_own = is_proc || file_system == OVERLAYFS_SUPER_MAGIC || own_path_is_dir(path);
	if (flags >= 0 && st->st_nlink > 0)
		new_fd = open_again(path, link, (flags & ~not_again) | O_CLOEXEC, st, is_own);
	if (new_fd >= 0 && (fstat(new_fd, &now) < 0 || ((now.st_mode ^ st->st_mode) & S_IFMT))) {
		(void)close(new_fd); /* the name now belongs to a file of another type */
		new_fd = -1;
	}
	if (new_fd >= 0 && is_own && s->report->reopened)
		s->report->reopened(st, &now);
	if (new_fd < 0 && !is_own && st->st_nlink > 0 && !S_ISDIR(st->st_mode))
		return; /* the file is read-only or in a volume: sharing it is harmless */
	if (new_fd < 0 && S_ISREG(st->st_mode) && !is_proc)
		new_fd = copy_unlinked(fd, st, (flags & ~not_again) | O_CLOEXEC);
	if (new_fd >= 0 && at > 0 && S_ISREG(st->st_mode))
		(void)lseek(new_fd, at, SEEK_SET);
	put(s, fd, new_fd);
}

/*
 * If @fd is a duplicate of one of P's standard streams, replace it by a duplicate of the new
 * stream. Returns: whether @fd was such a duplicate and has been replaced.
 */
static bool renew_stdio(const struct settling *s, int fd, const struct stat *st)
{
	for (int i = 0; i < BRANCH_STDIO; i++)
		if (st->st_dev == s->stdio[i].st_dev && st->st_ino == s->stdio[i].st_ino)
			return replace(fd, fcntl(i, F_DUPFD_CLOEXEC, 0));
	return false;
}

static bool has_link(int fd, const char *wanted)
{
	char path[LINE_BYTES], link[LINE_BYTES];
	proc_path(path, "fd", fd);
	ssize_t n = readlink(path, link, sizeof link - 1);
	link[n < 0 ? 0 : n] = '\0';
	return strcmp(link, wanted) == 0;
}

/*
 * Replace one descriptor. Epoll instances are replaced in the last pass, because they must watch
 * the descriptors that the first pass has replaced.
 */
static void renew(struct settling *s, int fd, bool is_last)
{
	struct stat st;
	struct statfs fs = {0};
	if (fstat(fd, &st) < 0)
		return;
	(void)fstatfs(fd, &fs);
	bool is_epoll = !(st.st_mode & S_IFMT) && has_link(fd, "anon_inode:[eventpoll]");
	bool is_terminal = fs.f_type == DEVPTS_SUPER_MAGIC || isatty(fd);
	s->has_epoll |= is_epoll;
	if (is_epoll && is_last)
		put(s, fd, epoll_renew(fd));
	else if (is_epoll != is_last)
		return;
	else if (fs.f_type == MESSAGE_QUEUES)
		lose(s, fd);
	else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		renew_file(s, fd, &st, fs.f_type);
	else if (!(st.st_mode & S_IFMT) && has_link(fd, "anon_inode:[eventfd]"))
		put(s, fd, eventfd_renew(fd));
	else if (S_ISCHR(st.st_mode) ? is_terminal : !renew_stdio(s, fd, &st))
		put(s, fd, sockets_renew(fd, &st));
}

static int renew_all(struct settling *s, bool is_last)
{
	DIR *dir = opendir("/proc/self/fd");
	if (!dir)
		return -errno;
	s->own = dirfd(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		char *end;
		long fd = strtol(entry->d_name, &end, 10);
		if (*end == '\0' && end != entry->d_name && !is_kept(s, (int)fd))
			renew(s, (int)fd, is_last);
	}
	(void)closedir(dir);
	s->own = -1;
	return 0;
}

/* Change to the directory of the same name in the new box, or else to /home/user. */
static int change_directory(void)
{
	if (directory[0] == '/' && chdir(directory) == 0)
		return 0;
	return chdir("/home/user") < 0 ? -errno : 0;
}

/* Check that C2 has no capabilities: C1 must have dropped all of them before cloning C2. */
static int check_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &head, have) < 0)
		return -errno;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		if (have[i].effective | have[i].permitted | have[i].inheritable)
			return -EPERM;
	return 0;
}

/*
 * Move the descriptors of the frame to their final numbers. All are first duplicated to high
 * numbers, so that no move overwrites a descriptor that is still to be moved.
 */
static int place(struct branch_fds *fds, int channel_fd)
{
	const int least = channel_fd < BRANCH_INIT_FD ? BRANCH_INIT_FD + 1 : channel_fd + 1;
	int high[BRANCH_STDIO + 1];
	for (int i = 0; i <= BRANCH_STDIO; i++) {
		high[i] = fcntl(
			i < BRANCH_STDIO ? fds->stdio[i] : fds->channel, F_DUPFD_CLOEXEC, least);
		if (high[i] < 0)
			return -errno;
	}
	branch_fds_close(fds);
	for (int i = 0; i <= BRANCH_STDIO; i++) {
		int at = i < BRANCH_STDIO ? i : channel_fd;
		if (dup3(high[i], at, i < BRANCH_STDIO ? 0 : O_CLOEXEC) < 0)
			return -errno;
		(void)close(high[i]);
	}
	return 0;
}

int branch_settle(struct branch_fds *fds, int channel_fd, const int *keep, size_t n_keep,
	struct branch_report *report)
{
	struct settling s = {.channel_fd = channel_fd,
		.keep = keep,
		.n_keep = n_keep,
		.own = -1,
		.dead = -1,
		.report = report};
	uint64_t gone_bytes = 0;
	report->n_reopened = report->n_sockets = report->n_pipes = report->n_others = 0;
	int r = check_capabilities();
	if (r == 0 && setsid() < 0)
		r = -errno;
	if (r == 0)
		r = change_directory();
	hugepages_disable();
	for (int i = 0; i < BRANCH_STDIO; i++)
		(void)fstat(i, &s.stdio[i]);
	if (r == 0)
		r = place(fds, channel_fd);
	if (r == 0)
		r = shared_renew();
	/* gone_bytes stays 0, because private_keep() has copied all written pages. */
	(void)private_put_back(&gone_bytes);
	if (r == 0)
		r = renew_all(&s, false);
	if (r == 0 && s.has_epoll)
		r = renew_all(&s, true);
	report->n_unread = sockets_dropped();
	shared_done();
	private_done();
	sockets_done();
	if (s.dead >= 0)
		(void)close(s.dead);
	return r;
}
