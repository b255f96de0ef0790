/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include "base/attr.h"
#include "db.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The pragmas that code may use. None of them can harm the database file or this process. */
static const struct {
	const char *name;
	bool is_query; /* the pragma's argument names what to report on; it is not a value to set */
} pragmas[] = {
	{"application_id", false},
	{"auto_vacuum", false},
	{"automatic_index", false},
	{"busy_timeout", false},
	{"cache_size", false},
	{"case_sensitive_like", false},
	{"collation_list", true},
	{"compile_options", true},
	{"count_changes", false},
	{"data_version", true},
	{"database_list", true},
	{"defer_foreign_keys", false},
	{"encoding", false},
	{"foreign_key_check", true},
	{"foreign_key_list", true},
	{"foreign_keys", false},
	{"freelist_count", true},
	{"full_column_names", false},
	{"function_list", true},
	{"ignore_check_constraints", false},
	{"incremental_vacuum", false},
	{"index_info", true},
	{"index_list", true},
	{"index_xinfo", true},
	{"integrity_check", true},
	{"journal_mode", false},
	{"legacy_alter_table", false},
	{"max_page_count", false},
	{"module_list", true},
	{"optimize", false},
	{"page_count", true},
	{"page_size", false},
	{"pragma_list", true},
	{"query_only", false},
	{"quick_check", true},
	{"read_uncommitted", false},
	{"recursive_triggers", false},
	{"reverse_unordered_selects", false},
	{"schema_version", false},
	{"short_column_names", false},
	{"synchronous", false},
	{"table_info", true},
	{"table_list", true},
	{"table_xinfo", true},
	{"temp_store", false},
	{"user_version", false},
	{"wal_checkpoint", false},
};

static int refuse(struct db *db, const char *what, const char *which, const char *why)
{
	snprintf(db->reason, sizeof db->reason, "%s %.100s: %s", what, which, why);
	return SQLITE_DENY;
}

static int check_pragma(struct db *db, const char *name, const char *argument)
{
	for (size_t i = 0; i < ARRAY_LEN(pragmas); i++) {
		if (sqlite3_stricmp(pragmas[i].name, name) != 0)
			continue;
		/* Setting schema_version would make other connections use an outdated schema. */
		if (argument && strcmp(pragmas[i].name, "schema_version") == 0)
			return refuse(db, "PRAGMA", name, "it can be read here, but not set");
		db->wants_file = db->wants_file || (argument && !pragmas[i].is_query);
		return SQLITE_OK;
	}
	return refuse(db, "PRAGMA", name, "this pragma is not allowed here");
}

/*
 * Return whether @path, with symbolic links resolved, is below the workspace. The last component of
 * @path need not exist.
 */
static bool is_in_workspace(const struct db *db, const char *path)
{
	char real[PATH_MAX], dir[PATH_MAX];
	size_t n_root = strlen(db->root);
	if (!realpath(path, real)) {
		struct stat st;
		const char *slash = strrchr(path, '/');
		const char *name = slash ? slash + 1 : path;
		size_t n = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
		/*
		 * Refuse a dangling link: SQLite would follow it and create a file somewhere else.
		 */
		if (lstat(path, &st) == 0 || n >= sizeof dir || strcmp(name, "..") == 0)
			return false;
		snprintf(dir, sizeof dir, "%.*s", n > 0 ? (int)n : 1, n > 0 ? path : ".");
		if (!realpath(dir, real) || strlen(real) + 1 >= sizeof real)
			return false;
		strcat(real, "/");
	}
	return n_root > 0 && strncmp(real, db->root, n_root) == 0 && real[n_root] == '/';
}

static int check_attach(struct db *db, const char *path)
{
	/*
	 * The authorizer is called for ATTACH while a statement is prepared. VACUUM INTO attaches
	 * its target too, but only while it runs.
	 */
	const char *what = db->is_running ? "VACUUM INTO" : "ATTACH";
	if (!path)
		return refuse(db, what, "", "the file must be a plain string");
	db->wants_file = true;
	if (!path[0] || strcmp(path, ":memory:") == 0)
		return SQLITE_OK;
	if (strncmp(path, "file:", 5) == 0)
		return refuse(db, what, path, "URIs are not accepted: give the path of the file");
	if (!is_in_workspace(db, path))
		return refuse(db, what, path, "it is not in the workspace");
	return SQLITE_OK;
}

static bool is_files(const char *name)
{
	return name && sqlite3_stricmp(name, "files") == 0;
}

int access_check(void *arg, int action, const char *a, const char *b, const char *schema,
	const char *trigger)
{
	struct db *db = arg;
	(void)trigger;
	if (db->is_own)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		if (sqlite3_stricmp(b, "load_extension") == 0)
			return refuse(db, "function", b, "extensions cannot be loaded here");
		return SQLITE_OK;
	case SQLITE_PRAGMA:
		return check_pragma(db, a, b);
	case SQLITE_ATTACH:
		return check_attach(db, a);
	case SQLITE_DETACH:
		if (is_files(a))
			return refuse(db, "DETACH", a, "it contains the tables that read files");
		break;
	case SQLITE_CREATE_VTABLE:
		if (b && sqlite3_stricmp(b, "csv") == 0)
			return refuse(db, "module", b,
				"name the file as a table instead: FROM \"data.csv\"");
		break;
	default:
		break;
	}
	/*
	 * For DROP TABLE, SQLite passes the schema table's name as @a, not the name of the dropped
	 * table.
	 */
	bool is_schema = a && sqlite3_stricmp(a, "sqlite_master") == 0;
	if (is_files(schema) && action != SQLITE_TRANSACTION && action != SQLITE_SAVEPOINT)
		return refuse(db, "table", a && !is_schema ? a : "files",
			"it is a file, which SQL can only read: copy it into a table with "
			"CREATE TABLE … AS SELECT");
	db->wants_file = true;
	return SQLITE_OK;
}
