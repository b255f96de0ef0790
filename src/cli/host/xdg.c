/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/xdg.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int xdg_make_dir(const char *path, struct err *err)
{
	struct stat st;
	int r = file_make_dirs(path, 0700, 0700);
	if (r < 0)
		return err_sys(err, ERR_ACCESS, -r, "make the directory %s", path);
	if (lstat(path, &st) < 0)
		return err_sys(err, ERR_ACCESS, errno, "directory %s", path);
	/* Follow a symbolic link only if it belongs to root or to us. Service managers create
	 * such links. But in /tmp, another user may have created the link. */
	if (S_ISLNK(st.st_mode) && (st.st_uid == 0 || st.st_uid == geteuid()) &&
		stat(path, &st) < 0)
		return err_sys(err, ERR_ACCESS, errno, "directory %s", path);
	if (!S_ISDIR(st.st_mode))
		return err_fail(err, ERR_ACCESS, "remove it, or choose another place",
			"%s is not a directory", path);
	if (st.st_uid != geteuid())
		return err_fail(err, ERR_ACCESS, "choose another place, or run as its owner",
			"%s belongs to uid %u, not to %u", path, (unsigned)st.st_uid,
			(unsigned)geteuid());
	if (st.st_mode & 077)
		return err_fail(err, ERR_ACCESS, "chmod 700 it, or choose another place",
			"other users may enter %s (mode %04o)", path,
			(unsigned)(st.st_mode & 07777));
	return 0;
}

/* Write "@base/@rest" to @out. Errors: ERR_USAGE: it is too long. */
static int join(char out[PATH_MAX], const char *base, const char *rest, struct err *err)
{
	int n = snprintf(out, PATH_MAX, "%s/%s", base, rest);
	return n > 0 && n < PATH_MAX
		? 0
		: err_set(err, ERR_USAGE, "a path of more than %d bytes", PATH_MAX - 1);
}

static int find_state(char out[PATH_MAX], struct err *err)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	if (state && state[0] == '/')
		return join(out, state, "retort", err);
	if (home && home[0] == '/')
		return join(out, home, ".local/state/retort", err);
	return err_fail(err, ERR_NOT_FOUND, "set HOME or XDG_STATE_HOME, or use --no-journal",
		"no state directory: HOME is not set");
}

int xdg_state_dir(char out[PATH_MAX], struct err *err)
{
	int r = find_state(out, err);
	return r < 0 ? r : xdg_make_dir(out, err);
}

const char *xdg_layers_dir(const char *state)
{
	static char path[PATH_MAX];
	struct err ignored;
	state = state ? state : getenv("RETORT_STATE");
	if (state && state[0])
		return state;
	return find_state(path, &ignored) == 0 ? path : NULL;
}

int xdg_runtime_dir(char out[PATH_MAX], struct err *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char usual[64];
	struct stat st;
	int r;
	snprintf(usual, sizeof usual, "/run/user/%u", (unsigned)geteuid());
	if (runtime && runtime[0] == '/')
		r = join(out, runtime, "retort", err);
	else if (stat(usual, &st) == 0 && st.st_uid == geteuid())
		r = join(out, usual, "retort", err);
	else {
		snprintf(usual, sizeof usual, "retort-%u", (unsigned)geteuid());
		r = join(out, "/tmp", usual, err);
	}
	return r < 0 ? r : xdg_make_dir(out, err);
}
