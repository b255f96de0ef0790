/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/filter.h"

#include "base/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Constants that the headers of Debian 12 lack, or that only the headers of another architecture
 * have. */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_GET_MDWE 66
#endif
#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#endif
#ifndef PR_GET_AUXV
#define PR_GET_AUXV 0x41555856
#endif
enum {
	ARCH_SET_GS_ = 0x1001,
	ARCH_SET_FS_ = 0x1002,
	ARCH_GET_FS_ = 0x1003,
	ARCH_GET_GS_ = 0x1004,
	ARCH_GET_CPUID_ = 0x1011,
	ARCH_GET_XCOMP_SUPP_ = 0x1021,
	ARCH_GET_XCOMP_PERM_ = 0x1022,
	ARCH_REQ_XCOMP_PERM_ = 0x1023,
	ARCH_SHSTK_ENABLE_ = 0x5001,
	ARCH_SHSTK_DISABLE_ = 0x5002,
	ARCH_SHSTK_LOCK_ = 0x5003,
	ARCH_SHSTK_STATUS_ = 0x5005,
	SOCKET_TYPE_MASK = 0xf,
	RESET_ON_FORK = 0x40000000,
	DONE = 0,
	F_SETDELEG_ = 1040,
};

#define ANY UINT32_C(0xffffffff)

/*
 * The flags of clone() that make new namespaces.
 * CLONE_NEWTIME (0x80) is not a flag of clone(), but a bit of the low byte, which is the number of
 * the exit signal. Signal numbers are at most 64 and never set this bit. So a test for
 * CLONE_NEWTIME refuses no valid clone().
 */
#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
		CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME)

#define VALUES(...)                                                                                \
	(const uint32_t[])                                                                         \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define ALLOW(name, why)		  {.syscall = #name, .kind = FILTER_ALLOW, .reason = why},
#define REFUSE(name, e, why)		  {.syscall = #name, .kind = FILTER_REFUSE, .error = e, .reason = why},
#define DENY(name, why)			  REFUSE(name, EPERM, why)
#define ABSENT(name, why)		  REFUSE(name, ENOSYS, why)
#define GUARD(k, name, a, m, e, why, ...) GUARD_WHEN(k, name, 0, 0, 0, a, m, e, why, __VA_ARGS__)
#define GUARD_WHEN(k, name, wa, wm, wv, a, m, e, why, ...)                                         \
	{.syscall = #name,                                                                         \
		.when_arg = wa,                                                                    \
		.when_mask = (uint32_t)(wm),                                                       \
		.when_value = (uint32_t)(wv),                                                      \
		.kind = k,                                                                         \
		.arg = a,                                                                          \
		.mask = (uint32_t)(m),                                                             \
		.error = e,                                                                        \
		.reason = why,                                                                     \
		.values = VALUES(__VA_ARGS__),                                                     \
		.n_values = ARRAY_LEN(VALUES(__VA_ARGS__))},
#define ONLY(...) GUARD(FILTER_ONLY, __VA_ARGS__)
/*
 * NO_SETUID: inside the box setuid has no effect, because all mounts are nosuid. But a program
 * could make a setuid file in a bound directory of the host. On the host, such a file would run
 * with the rights of the user who owns it there.
 */
/* NETFILTER: the socket options {IP,ARP,IP6,EB}T_SO_{SET,GET}_… of linux/netfilter*, which change
 * tables of rules, and the socket options for IPsec policies. */
/* BOX_IDS: the values that are allowed where a call such as setreuid() takes an id. They are
 * FILTER_BOX_ID, which is the only id in a box, and -1, which leaves the id as it is. */
#define NETFILTER	 "packet filters in the kernel: a history of bugs behind one capability"
#define NO_OTHER_ID	 "as for a user without privileges, in place of the kernel's EINVAL"
#define BOX_IDS		 FILTER_BOX_ID, UINT32_MAX
#define HIGH(a)		 (FILTER_HIGH + (a))
#define NO_SETUID	 "no setuid or setgid files: outside the box others could run them"
#define EXCEPT(...)	 GUARD(FILTER_EXCEPT, __VA_ARGS__)
#define ONLY_WHEN(...)	 GUARD_WHEN(FILTER_ONLY, __VA_ARGS__)
#define EXCEPT_WHEN(...) GUARD_WHEN(FILTER_EXCEPT, __VA_ARGS__)

static const struct filter_row table[] = {
#include "sandbox/filter.def"
};

/* On the host, such a file would give its capabilities to whoever runs it. */
#define FILE_CAPABILITIES                                                                          \
	"who makes a branch could give capabilities to a file of the host: names are in memory"
#define BRANCH                                                                                     \
	GUARD(FILTER_NOTIFY, clone, 0, ANY, 0, "a branch: the warden knows when it is to be",      \
		FILTER_BRANCH_FLAGS)                                                               \
	EXCEPT(socket, 0, ANY, EOPNOTSUPP,                                                         \
		"who makes a branch has capabilities over its network, which netlink configures",  \
		AF_NETLINK)
/* Of a box that can write to files of the host. */
#define BRANCH_HOST                                                                                \
	BRANCH                                                                                     \
	REFUSE(setxattr, EOPNOTSUPP, FILE_CAPABILITIES)                                            \
	REFUSE(lsetxattr, EOPNOTSUPP, FILE_CAPABILITIES)                                           \
	REFUSE(fsetxattr, EOPNOTSUPP, FILE_CAPABILITIES)                                           \
	REFUSE(setxattrat, EOPNOTSUPP, FILE_CAPABILITIES)
#define PINNED	    DENY(sched_setaffinity, "affinity is what enforces the CPU limit of this box")
#define NOT_COUNTED "memory that the engine cannot count"
/* Memory that no process has mapped can be counted only by a memory cgroup. In a box without
 * such a cgroup, refuse the calls that make such memory. */
#define UNCOUNTED                                                                                  \
	PINNED ABSENT(memfd_create, NOT_COUNTED) ABSENT(vmsplice, NOT_COUNTED)                     \
		DENY(shmget, NOT_COUNTED) DENY(semget, NOT_COUNTED) DENY(msgget, NOT_COUNTED)

/* The calls that change owners and ids. */
#define AS_DONE "there is only one id: package managers go on as if it were done"
#define AS_ROOT                                                                                    \
	REFUSE(chown, DONE, AS_DONE)                                                               \
	REFUSE(fchown, DONE, AS_DONE)                                                              \
	REFUSE(lchown, DONE, AS_DONE)                                                              \
	REFUSE(fchownat, DONE, AS_DONE)                                                            \
	REFUSE(setuid, DONE, AS_DONE)                                                              \
	REFUSE(setgid, DONE, AS_DONE)                                                              \
	REFUSE(setreuid, DONE, AS_DONE)                                                            \
	REFUSE(setregid, DONE, AS_DONE)                                                            \
	REFUSE(setresuid, DONE, AS_DONE)                                                           \
	REFUSE(setresgid, DONE, AS_DONE)                                                           \
	REFUSE(setfsuid, DONE, AS_DONE)                                                            \
	REFUSE(setfsgid, DONE, AS_DONE)                                                            \
	REFUSE(setgroups, DONE, AS_DONE)                                                           \
	EXCEPT_WHEN(socket, 0, ANY, AF_NETLINK, 2, ANY, EPROTONOSUPPORT,                           \
		"useradd goes on only if the kernel has no audit", NETLINK_AUDIT)
#define OWN_FILES "no file of the host can get them, and in the box they have no effect"
#define AS_SETID                                                                                   \
	AS_ROOT                                                                                    \
	ALLOW(chmod, OWN_FILES)                                                                    \
	ALLOW(fchmod, OWN_FILES)                                                                   \
	ALLOW(fchmodat, OWN_FILES)                                                                 \
	ALLOW(fchmodat2, OWN_FILES)
#define ONE_ID "the kernel knows the one id that there is"
#define AS_OTHER                                                                                   \
	ALLOW(chown, ONE_ID)                                                                       \
	ALLOW(fchown, ONE_ID)                                                                      \
	ALLOW(lchown, ONE_ID)                                                                      \
	ALLOW(fchownat, ONE_ID)                                                                    \
	ALLOW(setuid, ONE_ID)                                                                      \
	ALLOW(setgid, ONE_ID)                                                                      \
	ALLOW(setreuid, ONE_ID)                                                                    \
	ALLOW(setregid, ONE_ID)                                                                    \
	ALLOW(setresuid, ONE_ID)                                                                   \
	ALLOW(setresgid, ONE_ID)

/* VARIANT(enumerator, name, rows); the rows contain commas. */
#define LIMITED(VARIANT, NAME, name, ...)                                                          \
	VARIANT(PINNED##NAME, pinned##name, __VA_ARGS__ PINNED)                                    \
	VARIANT(UNCOUNTED##NAME, uncounted##name, __VA_ARGS__ UNCOUNTED)
#define EACH(VARIANT, NAME, name, ...)                                                             \
	VARIANT(DEFAULT##NAME, default##name, __VA_ARGS__)                                         \
	LIMITED(VARIANT, NAME, name, __VA_ARGS__)
#define VARIANTS(VARIANT)                                                                          \
	LIMITED(VARIANT, , , )                                                                     \
	LIMITED(VARIANT, _OWN, _own, )                                                             \
	EACH(VARIANT, _ROOT, _root, AS_ROOT)                                                       \
	EACH(VARIANT, _SETID, _setid, AS_SETID)                                                    \
	EACH(VARIANT, _OTHER, _other, AS_OTHER)                                                    \
	EACH(VARIANT, _OTHER_OWN, _other_own, AS_OTHER)                                            \
	EACH(VARIANT, _NOTIFY, _notify, BRANCH_HOST)                                               \
	EACH(VARIANT, _OWN_NOTIFY, _own_notify, BRANCH)                                            \
	EACH(VARIANT, _ROOT_NOTIFY, _root_notify, AS_ROOT BRANCH_HOST)                             \
	EACH(VARIANT, _SETID_NOTIFY, _setid_notify, AS_SETID BRANCH)                               \
	EACH(VARIANT, _OTHER_NOTIFY, _other_notify, AS_OTHER BRANCH_HOST)                          \
	EACH(VARIANT, _OTHER_OWN_NOTIFY, _other_own_notify, AS_OTHER BRANCH)

#define ROWS(variant, name, ...) static const struct filter_row name##_rows[] = {__VA_ARGS__};
VARIANTS(ROWS)

static const struct filter_variant_row {
	const char *name;
	const struct filter_row *rows;
	size_t n;
} variants[FILTER_VARIANT_END_] = {[FILTER_DEFAULT] = {"default", NULL, 0},
	[FILTER_DEFAULT_OWN] = {"default_own", NULL, 0},
#define VARIANT_ROW(variant, name, ...)                                                            \
	[FILTER_##variant] = {#name, name##_rows, ARRAY_LEN(name##_rows)},
	VARIANTS(VARIANT_ROW)};

const struct filter_row *filter_rows(size_t *n)
{
	*n = ARRAY_LEN(table);
	return table;
}

const struct filter_row *filter_variant_rows(enum filter_variant variant, size_t *n)
{
	bool is_known = (unsigned)variant < FILTER_VARIANT_END_;
	*n = is_known ? variants[variant].n : 0;
	return is_known ? variants[variant].rows : NULL;
}

const char *filter_variant_name(enum filter_variant variant)
{
	return (unsigned)variant < FILTER_VARIANT_END_ ? variants[variant].name : NULL;
}

const char *filter_kind_word(enum filter_kind kind)
{
	static const char *const words[] = {
		[FILTER_ALLOW] = "allow",
		[FILTER_REFUSE] = "refuse",
		[FILTER_ONLY] = "only",
		[FILTER_EXCEPT] = "except",
		[FILTER_NOTIFY] = "notify",
	};
	return words[kind];
}
