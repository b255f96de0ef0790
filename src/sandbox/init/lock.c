/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/init/lock.h"

#include "base/attr.h"
#include "sandbox/init/landlock.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CAP_NUMBER_MAX = 63 };

static int drop_ambient(const struct lock *lock attr_unused, struct err *err)
{
	/* EINVAL: kernels before 4.3 lack ambient capabilities. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return err_sys(err, ERR_BOX, errno, "lock: ambient capabilities");
	return 0;
}

/* Empty the bounding set. Skip the capabilities that the set lacks already: a process that runs
 * this function for the second time has an empty set, and no longer has the privilege that
 * dropping a capability needs. */
static int drop_bounding(const struct lock *lock attr_unused, struct err *err)
{
	for (int cap = 0; cap <= CAP_NUMBER_MAX; cap++) {
		int has_cap = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);
		if (has_cap < 0)
			return errno == EINVAL && cap > 0
				? 0
				: err_sys(err, ERR_BOX, errno, "lock: bounding set: %d", cap);
		if (has_cap && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return err_sys(err, ERR_BOX, errno, "lock: bounding set: drop %d", cap);
	}
	return 0;
}

/* Lock the secure bits. Without CAP_SETPCAP they stay as they are. That is harmless: the bounding
 * set is empty, so no capability can be gained. */
static int lock_securebits(const struct lock *lock attr_unused, struct err *err)
{
	unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0 && errno != EPERM)
		return err_sys(err, ERR_BOX, errno, "lock: secure bits");
	return 0;
}

static int set_no_new_privs(const struct lock *lock attr_unused, struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "lock: no_new_privs");
	return 0;
}

/* Prevent core files, which the host's handler would write, and real-time scheduling, which
 * would starve the host. */
static int set_rlimits(const struct lock *lock, struct err *err)
{
	/* The process that loaded the filter has set these limits, and the filter refuses to set
	 * them again. */
	if (lock->is_filter_inherited)
		return 0;
	/*
	 * At a limit of 0 the kernel still starts a crash handler that core_pattern names, as root
	 * on the host. At 1 it neither writes a core file nor starts the handler. Source:
	 * do_coredump() in fs/coredump.c, core(5).
	 */
	static const struct rlimit zero = {0, 0}, one = {1, 1};
	struct rlimit core;
	if (setrlimit(RLIMIT_CORE, &one) < 0 &&
		(getrlimit(RLIMIT_CORE, &core) < 0 ||
			core.rlim_max != 0)) /* a hard limit of 0 cannot be raised to 1 */
		return err_sys(err, ERR_BOX, errno, "lock: limit of core files");
	if (setrlimit(RLIMIT_RTPRIO, &zero) < 0)
		return err_sys(err, ERR_BOX, errno, "lock: resource limits");
	return 0;
}

static int set_dumpable(const struct lock *lock, struct err *err)
{
	if (prctl(PR_SET_DUMPABLE, lock->is_dumpable ? 1 : 0, 0, 0, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "lock: dumpable");
	return 0;
}

static int enter_landlock(const struct lock *lock, struct err *err)
{
	struct landlock_report report;
	return lock->has_landlock ? landlock_lock(lock->has_image, &report, err) : 0;
}

static int drop_capabilities(const struct lock *lock attr_unused, struct err *err)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	if (syscall(SYS_capset, &head, none) < 0)
		return err_sys(err, ERR_BOX, errno, "lock: capabilities");
	return 0;
}

/* Check that the inherited filter is ours: only under our filter does this seccomp(2) call fail
 * with ENOSYS. */
static int check_inherited_filter(struct err *err)
{
	uint32_t action = SECCOMP_RET_ALLOW;
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		return err_set(err, ERR_BOX, "lock: no syscall filter was inherited");
	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 || errno != ENOSYS)
		return err_set(err, ERR_BOX, "lock: the inherited syscall filter is another one");
	return 0;
}

/* Load the filter with a listener. WAIT_KILLABLE_RECV: once the warden has received a
 * notification, only a fatal signal interrupts the waiting thread. Kernels before 5.19 refuse
 * this flag with EINVAL. */
static int load_listened(const struct sock_fprog *prog, int *listener_fd, struct err *err)
{
	enum { WAIT_KILLABLE_RECV = 1 << 5 };
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE_RECV, prog);
	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			prog);
	if (fd < 0)
		return err_sys(err, ERR_BOX, errno, "lock: syscall filter with a listener");
	*listener_fd = (int)fd;
	return 0;
}

static int load_filter(const struct lock *lock, struct err *err)
{
	if (lock->is_filter_inherited)
		return check_inherited_filter(err);
	const struct filter_program *program = filter_program(lock->filter);
	if (!program)
		return err_set(err, ERR_INTERNAL, "lock: no filter variant %d", (int)lock->filter);
	struct sock_fprog prog = {program->n, (struct sock_filter *)(uintptr_t)program->code};
	if (lock->listener_fd)
		return load_listened(&prog, lock->listener_fd, err);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return err_sys(err, ERR_BOX, errno, "lock: syscall filter");
	return 0;
}

static int (*const process_steps[])(const struct lock *lock, struct err *err) = {
	drop_ambient,
	drop_bounding,
	lock_securebits,
	set_no_new_privs,
	set_rlimits,
	set_dumpable,
	enter_landlock,
	drop_capabilities,
	load_filter,
};

static int (*const init_steps[])(const struct lock *lock, struct err *err) = {
	drop_ambient,
	drop_bounding,
	lock_securebits,
	set_no_new_privs,
	drop_capabilities,
};

int lock_process(const struct lock *lock, struct err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(process_steps); i++)
		r = process_steps[i](lock, err);
	return r;
}

int lock_drop_caps(struct err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(init_steps); i++)
		r = init_steps[i](NULL, err);
	return r;
}
