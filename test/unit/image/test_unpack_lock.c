/* What retort-unpack can still do after it has locked itself: all that it needs in its directory,
 * and nothing to a file beside it that is its user's own. SPDX-License-Identifier: Apache-2.0 */
#include "image/process/lock.h"

#include "t.h"
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Both bits: an open for neither reading nor writing. */
enum { NEITHER = O_ACCMODE };
enum { FCHMODAT2 = 452, SETXATTRAT = 463, FILE_SETATTR = 469 };

static const struct timespec times[] = {{1, 0}, {1, 0}};

struct attempt {
	const char *what;
	bool is, should;
};

static bool reaches_kernel(long call)
{
	errno = 0;
	(void)syscall(call, -1, 0, 0, 0, 0, 0);
	return errno != ENOSYS;
}

static int open_2(const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)flags};
	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* Set the times of @path, which is given by a pointer whose low half is 0. */
static bool date_by_odd_pointer(const char *path)
{
	void *want = (void *)(uintptr_t)(UINT64_C(1) << 32); /* NOLINT(performance-no-int-to-ptr) */
	char *at = mmap(want, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (at != want)
		return false;
	snprintf(at, 4096, "%s", path);
	return syscall(SYS_utimensat, AT_FDCWD, at, times, 0) == 0;
}

/* Whatever can be opened of the file may be changed by its descriptor. */
static bool change_by_descriptor(int fd)
{
	return fd >= 0 &&
		(fchmod(fd, 0666) == 0 || futimens(fd, times) == 0 ||
			fsetxattr(fd, "user.x", "y", 1, 0) == 0 || ftruncate(fd, 0) == 0);
}

static void tell(const struct attempt *tries, size_t n, int out)
{
	for (size_t i = 0; i < n; i++)
		if (tries[i].is != tries[i].should &&
			write(out, tries[i].what, strlen(tries[i].what) + 1) < 0)
			_exit(1);
	_exit(0);
}
#define TRY(x, should)                                                                             \
	{                                                                                          \
#x, (x), (should)                                                                  \
	}
#define TELL(tries, out) tell((tries), ARRAY_LEN(tries), (out))

/* Returns: the descriptor of the archive, which is good for writing. */
static int lock(const struct tree *t)
{
	int tree = openat(t->fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int source = openat(t->fd, "secret", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (tree < 0 || source < 0 || unpack_lock(tree, source) < 0)
		_exit(2);
	return source;
}

static void try_outside(const struct tree *t, int out)
{
	const char *path = tree_path(t, "/secret"), *dir = tree_path(t, "/dir");
	int source = lock(t);
	char said[] = "x";
	const struct attempt tries[] = {
		TRY(syscall(SYS_fchmodat, AT_FDCWD, path, 0666) == 0, false),
		TRY(syscall(SYS_fchmodat, AT_FDCWD, dir, 0777) == 0, false),
#ifdef SYS_chmod
		TRY(syscall(SYS_chmod, path, 04755) == 0, false),
#endif
		TRY(syscall(FCHMODAT2, AT_FDCWD, path, 0666, 0) == 0, false),
		TRY(utimensat(AT_FDCWD, path, times, 0) == 0, false),
		TRY(date_by_odd_pointer(path), false),
		TRY(setxattr(path, "user.x", "y", 1, 0) == 0, false),
		TRY(truncate(path, 0) == 0, false),
		TRY(change_by_descriptor(source), false),
		TRY(write(source, "x", 1) > 0, false),
		TRY(pwrite(source, "x", 1, 0) > 0, false),
		TRY(writev(source, &(struct iovec){said, 1}, 1) > 0, false),
		TRY(change_by_descriptor(open(path, O_RDONLY)), false),
		TRY(change_by_descriptor(open(path, O_RDONLY | O_TRUNC)), false),
		TRY(change_by_descriptor(open(path, O_WRONLY)), false),
		TRY(change_by_descriptor(open(path, O_RDWR)), false),
		TRY(change_by_descriptor(open(path, O_PATH)), false),
		TRY(change_by_descriptor(open(path, NEITHER)), false),
		TRY(change_by_descriptor(open(path, NEITHER | O_TRUNC)), false),
		TRY(change_by_descriptor(open_2(path, NEITHER)), false),
		TRY(change_by_descriptor(open(dir, O_RDONLY | O_DIRECTORY)), false),
		TRY(change_by_descriptor(open("/dev/null", NEITHER)), false),
		TRY(reaches_kernel(SYS_fchown), false),
		TRY(reaches_kernel(SYS_fchownat), false),
		TRY(reaches_kernel(SYS_faccessat), false),
		TRY(reaches_kernel(SYS_chdir), false),
		TRY(reaches_kernel(SYS_flock), false),
		TRY(reaches_kernel(SYS_ioctl), false),
		TRY(reaches_kernel(SYS_socket), false),
		TRY(reaches_kernel(SYS_execve), false),
		TRY(reaches_kernel(SYS_dup), false),
		TRY(reaches_kernel(SYS_recvmsg), false),
		TRY(reaches_kernel(SETXATTRAT), false),
		TRY(reaches_kernel(FILE_SETATTR), false),
		TRY(reaches_kernel(425 /* io_uring_setup */), false),
	};
	TELL(tries, out);
}

static void try_inside(const struct tree *t, int out)
{
	lock(t);
	int tree = open(tree_path(t, "/in"), O_RDONLY | O_DIRECTORY);
	bool is_made = mkdirat(tree, "d", 0700) == 0;
	int dir = openat(tree, "d", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	int file = openat(dir, "f", O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0644);
	int own = openat(dir, "f", NEITHER);
	struct stat st;
	char text[8];
	DIR *list = fdopendir(openat(tree, "d", O_RDONLY | O_DIRECTORY));
	const struct attempt tries[] = {
		TRY(is_made && dir >= 0 && file >= 0, true),
		TRY(own >= 0, false),
		TRY(write(file, "x", 1) == 1 && ftruncate(file, 100) == 0, true),
		TRY(fchmod(dir, 01755) == 0 && fchmod(file, 0600) == 0, true),
		TRY(fchmod(dir, 02755) == 0, false),
		TRY(fchmod(file, 04755) == 0, false),
		TRY(openat(dir, "s", O_CREAT | O_WRONLY, 04755) >= 0, false),
		TRY(openat(dir, "s", O_CREAT | O_WRONLY, 02755) >= 0, false),
		TRY(mkdirat(dir, "s", 02755) == 0, false),
		TRY(mknodat(dir, "s", S_IFREG | 06755, 0) == 0, false),
		TRY(futimens(file, times) == 0 && futimens(dir, times) == 0, true),
		TRY(fsetxattr(dir, "user.overlay.opaque", "y", 1, 0) == 0, true),
		TRY(symlinkat("f", dir, "l") == 0 && readlinkat(dir, "l", text, 8) == 1, true),
		TRY(linkat(dir, "f", dir, "h", 0) == 0, true),
		TRY(mknodat(dir, "w", S_IFCHR, makedev(0, 0)) == 0, true),
		TRY(mknodat(dir, "p", S_IFIFO | 0600, 0) == 0, true),
		TRY(openat(dir, "p", O_RDONLY | O_NONBLOCK | O_NOFOLLOW) >= 0, true),
		TRY(fstatat(dir, "p", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISFIFO(st.st_mode), true),
		TRY(list && readdir(list), true),
		TRY(unlinkat(dir, "p", 0) == 0, true),
	};
	TELL(tries, out);
}

/* Run an attempt in a process. What has not come out as it should is a failure. */
static void run(void (*attempt)(const struct tree *t, int out), const struct tree *t)
{
	char said[4096] = "";
	int pair[2], status;
#ifdef __SANITIZE_ADDRESS__
	t_skip("sanitizers make other system calls");
	return;
#endif
	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	pid_t pid = fork();
	if (pid == 0)
		attempt(t, pair[1]);
	close(pair[1]);
	while (read(pair[0], said, sizeof said - 1) > 0)
		CHECK_STR(said, "");
	close(pair[0]);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

TEST(what_it_can_do_to_the_files_of_its_user)
{
	TREE t = tree_new();
	struct stat before, after;
	if (syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION) <
		1) {
		t_skip("the kernel has no Landlock");
		return;
	}
	tree_put(&t, "/secret", "of the host");
	tree_put(&t, "/dir/x", "x");
	tree_put(&t, "/in/x", "x");
	CHECK_INT(chmod(tree_path(&t, "/secret"), 0600), 0);
	CHECK_INT(stat(tree_path(&t, "/secret"), &before), 0);
	run(try_outside, &t);
	CHECK_INT(stat(tree_path(&t, "/secret"), &after), 0);
	CHECK_INT(after.st_mode, before.st_mode);
	CHECK_INT(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	CHECK_INT(after.st_ctim.tv_nsec, before.st_ctim.tv_nsec);
	CHECK_STR(tree_get(&t, "/secret"), "of the host");
}

TEST(what_it_needs)
{
	TREE t = tree_new();
	tree_put(&t, "/in/x", "x");
	run(try_inside, &t);
}

static void try_stdio(const struct tree *t, int out)
{
	struct stat st;
	(void)dup2(open("/dev/null", O_RDWR), STDERR_FILENO);
	lock(t);
	const struct attempt tries[] = {
		TRY(fstat(STDIN_FILENO, &st) == 0 && S_ISFIFO(st.st_mode), true),
		TRY(fstat(STDERR_FILENO, &st) == 0 && S_ISFIFO(st.st_mode), true),
	};
	TELL(tries, out);
}

/* /dev/null is root's, so an engine of root could make it useless for the host. */
TEST(what_is_in_the_place_of_stdio)
{
	TREE t = tree_new();
	tree_put(&t, "/in/x", "x");
	run(try_stdio, &t);
}
