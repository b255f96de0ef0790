/* SPDX-License-Identifier: Apache-2.0 */
#include "series.h"

#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

/* The columns of generate_series: the value, and three hidden columns, which are its arguments. */
enum { VALUE, START, STOP, STEP, N_COLUMNS };
enum { N_ARGUMENTS = N_COLUMNS - START };

static const int64_t defaults[N_ARGUMENTS] = {0, 0xffffffff, 1};

struct series_cursor {
	sqlite3_vtab_cursor base;
	int64_t argument[N_ARGUMENTS], value;
	sqlite3_int64 row;
	bool is_over;
};

static int series_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
	sqlite3_vtab **out, char **message)
{
	(void)arg, (void)argc, (void)argv, (void)message;
	int rc = sqlite3_declare_vtab(
		db, "CREATE TABLE x(value INTEGER, start HIDDEN, stop HIDDEN, step HIDDEN)");
	*out = rc == SQLITE_OK ? sqlite3_malloc64(sizeof **out) : NULL;
	if (!*out)
		return rc == SQLITE_OK ? SQLITE_NOMEM : rc;
	**out = (sqlite3_vtab){0};
	return sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
}

static int series_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

/*
 * Tell SQLite which arguments it must pass to series_filter(): those that the query has given, in
 * the order of the columns. Bit i of idxNum means that argument i is given.
 */
static int series_best(sqlite3_vtab *table, sqlite3_index_info *info)
{
	int at[N_ARGUMENTS] = {-1, -1, -1}, n = 0;
	(void)table;
	for (int i = 0; i < info->nConstraint; i++) {
		int k = info->aConstraint[i].iColumn - START;
		if (k < 0 || k >= N_ARGUMENTS ||
			info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!info->aConstraint[i].usable)
			/*
			 * The value of this argument is not yet known in this join order. Refuse,
			 * so that SQLite's planner tries another order.
			 */
			return SQLITE_CONSTRAINT;
		at[k] = i;
	}
	for (int k = 0; k < N_ARGUMENTS; k++)
		if (at[k] >= 0) {
			info->idxNum |= 1 << k;
			info->aConstraintUsage[at[k]].argvIndex = ++n;
			info->aConstraintUsage[at[k]].omit = 1;
		}
	info->estimatedRows = at[STOP - START] >= 0 ? 1000 : INT32_MAX;
	info->estimatedCost = (double)info->estimatedRows;
	return SQLITE_OK;
}

static int series_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	struct series_cursor *c = sqlite3_malloc64(sizeof *c);
	(void)table;
	if (!c)
		return SQLITE_NOMEM;
	*c = (struct series_cursor){0};
	*out = &c->base;
	return SQLITE_OK;
}

static int series_close(sqlite3_vtab_cursor *cursor)
{
	sqlite3_free(container_of(cursor, struct series_cursor, base));
	return SQLITE_OK;
}

static bool is_behind(const struct series_cursor *c, int64_t value)
{
	int64_t stop = c->argument[STOP - START];
	return c->argument[STEP - START] < 0 ? value < stop : value > stop;
}

static int series_filter(
	sqlite3_vtab_cursor *cursor, int given, const char *text, int argc, sqlite3_value **argv)
{
	struct series_cursor *c = container_of(cursor, struct series_cursor, base);
	(void)text;
	c->is_over = false;
	for (int k = 0, i = 0; k < N_ARGUMENTS; k++) {
		bool is_given = (given & 1 << k) != 0 && i < argc;
		c->is_over |= is_given && sqlite3_value_type(argv[i]) == SQLITE_NULL;
		c->argument[k] = is_given ? sqlite3_value_int64(argv[i++]) : defaults[k];
	}
	if (c->argument[STEP - START] == 0)
		c->argument[STEP - START] = 1;
	c->value = c->argument[0];
	c->row = 1;
	c->is_over |= is_behind(c, c->value);
	return SQLITE_OK;
}

static int series_next(sqlite3_vtab_cursor *cursor)
{
	struct series_cursor *c = container_of(cursor, struct series_cursor, base);
	c->is_over = __builtin_add_overflow(c->value, c->argument[STEP - START], &c->value) ||
		is_behind(c, c->value);
	c->row++;
	return SQLITE_OK;
}

static int series_eof(sqlite3_vtab_cursor *cursor)
{
	return container_of(cursor, struct series_cursor, base)->is_over;
}

static int series_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int column)
{
	const struct series_cursor *c = container_of(cursor, struct series_cursor, base);
	sqlite3_result_int64(ctx, column == VALUE ? c->value : c->argument[column - START]);
	return SQLITE_OK;
}

static int series_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
	*out = container_of(cursor, struct series_cursor, base)->row;
	return SQLITE_OK;
}

int series_register(sqlite3 *db)
{
	static const sqlite3_module module = {/*
					       * Without xCreate, the module's name is itself a
					       * table, which needs no CREATE statement.
					       */
		.xConnect = series_connect,
		.xBestIndex = series_best,
		.xDisconnect = series_disconnect,
		.xOpen = series_open,
		.xClose = series_close,
		.xFilter = series_filter,
		.xNext = series_next,
		.xEof = series_eof,
		.xColumn = series_column,
		.xRowid = series_rowid};
	return sqlite3_create_module(db, "generate_series", &module, NULL);
}
