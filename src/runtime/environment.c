/* Set the environment variables with which drivers are started. SPDX-License-Identifier:
 * Apache-2.0 */
#include "runtime/installation.h"
#include "runtime/start.h"
#include "runtime/still.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* in an image that names none, as other programs have it that run images */
#define PATH_OF_IMAGE "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define PATH_OWN      "/home/user/.local/bin:" /* what programs of the box install */

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

/* The variables of every box. Those of rows for one kind of system are left out for the other. */
static const struct {
	enum { ANY, HOST, IMAGE } system;
	const char *text;
} fixed[] = {
	{ANY, "RETORT=1"}, {ANY, "HOME=/home/user"}, {HOST, "USER=user"}, {ANY, "TMPDIR=/tmp"},
	{ANY, "LANG=C.UTF-8"},
	/* New files in the workspace are reported as results, so keep caches elsewhere. */
	{ANY, "XDG_CACHE_HOME=/tmp/.cache"}, {ANY, "NPM_CONFIG_CACHE=/tmp/.cache/npm"},
	{ANY, "NPM_CONFIG_UPDATE_NOTIFIER=false"}, {ANY, "CARGO_HOME=/tmp/.cache/cargo"},
	{ANY, "GOMODCACHE=/tmp/.cache/go-mod"},
	/* An undo could not remove directories without the right to write. */
	{ANY, "GOFLAGS=-modcacherw"},
	/* Programs are installed into PATH_OWN. No package manager owns what is there. */
	{HOST, "NPM_CONFIG_PREFIX=/home/user/.local"},
	{HOST, "CARGO_INSTALL_ROOT=/home/user/.local"}, {HOST, "GOBIN=/home/user/.local/bin"},
	{ANY, "PIP_BREAK_SYSTEM_PACKAGES=1"}, {IMAGE, "PIP_ROOT_USER_ACTION=ignore"},
	{IMAGE, "DEBIAN_FRONTEND=noninteractive"}, {ANY, "PIP_DISABLE_PIP_VERSION_CHECK=1"},
	{ANY, "UV_LINK_MODE=copy"}, /* the cache is another file system than the workspace */
};

static int add_fixed(const struct runtime_request *req, struct runtime_start *out, struct err *err)
{
	char user[64];
	int r = 0;
	snprintf(user, sizeof user, "USER=%s", req->user ? req->user : "root");
	if (req->has_image)
		r = add_variable(out, err, user);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(fixed); i++)
		if (fixed[i].system == ANY || (fixed[i].system == IMAGE) == req->has_image)
			r = add_variable(out, err, fixed[i].text);
	return r;
}

int runtime_add_environment(const struct runtime_request *req, const char *const *own, size_t n_own,
	struct runtime_start *out, struct err *err)
{
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
	for (size_t i = 0; r == 0 && i < req->n_image_env; i++)
		r = add_variable(out, err, req->image_env[i]);
	if (req->has_image)
		snprintf(path, sizeof path, "PATH=" PATH_OF_IMAGE);
	else
		write_path(req->chosen, path, sizeof path);
	if (r == 0)
		r = add_variable(out, err, path);
	if (r == 0)
		r = add_fixed(req, out, err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(computed); i++)
		if (computed[i][0])
			r = add_variable(out, err, computed[i]);
	for (size_t i = 0; r == 0 && i < n_own; i++)
		if (own[i][0])
			r = add_variable(out, err, own[i]);
	return r;
}
