/* What a locked process can still do. Everything is tried in a child that locks itself first.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/init/landlock.h"
#include "sandbox/init/lock.h"

#include "base/fd.h"
#include "sandbox/filter_build.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define HIGH_BIT   (1L << 32)
#define LOCK_PLAIN ((struct lock){.filter = FILTER_DEFAULT, .is_dumpable = true})
#define LOCK_FULL                                                                                  \
	((struct lock){.filter = FILTER_DEFAULT, .has_landlock = true, .is_dumpable = true})

enum { SHOTS_MAX = 256, TEXT_BYTES = 8192, EXIT_NO_LOCK = 99, EXIT_NO_SETUP = 98 };

struct shot {
	long number;
	long args[4];
	int want; /* errno; 0 when the call must succeed */
};

/* Shared between the test and the children it forks. */
struct board {
	struct {
		long result;
		int sys;
	} shots[SHOTS_MAX];
	struct err err;
	char text[TEXT_BYTES];
	volatile int stage;
	const struct lock *lock; /* NULL: run() locks nothing */
	const struct shot *todo;
	size_t n_todo;
};

static struct board *board_open(void)
{
	void *p = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		abort();
	return p;
}

static void board_close(struct board **board)
{
	(void)munmap(*board, sizeof **board);
}
#define cleanup_board cleanup(board_close)

static int write_file(const char *path, const char *text)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

/* A box's init holds all capabilities of its user namespace; without root the child gets one. */
static void become_init(void)
{
	char map[64];
	unsigned uid = geteuid(), gid = getegid();
	if (uid == 0)
		return;
	if (syscall(SYS_unshare, CLONE_NEWUSER) < 0)
		_exit(EXIT_NO_SETUP);
	snprintf(map, sizeof map, "%u %u 1\n", uid, uid);
	if (write_file("/proc/self/uid_map", map) < 0 ||
		write_file("/proc/self/setgroups", "deny") < 0)
		_exit(EXIT_NO_SETUP);
	snprintf(map, sizeof map, "%u %u 1\n", gid, gid);
	if (write_file("/proc/self/gid_map", map) < 0)
		_exit(EXIT_NO_SETUP);
}

static void lock_or_exit(const struct lock *lock, struct board *board)
{
	if (lock_process(lock, &board->err) < 0)
		_exit(EXIT_NO_LOCK);
}

/* Run @fn in a child, locked by board->lock. Returns: its wait status. */
static int run(void (*fn)(struct board *), struct board *board)
{
	int status = -1;
	(void)fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		become_init();
		if (board->lock)
			lock_or_exit(board->lock, board);
		fn(board);
		_exit(0);
	}
	(void)waitpid(pid, &status, 0);
	return status;
}

static int run_locked(const struct lock *lock, void (*fn)(struct board *), struct board *board)
{
	board->lock = lock;
	return run(fn, board);
}

static void shoot(struct board *board)
{
	for (size_t i = 0; i < board->n_todo; i++) {
		const struct shot *shot = &board->todo[i];
		const long *a = shot->args;
		errno = 0;
		board->shots[i].result = syscall(shot->number, a[0], a[1], a[2], a[3]);
		board->shots[i].sys = errno;
	}
}

static void check_shots(const struct lock *lock, const struct shot *shots, size_t n)
{
	cleanup_board struct board *board = board_open();
	board->lock = lock;
	board->todo = shots;
	board->n_todo = n;
	if (!CHECK_INT(run(shoot, board), 0))
		return;
	for (size_t i = 0; i < n; i++) {
		int got = board->shots[i].result == -1 ? board->shots[i].sys : 0;
		if (!CHECK_INT(got, shots[i].want))
			printf("# shot %zu: call %ld (%#lx, %#lx, %#lx)\n", i, shots[i].number,
				shots[i].args[0], shots[i].args[1], shots[i].args[2]);
	}
}
#define CHECK_SHOTS(...)                                                                           \
	check_shots(&LOCK_PLAIN, (const struct shot[]){__VA_ARGS__},                               \
		ARRAY_LEN(((const struct shot[]){__VA_ARGS__})))

TEST(each_refused_row_is_refused_by_the_kernel)
{
	static struct shot shots[SHOTS_MAX];
	size_t n_rows, n = 0;
	const struct filter_row *rows = filter_rows(&n_rows);
	for (size_t i = 0; i < n_rows && n < SHOTS_MAX; i++) {
		int number = filter_number(seccomp_arch_native(), rows[i].syscall);
		if (rows[i].kind == FILTER_REFUSE && number >= 0)
			shots[n++] = (struct shot){.number = number, .want = rows[i].error};
	}
	CHECK(n > 70 && n < SHOTS_MAX);
	check_shots(&LOCK_PLAIN, shots, n);
}

TEST(unknown_calls_are_absent)
{
	CHECK_SHOTS({999, {0}, ENOSYS}, {100000, {0}, ENOSYS}, {-1, {0}, ENOSYS},
		{SYS_clone3, {0, 88}, ENOSYS}, {SYS_seccomp, {1}, ENOSYS});
}

TEST(no_namespace_can_be_made_or_entered)
{
	static const long flags[] = {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
		CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWTIME};
	struct shot shots[2 * ARRAY_LEN(flags)];
	for (size_t i = 0; i < ARRAY_LEN(shots); i++)
		shots[i] = (struct shot){i % 2 ? SYS_clone : SYS_unshare,
			{flags[i / 2] | (i % 2 ? SIGCHLD : 0)}, EPERM};
	check_shots(&LOCK_PLAIN, shots, ARRAY_LEN(shots));
	CHECK_SHOTS({SYS_clone, {CLONE_NEWUSER | CLONE_VM | CLONE_VFORK | HIGH_BIT}, EPERM},
		{SYS_unshare, {CLONE_NEWUSER | CLONE_FILES}, EPERM},
		{SYS_unshare, {CLONE_FILES}, 0}, {SYS_setns, {0, CLONE_NEWNET}, EPERM});
}

TEST(sockets_are_unix_tcp_udp_and_what_lists_interfaces)
{
	CHECK_SHOTS({SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, 0},
		{SYS_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0}, 0},
		{SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_TCP}, 0},
		{SYS_socket, {AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0}, 0},
		{SYS_socket, {AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP}, EPERM},
		{SYS_socket, {AF_INET, SOCK_PACKET, 0}, EPERM},
		{SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, EPROTONOSUPPORT},
		{SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}, 0},
		{SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER}, EOPNOTSUPP},
		{SYS_socket, {AF_PACKET | HIGH_BIT, SOCK_RAW, 0}, EAFNOSUPPORT},
		{SYS_socket, {AF_PACKET, SOCK_DGRAM, 0}, EAFNOSUPPORT},
		{SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, EAFNOSUPPORT},
		{SYS_socketpair, {AF_INET, SOCK_STREAM, 0, 0}, EAFNOSUPPORT},
		{SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, 0}, EFAULT});
}

TEST(terminals_cannot_be_typed_into)
{
	/* EBADF: it reached the kernel. */
	CHECK_SHOTS({SYS_ioctl, {-1, TIOCSTI}, EPERM}, {SYS_ioctl, {-1, TIOCSTI | HIGH_BIT}, EPERM},
		{SYS_ioctl, {-1, TIOCLINUX | HIGH_BIT}, EPERM}, {SYS_ioctl, {-1, TIOCSETD}, EPERM},
		{SYS_ioctl, {-1, TIOCCONS}, EPERM}, {SYS_ioctl, {-1, TCGETS}, EBADF},
		{SYS_ioctl, {-1, TIOCSCTTY}, EBADF});
}

TEST(device_nodes_cannot_be_made)
{
	/* EFAULT: it reached the kernel. */
	CHECK_SHOTS({SYS_mknodat, {AT_FDCWD, 0, S_IFCHR | 0600, 0x103}, EPERM},
		{SYS_mknodat, {AT_FDCWD, 0, S_IFBLK | 0600, 0x103}, EPERM},
		{SYS_mknodat, {AT_FDCWD, 0, S_IFCHR | 0600 | HIGH_BIT, 0x103}, EPERM},
		{SYS_mknodat, {AT_FDCWD, 0, S_IFIFO | 0600, 0}, EFAULT},
		{SYS_mknodat, {AT_FDCWD, 0, 0600, 0}, EFAULT});
}

TEST(process_attributes_go_by_list)
{
	CHECK_SHOTS({SYS_personality, {0xffffffff}, 0}, {SYS_personality, {PER_LINUX}, 0},
		{SYS_personality, {READ_IMPLIES_EXEC}, EPERM},
		{SYS_personality, {MMAP_PAGE_ZERO | HIGH_BIT}, EPERM},
		{SYS_prctl, {PR_SET_NAME, (long)"locked"}, 0},
		{SYS_prctl, {PR_SET_PDEATHSIG, SIGKILL}, 0},
		{SYS_prctl, {PR_SET_MM, PR_SET_MM_BRK}, EPERM},
		{SYS_prctl, {PR_SET_MM | HIGH_BIT, PR_SET_MM_BRK}, EPERM},
		{SYS_prctl, {PR_SET_PTRACER, 1}, EPERM},
		{SYS_prctl, {PR_SET_SECCOMP, SECCOMP_MODE_FILTER}, EINVAL},
		{SYS_prctl, {PR_CAPBSET_DROP, CAP_SYS_ADMIN}, EPERM},
		{SYS_prctl, {PR_SET_KEEPCAPS, 1}, EPERM},
		{SYS_prctl, {PR_SET_SECUREBITS, 0}, EPERM}, {SYS_setuid, {5}, EPERM},
		{SYS_setresuid, {-1, -1, -1}, 0}, {SYS_setgroups, {0, 0}, EPERM},
		{SYS_prlimit64, {0, RLIMIT_NOFILE, 0, 0}, 0});
}

TEST(scheduling_is_never_real_time)
{
	static const int priority[2] = {0};
	static const unsigned long cpus[16] = {~0UL};
	long p = (long)priority, mask = (long)cpus;
	struct lock pinned = {.filter = FILTER_PINNED};
	struct shot shot = {SYS_sched_setaffinity, {0, sizeof cpus, mask}, EPERM};
	CHECK_SHOTS({SYS_sched_setscheduler, {0, 1, p}, EPERM},
		{SYS_sched_setscheduler, {0, 2, p}, EPERM},
		{SYS_sched_setscheduler, {0, 1 | HIGH_BIT, p}, EPERM},
		{SYS_sched_setscheduler, {0, 3 | 0x40000000, p}, 0},
		{SYS_sched_setaffinity, {0, sizeof cpus, mask}, 0});
	check_shots(&pinned, &shot, 1);
}

#ifdef __x86_64__
static void call_x32(struct board *board attr_unused)
{
	(void)syscall(0x40000000L | SYS_getpid);
}

static void call_i386(struct board *board attr_unused)
{
	long result;
	(void)signal(SIGSEGV, SIG_DFL); /* not a sanitizer's */
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
}

TEST(other_tables_of_calls_kill)
{
	cleanup_board struct board *board = board_open();
	int status = run_locked(&LOCK_PLAIN, call_x32, board);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	status = run_locked(&LOCK_PLAIN, call_i386, board);
	/* SIGSEGV: a kernel without i386 calls. */
	CHECK(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV));
}
#endif

static void read_status(struct board *board)
{
	cleanup_fd int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct rlimit core = {1, 1}, rtprio = {1, 1};
	ssize_t n = fd_read_all(fd, board->text, sizeof board->text - 1);
	board->text[n < 0 ? 0 : n] = '\0';
	/* The C library's getrlimit is prlimit64, which the filter refuses for this limit. */
	board->stage = syscall(SYS_getrlimit, RLIMIT_CORE, &core) == 0 && core.rlim_max == 1 &&
		getrlimit(RLIMIT_RTPRIO, &rtprio) == 0 && rtprio.rlim_max == 0;
}

static void check_status(const char *text)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		char line[64];
		snprintf(line, sizeof line, "%s:\t0000000000000000\n", sets[i]);
		CHECK_HAS(text, line);
	}
	CHECK_HAS(text, "NoNewPrivs:\t1\n");
}

TEST(the_kernel_shows_no_capability_and_a_filter)
{
	cleanup_board struct board *board = board_open();
	CHECK_INT(run_locked(&LOCK_FULL, read_status, board), 0);
	check_status(board->text);
	CHECK_HAS(board->text, "Seccomp:\t2\n");
	CHECK_INT(board->stage, 1);
}

/* init drops its own, then its children lock; a child of a branch has a filter already. */
static void lock_as_init_does(struct board *board)
{
	struct lock again = {.filter = FILTER_DEFAULT, .is_filter_inherited = true};
	if (lock_process(&again, &board->err) == 0)
		_exit(1); /* nothing was inherited */
	if (lock_drop_caps(&board->err) < 0)
		_exit(2);
	read_status(board);
	if (lock_process(&LOCK_FULL, &board->err) < 0)
		_exit(3);
	if (lock_process(&again, &board->err) < 0)
		_exit(4);
	if (lock_process(&LOCK_PLAIN, &board->err) == 0)
		_exit(5);
}

TEST(init_then_child_then_branch_lock_in_turn)
{
	cleanup_board struct board *board = board_open();
	CHECK_INT(run(lock_as_init_does, board), 0);
	check_status(board->text);
	CHECK_HAS(board->err.msg, "lock: syscall filter"); /* there is one already */
}

TEST(a_variant_out_of_range_is_an_error)
{
	cleanup_board struct board *board = board_open();
	struct lock lock = {.filter = FILTER_VARIANT_END_};
	CHECK(run_locked(&lock, shoot, board) != 0);
	CHECK_INT(board->err.code, ERR_INTERNAL);
}

/* A directory with a/, b/, ws/ under /tmp, gone at the end of the test. */
static void in_new_directory(struct board *board)
{
	char path[] = "/tmp/retort-unit-XXXXXX";
	if (!mkdtemp(path) || chdir(path) < 0 || mkdir("a", 0700) < 0 || mkdir("b", 0700) < 0 ||
		mkdir("ws", 0700) < 0)
		_exit(EXIT_NO_SETUP);
	snprintf(board->text, sizeof board->text, "%s", path);
}

static void remove_directory(const struct board *board)
{
	char command[128];
	if (strncmp(board->text, "/tmp/retort-unit-", 17) != 0)
		return;
	snprintf(command, sizeof command, "rm -rf %.80s", board->text);
	CHECK_INT(system(command), 0);
}

/* Rename, link and make what may be made, across the directories a/ and b/ of @at. */
static void use_directories(int at)
{
	cleanup_fd int fd = openat(at, "a/file", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || renameat(at, "a/file", at, "b/file") < 0)
		_exit(10);
	if (linkat(at, "b/file", at, "a/link", 0) < 0)
		_exit(11);
	if (mkdirat(at, "a/dir", 0700) < 0 || renameat(at, "a/dir", at, "b/dir") < 0)
		_exit(12);
	if (mkfifoat(at, "a/fifo", 0600) < 0 || symlinkat("x", at, "a/symlink") < 0)
		_exit(13);
}

static void use_files(struct board *board)
{
	struct landlock_report report;
	if (landlock_lock(false, &report, &board->err) < 0 || report.abi != landlock_abi() ||
		report.has_scopes != (report.abi >= 6) || report.has_nodes != (report.abi >= 2))
		_exit(9);
	in_new_directory(board);
	use_directories(AT_FDCWD);
	cleanup_fd int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int n_bytes;
	/* ENOTTY: it reached the device, as it does without a lock. */
	if (isatty(null_fd) || errno != ENOTTY)
		_exit(20);
	cleanup_fd int random_fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	if (read(random_fd, &n_bytes, sizeof n_bytes) != sizeof n_bytes)
		_exit(21);
	cleanup_fd int tty_fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (tty_fd >= 0 && (!isatty(tty_fd) || ioctl(tty_fd, TIOCGWINSZ, board->shots) < 0))
		_exit(22);
}

TEST(landlock_leaves_files_terminals_and_random_alone)
{
	cleanup_board struct board *board = board_open();
	CHECK_INT(run_locked(&LOCK_FULL, use_files, board), 0);
	remove_directory(board);
}

/* The locked process keeps running while its workspace is mounted over, as in a branch. */
static void use_branched_workspace(struct board *board, int fd)
{
	char go;
	lock_or_exit(&LOCK_FULL, board);
	if (write(fd, "", 1) != 1 || read(fd, &go, 1) != 1)
		_exit(EXIT_NO_SETUP);
	cleanup_fd int at = open("ws", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	use_directories(at);
	cleanup_fd int bound = open("bound", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	use_directories(bound);
	_exit(0);
}

static void furnish_after_lock(struct board *board)
{
	int fds[2], status = -1;
	char is_locked;
	if (syscall(SYS_unshare, CLONE_NEWNS) < 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		_exit(EXIT_NO_SETUP);
	in_new_directory(board);
	if (mkdir("bound", 0700) < 0 || mkdir("old", 0700) < 0 || mkdir("old/a", 0700) < 0 ||
		mkdir("old/b", 0700) < 0 || mount("old", "ws", NULL, MS_BIND, NULL) < 0)
		_exit(EXIT_NO_SETUP);
	pid_t pid = fork();
	if (pid == 0)
		use_branched_workspace(board, fds[0]);
	(void)close(fds[0]);
	if (read(fds[1], &is_locked, 1) != 1 || mount("none", "ws", "tmpfs", 0, "mode=0755") < 0 ||
		mkdir("ws/a", 0700) < 0 || mkdir("ws/b", 0700) < 0 ||
		mount(".", "bound", NULL, MS_BIND, NULL) < 0 || write(fds[1], "", 1) != 1)
		_exit(EXIT_NO_SETUP);
	(void)waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 97);
}

TEST(landlock_allows_what_is_mounted_over_it_later)
{
	cleanup_board struct board *board = board_open();
	CHECK_INT(run(furnish_after_lock, board), 0);
	remove_directory(board);
}

/* stage: 0 starting, 1 the sibling is locked and listening, 2 done */
static void signal_others(struct board *board)
{
	pid_t sibling = (pid_t)board->shots[0].result, own = fork();
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int status;
	while (own == 0)
		(void)pause();
	if (kill(own, SIGKILL) < 0 || waitpid(own, &status, 0) != own || raise(SIGURG) != 0)
		_exit(30);
	if (kill(getppid(), SIGURG) == 0 || errno != EPERM)
		_exit(31);
	if (kill(sibling, SIGURG) == 0 || errno != EPERM)
		_exit(32);
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "retort-%d", (int)sibling);
	if (connect(fd, (struct sockaddr *)&name, sizeof name) == 0 || errno != EPERM)
		_exit(33);
}

static void listen_until_killed(struct board *board)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "retort-%d", (int)getpid());
	if (bind(fd, (struct sockaddr *)&name, sizeof name) < 0 || listen(fd, 1) < 0)
		_exit(EXIT_NO_SETUP);
	lock_or_exit(&LOCK_FULL, board);
	board->stage = 1;
	for (;;)
		(void)pause();
}

TEST(landlock_domains_of_two_spawns_are_closed_to_each_other)
{
	cleanup_board struct board *board = board_open();
	int status = -1;
	if (landlock_abi() < 6)
		return t_skip("the kernel's Landlock has no scopes");
	(void)fflush(stdout);
	pid_t sibling = fork();
	if (sibling == 0) {
		become_init();
		listen_until_killed(board);
	}
	for (int i = 0; i < 5000 && board->stage == 0; i++)
		(void)usleep(1000);
	board->shots[0].result = sibling;
	CHECK_INT(board->stage, 1);
	CHECK_INT(run_locked(&LOCK_FULL, signal_others, board), 0);
	CHECK_INT(kill(sibling, SIGKILL), 0);
	CHECK_INT(waitpid(sibling, &status, 0), sibling);
}

static const char python_plain[] =
	"import asyncio, ctypes, fcntl, mmap, multiprocessing as mp, os, pty, resource, select,\\\n"
	"  shutil, signal, socket, sqlite3, subprocess, sys, tempfile, threading, time, uuid\n"
	"def square(x): return x * x\n"
	"async def net():\n"
	"  async def serve(r, w): w.write(await r.readline()); await w.drain(); w.close()\n"
	"  server = await asyncio.start_server(serve, '127.0.0.1', 0)\n"
	"  r, w = await asyncio.open_connection(*server.sockets[0].getsockname())\n"
	"  w.write(b'hello\\n'); assert await r.readline() == b'hello\\n'\n"
	"  p = await asyncio.create_subprocess_exec('echo', 'x', stdout=subprocess.PIPE)\n"
	"  assert (await p.communicate())[0] == b'x\\n'\n"
	"if __name__ == '__main__':\n"
	"  asyncio.run(net())\n"
	"  for how in ('fork', 'spawn', 'forkserver'):\n"
	"    if how == 'fork':\n"
	"      with mp.get_context(how).Pool(2) as pool:\n"
	"        assert pool.map(square, range(9))[8] == 64\n"
	"    else:\n"
	"      p = mp.get_context(how).Process(target=print); p.start(); p.join()\n"
	"  t = [threading.Thread(target=time.sleep, args=(.01,)) for _ in range(8)]\n"
	"  [x.start() for x in t]; [x.join() for x in t]\n"
	"  assert subprocess.run('cd /; ls | wc -l', shell=True, capture_output=True).stdout\n"
	"  subprocess.run(['true'], start_new_session=True, close_fds=True, check=True)\n"
	"  with tempfile.TemporaryDirectory() as d:\n"
	"    db = sqlite3.connect(d + '/x.db'); db.execute('pragma journal_mode=wal')\n"
	"    db.execute('create table t(a)'); db.commit(); db.close()\n"
	"    os.makedirs(d + '/a/b'); os.rename(d + '/x.db', d + '/a/b/y.db')\n"
	"    shutil.copytree(d + '/a', d + '/c'); shutil.move(d + '/c', d + '/a/c')\n"
	"    os.link(d + '/a/b/y.db', d + '/hard')\n"
	"    with open(d + '/a/b/y.db', 'r+b') as f: mmap.mmap(f.fileno(), 0)[0]\n"
	"  assert socket.getaddrinfo('127.0.0.1', 80) and socket.getaddrinfo('localhost', 80)\n"
	"  try: socket.if_nameindex()\n"
	"  except OSError: pass\n"
	"  a, b = pty.openpty(); assert os.isatty(a) and not os.isatty(os.open('/dev/null', 0))\n"
	"  pid, fd = pty.fork()\n"
	"  if pid == 0: os.execvp('true', ['true'])\n"
	"  os.waitpid(pid, 0); assert os.urandom(8) and uuid.uuid4() and os.memfd_create('m')\n"
	"  signal.setitimer(signal.ITIMER_REAL, 99); resource.getrlimit(resource.RLIMIT_AS)\n"
	"  os.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(1); select.epoll().close()\n"
	"  fcntl.flock(os.open('/tmp', 0), fcntl.LOCK_SH); os.pidfd_open(os.getpid())\n"
	"  print('fine')\n";

static const char python_science[] =
	"import numpy, pandas, matplotlib, sys, io\n"
	"matplotlib.use('Agg'); import matplotlib.pyplot as plt\n"
	"from sklearn.ensemble import RandomForestRegressor\n"
	"x = numpy.random.rand(500, 500); x @ x; numpy.linalg.svd(x[:99])\n"
	"f = pandas.DataFrame(x[:, :3], columns=list('abc')); f.groupby('a').mean().describe()\n"
	"RandomForestRegressor(8, n_jobs=2).fit(x[:50, :5], x[:50, 0])\n"
	"plt.plot([1, 2]); plt.savefig(io.BytesIO())\n"
	"print('fine')\n";

static void exec_python(struct board *board)
{
	(void)dup2(board->stage, 1);
	(void)dup2(board->stage, 2);
	(void)execl("/usr/bin/python3", "/usr/bin/python3", "-I", board->text, (char *)NULL);
	_exit(127);
}

/* As a file: multiprocessing's spawn reads the script again. stage: where its output goes. */
static void check_python(const struct lock *lock, const char *script)
{
	cleanup_board struct board *board = board_open();
	char path[] = "/tmp/retort-unit-XXXXXX", out_path[] = "/tmp/retort-unit-XXXXXX";
	cleanup_fd int fd = mkstemp(path), out = mkstemp(out_path);
	if (!CHECK_INT(fd_write_all(fd, script, strlen(script)), 0))
		return;
	snprintf(board->text, sizeof board->text, "%s", path);
	board->stage = out;
	CHECK_INT(run_locked(lock, exec_python, board), 0);
	ssize_t n = pread(out, board->text, sizeof board->text - 1, 0);
	board->text[n < 0 ? 0 : n] = '\0';
	CHECK_HAS(board->text, "fine\n");
	(void)unlink(path);
	(void)unlink(out_path);
}

TEST(python_runs_fully_under_the_lock)
{
	if (access("/usr/bin/python3", X_OK) < 0)
		return t_skip("no /usr/bin/python3");
	check_python(&LOCK_FULL, python_plain);
}

TEST(scientific_python_runs_fully_under_the_lock)
{
	struct lock pinned = {.filter = FILTER_PINNED, .has_landlock = true};
	if (system("/usr/bin/python3 -c 'import numpy, pandas, matplotlib, sklearn' 2>&-") != 0)
		return t_skip("/usr/bin/python3 lacks numpy, pandas, matplotlib or sklearn");
	check_python(&LOCK_FULL, python_science);
	check_python(&pinned, python_science);
}
