/* SPDX-License-Identifier: Apache-2.0 */
#include "base/helper/helper_lock.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
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

enum { CODE_MAX = 1024 };
enum { LOAD = BPF_LD | BPF_W | BPF_ABS, EQUAL = BPF_JMP | BPF_JEQ | BPF_K, GIVE = BPF_RET | BPF_K };
enum {
	HAS_ANY = BPF_JMP | BPF_JSET | BPF_K,
	MASK = BPF_ALU | BPF_AND | BPF_K,
	SKIP = BPF_JMP | BPF_JA
};

struct program {
	struct sock_filter code[CODE_MAX];
	size_t n; /* may be more than CODE_MAX; the rest is not stored then */
};

static void add(struct program *p, uint16_t op, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (p->n < CODE_MAX)
		p->code[p->n] = (struct sock_filter){op, jt, jf, k};
	p->n++;
}

static void add_answer(struct program *p, uint32_t call, uint32_t answer)
{
	add(p, EQUAL, 0, 1, call);
	add(p, GIVE, 0, 0, answer);
}

/* Answer a call if its argument fits; go on otherwise, with the number of the call loaded again.
 * The low half of an argument stands first, since all supported architectures are little-endian. */
static void add_checked(struct program *p, const struct helper_call *c, uint32_t answer)
{
	size_t at = offsetof(struct seccomp_data, args) + c->argument * sizeof(uint64_t);
	add(p, EQUAL, 0, c->check == HELPER_IS_ZERO ? 6 : 5, c->call);
	add(p, LOAD, 0, 0, (uint32_t)at);
	switch (c->check) {
	case HELPER_IS_ZERO:
		add(p, EQUAL, 0, 3, 0);
		add(p, LOAD, 0, 0, (uint32_t)(at + sizeof(uint32_t)));
		add(p, EQUAL, 0, 1, 0);
		break;
	case HELPER_IS:
		add(p, EQUAL, 1, 0, c->value);
		add(p, SKIP, 0, 0, 1);
		break;
	case HELPER_HAS_NONE_OF:
		add(p, HAS_ANY, 0, 1, c->value);
		add(p, SKIP, 0, 0, 1);
		break;
	case HELPER_HAS_ANY_OF:
		add(p, HAS_ANY, 1, 0, c->value);
		add(p, SKIP, 0, 0, 1);
		break;
	case HELPER_HAS_ALL_OF:
		add(p, MASK, 0, 0, c->value);
		add(p, EQUAL, 0, 1, c->value);
		break;
	}
	add(p, GIVE, 0, 0, answer);
	add(p, LOAD, 0, 0, offsetof(struct seccomp_data, nr));
}

static void build(struct program *p, const struct helper_calls *calls)
{
	add(p, LOAD, 0, 0, offsetof(struct seccomp_data, arch));
	add(p, EQUAL, 1, 0, ARCH);
	add(p, GIVE, 0, 0, SECCOMP_RET_KILL_PROCESS);
	add(p, LOAD, 0, 0, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < calls->n_forbidden; i++)
		add_checked(p, &calls->forbidden[i], SECCOMP_RET_ERRNO | EPERM);
	for (size_t i = 0; i < calls->n_allowed; i++)
		add_answer(p, calls->allowed[i], SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < calls->n_checked; i++)
		add_checked(p, &calls->checked[i], SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < calls->n_refused; i++)
		add_answer(p, calls->refused[i].call, SECCOMP_RET_ERRNO | calls->refused[i].sys);
	add(p, GIVE, 0, 0, SECCOMP_RET_ERRNO | ENOSYS);
}

int helper_lock_calls(const struct helper_calls *calls)
{
	struct program p = {.n = 0};
	build(&p, calls);
	if (p.n > CODE_MAX)
		return -E2BIG;
	const struct sock_fprog fprog = {(unsigned short)p.n, p.code};
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog) < 0 ? -errno : 0;
}

int helper_lock_privileges(void)
{
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	/* Without the capability CAP_SETPCAP, PR_CAPBSET_DROP and PR_SET_SECUREBITS fail. These
	 * failures are harmless: the process could gain a capability only by a system call such as
	 * execve(), which no helper is allowed. */
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	(void)prctl(PR_SET_SECUREBITS, bits, 0, 0, 0);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return -errno;
	return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}
