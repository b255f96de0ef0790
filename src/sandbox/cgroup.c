/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/cgroup_ops.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	QUOTA_MIN_US = 1000, /* the kernel refuses a smaller CPU quota */
	/* PID_MAX_LIMIT of the kernel, which refuses a larger pids.max */
	PIDS_MAX = 4194304,
	/* the longest pause of cgroup_leaf_close(), which pauses for 1, 2, 4, … ms: at most
	 * 127 ms in total */
	CLOSE_WAIT_MAX_MS = 64,
	CPU_MILLI_MAX = 100000000, /* 100,000 CPUs: the quota stays in the kernel's range */
};

static const struct cgroup_ops *const ops_of[] = {
	[CGROUP_NONE] = &cgroup_ops_none,
	[CGROUP_V1] = &cgroup_ops_v1,
	[CGROUP_V2] = &cgroup_ops_v2,
};

void cgroup_why(struct cgroup_host *host, const char *fmt, ...)
{
	char *why = host->why;
	size_t room = sizeof host->why, used = strlen(why);
	va_list ap;
	if (used > 0 && used + 2 < room) {
		memcpy(why + used, "; ", 3);
		used += 2;
	}
	va_start(ap, fmt);
	vsnprintf(why + used, room - used, fmt, ap);
	va_end(ap);
}

bool cgroup_is_fake(const struct cgroup_host *host)
{
	return host->root[0] != '\0';
}

int cgroup_write(
	const struct cgroup_host *host, const char *dir, const char *file, const char *text)
{
	char path[CGROUP_FILE_BYTES];
	int r = cgroup_file_path(path, sizeof path, "%s/%s", dir, file);
	if (r < 0)
		return r;
	return cgroup_file_write(path, text, cgroup_is_fake(host) ? O_CREAT | O_APPEND : 0);
}

uint64_t cgroup_own_namespace(void)
{
	struct stat st;
	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : st.st_ino;
}

int cgroup_probe(const char *dir)
{
	return faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

void cgroup_text_memory(const struct limits *limits, char *out, size_t room)
{
	snprintf(out, room, "%" PRIu64, limits->value[LIMIT_memory_bytes]);
}

void cgroup_text_pids(const struct limits *limits, char *out, size_t room)
{
	uint64_t n = MIN(limits->value[LIMIT_pids], (uint64_t)PIDS_MAX - 1) + 1;
	snprintf(out, room, "%" PRIu64, n);
}

void cgroup_text_zero(const struct limits *limits, char *out, size_t room)
{
	(void)limits;
	snprintf(out, room, "0");
}

uint64_t cgroup_quota_us(const struct limits *limits)
{
	uint64_t milli = MIN(limits->value[LIMIT_cpu_milli], (uint64_t)CPU_MILLI_MAX);
	return MAX(milli * CGROUP_PERIOD_US / 1000, (uint64_t)QUOTA_MIN_US);
}

/* Use @kind as the host's kind if the host has it; otherwise clear host->base. Returns: as
 * cgroup_ops.find. */
static int try_kind(struct cgroup_host *host, enum cgroup_kind kind, const struct cgroup_self *self)
{
	host->why[0] = '\0';
	int r = ops_of[kind]->find(host, self);
	if (r > 0)
		host->kind = kind;
	else
		memset(host->base, 0, sizeof host->base);
	return r;
}

static void host_open(struct cgroup_host *host, const char *root, int force)
{
	struct cgroup_self self;
	if (cgroup_file_path(host->root, sizeof host->root, "%s", root) < 0) {
		cgroup_why(host, "the root's path is too long");
		return;
	}
	if (force == CGROUP_NONE) {
		cgroup_why(host, "asked to do without");
		return;
	}
	cgroup_self_read(&self, host->root);
	if (force > CGROUP_NONE && force <= CGROUP_V2) {
		(void)try_kind(host, (enum cgroup_kind)force, &self);
		return;
	}
	int r = try_kind(host, CGROUP_V2, &self);
	if (r > 0)
		return;
	char why[sizeof host->why];
	memcpy(why, host->why, sizeof why);
	/* host->why now has the reason why v1 cannot be used, and `why` has the reason for v2.
	 * If v1 is not mounted on this host at all, report only the reason for v2, since this
	 * host does not use v1. */
	if (try_kind(host, CGROUP_V1, &self) == -ENOENT)
		memcpy(host->why, why, sizeof why);
}

void cgroup_host_open(struct cgroup_host *host, const char *root, int force)
{
	*host = (struct cgroup_host){.kind = CGROUP_NONE};
	host_open(host, root, force);
}

void cgroup_host_look(struct cgroup_host *host, const char *root)
{
	*host = (struct cgroup_host){.kind = CGROUP_NONE, .is_looking = true};
	host_open(host, root, -1);
}

void cgroup_host_close(struct cgroup_host *host)
{
	if (!host->is_looking && ops_of[host->kind]->leave)
		ops_of[host->kind]->leave(host);
	*host = (struct cgroup_host){.kind = CGROUP_NONE};
}

bool cgroup_is_first(const struct cgroup_host *host, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (strcmp(host->base[i], host->base[row]) == 0)
			return false;
	return host->base[row][0] != '\0';
}

static int leaf_dir(char out[CGROUP_FILE_BYTES], const struct cgroup_leaf *leaf, size_t row)
{
	return cgroup_file_path(out, CGROUP_FILE_BYTES, "%s/%s", leaf->host->base[row], leaf->name);
}

/* Remove the leaf's directories for the first @n_rows controllers. Returns: whether all of them are
 * gone. */
static bool remove_dirs(const struct cgroup_leaf *leaf, size_t n_rows)
{
	bool all = true;
	for (size_t row = 0; row < n_rows; row++) {
		char dir[CGROUP_FILE_BYTES];
		if (!cgroup_is_first(leaf->host, row) || leaf_dir(dir, leaf, row) < 0)
			continue;
		int r = cgroup_file_rmdir(dir, cgroup_is_fake(leaf->host));
		all = all && (r == 0 || r == -ENOENT);
	}
	return all;
}

static int make_dirs(const struct cgroup_leaf *leaf, struct err *err)
{
	for (size_t row = 0; row < CGROUP_CONTROLLER_END_; row++) {
		char dir[CGROUP_FILE_BYTES];
		if (!cgroup_is_first(leaf->host, row))
			continue;
		int r = leaf_dir(dir, leaf, row);
		if (r == 0)
			r = cgroup_file_mkdir(dir, cgroup_is_fake(leaf->host));
		if (r < 0) {
			(void)remove_dirs(leaf, row);
			return err_sys(err, ERR_BOX, -r, "cgroup %s/%s", leaf->host->base[row],
				leaf->name);
		}
	}
	return 0;
}

static int write_settings(const struct cgroup_leaf *leaf, const struct limits *limits,
	enum limit_by by[LIMIT_END_], struct err *err)
{
	const struct cgroup_ops *ops = ops_of[leaf->host->kind];
	for (size_t i = 0; i < ops->n_settings; i++) {
		const struct cgroup_setting *s = &ops->settings[i];
		char dir[CGROUP_FILE_BYTES], text[64];
		if (!leaf->host->base[s->controller][0])
			continue;
		s->text(limits, text, sizeof text);
		int r = leaf_dir(dir, leaf, s->controller);
		if (r == 0)
			r = cgroup_write(leaf->host, dir, s->file, text);
		if (r == 0 && s->limit != LIMIT_END_)
			by[s->limit] = ops->by;
		if (r == 0 || s->need == CGROUP_MAY || (s->need == CGROUP_DEGRADE && r == -EINVAL))
			continue;
		return err_sys(err, ERR_BOX, -r, "cgroup %s/%s: writing %s", dir, s->file, text);
	}
	return 0;
}

static bool is_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) < CGROUP_NAME_BYTES;
}

int cgroup_leaf_open(struct cgroup_leaf *leaf, const struct cgroup_host *host, const char *name,
	const struct limits *limits, enum limit_by by[LIMIT_END_], struct err *err)
{
	static const enum limit rows[] = {LIMIT_memory_bytes, LIMIT_cpu_milli, LIMIT_pids};
	enum limit_by got[LIMIT_END_] = {LIMIT_BY_NONE};
	struct cgroup_leaf made = {.host = host};
	if (!is_name(name))
		return err_set(err, ERR_BOX, "cgroup: %.80s is not a valid name of a leaf", name);
	memcpy(made.name, name, strlen(name) + 1);
	int r = make_dirs(&made, err);
	if (r < 0)
		return r;
	r = write_settings(&made, limits, got, err);
	if (r < 0) {
		(void)remove_dirs(&made, CGROUP_CONTROLLER_END_);
		return r;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		by[rows[i]] = got[rows[i]];
	*leaf = made;
	return 0;
}

int cgroup_leaf_join_fds(const struct cgroup_leaf *leaf, int fds[CGROUP_JOIN_FDS])
{
	return ops_of[leaf->host->kind]->join_fds(leaf, fds);
}

/* Read one number of the leaf into @field. Returns: 0, or negative errno. */
static int read_one(
	const struct cgroup_leaf *leaf, const struct cgroup_reading *reading, uint64_t *field)
{
	char dir[CGROUP_FILE_BYTES], path[CGROUP_FILE_BYTES], text[CGROUP_LINE_BYTES];
	uint64_t value;
	int r = leaf_dir(dir, leaf, reading->controller);
	if (r == 0)
		r = cgroup_file_path(path, sizeof path, "%s/%s", dir, reading->file);
	if (r == 0)
		r = (int)MIN(cgroup_file_read(AT_FDCWD, path, text, sizeof text), 0);
	if (r == 0)
		r = cgroup_file_number(text, reading->key, &value);
	if (r == 0)
		*field = value / reading->divide;
	return r;
}

int cgroup_leaf_usage(const struct cgroup_leaf *leaf, struct box_usage *usage)
{
	const struct cgroup_ops *ops = ops_of[leaf->host->kind];
	struct box_usage now = *usage;
	for (size_t i = 0; i < ops->n_readings; i++) {
		const struct cgroup_reading *reading = &ops->readings[i];
		if (!leaf->host->base[reading->controller][0])
			continue;
		int r = read_one(
			leaf, reading, (uint64_t *)(void *)((char *)&now + reading->field));
		if (r < 0 && !(reading->is_optional && r == -ENOENT))
			return r;
	}
	*usage = now;
	return 0;
}

int cgroup_books_count(enum cgroup_kind kind)
{
	return kind == CGROUP_V1 || kind == CGROUP_V2 ? (int)ops_of[kind]->n_readings : 0;
}

static int open_reading(const struct cgroup_leaf *leaf, const struct cgroup_reading *reading)
{
	char dir[CGROUP_FILE_BYTES], path[CGROUP_FILE_BYTES];
	if (leaf_dir(dir, leaf, reading->controller) < 0 ||
		cgroup_file_path(path, sizeof path, "%s/%s", dir, reading->file) < 0)
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC);
}

int cgroup_leaf_books(const struct cgroup_leaf *leaf, int fds[CGROUP_BOOKS_MAX])
{
	int n = cgroup_leaf_counts_all(leaf) ? cgroup_books_count(leaf->host->kind) : 0;
	for (int i = 0; i < n; i++) {
		fds[i] = open_reading(leaf, &ops_of[leaf->host->kind]->readings[i]);
		if (fds[i] >= 0)
			continue;
		while (--i >= 0)
			fd_close(&fds[i]);
		return 0;
	}
	return n;
}

int cgroup_books_read(const struct cgroup_books *books, struct box_usage *usage)
{
	const struct cgroup_ops *ops = ops_of[books->kind];
	struct box_usage now = *usage;
	for (int i = 0; i < cgroup_books_count(books->kind); i++) {
		const struct cgroup_reading *reading = &ops->readings[i];
		char text[CGROUP_LINE_BYTES];
		uint64_t value;
		ssize_t n = pread(books->fds[i], text, sizeof text - 1, 0);
		if (n < 0)
			return -errno;
		text[n] = '\0';
		int r = cgroup_file_number(text, reading->key, &value);
		if (r < 0)
			return r;
		*(uint64_t *)(void *)((char *)&now + reading->field) = value / reading->divide;
	}
	*usage = now;
	return 0;
}

void cgroup_books_close(struct cgroup_books *books)
{
	for (int i = 0; i < cgroup_books_count(books->kind); i++)
		fd_close(&books->fds[i]);
	books->kind = CGROUP_NONE;
}

bool cgroup_leaf_is_there(const struct cgroup_leaf *leaf)
{
	for (size_t row = 0; row < CGROUP_CONTROLLER_END_; row++) {
		char dir[CGROUP_FILE_BYTES];
		if (cgroup_is_first(leaf->host, row) &&
			(leaf_dir(dir, leaf, row) < 0 || access(dir, F_OK) < 0))
			return false;
	}
	return true;
}

bool cgroup_leaf_counts_all(const struct cgroup_leaf *leaf)
{
	if (!leaf->host || leaf->host->kind == CGROUP_NONE)
		return false;
	for (int i = 0; i < CGROUP_CONTROLLER_END_; i++)
		if (!leaf->host->base[i][0] && i != CGROUP_CPU)
			return false;
	return true;
}

/* Kill all processes in @dir, a directory of the leaf. */
static void kill_dir(const char *dir)
{
	struct cgroup_lines lines;
	char path[CGROUP_FILE_BYTES];
	if (cgroup_file_path(path, sizeof path, "%s/cgroup.kill", dir) < 0 ||
		cgroup_file_write(path, "1", 0) == 0)
		return;
	/* This kernel lacks cgroup.kill, so signal the processes one by one. Meanwhile a
	 * pids.max of 0 keeps them from forking, if the directory has the pids controller. */
	if (cgroup_file_path(path, sizeof path, "%s/pids.max", dir) == 0)
		(void)cgroup_file_write(path, "0", 0);
	if (cgroup_file_path(path, sizeof path, "%s/cgroup.procs", dir) < 0 ||
		cgroup_lines_open(&lines, path) < 0)
		return;
	for (char *line; (line = cgroup_lines_next(&lines));) {
		uint64_t pid;
		/* cgroup.procs shows a process outside our pid namespace as 0, and kill(0, …) would
		 * signal our own process group. */
		if (cgroup_file_number(line, NULL, &pid) == 0 && pid > 1 && pid <= PIDS_MAX &&
			pid != (uint64_t)getpid())
			(void)kill((pid_t)pid, SIGKILL);
	}
	cgroup_lines_close(&lines);
}

void cgroup_leaf_no_forks(const struct cgroup_leaf *leaf)
{
	char dir[CGROUP_FILE_BYTES];
	if (leaf->host && leaf->host->base[CGROUP_PIDS][0] && leaf_dir(dir, leaf, CGROUP_PIDS) == 0)
		(void)cgroup_write(leaf->host, dir, "pids.max", "0");
}

void cgroup_leaf_close(struct cgroup_leaf *leaf)
{
	if (!leaf->host)
		return;
	bool gone = remove_dirs(leaf, CGROUP_CONTROLLER_END_);
	for (long ms = 1; !gone && ms <= CLOSE_WAIT_MAX_MS; ms *= 2) {
		for (size_t row = 0; row < CGROUP_CONTROLLER_END_; row++) {
			char dir[CGROUP_FILE_BYTES];
			if (cgroup_is_first(leaf->host, row) && leaf_dir(dir, leaf, row) == 0)
				kill_dir(dir);
		}
		struct timespec wait = {.tv_nsec = ms * 1000000};
		(void)nanosleep(&wait, NULL);
		gone = remove_dirs(leaf, CGROUP_CONTROLLER_END_);
	}
	*leaf = (struct cgroup_leaf){0};
}

/* Parse the pid of a warden from the name of its cgroup: 1234 from "retort-1234-7.4026531836".
 * Returns: 0 if wardens do not give such a name to a cgroup. */
static uint64_t name_pid(const char *name)
{
	static const struct {
		const char *prefix;
		char after; /* the character that follows the pid */
	} kinds[] = {{"retort-engine-", '\0'}, {"retort-hold-", '.'}, {"retort-", '-'}};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t bytes = strlen(kinds[i].prefix);
		uint64_t pid = 0;
		if (strncmp(name, kinds[i].prefix, bytes) != 0 ||
			cgroup_file_number(name + bytes, NULL, &pid) < 0 || pid > PIDS_MAX)
			continue;
		const char *at = name + bytes;
		return at[strspn(at, "0123456789")] == kinds[i].after ? pid : 0;
	}
	return 0;
}

/* Return whether @pid may be a living warden: yes unless /proc proves the opposite. */
static bool is_warden(const struct cgroup_host *host, uint64_t pid)
{
	char path[CGROUP_FILE_BYTES], stat[CGROUP_LINE_BYTES];
	if (pid == (uint64_t)getpid())
		return true;
	if (cgroup_file_path(path, sizeof path, "%s/proc/%" PRIu64 "/stat", host->root, pid) < 0)
		return true;
	ssize_t n = cgroup_file_read(AT_FDCWD, path, stat, sizeof stat);
	if (n < 0)
		return n != -ENOENT && n != -ESRCH;
	/* A zombie is dead, although its pid still exists. */
	const char *state = strstr(stat, "(retort-warden) ");
	return state && state[strlen("(retort-warden) ")] != 'Z';
}

void cgroup_leaf_name(char out[CGROUP_NAME_BYTES], unsigned number)
{
	snprintf(out, CGROUP_NAME_BYTES, "retort-%d-%u.%" PRIu64, (int)getpid(), number,
		cgroup_own_namespace());
}

/* Return whether the cgroup name @name contains the number of a pid namespace that is not our
 * own. A warden in that other pid namespace has made the cgroup; for example, a warden in a
 * container that shares the cgroup hierarchy with us. Our /proc does not show whether that
 * warden still lives. */
static bool is_foreign(const char *name)
{
	const char *dot = strrchr(name, '.');
	uint64_t namespace = 0;
	return dot &&
		(cgroup_file_number(dot + 1, NULL, &namespace) < 0 ||
			namespace != cgroup_own_namespace());
}

struct sweep {
	const struct cgroup_host *host;
	const char *base;
};

static bool sweep_one(void *arg, const char *name)
{
	const struct sweep *s = arg;
	char dir[CGROUP_FILE_BYTES];
	uint64_t pid = name_pid(name);
	if (pid > 0 && !is_foreign(name) && !is_warden(s->host, pid) &&
		cgroup_file_path(dir, sizeof dir, "%s/%s", s->base, name) == 0)
		(void)cgroup_file_rmdir(dir, cgroup_is_fake(s->host));
	return true;
}

void cgroup_host_sweep(const struct cgroup_host *host)
{
	for (size_t row = 0; row < CGROUP_CONTROLLER_END_; row++) {
		struct sweep s = {.host = host, .base = host->base[row]};
		if (cgroup_is_first(host, row))
			(void)cgroup_file_each(AT_FDCWD, host->base[row], sweep_one, &s);
	}
}
