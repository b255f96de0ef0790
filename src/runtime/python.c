/*
 * CPython: which interpreter, what of the host it needs to see, how the driver is started.
 *
 * The environment of a box holds only what we put there, so Python's own isolation (-I) is not
 * needed and PYTHONHASHSEED works; -s and -S keep it from looking for a user's and the site's
 * packages before the driver does that itself, faster (drivers/python).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/fd.h"
#include "runtime/runtime.h"
#include "sandbox/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINKS_MAX = 16, CONFIG_BYTES = 64 << 10 };

static const char bootstrap[] =
	"import sys; sys.path[:] = ['/retort/python', *filter(None, sys.path)]; import driver; driver.main(3)";

static void cut_last_part(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
}

/* Absolute, without "." and ".." parts and double slashes, but with its links as they are. */
static int absolute_path(const char *path, char out[PATH_MAX], struct err *err)
{
	char whole[2 * PATH_MAX];
	char here[PATH_MAX] = "";
	size_t at = 0;
	if (path[0] != '/' && !getcwd(here, sizeof here))
		return err_sys(err, ERR_IO, errno, "current directory");
	(void)snprintf(whole, sizeof whole, "%s/%s", here, path);
	for (const char *p = whole; *p;) {
		p += strspn(p, "/");
		size_t n = strcspn(p, "/");
		bool is_up = n == 2 && p[0] == '.' && p[1] == '.';
		if (is_up)
			while (at > 0 && out[--at] != '/')
				;
		else if (n > 0 && !(n == 1 && p[0] == '.')) {
			if (at + n + 2 > PATH_MAX)
				return err_set(err, ERR_LIMIT, "path is too long: %.100s…", path);
			out[at++] = '/';
			memcpy(out + at, p, n);
			at += n;
		}
		p += n;
	}
	out[at] = '\0';
	return 0;
}

static int not_found(const char *path, struct err *err)
{
	int r = err_set(err, ERR_RUNTIME, "no Python at %s", path);
	err_hint(err, "install it (apt install python3) or name one: --python PATH");
	return r;
}

static int no_installation(const char *path, struct err *err)
{
	int r = err_set(err, ERR_RUNTIME, "%s belongs to no installation of Python", path);
	return err_hint(err, "name its bin/python3, or the directory of a virtual environment"), r;
}

/* The interpreter as an absolute path; @asked may also be the directory of a virtual environment.
 */
static int find_python(const struct runtime_request *req, char out[PATH_MAX], struct err *err)
{
	static const char *const usual[] = {"/usr/bin/python3", "/usr/local/bin/python3"};
	struct stat st;
	if (!req->interpreter) {
		for (size_t i = 0; i < ARRAY_LEN(usual); i++)
			if (access(usual[i], X_OK) == 0)
				return absolute_path(usual[i], out, err);
		return not_found(usual[0], err);
	}
	int r = absolute_path(req->interpreter, out, err);
	if (r < 0)
		return r;
	if (stat(out, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (strlen(out) + sizeof "/bin/python3" > PATH_MAX)
			return not_found(out, err);
		strcat(out, "/bin/python3");
	}
	if (stat(out, &st) < 0 || !S_ISREG(st.st_mode) || access(out, X_OK) < 0)
		return not_found(out, err);
	return 0;
}

static int check_rootfs(const struct runtime_request *req, char out[PATH_MAX], struct err *err)
{
	const char *path = req->interpreter ? req->interpreter : "/usr/bin/python3";
	cleanup_fd int root = open(req->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_sys(err, ERR_NOT_FOUND, errno, "--rootfs %s", req->rootfs),
		       err_hint(err, "name the directory of a root file system: it holds usr/");
	cleanup_fd int fd = sys_open_in_root(root, path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return not_found(path, err);
	(void)snprintf(out, PATH_MAX, "%s", path);
	return 0;
}

/*
 * Is @prefix where a Python lives, and not just somebody's home with a link in its bin? A virtual
 * environment may be a stranger's: what it names is shown to the box only if it is this.
 */
static bool is_installation(const char *prefix)
{
	static const char *const signs[] = {"pyvenv.cfg", "lib/python3*", "lib64/python3*"};
	char pattern[PATH_MAX + 16];
	bool found = false;
	for (size_t i = 0; prefix[0] && !found && i < ARRAY_LEN(signs); i++) {
		glob_t matches = {0};
		(void)snprintf(pattern, sizeof pattern, "%s/%s", prefix, signs[i]);
		found = glob(pattern, GLOB_NOSORT, NULL, &matches) == 0;
		globfree(&matches);
	}
	return found;
}

/* Bind @prefix, by its real name too: files of an installation name each other by that. */
static int bind_prefix(struct runtime_start *out, const char *prefix, struct err *err)
{
	int r = runtime_bind(out, prefix, NULL, err);
	char *real = r < 0 ? NULL : realpath(prefix, NULL);
	if (real && strcmp(real, prefix) != 0)
		r = runtime_bind(out, real, NULL, err);
	free(real);
	return r;
}

/* Where `home = …` of a virtual environment says its base is; empty when there is none. */
static void read_venv_home(const char *executable, char home[PATH_MAX])
{
	char path[PATH_MAX + 16], text[CONFIG_BYTES + 1];
	home[0] = '\0';
	(void)snprintf(path, PATH_MAX, "%s", executable);
	cut_last_part(path);
	cut_last_part(path);
	strcat(path, "/pyvenv.cfg");
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, text, CONFIG_BYTES);
	if (n < 0)
		return;
	text[n] = '\0';
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += strspn(line, "\n \t");
		if (strncmp(line, "home", 4) != 0)
			continue;
		char *value = line + 4 + strspn(line + 4, " \t");
		if (*value != '=')
			continue;
		value += 1 + strspn(value + 1, " \t");
		size_t bytes = strcspn(value, "\r\n");
		if (bytes < PATH_MAX && value[0] == '/')
			(void)snprintf(home, PATH_MAX, "%.*s", (int)bytes, value);
		return;
	}
}

/*
 * Bind the installation that @python belongs to, that of each link it goes through, and a virtual
 * environment's base. @python becomes the first of its names that the box will see.
 */
static int bind_installation(struct runtime_start *out, char python[PATH_MAX], struct err *err)
{
	char at[PATH_MAX], target[PATH_MAX], prefix[PATH_MAX], next[2 * PATH_MAX];
	bool is_seen = false;
	(void)snprintf(at, sizeof at, "%s", python);
	for (int i = 0; i < LINKS_MAX; i++) {
		(void)snprintf(prefix, sizeof prefix, "%s", at);
		cut_last_part(prefix);
		ssize_t n = readlink(at, target, sizeof target - 1);
		(void)snprintf(next, sizeof next, "%s/%.*s", target[0] == '/' ? "" : prefix,
			(int)MAX(n, 0), target);
		cut_last_part(prefix);
		int r = runtime_is_in_box(at)	  ? 0
			: is_installation(prefix) ? bind_prefix(out, prefix, err)
						  : 1;
		if (r < 0)
			return r;
		if (r == 0 && !is_seen) {
			(void)snprintf(python, PATH_MAX, "%s", at);
			is_seen = true;
		}
		r = n < 0 ? 0 : absolute_path(next, at, err);
		if (n < 0 || r < 0)
			return is_seen || r < 0 ? r : no_installation(python, err);
	}
	return no_installation(python, err);
}

static int bind_venv_base(struct runtime_start *out, const char *python, struct err *err)
{
	char home[PATH_MAX];
	read_venv_home(python, home);
	cut_last_part(home);
	return !runtime_is_in_box(home) && is_installation(home) ? bind_prefix(out, home, err) : 0;
}

/* Add NAME=VALUE unless NAME is there already: the caller's come first and win. */
static int add_variable(struct runtime_start *out, struct err *err, const char *variable)
{
	size_t name_bytes = strcspn(variable, "=") + 1;
	for (size_t i = 0; out->envp[i]; i++)
		if (strncmp(out->envp[i], variable, name_bytes) == 0)
			return 0;
	return runtime_add(out->envp, RUNTIME_ENV_MAX, err, "%s", variable);
}

static int add_environment(
	const struct runtime_request *req, struct runtime_start *out, struct err *err)
{
	static const char *const fixed[] = {"RETORT=1", "HOME=/home/user", "USER=user",
		"TMPDIR=/tmp", "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin",
		"MPLBACKEND=Agg",
		/* Caches are no results: keep them out of the workspace. */
		"XDG_CACHE_HOME=/tmp/.cache", "MPLCONFIGDIR=/tmp/.cache/matplotlib"};
	/* More threads than CPUs only cost; and no thread pool may exist when a driver forks. */
	unsigned n_threads = (unsigned)((req->cpu_milli + 999) / 1000);
	char computed[5][96] = {""};
	(void)snprintf(computed[0], sizeof computed[0], "RETORT_SESSION=%s", req->session);
	(void)snprintf(computed[1], sizeof computed[1], "OPENBLAS_NUM_THREADS=%u", n_threads);
	(void)snprintf(computed[2], sizeof computed[2], "OMP_NUM_THREADS=%u", n_threads);
	if (req->has_seed) {
		unsigned seed = (unsigned)(req->seed % UINT32_MAX);
		(void)snprintf(computed[3], sizeof computed[3], "PYTHONHASHSEED=%u", seed);
		(void)snprintf(computed[4], sizeof computed[4], "RETORT_SEED=%u", seed);
	}
	int r = 0;
	for (size_t i = req->n_env; r == 0 && i > 0; i--) /* of two with one name the last counts */
		r = add_variable(out, err, req->env[i - 1]);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(fixed); i++)
		r = add_variable(out, err, fixed[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(computed); i++)
		if (computed[i][0])
			r = add_variable(out, err, computed[i]);
	return r;
}

static int python_start(
	const struct runtime_request *req, struct runtime_start *out, struct err *err)
{
	char python[PATH_MAX], drivers[PATH_MAX];
	int r = req->rootfs ? check_rootfs(req, python, err) : find_python(req, python, err);
	if (r == 0 && !req->rootfs)
		r = bind_installation(out, python, err);
	if (r == 0 && !req->rootfs)
		r = bind_venv_base(out, python, err);
	if (r < 0)
		return r;
	(void)snprintf(drivers, sizeof drivers, "%s/python", req->drivers_dir);
	r = runtime_bind(out, drivers, "/retort/python", err);
	if (r < 0)
		return err_hint(err, "install retort again: its parts must stay together"), r;
	const char *const argv[] = {python, "-s", "-S", "-B", "-c", bootstrap};
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(argv); i++)
		r = runtime_add(out->argv, RUNTIME_ARGS_MAX, err, "%s", argv[i]);
	return r < 0 ? r : add_environment(req, out, err);
}

const struct runtime runtime_python = {
	.name = "python",
	.endings = "|py|pyw|",
	.words = "|python|python3|",
	.start = python_start,
};
