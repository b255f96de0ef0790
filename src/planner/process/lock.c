/* Restrict the planner process: take away capabilities and the right to gain privileges, limit
 * memory and time, and filter system calls so that the process can only compute and use open
 * descriptors. SPDX-License-Identifier: Apache-2.0 */
#include "planner/process/lock.h"

#include "base/attr.h"
#include "base/helper/helper_lock.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { CPU_S = 60, OWN_BYTES = 768 << 20 };

/* System calls that compute, or that read and write open descriptors. */
static const uint32_t allowed[] = {SYS_read, SYS_sendto, SYS_munmap, SYS_mremap, SYS_madvise,
	SYS_brk, SYS_futex, SYS_exit, SYS_exit_group, SYS_clock_gettime, SYS_getrandom,
	SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_close, SYS_restart_syscall};

static const struct helper_call checked[] = {
	{SYS_mmap, 2, HELPER_HAS_NONE_OF, PROT_EXEC},
	{SYS_mprotect, 2, HELPER_HAS_NONE_OF, PROT_EXEC},
};

static const struct helper_refused refused[] = {{SYS_mmap, EPERM}, {SYS_mprotect, EPERM}};

int planner_lock(void)
{
	const struct helper_calls calls = {allowed, ARRAY_LEN(allowed), checked, ARRAY_LEN(checked),
		refused, ARRAY_LEN(refused)};
	int r = helper_lock_privileges();
	return r ? r : helper_lock_calls(&calls);
}

static int limit(int resource, uint64_t soft, uint64_t hard)
{
	const struct rlimit both = {soft, hard};
	struct rlimit now;
	if (setrlimit(resource, &both) == 0)
		return 0;
	/* setrlimit() fails if the hard limit is already lower than @hard. Accept such a limit. */
	return getrlimit(resource, &now) == 0 && now.rlim_max <= hard ? 0 : -EPERM;
}

int planner_limit(uint64_t memory_bytes)
{
	/* With the limit 0, the kernel would still start a core dump handler, see core(5). */
	int r = limit(RLIMIT_CORE, 1, 1);
	r = r ? r : limit(RLIMIT_FSIZE, 0, 0);
	r = r ? r : limit(RLIMIT_NPROC, 0, 0);
	r = r ? r : limit(RLIMIT_CPU, CPU_S, CPU_S + 1);
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer maps more memory than RLIMIT_AS would allow */
	r = r ? r : limit(RLIMIT_AS, memory_bytes + OWN_BYTES, memory_bytes + OWN_BYTES);
#endif
	return r;
}
