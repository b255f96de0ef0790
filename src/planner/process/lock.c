/* Restrict the planner process: take away capabilities and the right to gain privileges, limit
 * memory and time, and filter system calls so that the process can only compute and use open
 * descriptors. SPDX-License-Identifier: Apache-2.0 */
#include "planner/process/lock.h"

#include "base/attr.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

enum { CPU_S = 60, OWN_BYTES = 768 << 20 };

/* System calls that compute, or that read and write open descriptors. */
static const uint32_t allowed[] = {SYS_read, SYS_sendto, SYS_munmap, SYS_mremap, SYS_madvise,
	SYS_brk, SYS_futex, SYS_exit, SYS_exit_group, SYS_clock_gettime, SYS_getrandom,
	SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_close, SYS_restart_syscall};
/* System calls that are allowed if their protection flags do not include PROT_EXEC. */
static const uint32_t mapping[] = {SYS_mmap, SYS_mprotect};

enum { FILTER_MAX = 2 * ARRAY_LEN(allowed) + 4 * ARRAY_LEN(mapping) + 8 };

struct program {
	struct sock_filter code[FILTER_MAX];
	unsigned short n;
};

static void add(struct program *p, uint16_t op, uint8_t jt, uint8_t jf, uint32_t k)
{
	p->code[p->n++] = (struct sock_filter){op, jt, jf, k};
}

/* Build the filter of system calls. A call that is not allowed fails with ENOSYS, as on a kernel
 * that lacks the call. A call for another architecture kills the process. */
static void build(struct program *p)
{
	const uint16_t load = BPF_LD | BPF_W | BPF_ABS, equal = BPF_JMP | BPF_JEQ | BPF_K;
	const uint16_t give = BPF_RET | BPF_K;
	add(p, load, 0, 0, offsetof(struct seccomp_data, arch));
	add(p, equal, 1, 0, ARCH);
	add(p, give, 0, 0, SECCOMP_RET_KILL_PROCESS);
	add(p, load, 0, 0, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
		add(p, equal, 0, 1, allowed[i]);
		add(p, give, 0, 0, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < ARRAY_LEN(mapping); i++) {
		add(p, equal, 0, 4, mapping[i]);
		/* Load the low half of the argument. It is at the argument's offset, because all
		 * supported architectures are little-endian. */
		add(p, load, 0, 0, offsetof(struct seccomp_data, args[2]));
		add(p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, PROT_EXEC);
		add(p, give, 0, 0, SECCOMP_RET_ERRNO | EPERM);
		add(p, give, 0, 0, SECCOMP_RET_ALLOW);
	}
	add(p, give, 0, 0, SECCOMP_RET_ERRNO | ENOSYS);
}

static int drop_capabilities(void)
{
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	/* Without the capability CAP_SETPCAP, PR_CAPBSET_DROP and PR_SET_SECUREBITS fail. These
	 * failures are harmless. The process could gain a capability only by a system call such
	 * as execve(), and the filter of system calls forbids such calls (see build()). */
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	(void)prctl(PR_SET_SECUREBITS, bits, 0, 0, 0);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return -errno;
	return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

int planner_lock(void)
{
	struct program p = {.n = 0};
	build(&p);
	const struct sock_fprog fprog = {p.n, p.code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	int r = drop_capabilities();
	if (r == 0 && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog) < 0)
		r = -errno;
	return r;
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
