/*
 * Restrict the gateway.
 *
 * What it must be able to do beside copying bytes is what getaddrinfo() does: read the files of the
 * resolver, load modules of the name service, and ask servers over UDP and TCP. Unix sockets are
 * not part of it, although some modules use them: over a unix socket, a gateway of root could have
 * the services of the host do anything. Such modules report that they are not available, and the
 * next one in nsswitch.conf answers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/process/lock.h"

#include "base/attr.h"
#include "base/fd.h"
#include "base/helper/helper.h"
#include "base/helper/helper_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- files ---- */

/* Constants of Landlock, since the headers of Debian 12 end at ABI 2. Rights of ABI n are the first
 * so many bits. */
enum { SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0, SCOPE_SIGNAL = 1 << 1, ABI_SCOPES = 6 };
static const unsigned char n_rights[] = {0, 13, 14, 15, 15, 16};
static const uint64_t read_rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

struct ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

/* Directories, because files below them are replaced by renaming. */
static const char *const readable[] = {
	"/etc", "/usr", "/lib", "/lib64", "/nix/store", "/gnu/store"};

static void allow(int ruleset, const char *path, uint64_t rights)
{
	cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC);
	const struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
	if (fd >= 0)
		(void)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* The resolver's configuration is often a link to a file below /run. */
static void allow_resolver_files(int ruleset)
{
	char real[PATH_MAX];
	if (!realpath("/etc/resolv.conf", real))
		return;
	*strrchr(real, '/') = '\0';
	if (real[0])
		allow(ruleset, real, read_rights);
}

static int lock_files(const char *more)
{
	long abi = syscall(
		SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi <= 0)
		return 0; /* the kernel has no Landlock */
	unsigned char n = n_rights[MIN((size_t)abi, ARRAY_LEN(n_rights) - 1)];
	struct ruleset set = {.handled_access_fs = (UINT64_C(1) << n) - 1};
	if (abi >= ABI_SCOPES)
		set.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
	cleanup_fd int fd = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof set, 0);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_LEN(readable); i++)
		allow(fd, readable[i], read_rights);
	allow_resolver_files(fd);
	if (more)
		allow(fd, more, LANDLOCK_ACCESS_FS_READ_FILE);
	return syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}

/* ---- system calls ---- */

/* Calls that cannot harm anybody with the descriptors and files that the process has. */
static const uint32_t allowed[] = {
	/* bytes, on open descriptors */
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_pread64,
	SYS_lseek,
	SYS_close,
	SYS_fcntl,
	SYS_fstat,
	SYS_eventfd2,
	SYS_pipe2,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_ppoll,
	/* sockets; socket() itself is below */
	SYS_connect,
	SYS_bind,
	SYS_listen,
	SYS_accept4,
	SYS_accept,
	SYS_getsockname,
	SYS_getpeername,
	SYS_setsockopt,
	SYS_getsockopt,
	SYS_shutdown,
	SYS_sendto,
	SYS_recvfrom,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_sendmmsg,
	SYS_recvmmsg,
	/* files; Landlock says which */
	SYS_openat,
	SYS_newfstatat,
	SYS_statx,
	SYS_readlinkat,
	SYS_faccessat,
	SYS_getcwd,
	/* memory, threads, time */
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	SYS_futex,
	SYS_exit,
	SYS_exit_group,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_sigaltstack,
	SYS_rt_sigreturn,
	SYS_rt_sigprocmask,
	SYS_rt_sigaction,
	SYS_restart_syscall,
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_gettimeofday,
	SYS_getrandom,
	/* who I am */
	SYS_getpid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_uname,
	SYS_sysinfo,
#ifdef __x86_64__ /* older calls with the same powers */
	SYS_poll,
	SYS_epoll_wait,
	SYS_open,
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_readlink,
	SYS_time,
#endif
};

static const struct helper_call checked[] = {
	{SYS_socket, 0, HELPER_IS, AF_INET}, {SYS_socket, 0, HELPER_IS, AF_INET6},
	/* a pair has no name, and leads nowhere else */
	{SYS_socketpair, 0, HELPER_IS, AF_UNIX},
	{SYS_clone, 0, HELPER_HAS_ALL_OF, CLONE_THREAD | CLONE_VM | CLONE_SIGHAND},
	{SYS_mprotect, 2, HELPER_HAS_NONE_OF, PROT_EXEC},
	/* modules of the name service are mapped to be executed, but not to be written */
	{SYS_mmap, 2, HELPER_HAS_NONE_OF, PROT_EXEC}, {SYS_mmap, 2, HELPER_HAS_NONE_OF, PROT_WRITE},
	{SYS_ioctl, 1, HELPER_IS, FIONBIO}, {SYS_ioctl, 1, HELPER_IS, FIONREAD},
	{SYS_ioctl, 1, HELPER_IS, FIOCLEX}, {SYS_prctl, 0, HELPER_IS, PR_SET_NAME},
	{SYS_prlimit64, 0, HELPER_IS, 0}, /* its own limits */
};

/* Sockets of other kinds fail as they would if the kernel did not have them. clone3(), whose flags
 * cannot be checked, fails with ENOSYS: libc takes clone() then. */
static const struct helper_refused refused[] = {{SYS_socket, EAFNOSUPPORT}};

/* ---- limits ---- */

/* No core file, and no crash handler either, which the kernel would start with the limit 0; see
 * core(5). No files are written. As many descriptors as may be. */
static void set_limits(size_t *max_fds)
{
	enum { FDS_MAX = 1 << 20, FDS_OWN = 256 };
	struct rlimit files = {0};
	const struct rlimit core = {1, 1}, size = {0, 0};
	(void)setrlimit(RLIMIT_CORE, &core);
	(void)setrlimit(RLIMIT_FSIZE, &size);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = MIN(files.rlim_max, FDS_MAX);
	(void)setrlimit(RLIMIT_NOFILE, &files);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	*max_fds = files.rlim_cur > 2 * FDS_OWN ? files.rlim_cur - FDS_OWN : files.rlim_cur / 2;
}

int gateway_lock(const char *authorities, size_t *max_fds)
{
	const struct helper_calls calls = {allowed, ARRAY_LEN(allowed), checked, ARRAY_LEN(checked),
		refused, ARRAY_LEN(refused)};
	if (close_range(HELPER_FD + 1, ~0U, 0) < 0 || chdir("/") < 0 ||
		prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	set_limits(max_fds);
	int r = helper_lock_privileges();
	r = r ? r : lock_files(authorities);
	return r ? r : helper_lock_calls(&calls);
}
