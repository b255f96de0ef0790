/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/init/landlock.h"

#include "base/attr.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Constants of Landlock, since the headers of Debian 12 end at ABI 2. */
enum { RIGHT_MAKE_CHAR = 1 << 6, RIGHT_MAKE_BLOCK = 1 << 11, RIGHT_REFER = 1 << 13 };
enum { RIGHT_IOCTL_DEV = 1 << 15, SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0, SCOPE_SIGNAL = 1 << 1 };
enum { ABI_REFER = 2, ABI_IOCTL_DEV = 5, ABI_SCOPES = 6 };

/* struct landlock_ruleset_attr of ABI 6. Older kernels accept it if the fields that they do not
 * know are 0. */
struct ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

static const struct {
	const char *path;
	uint64_t rights;
	bool is_optional;
} rules[] = {
	{"/", RIGHT_REFER, false},
	{"/dev", RIGHT_IOCTL_DEV, true},
};

int landlock_abi(void)
{
	long abi = syscall(
		SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
	return abi > 0 ? (int)abi : 0;
}

static struct ruleset ruleset_for(int abi)
{
	struct ruleset set = {
		.handled_access_fs = RIGHT_MAKE_CHAR | RIGHT_MAKE_BLOCK | RIGHT_REFER};
	if (abi >= ABI_IOCTL_DEV)
		set.handled_access_fs |= RIGHT_IOCTL_DEV;
	if (abi >= ABI_SCOPES)
		set.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
	return set;
}

static int add_rule(int ruleset_fd, const char *path, uint64_t rights, struct err *err)
{
	cleanup_fd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, ERR_BOX, errno, "landlock: open %s", path);
	struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
	if (syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "landlock: rule for %s", path);
	return 0;
}

int landlock_lock(bool has_image, struct landlock_report *out, struct err *err)
{
	int abi = landlock_abi();
	struct landlock_report report = {
		.abi = abi,
		.has_nodes = abi >= ABI_REFER && !has_image,
		.has_ioctl = abi >= ABI_IOCTL_DEV && !has_image,
		.has_scopes = abi >= ABI_SCOPES,
	};
	if (abi < (has_image ? ABI_SCOPES : ABI_REFER)) {
		*out = report;
		return 0;
	}
	struct ruleset set = ruleset_for(abi);
	if (has_image)
		set.handled_access_fs = 0;
	cleanup_fd int fd = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof set, 0);
	if (fd < 0)
		return err_sys(err, ERR_BOX, errno, "landlock: ruleset of ABI %d", abi);
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		uint64_t rights = rules[i].rights & set.handled_access_fs;
		if (rights == 0)
			continue;
		int r = add_rule(fd, rules[i].path, rights, err);
		if (r < 0 && !(rules[i].is_optional && err->sys == ENOENT))
			return r;
	}
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "landlock: restrict");
	*out = report;
	return 0;
}
