/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int privilege_drop(struct err *err)
{
	const uint32_t keep = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	/* 1 means neither a core file nor a crash handler; see lock.c */
	const struct rlimit no_core = {1, 1};
	/* The loop ends with EINVAL after the kernel's last capability. Without CAP_SETPCAP it ends
	 * at once with EPERM; then there is nothing to drop. */
	for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, ERR_INTERNAL, errno, "no_new_privs");
	if (syscall(SYS_capget, &head, data) < 0)
		return err_sys(err, ERR_INTERNAL, errno, "read the capabilities");
	data[0].permitted &= keep;
	data[0].effective &= keep;
	data[0].inheritable = 0;
	data[1] = (struct __user_cap_data_struct){0};
	if (syscall(SYS_capset, &head, data) < 0)
		return err_sys(err, ERR_INTERNAL, errno, "drop the capabilities");
	(void)setrlimit(RLIMIT_CORE, &no_core);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return 0;
}
