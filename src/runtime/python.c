/*
 * The runtime for CPython: find its installation, bind it into the box, and build the driver's
 * command line.
 *
 * Python's option for isolation, -I, would ignore PYTHONHASHSEED. It is not needed, because the
 * environment of a box contains only what we put there. The options -s and -S keep Python from
 * adding directories of packages to sys.path; the driver does that itself, faster (drivers/python).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/fd.h"
#include "runtime/installation.h"
#include "runtime/start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CONFIG_BYTES = 64 << 10 };

/* Python's `warnings` skips frames of files whose path contains "importlib" and "_bootstrap". So
 * the warning of a program never names a file of the driver (drivers/python/main.py). */
#define DRIVER_PLACE "/retort/python.importlib._bootstrap"

static const struct runtime_kind kind = {
	.language = "Python",
	.executable = "bin/python3",
	.signs = {"pyvenv.cfg", "lib/python3*", "lib64/python3*"},
	.hint = "name its bin/python3, or the directory of a virtual environment",
	.usual = {"/usr/bin/python3", "/usr/local/bin/python3"},
	.missing = "install it (apt install python3) or name one: --python PATH",
};

int python_find(const char *asked, char out[PATH_MAX], struct err *err)
{
	return runtime_find(&kind, asked, out, err);
}

/* Read the line `@key = VALUE` in pyvenv.cfg of a virtual environment. @out becomes "" if the line
 * is missing. */
static void read_venv(const char *executable, const char *key, char out[PATH_MAX])
{
	char path[PATH_MAX + 16], text[CONFIG_BYTES + 1];
	out[0] = '\0';
	snprintf(path, PATH_MAX, "%s", executable);
	runtime_cut_last_part(path);
	runtime_cut_last_part(path);
	strcat(path, "/pyvenv.cfg");
	cleanup_fd int fd = fd_open_regular(path);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, text, CONFIG_BYTES);
	if (n < 0)
		return;
	text[n] = '\0';
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += strspn(line, "\n \t");
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		char *value = line + strlen(key);
		value += strspn(value, " \t");
		if (*value != '=')
			continue;
		value += 1 + strspn(value + 1, " \t");
		size_t bytes = strcspn(value, "\r\n");
		if (bytes < PATH_MAX)
			snprintf(out, PATH_MAX, "%.*s", (int)bytes, value);
		return;
	}
}

static int bind_venv_base(struct runtime_start *out, const char *python, struct err *err)
{
	char home[PATH_MAX];
	read_venv(python, "home", home); /* where the interpreter is on which it is based */
	if (home[0] != '/')
		return 0;
	runtime_cut_last_part(home);
	return !runtime_is_in_box(home) && runtime_is_installation(&kind, home)
		? runtime_bind_prefix(out, home, err)
		: 0;
}

/* A virtual environment of the host is read-only, and has no directory of the user's own. So have
 * pip write into the one of the home directory, and Python look there. */
static void write_venv(const char *python, char prefix[96], char path[96])
{
	char version[PATH_MAX];
	unsigned major, minor;
	read_venv(python, "version", version);
	if (!version[0])
		read_venv(python, "version_info", version); /* as virtualenv and uv write it */
	if (sscanf(version, "%u.%u", &major, &minor) != 2)
		return;
	snprintf(prefix, 96, "PIP_PREFIX=/home/user/.local");
	snprintf(path, 96, "PYTHONPATH=/home/user/.local/lib/python%u.%u/site-packages", major,
		minor);
}

static int add_environment(const struct runtime_request *req, const char *python,
	struct runtime_start *out, struct err *err)
{
	/* More threads than CPUs only cost time, and the driver has to end all idle threads before
	 * it forks. */
	unsigned n_threads = (unsigned)((req->cpu_milli + 999) / 1000);
	char computed[5][96] = {""};
	snprintf(computed[0], sizeof computed[0], "OPENBLAS_NUM_THREADS=%u", n_threads);
	snprintf(computed[1], sizeof computed[1], "OMP_NUM_THREADS=%u", n_threads);
	if (req->has_seed)
		snprintf(computed[2], sizeof computed[2], "PYTHONHASHSEED=%u", runtime_seed(req));
	if (!req->has_image)
		write_venv(python, computed[3], computed[4]);
	const char *const own[] = {"MPLBACKEND=Agg", "MPLCONFIGDIR=/tmp/.cache/matplotlib",
		computed[0], computed[1], computed[2], computed[3], computed[4]};
	return runtime_add_environment(req, own, ARRAY_LEN(own), out, err);
}

static int python_start(
	const struct runtime_request *req, struct runtime_start *out, struct err *err)
{
	char python[PATH_MAX];
	int r = req->has_image ? runtime_name_in_image(req, "python3", python, err)
			       : runtime_find(&kind, req->interpreter, python, err);
	if (r == 0 && !req->has_image)
		r = runtime_bind_installation(&kind, out, python, err);
	if (r == 0 && !req->has_image)
		r = bind_venv_base(out, python, err);
	if (r < 0)
		return r;
	r = runtime_bind_driver(req, out, "python", DRIVER_PLACE, err);
	if (r < 0)
		return r;
	static const char main_py[] = DRIVER_PLACE "/main.py";
	const char *const argv[] = {python, "-s", "-S", "-B", main_py, "3"};
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(argv); i++)
		r = runtime_add(out->argv, RUNTIME_ARGS_MAX, err, "%s", argv[i]);
	struct runtime_request mine = *req;
	mine.chosen = req->interpreter ? python : req->chosen;
	return r < 0 ? r : add_environment(&mine, python, out, err);
}

const struct runtime runtime_python = {
	.name = "python",
	.endings = "|py|pyw|",
	.words = "|python|python3|ipython|",
	.carry = CARRY_MEMORY,
	.has_environment = true,
	.has_scopes = true,
	.start = python_start,
};
