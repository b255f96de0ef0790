/* SPDX-License-Identifier: Apache-2.0 */
#include "dump.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * A query that returns a value as an SQL literal. SQLite's quote() alone does not suffice: for an
 * infinity it writes a text that SQL does not read as a number.
 */
#define VALUE                                                                                      \
	"SELECT CASE ?1 WHEN 9e999 THEN '9.0e+999' WHEN -9e999 THEN '-9.0e+999' ELSE quote(?1) END"

/*
 * A query for the columns of a table that INSERT can set. Generated columns, which are read-only,
 * are not listed in table_info.
 */
#define COLUMNS                                                                                    \
	"SELECT group_concat(printf('\"%%w\"', name), ',') FROM pragma_table_info(%Q, 'main')"

/*
 * Prepare a SELECT of all rows of @table. @before is "", or one more column with a comma after it.
 */
static int prepare_rows(struct db *db, const char *table, const char *before, sqlite3_stmt **out)
{
	sqlite3_stmt *columns = NULL;
	char *sql = sqlite3_mprintf(COLUMNS, table);
	int rc = sql ? sqlite3_prepare_v2(db->h, sql, -1, &columns, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (rc == SQLITE_OK && sqlite3_step(columns) == SQLITE_ROW) {
		sql = sqlite3_mprintf("SELECT %s%s FROM main.\"%w\"", before,
			sqlite3_column_text(columns, 0), table);
		rc = sql ? sqlite3_prepare_v2(db->h, sql, -1, out, NULL) : SQLITE_NOMEM;
		sqlite3_free(sql);
	}
	(void)sqlite3_finalize(columns);
	return rc;
}

/*
 * Write the part of INSERT between the table's name and the values. Without rowids, this part is
 * only "VALUES(". For a full-text index, the rowids are kept and the columns listed, because other
 * tables may refer to these rowids.
 */
static void write_names(sqlite3_stmt *stmt, bool has_rowid)
{
	for (int i = 0; has_rowid && i < sqlite3_column_count(stmt); i++) {
		char *name = sqlite3_mprintf("\"%w\"", sqlite3_column_name(stmt, i));
		printf("%s%s", i > 0 ? "," : "(", i > 0 && name ? name : "rowid");
		sqlite3_free(name);
	}
	fputs(has_rowid ? ") VALUES(" : " VALUES(", stdout);
}

/* Write each row of @table as an INSERT statement. */
static int dump_rows(struct db *db, const char *table, bool has_rowid)
{
	sqlite3_stmt *stmt = NULL, *quote = NULL;
	int rc = prepare_rows(db, table, has_rowid ? "rowid," : "", &stmt);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db->h, VALUE, -1, &quote, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		char *name = sqlite3_mprintf("\"%w\"", table);
		printf("INSERT INTO %s", name ? name : "");
		sqlite3_free(name);
		write_names(stmt, has_rowid);
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			(void)sqlite3_bind_value(quote, 1, sqlite3_column_value(stmt, i));
			if (sqlite3_step(quote) == SQLITE_ROW)
				printf("%s%s", i > 0 ? "," : "", sqlite3_column_text(quote, 0));
			(void)sqlite3_reset(quote);
		}
		fputs(");\n", stdout);
		rc = SQLITE_OK;
	}
	(void)sqlite3_finalize(quote);
	(void)sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/*
 * Write a virtual table. Its module stores the rows in shadow tables. These are not dumped, because
 * the module will create them again. The rows are written only if INSERT can restore them: for
 * full-text indexes and R-trees. For full-text indexes with the option content=, and for other
 * modules, only the definition is written.
 */
static int dump_virtual(struct db *db, const char *name, const char *text)
{
	const char *using = strcasestr(text, "USING");
	const char *module = using ? using + 5 + strspn(using + 5, " \t\n") : "";
	bool is_search = strncasecmp(module, "fts", 3) == 0;
	bool is_tree =
		strncasecmp(module, "rtree", 5) == 0 || strncasecmp(module, "geopoly", 7) == 0;
	bool is_bare = is_search && strcasestr(text, "content=");
	printf("%s;\n", text);
	if ((is_search || is_tree) && !is_bare)
		return dump_rows(db, name, is_search);
	printf("-- left out: the rows of %s\n", name);
	return SQLITE_OK;
}

static int dump_schema(struct db *db, const char *pattern, const char *condition)
{
	sqlite3_stmt *stmt = NULL;
	char *sql = sqlite3_mprintf(
		"SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE "
		"'sqlite\\_%%' ESCAPE '\\' AND tbl_name LIKE %Q AND name NOT IN (SELECT name FROM "
		"pragma_table_list WHERE schema = 'main' AND type = 'shadow') AND %s ORDER BY rowid",
		pattern, condition);
	int rc = sql ? sqlite3_prepare_v2(db->h, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		const char *text = (const char *)sqlite3_column_text(stmt, 2);
		rc = SQLITE_OK;
		if (text && strncasecmp(text, "CREATE VIRTUAL", 14) == 0) {
			rc = dump_virtual(db, name, text);
			continue;
		}
		printf("%s;\n", text ? text : "");
		if (strcmp((const char *)sqlite3_column_text(stmt, 1), "table") == 0)
			rc = dump_rows(db, name, false);
	}
	(void)sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int dump_write(struct db *db, const char *pattern)
{
	fputs("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n", stdout);
	int rc = dump_schema(db, pattern, "type = 'table'");
	if (rc == SQLITE_OK)
		rc = dump_schema(db, pattern, "type <> 'table'");
	fputs(rc == SQLITE_OK ? "COMMIT;\n" : "ROLLBACK;\n", stdout);
	(void)fflush(stdout);
	return rc;
}
