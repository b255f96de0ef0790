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
#include "base/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
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

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#else
#error "this architecture is not supported"
#endif

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

static void allow_reading(int ruleset, const char *path)
{
	cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC);
	const struct landlock_path_beneath_attr rule = {
		.allowed_access = read_rights, .parent_fd = fd};
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
		allow_reading(ruleset, real);
}

static int lock_files(void)
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
		allow_reading(fd, readable[i]);
	allow_resolver_files(fd);
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

enum check { HAS_NONE_OF, HAS_ALL_OF, IS };

/* Calls that are allowed if the low half of an argument fits; several rows for one call are
 * alternatives, and stand together. All supported architectures are little-endian. */
static const struct {
	uint32_t call;
	unsigned char argument;
	enum check check;
	uint32_t value;
} checked[] = {
	{SYS_socket, 0, IS, AF_INET}, {SYS_socket, 0, IS, AF_INET6},
	{SYS_clone, 0, HAS_ALL_OF, CLONE_THREAD | CLONE_VM | CLONE_SIGHAND},
	{SYS_mprotect, 2, HAS_NONE_OF, PROT_EXEC},
	/* modules of the name service are mapped to be executed, but not to be written */
	{SYS_mmap, 2, HAS_NONE_OF, PROT_EXEC}, {SYS_mmap, 2, HAS_NONE_OF, PROT_WRITE},
	{SYS_ioctl, 1, IS, FIONBIO}, {SYS_ioctl, 1, IS, FIONREAD}, {SYS_ioctl, 1, IS, FIOCLEX},
	{SYS_prctl, 0, IS, PR_SET_NAME}, {SYS_prlimit64, 0, IS, 0}, /* its own limits */
};

enum { FILTER_MAX = 2 * ARRAY_LEN(allowed) + 6 * ARRAY_LEN(checked) + 16 };

struct program {
	struct sock_filter code[FILTER_MAX];
	unsigned short n;
};

static void add(struct program *p, uint16_t op, uint8_t jt, uint8_t jf, uint32_t k)
{
	p->code[p->n++] = (struct sock_filter){op, jt, jf, k};
}

enum { LOAD = BPF_LD | BPF_W | BPF_ABS, EQUAL = BPF_JMP | BPF_JEQ | BPF_K, GIVE = BPF_RET | BPF_K };

/* Allow a call if its argument fits; go on otherwise, with the number of the call loaded again. */
static void add_checked(struct program *p, size_t i)
{
	uint32_t at = (uint32_t)(offsetof(struct seccomp_data, args) +
		checked[i].argument * sizeof(uint64_t));
	add(p, EQUAL, 0, 5, checked[i].call);
	add(p, LOAD, 0, 0, at);
	switch (checked[i].check) {
	case IS:
		add(p, EQUAL, 1, 0, checked[i].value);
		add(p, BPF_JMP | BPF_JA, 0, 0, 1);
		break;
	case HAS_NONE_OF:
		add(p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, checked[i].value);
		add(p, BPF_JMP | BPF_JA, 0, 0, 1);
		break;
	case HAS_ALL_OF:
		add(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, checked[i].value);
		add(p, EQUAL, 0, 1, checked[i].value);
		break;
	}
	add(p, GIVE, 0, 0, SECCOMP_RET_ALLOW);
	add(p, LOAD, 0, 0, offsetof(struct seccomp_data, nr));
}

/* Build the filter. A call that is not allowed fails with ENOSYS, as on a kernel that lacks it: so
 * libc takes clone() in place of clone3(), whose flags cannot be checked. Sockets of other kinds
 * fail as they would if the kernel did not have them. */
static void build(struct program *p)
{
	add(p, LOAD, 0, 0, offsetof(struct seccomp_data, arch));
	add(p, EQUAL, 1, 0, ARCH);
	add(p, GIVE, 0, 0, SECCOMP_RET_KILL_PROCESS);
	add(p, LOAD, 0, 0, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
		add(p, EQUAL, 0, 1, allowed[i]);
		add(p, GIVE, 0, 0, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < ARRAY_LEN(checked); i++)
		add_checked(p, i);
	add(p, EQUAL, 0, 1, SYS_socket);
	add(p, GIVE, 0, 0, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	add(p, GIVE, 0, 0, SECCOMP_RET_ERRNO | ENOSYS);
}

static int lock_calls(void)
{
	struct program p = {.n = 0};
	build(&p);
	const struct sock_fprog fprog = {p.n, p.code};
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog) < 0 ? -errno : 0;
}

/* ---- limits and capabilities ---- */

static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	/* A process could gain a capability only by execve(), which the filter does not allow. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return -errno;
	return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

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

int gateway_lock(size_t *max_fds)
{
	if (close_range(HELPER_FD + 1, ~0U, 0) < 0 || chdir("/") < 0 ||
		prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	set_limits(max_fds);
	int r = lock_files();
	r = r ? r : drop_capabilities();
	return r ? r : lock_calls();
}
