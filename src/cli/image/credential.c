/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/image/credential.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 20, SECRET_BYTES = 16 << 10, HELPER_BYTES = 64 };

static const char hub[] = "https://index.docker.io/v1/";

/* ---- programs ---- */

/* Run "docker-credential-NAME get" with @host as its input. Returns: its output; NULL and @err.
 * Owns: the caller decrefs. */
static json_t *ask_program(const char *name, const char *host, struct err *err)
{
	char program[HELPER_BYTES + 32];
	int ends[2], status = 0;
	pid_t pid = 0;
	posix_spawn_file_actions_t actions;
	cleanup_wipe_buf struct buf text = BUF_INIT(SECRET_BYTES);
	snprintf(program, sizeof program, "docker-credential-%s", name);
	char get[] = "get", *argv[] = {program, get, NULL};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		(void)err_sys(err, ERR_IO, errno, "run %s", program);
		return NULL;
	}
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	int r = posix_spawnp(&pid, program, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(ends[1]);
	if (r == 0) {
		(void)fd_write_all(ends[0], host, strlen(host));
		(void)shutdown(ends[0], SHUT_WR);
		(void)file_read_fd(&text, ends[0]);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	(void)close(ends[0]);
	if (r != 0) {
		(void)err_fail_sys(err, ERR_NOT_FOUND, r,
			"the file that names it is docker's or podman's configuration",
			"run %s, which has the login for %.100s", program, host);
		return NULL;
	}
	/* A program that has no login for the host says so, and fails. */
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return json_need(json_object());
	json_t *said = json_loadb(buf_str(&text), text.bytes, 0, NULL);
	if (!json_is_object(said)) {
		json_decref(said);
		(void)err_set(err, ERR_AUTH, "%s gave no login", program);
		return NULL;
	}
	return said;
}

static bool is_program(const char *name)
{
	size_t n =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
	return n > 0 && n < HELPER_BYTES && !name[n];
}

/* ---- files ---- */

static json_t *login(const char *user, const char *secret)
{
	json_t *out = json_need(json_object());
	json_put_text(out, "user", user);
	json_put_text(out, "secret", secret);
	return out;
}

static int fail_entry(const char *host, struct err *err)
{
	(void)err_set(err, ERR_USAGE, "the login for %.100s cannot be read", host);
	return err_hint(
		err, "log in again: docker login %.60s, or: podman login %.60s", host, host);
}

/* Take an entry of "auths" to pieces. *@out: NULL: it has no login. */
static int read_entry(const json_t *entry, const char *host, json_t **out, struct err *err)
{
	cleanup_wipe_buf struct buf plain = BUF_INIT(SECRET_BYTES);
	const char *auth = json_get_text(entry, "auth");
	const char *token = json_get_text(entry, "identitytoken");
	if (token[0])
		*out = login("", token);
	if (token[0] || !auth[0])
		return 0;
	bool is_text = base64_read(&plain, auth, strlen(auth), err) == 0;
	char *colon = is_text && plain.bytes ? memchr(plain.data, ':', plain.bytes) : NULL;
	if (!colon)
		return fail_entry(host, err);
	*colon = '\0';
	*out = login(plain.data, colon + 1);
	return 0;
}

/* Find the login in the object of a file. *@out stays NULL if the file has none. */
static int search(const json_t *root, const char *host, json_t **out, struct err *err)
{
	bool is_hub = strcmp(host, "docker.io") == 0;
	const char *const keys[] = {is_hub ? hub : host, is_hub ? "docker.io" : host};
	const json_t *helpers = json_object_get(root, "credHelpers");
	const json_t *auths = json_object_get(root, "auths");
	const char *program = "";
	for (size_t i = 0; i < ARRAY_LEN(keys) && !program[0]; i++)
		program = json_get_text(helpers, keys[i]);
	int r = 0;
	for (size_t i = 0; i < ARRAY_LEN(keys) && !program[0] && !*out && r == 0; i++)
		r = read_entry(json_object_get(auths, keys[i]), host, out, err);
	if (r < 0)
		return r;
	if (!program[0] && !*out)
		program = json_get_text(root, "credsStore");
	if (*out || !is_program(program))
		return 0;
	cleanup_json json_t *said = ask_program(program, keys[0], err);
	if (!said)
		return -err_errno(err->code);
	const char *user = json_get_text(said, "Username"), *secret = json_get_text(said, "Secret");
	if (secret[0])
		*out = login(strcmp(user, "<token>") == 0 ? "" : user, secret);
	return 0;
}

static int search_file(const char *path, const char *host, json_t **out, struct err *err)
{
	cleanup_wipe_buf struct buf text = BUF_INIT(FILE_BYTES);
	json_error_t where;
	if (access(path, F_OK) < 0)
		return 0;
	int r = file_load(&text, path, "the file of logins", err);
	if (r < 0)
		return r;
	cleanup_json json_t *root = json_loadb(buf_str(&text), text.bytes, 0, &where);
	if (!json_is_object(root))
		return err_set(err, ERR_USAGE, "the file of logins %.150s: no JSON object, line %d",
			path, root ? 1 : where.line);
	return search(root, host, out, err);
}

int credential_find(const char *host, json_t **out, struct err *err)
{
	static const struct {
		const char *variable, *below; /* below HOME, if the variable is not set */
		const char *name;
	} files[] = {
		{"REGISTRY_AUTH_FILE", NULL, ""},
		{"XDG_RUNTIME_DIR", NULL, "/containers/auth.json"},
		{"XDG_CONFIG_HOME", "/.config", "/containers/auth.json"},
		{"DOCKER_CONFIG", "/.docker", "/config.json"},
	};
	char path[PATH_MAX];
	const char *home = getenv("HOME");
	int r = 0;
	*out = NULL;
	for (size_t i = 0; i < ARRAY_LEN(files) && r == 0 && !*out; i++) {
		const char *dir = getenv(files[i].variable);
		bool is_set = dir && dir[0];
		if (!is_set && (!files[i].below || !home))
			continue;
		int n = snprintf(path, sizeof path, "%s%s%s", is_set ? dir : home,
			is_set ? "" : files[i].below, files[i].name);
		if (n > 0 && (size_t)n < sizeof path)
			r = search_file(path, host, out, err);
	}
	return r;
}
