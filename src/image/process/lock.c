/*
 * Restrict retort-unpack: it may change what is in one directory, read and write open descriptors,
 * and use some memory.
 *
 * Landlock does not see all that a path can do. Modes, times and attributes are changed through it,
 * so no call is allowed that changes them by path; and by a descriptor, only of what could be
 * opened for reading or for writing. An open with both bits of O_ACCMODE asks for neither: Landlock
 * lets it pass, and its descriptor would do. So no open may have the bit O_RDWR, and there is no
 * openat2(2), whose flags are in memory where the filter does not see them. What is left is
 * looking: the process can learn of files of the host that they are there, their sizes and times,
 * and where links lead.
 *
 * On a kernel without Landlock the system calls are the only wall: the process could open other
 * files of its user, but could send their contents nowhere but into the directory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/process/lock.h"

#include "base/attr.h"
#include "base/fd.h"
#include "base/helper/helper_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* zstd keeps up to 128 MiB; names and times of a million directories are not more than 600 MiB. */
enum { MEMORY_BYTES = 1 << 30, FDS_MAX = 256 };
/* The largest archive takes some minutes. */
enum { CPU_S = 4 * 3600 };

/* The rights of ABI n of Landlock are the first so many bits. */
static const unsigned char n_rights[] = {0, 13, 14, 15, 15, 16};

static int lock_files(int tree)
{
	long abi = syscall(
		SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi <= 0)
		return 0; /* the kernel has no Landlock */
	unsigned char n = n_rights[MIN((size_t)abi, ARRAY_LEN(n_rights) - 1)];
	const struct landlock_ruleset_attr set = {.handled_access_fs = (UINT64_C(1) << n) - 1};
	const uint64_t no = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_SOCK |
		LANDLOCK_ACCESS_FS_MAKE_BLOCK;
	const struct landlock_path_beneath_attr rule = {
		.allowed_access = set.handled_access_fs & ~no, .parent_fd = tree};
	cleanup_fd int fd = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof set, 0);
	if (fd < 0 ||
		syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ||
		syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return -errno;
	return 0;
}

static const uint32_t allowed[] = {
	/* bytes, on open descriptors */
	SYS_read,
	SYS_write,
	SYS_writev,
	SYS_pwrite64,
	SYS_lseek,
	SYS_close,
	SYS_fstat,
	SYS_ftruncate,
	SYS_sendto,
	SYS_sendmsg,
	SYS_ppoll,
	/* files; Landlock says which */
	SYS_readlinkat,
	SYS_newfstatat,
	SYS_statx,
	SYS_getdents64,
	SYS_mkdirat,
	SYS_mknodat,
	SYS_symlinkat,
	SYS_linkat,
	SYS_unlinkat,
	SYS_renameat,
	SYS_renameat2,
	SYS_fsetxattr,
	/* memory, time */
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	SYS_futex,
	SYS_exit,
	SYS_exit_group,
	SYS_rt_sigreturn,
	SYS_rt_sigprocmask,
	SYS_restart_syscall,
	SYS_clock_gettime,
	SYS_gettimeofday,
	SYS_getrandom,
	SYS_getpid,
	SYS_gettid,
#ifdef __x86_64__ /* older calls with the same powers */
	SYS_poll,
	SYS_time,
#endif
};

enum { SET_IDS = S_ISUID | S_ISGID };

static const struct helper_call checked[] = {
	{SYS_mmap, 2, HELPER_HAS_NONE_OF, PROT_EXEC},
	{SYS_mprotect, 2, HELPER_HAS_NONE_OF, PROT_EXEC},
	{SYS_openat, 2, HELPER_HAS_NONE_OF, O_RDWR},
	{SYS_fchmod, 1, HELPER_HAS_NONE_OF, SET_IDS},
	{SYS_utimensat, 1, HELPER_IS_ZERO, 0}, /* no path: futimens() */
	{SYS_fcntl, 1, HELPER_IS, F_GETFL},    /* this and the next of fdopendir() */
	{SYS_fcntl, 1, HELPER_IS, F_SETFD},
};

static const struct helper_refused refused[] = {{SYS_mmap, EPERM}, {SYS_mprotect, EPERM}};

static void limit(int resource, uint64_t most)
{
	struct rlimit now = {0};
	(void)getrlimit(resource, &now);
	const struct rlimit both = {MIN(most, now.rlim_max), MIN(most, now.rlim_max)};
	(void)setrlimit(resource, &both);
}

/* stdin, stdout and stderr are a device of the host, whose mode its owner could change: put an end
 * of a pipe in their place. */
static int give_up_stdio(void)
{
	int pair[2];
	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	int r = 0;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && r == 0; fd++)
		r = dup2(pair[0], fd) < 0 ? -errno : 0;
	for (size_t i = 0; i < ARRAY_LEN(pair); i++)
		if (pair[i] > STDERR_FILENO)
			(void)close(pair[i]);
	return r;
}

int unpack_lock(int tree, int source)
{
	const uint32_t from = (uint32_t)source;
	/* Nothing is made with set-id bits; and the archive, whose descriptor may be good for
	 * writing, stays as it is. There is no call that would give it another number. */
	const struct helper_call forbidden[] = {
		{SYS_openat, 3, HELPER_HAS_ANY_OF, SET_IDS},
		{SYS_mkdirat, 2, HELPER_HAS_ANY_OF, SET_IDS},
		{SYS_mknodat, 2, HELPER_HAS_ANY_OF, SET_IDS},
		{SYS_write, 0, HELPER_IS, from},
		{SYS_writev, 0, HELPER_IS, from},
		{SYS_pwrite64, 0, HELPER_IS, from},
		{SYS_ftruncate, 0, HELPER_IS, from},
		{SYS_fchmod, 0, HELPER_IS, from},
		{SYS_fsetxattr, 0, HELPER_IS, from},
		{SYS_utimensat, 0, HELPER_IS, from},
	};
	const struct helper_calls calls = {allowed, ARRAY_LEN(allowed), checked, ARRAY_LEN(checked),
		refused, ARRAY_LEN(refused), forbidden, ARRAY_LEN(forbidden)};
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || chdir("/") < 0)
		return -errno;
	limit(RLIMIT_CORE, 1); /* with 0, the kernel would still start a handler, see core(5) */
	limit(RLIMIT_NPROC, 0);
	limit(RLIMIT_CPU, CPU_S);
	limit(RLIMIT_NOFILE, FDS_MAX);
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer maps more memory than RLIMIT_AS would allow */
	limit(RLIMIT_AS, MEMORY_BYTES);
#endif
	int r = give_up_stdio();
	r = r ? r : helper_lock_privileges();
	r = r ? r : lock_files(tree);
	return r ? r : helper_lock_calls(&calls);
}
