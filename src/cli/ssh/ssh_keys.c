/*
 * A session's keys are in a directory of their own: a pair for who logs in, a pair for the box, and
 * what ssh must know about the latter. The file "session" is written last. It names the session for
 * which the box's keys were made, so that a later session of the same name gets others, and so that
 * keys whose making was interrupted are made again.
 *
 * Keys are made when somebody logs in: of files that are missing when ssh starts, it reads each
 * only after sshd has said its first word. So all can be removed at any time. But the key of who
 * logs in stays with the name, because ssh, if it has read it at its start, does not read it again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/ssh/ssh_keys.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/host/xdg.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOST	"host"
#define SESSION "session"

#define PUBLIC ".pub"

/* The last ones are the pair of who logs in. */
static const char *const file_names[] = {
	SESSION, HOST, HOST PUBLIC, SSH_KEYS_KNOWN, SSH_KEYS_LOGIN, SSH_KEYS_LOGIN PUBLIC};
enum { N_FILES = ARRAY_LEN(file_names), N_FILES_OF_BOX = N_FILES - 2 };

static void remove_files(const char *dir, size_t n)
{
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; fd >= 0 && i < n; i++)
		(void)unlinkat(fd, file_names[i], 0);
}

/* Return whether the directory is one of ours: --keys may name any. */
static bool is_ours(const char *dir)
{
	char path[PATH_MAX];
	return snprintf(path, sizeof path, "%s/" SESSION, dir) < (int)sizeof path &&
		access(path, F_OK) == 0;
}

/* Return whether the directory has none of the files that we would write. */
static bool is_free(const char *dir)
{
	char path[PATH_MAX];
	for (size_t i = 0; i < N_FILES; i++)
		if (snprintf(path, sizeof path, "%s/%s", dir, file_names[i]) < (int)sizeof path &&
			access(path, F_OK) == 0)
			return false;
	return true;
}

void ssh_keys_forget(const char *dir)
{
	if (!is_ours(dir))
		return;
	remove_files(dir, N_FILES);
	(void)rmdir(dir);
}

/* ---- reading ---- */

static int read_key(struct buf *out, const char *dir, const char *name, struct err *err)
{
	char path[PATH_MAX];
	buf_clear(out);
	if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
		return err_set(err, ERR_USAGE, "a path of more than %d bytes", PATH_MAX - 1);
	int r = file_load(out, path, "the key file", err);
	while (out->bytes > 0 && out->data[out->bytes - 1] == '\n')
		buf_cut(out, out->bytes - 1);
	return r;
}

/* Return whether the files from the one with number @from are there. */
static bool has_files(const char *dir, size_t from)
{
	cleanup_buf struct buf text = BUF_INIT(SSH_KEYS_MAX_BYTES);
	struct err ignored;
	for (size_t i = from; i < N_FILES; i++)
		if (read_key(&text, dir, file_names[i], &ignored) < 0 || text.bytes == 0)
			return false;
	return true;
}

static bool is_made_for(const char *dir, const char *session)
{
	cleanup_buf struct buf text = BUF_INIT(SSH_KEYS_MAX_BYTES);
	struct err ignored;
	return read_key(&text, dir, SESSION, &ignored) == 0 &&
		strcmp(buf_str(&text), session) == 0 && has_files(dir, 0);
}

static int read_keys(struct ssh_keys *out, const char *dir, struct err *err)
{
	cleanup_buf struct buf host = BUF_INIT(SSH_KEYS_MAX_BYTES);
	cleanup_buf struct buf login = BUF_INIT(SSH_KEYS_MAX_BYTES);
	int r = read_key(&host, dir, HOST, err);
	if (r == 0)
		r = read_key(&login, dir, SSH_KEYS_LOGIN PUBLIC, err);
	if (r < 0)
		return r;
	*out = (struct ssh_keys){host, login};
	host = login = BUF_INIT(0);
	return 0;
}

/* ---- making ---- */

static int run_keygen(const char *const *argv, struct err *err)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status = -1;
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(
		&actions, STDIN_FILENO, "/dev/null", O_RDONLY | O_CLOEXEC, 0);
	/* Our stdout is ssh's protocol. */
	(void)posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	int sys = posix_spawnp(
		&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (sys)
		return err_fail_sys(err, sys == ENOENT ? ERR_NOT_FOUND : ERR_IO, sys,
			"install it; Debian: apt-get install openssh-client", "run ssh-keygen");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0 ? 0 : err_set(err, ERR_IO, "ssh-keygen could not make a key");
}

/* Make a pair of keys in the files @name and @name.pub of @dir. */
static int make_pair(const char *dir, const char *name, const char *host, struct err *err)
{
	char path[PATH_MAX], comment[SSH_HOST_BYTES + 16];
	const char *const argv[] = {
		"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path, NULL};
	snprintf(comment, sizeof comment, "retort-%s", host);
	if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
		return err_set(err, ERR_USAGE, "a path of more than %d bytes", PATH_MAX - 1);
	return run_keygen(argv, err);
}

static int put(int dir, const char *name, const struct buf *text, struct err *err)
{
	int r = file_put(dir, name, text->data, text->bytes, 0600, 0);
	return r < 0 ? err_sys(err, file_code(-r), -r, "write %s of the keys", name) : 0;
}

static int make_keys(const struct ssh_place *place, struct err *err)
{
	const char *dir = place->dir;
	cleanup_buf struct buf key = BUF_INIT(SSH_KEYS_MAX_BYTES);
	cleanup_buf struct buf text = BUF_INIT(2 * SSH_KEYS_MAX_BYTES);
	bool has_login = has_files(dir, N_FILES_OF_BOX);
	remove_files(dir, has_login ? N_FILES_OF_BOX : N_FILES);
	int r = xdg_make_dir(dir, err);
	if (r == 0 && !has_login)
		r = make_pair(dir, SSH_KEYS_LOGIN, place->host, err);
	if (r == 0)
		r = make_pair(dir, HOST, place->host, err);
	if (r == 0)
		r = read_key(&key, dir, HOST PUBLIC, err);
	if (r < 0)
		return r;
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, file_code(errno), errno, "directory %s", dir);
	(void)buf_addf(&text, SSH_KEYS_ALIAS " %s\n", buf_str(&key));
	r = put(fd, SSH_KEYS_KNOWN, &text, err);
	buf_clear(&text);
	(void)buf_addf(&text, "%s\n", place->session);
	return r < 0 ? r : put(fd, SESSION, &text, err);
}

/* ---- sessions that are gone ---- */

static bool is_gone(struct client *client, const char *host)
{
	cleanup_json json_t *about = NULL;
	struct err err = {0};
	json_t *params = json_pack("{s:s}", "session", host);
	if (client_call(client, "session.get", params, NULL, &about, &err) < 0)
		return err.code == ERR_NOT_FOUND;
	return strcmp(json_get_text(about, "state"), "closed") == 0;
}

/* Remove the keys of this engine's sessions that are gone. If something fails, they stay until the
 * next time. */
static void sweep(const char *engine_dir, struct client *client)
{
	char path[PATH_MAX];
	DIR *dir = opendir(engine_dir);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		if (ssh_place_is_plain(entry->d_name) && is_gone(client, entry->d_name) &&
			snprintf(path, sizeof path, "%s/%s", engine_dir, entry->d_name) <
				(int)sizeof path)
			ssh_keys_forget(path);
	if (dir)
		(void)closedir(dir);
}

/* Make the directory if it is missing, and lock it. Returns: a descriptor, or negative errno. */
static int lock_dir(const char *dir, struct err *err)
{
	int r = xdg_make_dir(dir, err);
	if (r < 0)
		return r;
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, file_code(errno), errno, "directory %s", dir);
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(err, ERR_IO, errno, "lock %s", dir);
	return take_fd(fd);
}

int ssh_keys_need(
	struct ssh_keys *out, const struct ssh_place *place, struct client *client, struct err *err)
{
	char above[PATH_MAX];
	snprintf(above, sizeof above, "%s", place->dir);
	cleanup_fd int lock = lock_dir(dirname(above), err);
	if (lock < 0)
		return lock;
	if (!is_made_for(place->dir, place->session)) {
		if (!place->is_among_others && !is_ours(place->dir) && !is_free(place->dir))
			return err_fail(err, ERR_USAGE,
				"name the directory that `retort ssh-config` prints",
				"--keys %.150s has files of somebody else", place->dir);
		int r = make_keys(place, err);
		if (r < 0)
			return r;
		if (place->is_among_others)
			sweep(above, client);
	}
	return read_keys(out, place->dir, err);
}
