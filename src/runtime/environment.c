/* Set the environment variables with which drivers are started. SPDX-License-Identifier:
 * Apache-2.0 */
#include "runtime/installation.h"
#include "runtime/start.h"
#include "runtime/still.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define PATH_OWN "/home/user/.local/bin:" /* what programs of the box install */

unsigned runtime_seed(const struct runtime_request *req)
{
	return (unsigned)(req->seed % UINT32_MAX);
}

/* Add @variable, NAME=VALUE, unless a variable of that name was added before. So the variables
 * of highest precedence are added first. */
static int add_variable(struct runtime_start *out, struct err *err, const char *variable)
{
	size_t name_bytes = strcspn(variable, "=") + 1;
	for (size_t i = 0; out->envp[i]; i++)
		if (strncmp(out->envp[i], variable, name_bytes) == 0)
			return 0;
	return runtime_add(out->envp, RUNTIME_ENV_MAX, err, "%s", variable);
}

/* Write PATH. The directory of the interpreter @chosen comes before the usual directories, unless
 * it is one of them. */
static void write_path(const char *chosen, char *out, size_t max)
{
	static const char *const usual[] = {"/usr/local/bin", "/usr/bin", "/bin"};
	const char *slash = chosen ? strrchr(chosen, '/') : NULL;
	int bytes = slash ? (int)(slash - chosen) : 0;
	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		if ((int)strlen(usual[i]) == bytes && memcmp(usual[i], chosen, (size_t)bytes) == 0)
			bytes = 0;
	if (bytes > 0 && !memchr(chosen, ':', (size_t)bytes))
		snprintf(out, max, "PATH=" PATH_OWN "%.*s:" RUNTIME_PATH, bytes, chosen);
	else
		snprintf(out, max, "PATH=" PATH_OWN RUNTIME_PATH);
}

int runtime_add_environment(const struct runtime_request *req, const char *const *own, size_t n_own,
	struct runtime_start *out, struct err *err)
{
	static const char *const fixed[] = {"RETORT=1", "HOME=/home/user", "USER=user",
		"TMPDIR=/tmp", "LANG=C.UTF-8",
		/* New files in the workspace are reported as results, so keep caches elsewhere. */
		"XDG_CACHE_HOME=/tmp/.cache", "NPM_CONFIG_CACHE=/tmp/.cache/npm",
		"NPM_CONFIG_UPDATE_NOTIFIER=false", "CARGO_HOME=/tmp/.cache/cargo",
		"GOMODCACHE=/tmp/.cache/go-mod",
		/* An undo could not remove directories without the right to write. */
		"GOFLAGS=-modcacherw",
		/* Programs are installed into PATH_OWN. No package manager owns what is there. */
		"NPM_CONFIG_PREFIX=/home/user/.local", "CARGO_INSTALL_ROOT=/home/user/.local",
		"GOBIN=/home/user/.local/bin", "PIP_BREAK_SYSTEM_PACKAGES=1",
		"PIP_DISABLE_PIP_VERSION_CHECK=1",
		"UV_LINK_MODE=copy"}; /* the cache is another file system than the workspace */
	char computed[2][96] = {""};
	char session[STILL_SESSION_BYTES], path[PATH_MAX + sizeof "PATH=:" PATH_OWN RUNTIME_PATH];
	still_session(req, session);
	snprintf(computed[0], sizeof computed[0], "RETORT_SESSION=%s", session);
	if (req->has_seed)
		snprintf(computed[1], sizeof computed[1], "RETORT_SEED=%u", runtime_seed(req));
	int r = still_add(req, out, err);
	/* If the caller sets a variable twice, the last value counts. add_variable() keeps the
	 * first value that it gets, so begin at the end. */
	for (size_t i = req->n_env; r == 0 && i > 0; i--)
		r = add_variable(out, err, req->env[i - 1]);
	write_path(req->chosen, path, sizeof path);
	if (r == 0)
		r = add_variable(out, err, path);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(fixed); i++)
		r = add_variable(out, err, fixed[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(computed); i++)
		if (computed[i][0])
			r = add_variable(out, err, computed[i]);
	for (size_t i = 0; r == 0 && i < n_own; i++)
		if (own[i][0])
			r = add_variable(out, err, own[i]);
	return r;
}
