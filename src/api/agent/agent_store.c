/*
 * Each agent has a directory, DIR/ID. The file agent.json is the saved agent. The file agent.lock
 * is locked by the process that works with the agent. Other files in the directory belong to that
 * process: `retort agent` stores the journal of its engine there.
 *
 * An agent in use is never deleted, because prune() and agent_store_remove() take the lock first.
 * Listing needs no lock, because agent.json is always replaced as a whole.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/agent/agent_store.h"

#include "api/text/json.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ID_BYTES = sizeof "a-" + 10, FILE_VERSION = 1, PARTS_MAX = 4 << 20 };

static const char file_name[] = "agent.json", lock_name[] = "agent.lock";

/* ---- the ids of agents ---- */

void agent_store_new_id(char id[AGENT_ID_BYTES])
{
	id_make(id, ID_BYTES, "a-");
}

/* Return whether @text is the id of an agent, or the beginning of one, such as "a-7k2". */
static bool is_id(const char *text)
{
	return id_is_like(text, AGENT_ID_BYTES, "a-", 1);
}

static int not_found(const char *id, struct err *err)
{
	return err_set(err, ERR_NOT_FOUND, "no agent %.*s is saved here",
		(int)utf8_cut(id, strlen(id), 80), id);
}

static int fail(const char *what, const char *id, int sys, struct err *err)
{
	return err_sys(err, file_code(sys), sys, "%s agent %s", what, id);
}

/* ---- the directories of agents ---- */

static int open_lock(int at, int flags)
{
	int fd = openat(at, lock_name, flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
	return fd < 0 ? -errno : fd;
}

/* Open and lock an agent's directory. @lock: set to the descriptor of the lock file. Returns:
 * the descriptor of the directory; -EWOULDBLOCK: another process has the lock; or negative
 * errno. */
static int lock_dir(int at, const char *id, int *lock)
{
	struct flock whole = {.l_type = F_WRLCK};
	cleanup_fd int fd = openat(at, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	cleanup_fd int lock_fd = open_lock(fd, O_RDWR | O_CREAT);
	if (lock_fd < 0)
		return lock_fd;
	if (fcntl(lock_fd, F_OFD_SETLK, &whole) < 0)
		return errno == EAGAIN || errno == EACCES ? -EWOULDBLOCK : -errno;
	*lock = fd_take(&lock_fd);
	return fd_take(&fd);
}

/* Return whether a process has locked the agent. Only query the lock. If this function took it,
 * even for a moment, another process might fail to open the agent. */
static bool is_locked(int at)
{
	struct flock whole = {.l_type = F_WRLCK};
	cleanup_fd int fd = open_lock(at, O_RDWR);
	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

static int open_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int agent_store_open(struct stored_agent *out, const char *dir, const char *id, struct err *err)
{
	struct stat st;
	cleanup_fd int at = open_dir(dir);
	if (at < 0 || !is_id(id))
		return not_found(id, err);
	cleanup_fd int lock = -1;
	cleanup_fd int fd = lock_dir(at, id, &lock);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return not_found(id, err);
	if (fd == -EWOULDBLOCK)
		return err_fail(err, ERR_BUSY, "wait until the agent ends, or interrupt it",
			"agent %s is running", id);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail("open", id, fd < 0 ? -fd : errno, err);
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return err_set(err, ERR_ACCESS,
			"agent %s: its directory belongs to another user, or others may enter it",
			id);
	*out = (struct stored_agent){.fd = fd_take(&fd), .lock_fd = fd_take(&lock)};
	snprintf(out->id, sizeof out->id, "%s", id);
	return 0;
}

/* Remove an agent's directory and the files in it. */
static void remove_all(int at, const char *id, int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d) {
		fd_close(&copy);
		return;
	}
	for (const struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)unlinkat(fd, e->d_name, 0);
	(void)closedir(d);
	(void)unlinkat(at, id, AT_REMOVEDIR);
}

struct agent_dir {
	char id[AGENT_ID_BYTES];
	int64_t changed_ns;
};

static int by_time(const void *a, const void *b)
{
	const struct agent_dir *x = a, *y = b;
	return (x->changed_ns < y->changed_ns) - (x->changed_ns > y->changed_ns);
}

/* List the directories of all agents, the most recently changed first. Owns: the caller frees
 * the array. */
static struct agent_dir *scan(const char *dir, size_t *n)
{
	struct agent_dir *all = NULL;
	size_t room = 0;
	DIR *d = opendir(dir);
	*n = 0;
	for (const struct dirent *e; d && (e = readdir(d));) {
		char path[sizeof e->d_name + sizeof file_name];
		struct stat st;
		snprintf(path, sizeof path, "%s/%s", e->d_name, file_name);
		if (!is_id(e->d_name) ||
			(fstatat(dirfd(d), path, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
				fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0))
			continue;
		if (*n == room) {
			struct agent_dir *more =
				realloc(all, (room = MAX(room * 2, (size_t)64)) * sizeof *all);
			if (!more)
				break;
			all = more;
		}
		all[*n].changed_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
		snprintf(all[*n].id, sizeof all[*n].id, "%s", e->d_name);
		(*n)++;
	}
	if (d)
		(void)closedir(d);
	if (*n > 0)
		qsort(all, *n, sizeof *all, by_time);
	return all;
}

static void prune(const char *dir)
{
	size_t n;
	struct agent_dir *all = scan(dir, &n);
	cleanup_fd int at = open_dir(dir);
	for (size_t i = AGENT_STORE_MAX; at >= 0 && i < n; i++) {
		cleanup_fd int lock = -1;
		cleanup_fd int fd = lock_dir(at, all[i].id, &lock);
		if (fd >= 0)
			remove_all(at, all[i].id, fd);
	}
	free(all);
}

int agent_store_create(struct stored_agent *out, const char *dir, const char *id, struct err *err)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s/%s", dir, id);
	int r = n > 0 && (size_t)n < sizeof path ? file_make_dirs(path, 0700, 0700) : -ENAMETOOLONG;
	if (r < 0)
		return fail("save", id, -r, err);
	r = agent_store_open(out, dir, id, err);
	if (r == 0)
		prune(dir);
	return r;
}

void agent_store_close(struct stored_agent *k)
{
	fd_close(&k->fd);
	fd_close(&k->lock_fd);
}

void agent_store_remove(const char *dir, const char *id)
{
	cleanup_fd int at = open_dir(dir);
	cleanup_fd int lock = -1;
	cleanup_fd int fd = at < 0 ? -1 : lock_dir(at, id, &lock);
	if (fd >= 0 && faccessat(fd, file_name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		remove_all(at, id, fd);
}

/* ---- the file agent.json ---- */

int agent_store_write(const struct stored_agent *k, const json_t *agent, struct err *err)
{
	char *text = json_dumps(agent, JSON_COMPACT);
	size_t bytes = text ? strlen(text) : 0;
	int r = !text ? -ENOMEM
		: bytes > AGENT_STORE_BYTES_MAX
		? -EFBIG
		: file_put(k->fd, file_name, text, bytes, 0600, FILE_PUT_SYNC);
	free(text);
	return r < 0 ? fail("save", k->id, -r, err) : 0;
}

static char *read_text(const struct stored_agent *k, size_t *bytes, struct err *err)
{
	struct stat st;
	cleanup_fd int fd =
		openat(k->fd, file_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT) {
		(void)err_set(err, ERR_NOT_FOUND, "agent %s was never saved", k->id);
		return NULL;
	}
	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)fail("read", k->id, errno, err);
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > AGENT_STORE_BYTES_MAX) {
		(void)err_set(err, ERR_LIMIT,
			"agent %s: its file is over %d MiB, or not a regular file", k->id,
			AGENT_STORE_BYTES_MAX >> 20);
		return NULL;
	}
	char *text = malloc((size_t)st.st_size + 1);
	ssize_t n = text ? fd_read_all(fd, text, (size_t)st.st_size + 1) : -ENOMEM;
	if (n >= 0) {
		*bytes = (size_t)n;
		return text;
	}
	free(text);
	(void)fail("read", k->id, (int)-n, err);
	return NULL;
}

static int check(const struct stored_agent *k, const json_t *agent, struct err *err)
{
	static const char *const texts[] = {"agent", "owner", "task", "session", "model"};
	json_int_t version = json_integer_value(json_object_get(agent, "version"));
	bool is_good = json_is_object(json_object_get(agent, "loop")) &&
		json_is_object(json_object_get(agent, "params")) &&
		json_is_integer(json_object_get(agent, "changed_ms"));
	if (version > FILE_VERSION)
		return err_fail(err, ERR_USAGE, "use the newer retort that saved it",
			"agent %s: its file has version %" JSON_INTEGER_FORMAT
			", but this retort reads only up to %d",
			k->id, version, FILE_VERSION);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		is_good = is_good && json_is_string(json_object_get(agent, texts[i]));
	if (version >= 1 && is_good)
		return 0;
	return err_fail(err, ERR_DAMAGED, "restore it from a copy, or begin a new task",
		"agent %s: its file is damaged", k->id);
}

json_t *agent_store_read(const struct stored_agent *k, struct err *err)
{
	size_t bytes = 0;
	char *text = read_text(k, &bytes, err);
	if (!text)
		return NULL;
	json_t *agent = json_parts(text, bytes) > PARTS_MAX
		? NULL
		: json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	if (check(k, agent, err) == 0)
		return agent;
	json_decref(agent);
	return NULL;
}

/* ---- listing and finding agents ---- */

/* Describe an agent for a list. An agent whose file cannot be read is described as "damaged".
 * Returns: NULL if the agent was not saved yet, if its file names another owner, or if memory is
 * exhausted. */
static json_t *row_of(int at, const struct agent_dir *found, const char *owner)
{
	struct err err = {0};
	struct stored_agent k = {
		.fd = openat(at, found->id, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .lock_fd = -1};
	snprintf(k.id, sizeof k.id, "%s", found->id);
	json_t *agent = k.fd < 0 ? NULL : agent_store_read(&k, &err);
	const char *status = json_string_value(json_object_get(agent, "status"));
	bool is_running = k.fd >= 0 && is_locked(k.fd);
	agent_store_close(&k);
	if (!agent && err.code == ERR_NOT_FOUND)
		return NULL; /* the agent was created, but was never saved */
	if (!agent)
		return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:I}", "agent", found->id, "task",
			"", "status", "damaged", "model", "", "session", "", "steps", 0,
			"changed_ms", (json_int_t)(found->changed_ns / 1000000));
	const char *task = json_string_value(json_object_get(agent, "task"));
	json_t *out = strcmp(json_string_value(json_object_get(agent, "owner")), owner) != 0
		? NULL
		: json_pack("{s:s, s:o, s:s, s:O, s:O, s:O*, s:I, s:O}", "agent", found->id, "task",
			  json_safe_text(task, AGENT_TASK_BYTES), "status",
			  is_running			  ? "running"
				  : !status || !status[0] ? "interrupted"
							  : status,
			  "model", json_object_get(agent, "model"), "session",
			  json_object_get(agent, "session"), "directory",
			  json_object_get(agent, "directory"), "steps",
			  json_integer_value(
				  json_object_get(json_object_get(agent, "loop"), "steps")),
			  "changed_ms", json_object_get(agent, "changed_ms"));
	json_decref(agent);
	return out;
}

json_t *agent_store_list(const char *dir, const char *owner)
{
	size_t n;
	struct agent_dir *all = scan(dir, &n);
	cleanup_fd int at = open_dir(dir);
	json_t *out = json_array();
	for (size_t i = 0; at >= 0 && i < n; i++) {
		json_t *row = row_of(at, &all[i], owner);
		if (row)
			json_add_new(out, row);
	}
	free(all);
	return out;
}

static int find_last(
	char id[AGENT_ID_BYTES], const char *dir, const char *directory, struct err *err)
{
	size_t i;
	json_t *row, *rows = agent_store_list(dir, "");
	json_array_foreach(rows, i, row)
	{
		const char *there = json_string_value(json_object_get(row, "directory"));
		if (!there || strcmp(there, directory) != 0)
			continue;
		snprintf(
			id, AGENT_ID_BYTES, "%s", json_string_value(json_object_get(row, "agent")));
		json_decref(rows);
		return 0;
	}
	json_decref(rows);
	return err_set(err, ERR_NOT_FOUND, "no agent was run in %.150s", directory);
}

int agent_store_find(char id[AGENT_ID_BYTES], const char *dir, const char *start,
	const char *directory, struct err *err)
{
	size_t n, n_found = 0;
	if (!start)
		return find_last(id, dir, directory, err);
	struct agent_dir *all = is_id(start) ? scan(dir, &n) : (n = 0, NULL);
	for (size_t i = 0; i < n; i++)
		if (strncmp(all[i].id, start, strlen(start)) == 0 && n_found++ == 0)
			memcpy(id, all[i].id, sizeof all[i].id);
	free(all);
	if (n_found == 1)
		return 0;
	if (n_found == 0)
		return not_found(start, err);
	return err_set(err, ERR_USAGE, "more than one agent's id begins with %s", start);
}
