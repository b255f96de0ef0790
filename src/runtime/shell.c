/*
 * The runtime for shell scripts: /bin/bash of the box, started by our driver, retort-shell.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/installation.h"
#include "runtime/start.h"

#include <fcntl.h>
#include <unistd.h>

static int check_shell(const struct runtime_request *req, struct err *err)
{
	if (req->interpreter)
		return err_fail(err, ERR_USAGE, "leave it out: the shell is /bin/bash",
			"the shell runtime has no interpreter to choose: %s", req->interpreter);
	/* an image has its own, or none: the driver says so when a step needs it */
	if (req->has_image || faccessat(AT_FDCWD, "/bin/bash", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return err_fail(err, ERR_RUNTIME, "install bash", "no bash: /bin/bash");
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
