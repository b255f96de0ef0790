/* SPDX-License-Identifier: Apache-2.0 */
#include "dot_command.h"

#include "dump.h"
#include "scan.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { ARGS_MAX = 8, SCHEMA_BYTES_MAX = 1 << 20, LISTED_MAX = 1000 };

struct command {
	const char *name, *usage, *help;
	int n_min, n_max; /* least and greatest number of arguments */
	int (*run)(struct step *s, const char *at, int argc, char **argv);
};

/* Run a statement of the driver with one text argument, and make its rows the step's result. */
static int show(struct step *s, const char *at, const char *fmt, const char *text)
{
	char *sql = sqlite3_mprintf(fmt, text);
	int r = sql ? step_statement(s, sql, at)
		    : step_fail(s, at, "LimitError", "no memory for a command");
	sqlite3_free(sql);
	return r;
}

/*
 * Append a row for @file with the name by which a statement can refer to it. That is its name
 * without the suffix, unless a table or another file has that name.
 */
static void add_file_row(struct db *db, sqlite3_str *sql, const char *file)
{
	char name[FILES_NAME_BYTES], path[FILES_PATH_BYTES];
	snprintf(name, sizeof name, "%.*s", (int)strlen(file) - 4, file);
	bool is_other = sqlite3_table_column_metadata(db->h, "main", name, NULL, NULL, NULL, NULL,
				NULL, NULL) == SQLITE_OK ||
		!files_find(name, path) || strcmp(path, file) != 0;
	sqlite3_str_appendf(sql, " UNION ALL VALUES (%Q, 'file %q')", is_other ? file : name, file);
}

static int run_tables(struct step *s, const char *at, int argc, char **argv)
{
	sqlite3_str *sql = sqlite3_str_new(s->db->h);
	sqlite3_str_appendall(sql,
		"SELECT name, type FROM (SELECT name, type FROM sqlite_schema WHERE type IN "
		"('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' UNION ALL SELECT "
		"name, 'temp ' || type FROM sqlite_temp_schema WHERE type IN ('table', 'view')");
	DIR *dir = opendir(".");
	struct dirent *entry;
	for (int n = 0; dir && n < LISTED_MAX && (entry = readdir(dir));)
		if (files_is_table(entry->d_name) && entry->d_name[0] != '.') {
			add_file_row(s->db, sql, entry->d_name);
			if (++n % 400 ==
				0) /* SQLite allows at most 500 parts in a compound SELECT. */
				sqlite3_str_appendall(
					sql, ") UNION ALL SELECT * FROM (VALUES ('', '')");
		}
	if (dir)
		(void)closedir(dir);
	sqlite3_str_appendf(
		sql, ") WHERE name <> '' AND name LIKE %Q ORDER BY 1", argc > 1 ? argv[1] : "%");
	char *text = sqlite3_str_finish(sql);
	int r = text ? step_statement(s, text, at)
		     : step_fail(s, at, "LimitError", "no memory for a list");
	sqlite3_free(text);
	return r;
}

/*
 * Append the columns of the file @name as a CREATE TABLE statement. Returns: 0, or -1 with the
 * step's error.
 */
static int add_file_schema(struct step *s, const char *at, const char *name, struct buf *out)
{
	struct db *db = s->db;
	sqlite3_stmt *stmt = NULL;
	int r = files_resolve(&db->files, db, name);
	if (r < 0)
		return step_fail_sql(s, at, -r);
	char *sql = sqlite3_mprintf("SELECT name, type FROM pragma_table_info(%Q, 'files')", name);
	if (sql && sqlite3_prepare_v2(db->h, sql, -1, &stmt, NULL) == SQLITE_OK)
		for (int n = 0; sqlite3_step(stmt) == SQLITE_ROW; n++) {
			char *column = sqlite3_mprintf("%s\n  \"%w\" %s", n ? "," : "",
				sqlite3_column_text(stmt, 0), sqlite3_column_text(stmt, 1));
			if (n == 0)
				buf_addf(out, "-- a file\nCREATE TABLE \"%s\" (", name);
			buf_add(out, column ? column : "");
			sqlite3_free(column);
		}
	(void)sqlite3_finalize(stmt);
	sqlite3_free(sql);
	if (out->bytes > 0)
		buf_add(out, "\n);\n");
	return 0;
}

static int run_schema(struct step *s, const char *at, int argc, char **argv)
{
	cleanup_buf struct buf out = BUF_INIT(SCHEMA_BYTES_MAX);
	sqlite3_stmt *stmt = NULL;
	char *sql = sqlite3_mprintf(
		"SELECT sql FROM (SELECT sql, tbl_name, name FROM sqlite_schema UNION ALL SELECT "
		"sql, tbl_name, name FROM sqlite_temp_schema) WHERE sql IS NOT NULL AND name NOT "
		"LIKE 'sqlite\\_%%' ESCAPE '\\' AND lower(tbl_name) LIKE lower(%Q)",
		argc > 1 ? argv[1] : "%");
	int rc = sql ? sqlite3_prepare_v2(s->db->h, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		buf_addf(&out, "%s;\n", (const char *)sqlite3_column_text(stmt, 0));
	int r = rc == SQLITE_OK ? 0 : step_fail_sql(s, at, rc);
	(void)sqlite3_finalize(stmt);
	if (r == 0 && buf_error(&out) == 0 && out.bytes == 0 && argc > 1)
		r = add_file_schema(s, at, argv[1], &out);
	if (r == 0 && buf_error(&out) < 0)
		return step_fail(s, at, "LimitError", "%s: the definitions are over %d MiB",
			argv[0], SCHEMA_BYTES_MAX >> 20);
	if (r == 0 && out.bytes == 0 && argc > 1)
		return step_fail(s, at, "SQLError", ".schema %s: no such table or file", argv[1]);
	return r < 0 ? r : step_text(s, buf_str(&out), out.bytes > 0 ? out.bytes - 1 : 0);
}

static int run_indexes(struct step *s, const char *at, int argc, char **argv)
{
	return show(s, at,
		"SELECT name, tbl_name AS \"table\" FROM sqlite_schema WHERE type = 'index' AND "
		"lower(tbl_name) LIKE lower(%Q) ORDER BY 1",
		argc > 1 ? argv[1] : "%");
}

static int run_databases(struct step *s, const char *at, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return show(s, at, "SELECT name, file FROM pragma_database_list WHERE name <> %Q", "files");
}

/*
 * Return a CREATE TABLE statement for @table with the columns of the file behind @alias, or NULL.
 * Owns: the caller frees with sqlite3_free().
 */
static char *import_schema(struct step *s, const char *alias, const char *table)
{
	cleanup_buf struct buf schema = BUF_INIT(SCHEMA_BYTES_MAX);
	if (add_file_schema(s, s->code, alias, &schema) < 0 || schema.bytes == 0)
		return NULL;
	const char *columns = strchr(buf_str(&schema), '(');
	return sqlite3_mprintf("CREATE TABLE IF NOT EXISTS \"%w\" %s", table, columns);
}

static int run_import(struct step *s, const char *at, int argc, char **argv)
{
	static const char alias[] = "retort import";
	const struct dialect guess = {0};
	struct db *db = s->db;
	(void)argc;
	if (access(argv[1], R_OK) < 0)
		return step_fail(
			s, at, "SQLError", ".import %s: no such file in the workspace", argv[1]);
	int rc = db_use_file(db);
	if (rc == SQLITE_OK)
		rc = db_own(db, "DROP TABLE IF EXISTS files.\"retort import\"");
	if (rc == SQLITE_OK)
		rc = db_point(db);
	if (rc == SQLITE_OK)
		rc = files_create(&db->files, db, alias, argv[1], &guess);
	if (rc != SQLITE_OK)
		return step_fail_sql(s, at, rc);
	char *create = import_schema(s, alias, argv[2]);
	char *insert = sqlite3_mprintf(
		"INSERT INTO main.\"%w\" SELECT * FROM files.\"retort import\"", argv[2]);
	int r = create && insert ? step_statement(s, create, at)
				 : step_fail(s, at, "LimitError", "no memory for an import");
	if (r == 0)
		r = step_statement(s, insert, at);
	sqlite3_free(create);
	sqlite3_free(insert);
	return r;
}

static int run_dump(struct step *s, const char *at, int argc, char **argv)
{
	int rc = dump_write(s->db, argc > 1 ? argv[1] : "%");
	return rc == SQLITE_OK ? 0 : step_fail_sql(s, at, rc);
}

static int run_quit(struct step *s, const char *at, int argc, char **argv)
{
	(void)at;
	(void)argc;
	(void)argv;
	s->is_done = true;
	return 0;
}

/*
 * Accept a command that sets the format of results, and do nothing, because the format is fixed. So
 * scripts that contain such commands still run.
 */
static int run_look(struct step *s, const char *at, int argc, char **argv)
{
	(void)s;
	(void)at;
	(void)argc;
	fprintf(stderr, "retort: %s has no effect: results are tables\n", argv[0]);
	return 0;
}

static int run_help(struct step *s, const char *at, int argc, char **argv);

static const struct command commands[] = {
	{".databases", "", "the main file and attached files", 0, 0, run_databases},
	{".dump", "[TABLE]", "write tables as SQL to standard output", 0, 1, run_dump},
	{".exit", "", "end the step", 0, 1, run_quit},
	{".headers", "on|off", "no effect", 0, 1, run_look},
	{".help", "", "this list", 0, 1, run_help},
	{".import", "FILE TABLE", "read a CSV or TSV file into a table", 2, 2, run_import},
	{".indexes", "[TABLE]", "indexes", 0, 1, run_indexes},
	{".mode", "MODE", "no effect", 0, 2, run_look},
	{".nullvalue", "TEXT", "no effect", 0, 1, run_look},
	{".quit", "", "end the step", 0, 0, run_quit},
	{".schema", "[TABLE]", "definitions of tables, or of a file's columns", 0, 1, run_schema},
	{".tables", "[PATTERN]", "tables, views, and files that can be read as tables", 0, 1,
		run_tables},
	{".timer", "on|off", "no effect", 0, 1, run_look},
	{".width", "N…", "no effect", 0, 7, run_look},
};

static int run_help(struct step *s, const char *at, int argc, char **argv)
{
	cleanup_buf struct buf out = BUF_INIT(8192);
	(void)at;
	(void)argc;
	(void)argv;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		buf_addf(&out, "%s%-11s %-11s %s", i > 0 ? "\n" : "", commands[i].name,
			commands[i].usage, commands[i].help);
	return step_text(s, buf_str(&out), out.bytes);
}

/*
 * Split a line into words at blanks outside of quotes. Returns: the number of words; -1 for too
 * many words or an open quote.
 */
static int split(char *line, char **argv)
{
	int argc = 0;
	for (char *p = line; *(p += strspn(p, " \t")) && *p != ';';) {
		char quote = *p == '"' || *p == '\'' ? *p : '\0';
		if (argc == ARGS_MAX)
			return -1;
		argv[argc++] = p + (quote != '\0');
		p = quote ? strchr(p + 1, quote) : p + strcspn(p, " \t");
		if (!p)
			return -1;
		if (*p)
			*p++ = '\0';
	}
	/* Allow a final semicolon, as in `.tables;`, which many people write from habit. */
	for (int i = 0; i < argc; i++)
		if (i == argc - 1 && strlen(argv[i]) > 1 && argv[i][strlen(argv[i]) - 1] == ';')
			argv[i][strlen(argv[i]) - 1] = '\0';
	return argc;
}

int dot_command_run(struct step *s, const char *line, const char *at)
{
	char *argv[ARGS_MAX];
	char *words = strdup(line);
	int argc = words ? split(words, argv) : -1;
	const struct command *c = NULL;
	int r;
	for (size_t i = 0; argc > 0 && i < ARRAY_LEN(commands) && !c; i++)
		if (strcasecmp(commands[i].name, argv[0]) == 0 ||
			(strcasecmp(argv[0], ".header") == 0 && commands[i].run == run_look))
			c = &commands[i];
	if (argc < 0)
		r = step_fail(s, at, "SQLError",
			"%.80s: a quote is not closed, or there are too many words", line);
	else if (!c)
		r = step_fail(s, at, "SQLError", "%.80s: unknown command: .help lists the commands",
			argc > 0 ? argv[0] : ".");
	else if (argc - 1 < c->n_min || argc - 1 > c->n_max)
		r = step_fail(s, at, "SQLError", "usage: %s %s", c->name, c->usage);
	else
		r = c->run(s, at, argc, argv);
	free(words);
	return r;
}
