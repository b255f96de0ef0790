/*
 * The runtime for shell scripts: /bin/bash of the box, started by our driver, retort-shell.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/installation.h"
#include "runtime/start.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static int check_shell(const struct runtime_request *req, struct err *err)
{
	char path[PATH_MAX];
	const char *root = req->rootfs ? req->rootfs : "";
	if (req->interpreter)
		return err_fail(err, ERR_USAGE, "leave it out: the shell is /bin/bash",
			"the shell runtime has no interpreter to choose: %s", req->interpreter);
	/* In @rootfs, /bin/bash may be an absolute link. On the host it would lead to another
	 * file, so only check that the link exists. */
	int n = snprintf(path, sizeof path, "%s/bin/bash", root);
	if (n < 0 || (size_t)n >= sizeof path)
		return err_set(err, ERR_LIMIT, "path is too long: %.100s…", root);
	if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return err_fail(err, ERR_RUNTIME, "install bash", "no bash: %s", path);
}

static int shell_start(
	const struct runtime_request *req, struct runtime_start *out, struct err *err)
{
	int r = check_shell(req, err);
	if (r < 0)
		return r;
	r = runtime_bind_driver(req, out, "shell", "/retort/shell", err);
	if (r < 0)
		return r;
	r = runtime_add(out->argv, RUNTIME_ARGS_MAX, err, "%s", "/retort/shell/retort-shell");
	return r < 0 ? r : runtime_add_environment(req, NULL, 0, out, err);
}

const struct runtime runtime_shell = {
	.name = "shell",
	.endings = "|sh|bash|",
	.words = "|sh|bash|dash|",
	.carry = CARRY_TEXT,
	.has_environment = true,
	.start = shell_start,
};
