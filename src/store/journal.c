/* Opening and closing the journal. SPDX-License-Identifier: Apache-2.0 */
#include "store/inside.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * With synchronous=NORMAL a commit only writes to the page cache, which survives the death of the
 * process. The write-ahead log is synced before its pages are copied to the database. So a power
 * failure may lose the last commits, but never mixes old pages with new ones.
 */
enum {
	JOURNAL_APPLICATION = 0x72657472, /* "retr" */
	/*
	 * Versions. 1: the first. 2: adds file steps. 3: sessions have owners and lifetimes. 4:
	 * sessions may be tainted; steps may have tool calls. 5: owners have accounts; pruning
	 * leaves gaps in the log of changes. An older journal is upgraded when it is opened.
	 */
	JOURNAL_VERSION = 5,
	VERSION_OWNERS = 3,
	VERSION_TAINTS = 4,
	HEADER_BYTES = 100,
	/*
	 * Sizes of the write-ahead log, in pages. From WAL_MAX_PAGES (16 MiB) on, the engine should
	 * call journal_idle() without waiting for an idle moment. From WAL_LATE_PAGES on, the
	 * commit itself runs the checkpoint.
	 */
	WAL_MAX_PAGES = 4096,
	WAL_LATE_PAGES = 4 * WAL_MAX_PAGES,
	/* Below this size (1 MiB) journal_idle() syncs the log but runs no checkpoint. A checkpoint
	 * would restart the log, and the first commit to a restarted log waits for the disk. */
	WAL_MIN_PAGES = 256,
};

/* with an exclusive lock, SQLite uses no shared memory */
static const char settings[] = "PRAGMA locking_mode = EXCLUSIVE;"
			       "PRAGMA synchronous = NORMAL;"
			       /* journal_idle() runs checkpoints */
			       "PRAGMA wal_autocheckpoint = 0;"
			       "PRAGMA journal_size_limit = 4194304;"
			       "PRAGMA cell_size_check = ON;"
			       "PRAGMA trusted_schema = OFF;"
			       "PRAGMA mmap_size = 0;"
			       "PRAGMA temp_store = MEMORY;"
			       "PRAGMA cache_size = -16384;";

/* Indexes and a table that are in the schema of journal.db since version 5 of the schema. */
#define PRUNING                                                                                    \
	"CREATE INDEX change_session ON change (session) WHERE session > 0;"                       \
	"CREATE INDEX change_blob ON change (digest) WHERE kind = 6;"                              \
	"CREATE INDEX session_fork ON session (fork) WHERE fork <> '';"                            \
	"CREATE INDEX session_forgotten ON session (n) WHERE forgotten;"                           \
	"CREATE TABLE account (owner TEXT PRIMARY KEY, bytes INTEGER) WITHOUT ROWID;"

static const char schema[] =
	"BEGIN;"
	"CREATE TABLE session (n INTEGER PRIMARY KEY, id TEXT UNIQUE, name TEXT, parent TEXT,"
	" fork TEXT, head TEXT, created_ms INTEGER, closed_ms INTEGER, order_digest BLOB,"
	" change INTEGER, seal BLOB, owner TEXT DEFAULT '', ttl_ms INTEGER DEFAULT 0,"
	" idle_ms INTEGER DEFAULT 0, ended TEXT DEFAULT '', tainted INTEGER DEFAULT 0,"
	" forgotten INTEGER DEFAULT 0);"
	"CREATE UNIQUE INDEX session_name ON session (name, owner)"
	" WHERE closed_ms = 0 AND name <> '';"
	"CREATE INDEX session_owner ON session (owner) WHERE closed_ms = 0;"
	"CREATE INDEX session_ended ON session (name, owner) WHERE ended <> '';"
	"CREATE TABLE node (seq INTEGER PRIMARY KEY, digest BLOB UNIQUE, parent_seq INTEGER,"
	" session INTEGER, runtime TEXT, status TEXT, outcome TEXT, created_ms INTEGER,"
	" large INTEGER, code BLOB, record BLOB, extra BLOB, parent BLOB, seal BLOB);"
	"CREATE INDEX node_parent ON node (parent_seq);"
	"CREATE TABLE blob (id INTEGER PRIMARY KEY, digest BLOB UNIQUE, data BLOB);"
	"CREATE TABLE change (seq INTEGER PRIMARY KEY, kind INTEGER, session INTEGER, digest BLOB,"
	" at_ms INTEGER, seal BLOB, chain BLOB);"
	"CREATE INDEX change_again ON change (digest) WHERE kind > 6;" PRUNING "COMMIT;";

/*
 * Upgrades of the schema: from version 1 or 2 to 3, from 3 to 4, and from 4 to 5. Each is one
 * transaction. Existing rows keep their seals, because a seal leaves out new fields that have their
 * default values.
 */
static const char owners[] = "BEGIN IMMEDIATE;"
			     "ALTER TABLE session ADD COLUMN owner TEXT DEFAULT '';"
			     "ALTER TABLE session ADD COLUMN ttl_ms INTEGER DEFAULT 0;"
			     "ALTER TABLE session ADD COLUMN idle_ms INTEGER DEFAULT 0;"
			     "ALTER TABLE session ADD COLUMN ended TEXT DEFAULT '';"
			     "DROP INDEX session_name;"
			     "CREATE UNIQUE INDEX session_name ON session (name, owner)"
			     " WHERE closed_ms = 0 AND name <> '';"
			     "CREATE INDEX session_owner ON session (owner) WHERE closed_ms = 0;"
			     "PRAGMA user_version = 3;"
			     "COMMIT;";
static const char taints[] = "BEGIN IMMEDIATE;"
			     "ALTER TABLE session ADD COLUMN tainted INTEGER DEFAULT 0;"
			     "PRAGMA user_version = 4;"
			     "COMMIT;";
static const char accounts[] = "BEGIN IMMEDIATE;"
			       "ALTER TABLE session ADD COLUMN forgotten INTEGER DEFAULT 0;" PRUNING
			       "PRAGMA user_version = 5;"
			       "COMMIT;";

static int fail_file(
	struct journal *j, const char *what, const char *name, int sys, struct err *err)
{
	enum err_code code = sys == ENOTDIR ? ERR_ACCESS : file_code(sys);
	return err_fail_sys(err, code, sys,
		code == ERR_NO_SPACE ? "free some space there"
				     : "the state directory must be one that retort can write to",
		"%s %.150s%s", what, j->dir, name);
}

/* Open a file of the state directory. @name begins with a slash. */
static int open_file(struct journal *j, const char *name, int flags, struct err *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s%s", j->dir, name);
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? fail_file(j, "open", name, errno, err) : fd;
}

/* Return whether /proc/locks lists @pid as the owner of the journal's lock. @pid comes from the
 * lock file, where an earlier process may have written it. */
static bool is_listed(struct journal *j, long pid)
{
	char *line = NULL;
	size_t room = 0;
	struct stat st;
	bool is = false;
	FILE *f = fopen("/proc/locks", "re");
	while (f && fstat(j->lock_fd, &st) == 0 && !is && getline(&line, &room, f) > 0) {
		long who;
		unsigned long ino;
		is = sscanf(line, "%*d: FLOCK ADVISORY WRITE %ld %*x:%*x:%lu", &who, &ino) == 2 &&
			who == pid && ino == st.st_ino;
	}
	free(line);
	if (f)
		(void)fclose(f);
	return is;
}

/* Return whether @pid owns the lock. Read /proc/locks several times: the kernel writes it page by
 * page, so locks that other processes take or release meanwhile can hide an entry. */
static bool is_holder(struct journal *j, long pid)
{
	enum { LOOKS = 3 };
	bool is = false;
	for (int i = 0; i < LOOKS && !is; i++)
		is = is_listed(j, pid);
	return is;
}

static int lock(struct journal *j, struct err *err)
{
	char pid[24] = "";
	j->lock_fd = open_file(j, "/journal.lock", O_RDWR | O_CREAT, err);
	if (j->lock_fd < 0)
		return j->lock_fd;
	if (flock(j->lock_fd, LOCK_EX | LOCK_NB) == 0) {
		/* On a full disk the pid cannot be written, but the lock is valid. */
		int n = snprintf(pid, sizeof pid, "%d\n", getpid());
		ssize_t wrote = pwrite(j->lock_fd, pid, (size_t)n, 0);
		if (wrote == n && ftruncate(j->lock_fd, n) < 0)
			return fail_file(j, "write", "/journal.lock", errno, err);
		return 0;
	}
	if (errno != EWOULDBLOCK)
		return fail_file(j, "lock", "/journal.lock", errno, err);
	ssize_t n = pread(j->lock_fd, pid, sizeof pid - 1, 0);
	pid[n > 0 ? n : 0] = '\0';
	long owner = strtol(pid, NULL, 10);
	if (owner > 0 && is_holder(j, owner))
		err_set(err, ERR_LIMIT, "state directory %.150s: process %ld is using it", j->dir,
			owner);
	else
		err_set(err, ERR_LIMIT, "state directory %.150s: another process is using it",
			j->dir);
	return err_hint(err, "end that engine, or give this one a state directory of its own");
}

static bool is_there(struct journal *j, const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s%s", j->dir, name);
	return access(path, F_OK) == 0;
}

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Check the header of the file before SQLite reads it, because a newer version may use another
 * page format. */
static int check_header(struct journal *j, struct err *err)
{
	unsigned char h[HEADER_BYTES];
	/* A file without write permission is an error here: SQLite would open it read-only, and
	 * fail later with a less helpful message. */
	cleanup_fd int fd = open_file(j, "/journal.db", O_RDWR, err);
	if (fd < 0)
		return fd;
	ssize_t n = pread(fd, h, sizeof h, 0);
	if (n < 0)
		return fail_file(j, "read", "/journal.db", errno, err);
	if (n < (ssize_t)sizeof h || memcmp(h, "SQLite format 3", 16) != 0 ||
		be32(h + 68) != JOURNAL_APPLICATION || be32(h + 60) == 0)
		return err_fail(err, ERR_DAMAGED,
			"restore it from a copy, or move the directory away to begin anew",
			"%.150s/journal.db: it is not a journal", j->dir);
	if (be32(h + 60) > JOURNAL_VERSION)
		return err_fail(err, ERR_USAGE,
			"use the newer retort that made it, or another state directory",
			"%.150s/journal.db: version %u, and this retort knows %d", j->dir,
			be32(h + 60), JOURNAL_VERSION);
	return 0;
}

static int run(struct journal *j, const char *text, struct err *err)
{
	j->vfs.bad_page = 0;
	j->vfs.sys = 0;
	if (sqlite3_exec(j->db, text, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return db_fail(j, "open the journal", err);
}

static int open_db(struct journal *j, const char *name, struct err *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s%s", j->dir, name);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
		SQLITE_OPEN_PRIVATECACHE;
	j->vfs.bad_page = 0;
	j->vfs.sys = 0;
	int code = sqlite3_open_v2(path, &j->db, flags, j->vfs.name);
	if (!j->db)
		return err_set(err, ERR_NO_MEMORY, "open the journal");
	if (code != SQLITE_OK)
		return db_fail(j, "open the journal", err);
	(void)sqlite3_busy_timeout(j->db, 1000);
	/* Until all checks have passed, closing must not run a checkpoint or delete the log. */
	(void)sqlite3_db_config(j->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	(void)sqlite3_db_config(j->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	return run(j, settings, err);
}

static void stmts_done(struct journal *j)
{
	for (int i = 0; i < STMT_END_; i++) {
		(void)sqlite3_finalize(j->stmts[i]);
		j->stmts[i] = NULL;
	}
}

static int find_version(struct journal *j, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_VERSION, err);
	int r = s ? db_step(j, s, "open the journal", err) : -EIO;
	return r > 0 ? sqlite3_column_int(s, 0) : r;
}

/* Upgrade an older journal. Ask SQLite for the version of the journal: if an upgrade is still
 * only in the write-ahead log, the header of journal.db has an older version. */
static int renew(struct journal *j, struct err *err)
{
	int version = find_version(j, err);
	if (version < 0 || version >= JOURNAL_VERSION)
		return MIN(version, 0);
	int r = version < VERSION_OWNERS ? run(j, owners, err) : 0;
	if (r == 0 && version < VERSION_TAINTS)
		r = run(j, taints, err);
	if (r == 0)
		r = run(j, accounts, err);
	if (r < 0) {
		(void)sqlite3_exec(j->db, "ROLLBACK", NULL, NULL, NULL);
		return r;
	}
	stmts_done(j); /* the statements were prepared for the old tables */
	return db_checkpoint(j, SQLITE_CHECKPOINT_PASSIVE, err);
}

static void close_db(struct journal *j)
{
	stmts_done(j);
	(void)sqlite3_close(j->db);
	j->db = NULL;
}

static int make_tables(struct journal *j, struct err *err)
{
	char ids[96];
	int reserve = PAGE_CHECK_BYTES;
	snprintf(ids, sizeof ids, "PRAGMA application_id = %d; PRAGMA user_version = %d;",
		JOURNAL_APPLICATION, JOURNAL_VERSION);
	(void)sqlite3_file_control(j->db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserve);
	int r = run(j,
		"PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8';"
		"PRAGMA auto_vacuum = INCREMENTAL;",
		err);
	if (r == 0)
		r = run(j, ids, err);
	if (r == 0)
		r = run(j, schema, err);
	if (r == 0)
		r = run(j, "PRAGMA journal_mode = WAL;", err);
	if (r == 0)
		(void)sqlite3_db_config(j->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	return r;
}

/* Create the database as journal.new, then rename it to journal.db. */
static int create(struct journal *j, struct err *err)
{
	static const char *const parts[] = {
		"/journal.new", "/journal.new-wal", "/journal.new-journal"};
	char from[PATH_MAX], to[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		snprintf(from, sizeof from, "%s%s", j->dir, parts[i]);
		(void)unlink(from);
	}
	cleanup_fd int fd = open_file(j, "/journal.new", O_RDWR | O_CREAT | O_EXCL, err);
	fd_close(&fd);
	int r = open_db(j, "/journal.new", err);
	if (r == 0)
		r = make_tables(j, err);
	close_db(j);
	if (r < 0)
		return r;
	snprintf(from, sizeof from, "%s/journal.new", j->dir);
	snprintf(to, sizeof to, "%s/journal.db", j->dir);
	if (rename(from, to) < 0)
		return fail_file(j, "rename", "/journal.new", errno, err);
	cleanup_fd int dir = open(j->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		(void)fsync(dir);
	return 0;
}

static int need_file(struct journal *j, struct err *err)
{
	if (is_there(j, "/journal.db"))
		return check_header(j, err);
	int64_t expected = log_expected(j, err);
	if (expected < 0)
		return (int)expected;
	if (expected == 0 && !is_there(j, "/journal.db-wal"))
		return create(j, err);
	return err_fail(err, ERR_DAMAGED, "put it back, or move the directory away to begin anew",
		"%.150s/journal.db: it is gone", j->dir);
}

static void read_boot(struct journal *j)
{
	cleanup_fd int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, j->boot, 36);
	if (n != 36)
		memcpy(j->boot, "-", 2);
}

static int on_wal(void *user, sqlite3 *db, const char *name, int n_pages)
{
	struct journal *j = user;
	struct err ignored;
	(void)db, (void)name;
	j->wal_pages = n_pages;
	/* The commit has succeeded. If this checkpoint fails, the next commit tries again. */
	if (n_pages >= WAL_LATE_PAGES)
		(void)db_checkpoint(j, SQLITE_CHECKPOINT_PASSIVE, &ignored);
	return SQLITE_OK;
}

static int open_all(struct journal *j, struct err *err)
{
	int64_t bytes;
	int r = file_make_dirs(j->dir, 0700, 0777);
	r = r < 0 ? fail_file(j, "make", "", -r, err) : lock(j, err);
	if (r < 0)
		return r;
	j->head_fd = open_file(j, "/journal.head", O_RDWR | O_CREAT, err);
	if (j->head_fd < 0)
		return j->head_fd;
	if (page_vfs_init(&j->vfs) < 0)
		return err_set(err, ERR_NO_MEMORY, "open the journal");
	j->has_vfs = true;
	read_boot(j);
	r = need_file(j, err);
	if (r == 0)
		r = open_db(j, "/journal.db", err);
	if (r == 0)
		r = log_open(j, err);
	if (r == 0)
		r = renew(j, err);
	if (r < 0)
		return r;
	(void)sqlite3_db_config(j->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	(void)sqlite3_wal_hook(j->db, on_wal, j);
	j->wal_ino = db_wal_ino(j, &bytes);
	db_note_size(j);
	j->is_open = true;
	return 0;
}

int journal_open(struct journal **out, const char *dir, struct err *err)
{
	if (sodium_init() < 0)
		return err_set(err, ERR_INTERNAL, "libsodium does not start");
	struct journal *j = xnew(struct journal);
	j->lock_fd = j->head_fd = -1;
	int n = snprintf(j->dir, sizeof j->dir, "%s", dir);
	int r = n > 0 && (size_t)n < sizeof j->dir
		? open_all(j, err)
		: err_set(err, ERR_USAGE, "state directory %.100s: not a directory's name", dir);
	if (r < 0) {
		journal_close(j);
		return r;
	}
	*out = j;
	return 0;
}

static void remove_names(const char *dir)
{
	static const char *const files[] = {
		"journal.db", "journal.db-wal", "journal.lock", "journal.head"};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[64];
		snprintf(path, sizeof path, "%s/%s", dir, files[i]);
		(void)unlink(path);
	}
	(void)rmdir(dir);
}

int journal_open_nameless(struct journal **out, struct err *err)
{
	char dir[] = "/tmp/retort-XXXXXX";
	if (!mkdtemp(dir))
		return err_sys(err, ERR_IO, errno, "make a directory in /tmp");
	int bad = journal_open(out, dir, err);
	remove_names(dir);
	if (bad == 0)
		(*out)->is_nameless = true;
	return bad;
}

void journal_close(struct journal *j)
{
	struct err ignored;
	if (!j)
		return;
	if (j->is_open && j->wal_pages > 0)
		(void)db_checkpoint(j, SQLITE_CHECKPOINT_PASSIVE, &ignored);
	close_db(j);
	if (j->has_vfs)
		page_vfs_done(&j->vfs);
	digest_list_done(&j->noted);
	fd_close(&j->head_fd);
	fd_close(&j->lock_fd);
	free(j);
}

int journal_idle(struct journal *j, struct err *err)
{
	if (j->synced_seq >= j->last.seq)
		return 0;
	if (j->wal_pages < WAL_MIN_PAGES)
		return db_sync_log(j, err);
	return db_checkpoint(j, SQLITE_CHECKPOINT_PASSIVE, err);
}

unsigned journal_fill(const struct journal *j)
{
	return (unsigned)MIN(j->wal_pages, (int)WAL_MAX_PAGES) * 100 / WAL_MAX_PAGES;
}

int64_t journal_bytes(const struct journal *j)
{
	static const char *const names[] = {"/journal.db", "/journal.db-wal"};
	char path[PATH_MAX];
	struct stat st;
	int64_t bytes = 0;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof path, "%s%s", j->dir, names[i]);
		bytes += stat(path, &st) == 0 ? st.st_size : 0;
	}
	return bytes;
}

int64_t journal_changes(const struct journal *j)
{
	return j->last.seq;
}

int journal_size(struct journal *j, struct journal_size *out, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_COUNTS, err);
	int r = s ? db_step(j, s, "count", err) : -EIO;
	if (r < 0)
		return r;
	*out = (struct journal_size){.n_nodes = sqlite3_column_int64(s, 0),
		.n_sessions = sqlite3_column_int64(s, 1),
		.n_blobs = sqlite3_column_int64(s, 2),
		.file_bytes = journal_bytes(j),
		.n_lost = j->n_lost};
	return 0;
}
