/*
 * A delimited file as a read-only virtual table. Source: https://www.sqlite.org/vtab.html
 *
 * A scan reads the file row by row, beginning with the first data row. The rowid is the number of
 * the row. The file is not loaded, so memory does not grow with its size.
 *
 * A join by equality would read the whole file once for each row of the other table. So
 * best_index() tells SQLite that an equality constraint on a column is cheap, and filter() is
 * passed the value. On the second such scan of a column, an index is built from the hash of each
 * value to the offset of its row (index.c). Later scans visit only the rows with the same hash.
 * SQLite still compares the values, because different values may have the same hash.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "table.h"

#include "base/fd.h"
#include "index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES_MAX = 4096 };

struct table {
	sqlite3_vtab base;
	volatile sig_atomic_t *stop;
	int fd;
	uint64_t bytes;
	struct columns columns;
	struct table_index {
		struct index index;
		int column;
		bool is_built, is_refused;
	} indexes[TABLE_INDEXES];
	size_t n_indexes;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct csv csv;
	uint64_t row;
	bool is_end;
	int last_column; /* column of the last scan with an equality constraint, or -1 */
	const struct index *index;
	uint32_t entry, hash;
};

int table_open(const char *path)
{
	struct stat st;
	/* Do not wait for a writer if @path is a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	int r = fstat(fd, &st) < 0 ? -errno : !S_ISREG(st.st_mode) ? -EISDIR : fd;
	if (r < 0)
		(void)close(fd);
	return r;
}

ssize_t table_read(void *arg, char *out, size_t bytes, uint64_t offset)
{
	ssize_t n;
	do
		n = pread(*(const int *)arg, out, bytes, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

const char *table_problem(int r)
{
	switch (-r) {
	case ENODATA:
		return "it is empty";
	case EILSEQ:
		return "it is UTF-16: convert it to UTF-8";
	case E2BIG:
		return "a row is longer than 8 MiB: perhaps a quote is not closed";
	case EISDIR:
		return "it is not a regular file";
	default:
		return strerror(-r);
	}
}

/* ---- the table ---- */

/*
 * Return a module argument without its quotes: 'it''s' becomes it's. Returns: NULL when out of
 * memory.
 */
static char *unquote(const char *text)
{
	size_t n = strlen(text), at = 0;
	char *out = malloc(n + 1);
	if (!out || n < 2 || text[0] != '\'' || text[n - 1] != '\'')
		return out ? strcpy(out, text) : NULL;
	for (size_t i = 1; i + 1 < n; i++) {
		out[at++] = text[i];
		i += text[i] == '\'' && i + 2 < n && text[i + 1] == '\'';
	}
	out[at] = '\0';
	return out;
}

static void read_dialect(struct dialect *d, int argc, const char *const *argv)
{
	for (int i = 4; i < argc && i < 8; i++) {
		char *value = unquote(argv[i]);
		if (!value || !value[0])
			;
		else if (i == 4)
			d->delimiter = value[0];
		else if (i == 5)
			d->header = value[0] == '1' ? COLUMN_YES : COLUMN_NO;
		else if (i == 6)
			d->is_text = value[0] == '1';
		else
			d->skip_rows = (unsigned)strtoul(value, NULL, 10);
		free(value);
	}
}

static int declare(sqlite3 *db, const struct columns *columns)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	sqlite3_str_appendall(sql, "CREATE TABLE x(");
	for (size_t i = 0; i < columns->n; i++)
		sqlite3_str_appendf(sql, "%s\"%w\" %s", i > 0 ? ", " : "", columns->names[i],
			column_type_name(columns->types[i]));
	sqlite3_str_appendall(sql, ")");
	char *text = sqlite3_str_finish(sql);
	int rc = text ? sqlite3_declare_vtab(db, text) : SQLITE_NOMEM;
	sqlite3_free(text);
	return rc;
}

static int disconnect(sqlite3_vtab *base)
{
	struct table *t = container_of(base, struct table, base);
	fd_close(&t->fd);
	columns_done(&t->columns);
	for (size_t i = 0; i < t->n_indexes; i++)
		index_done(&t->indexes[i].index);
	free(t);
	return SQLITE_OK;
}

static int connect_table(
	sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out, char **error)
{
	struct dialect dialect = {0};
	struct stat st;
	struct table *t = calloc(1, sizeof *t);
	char *path = argc > 3 ? unquote(argv[3]) : NULL;
	int r = t && path ? 0 : -ENOMEM, rc = SQLITE_ERROR;
	if (t)
		t->fd = -1;
	if (r == 0) {
		read_dialect(&dialect, argc, argv);
		t->stop = aux;
		t->fd = r = table_open(path);
	}
	if (r >= 0)
		r = columns_find(&t->columns, table_read, &t->fd, &dialect);
	if (r < 0) {
		*error = sqlite3_mprintf("file \"%s\": %s", path ? path : "", table_problem(r));
	} else {
		t->bytes = fstat(t->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
		rc = declare(db, &t->columns);
		if (rc != SQLITE_OK)
			*error = sqlite3_mprintf("file \"%s\": %s", path, sqlite3_errmsg(db));
	}
	free(path);
	if (rc == SQLITE_OK)
		*out = &t->base;
	else if (t)
		(void)disconnect(&t->base);
	return rc;
}

/*
 * xCreate must differ from xConnect. Otherwise the module's name, csv, would itself be a table, and
 * SQLite would find that table for `FROM a.csv`.
 */
static int create_table(
	sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out, char **error)
{
	return connect_table(db, aux, argc, argv, out, error);
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct table *t = container_of(base, struct table, base);
	double n_rows = (double)(t->bytes / t->columns.row_bytes + 1);
	info->estimatedCost = n_rows * 10;
	info->estimatedRows = (sqlite3_int64)n_rows;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		if (!c->usable || c->op != SQLITE_INDEX_CONSTRAINT_EQ || c->iColumn < 0 ||
			sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
			continue;
		/*
		 * SQLite must still compare (omit is 0), because different values may have the same
		 * hash.
		 */
		info->aConstraintUsage[i].argvIndex = 1;
		info->idxNum = c->iColumn + 1;
		info->estimatedRows = (sqlite3_int64)(n_rows / 100 + 1);
		info->estimatedCost = n_rows / 100 + 20;
		break;
	}
	return SQLITE_OK;
}

/* ---- the cursor ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct table *t = container_of(base, struct table, base);
	struct cursor *c = calloc(1, sizeof *c);
	if (!c)
		return SQLITE_NOMEM;
	csv_init(&c->csv, table_read, &t->fd, t->columns.delimiter);
	c->last_column = -1;
	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *c = container_of(base, struct cursor, base);
	csv_done(&c->csv);
	free(c);
	return SQLITE_OK;
}

static int fail(struct cursor *c, int r)
{
	sqlite3_vtab *vtab = c->base.pVtab;
	sqlite3_free(vtab->zErrMsg);
	vtab->zErrMsg = sqlite3_mprintf(
		"row %llu of the file: %s", (unsigned long long)c->row + 1, table_problem(r));
	return r == -ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = container_of(base, struct cursor, base);
	if (c->index) {
		c->entry = c->entry > 0 ? index_after(c->index, c->entry, c->hash)
					: index_first(c->index, c->hash);
		c->is_end = c->entry == 0;
		if (c->is_end)
			return SQLITE_OK;
		csv_seek(&c->csv, c->index->entries[c->entry - 1].offset);
		c->row = c->index->entries[c->entry - 1].row - 1;
	}
	int r = csv_next(&c->csv);
	c->is_end = r <= 0;
	c->row += r == 1;
	return r < 0 ? fail(c, r) : SQLITE_OK;
}

/* Return whether a field is NULL: it is empty, and it has no quotes or its column is numeric. */
static bool is_null(const struct table *t, const struct csv_field *field, size_t i)
{
	return field->bytes == 0 && (!field->is_quoted || t->columns.types[i] != COLUMN_TEXT);
}

static int build(struct table *t, struct table_index *x)
{
	struct csv csv;
	uint64_t row = 0;
	int r;
	csv_init(&csv, table_read, &t->fd, t->columns.delimiter);
	csv_seek(&csv, t->columns.rows_offset);
	csv.want = CSV_CHUNK_BYTES;
	while ((r = csv_next(&csv)) == 1) {
		struct csv_field field = csv_field(&csv, (size_t)x->column);
		row++;
		if (!is_null(t, &field, (size_t)x->column))
			r = index_add(&x->index, index_hash_text(field.text, field.bytes),
				csv.row_offset, row, TABLE_INDEX_ROWS);
		if (r < 0 || *t->stop)
			break;
	}
	csv_done(&csv);
	r = r == 0 ? index_finish(&x->index) : r == 1 ? -EINTR : r;
	x->is_built = r == 0;
	x->is_refused = r < 0 && r != -EINTR;
	if (r < 0)
		index_done(&x->index);
	return r;
}

/*
 * Return the index of @column, or NULL if it has none. The index is built on the second scan of the
 * column.
 */
static const struct index *find_index(struct table *t, struct cursor *c, int column)
{
	bool is_again = c->last_column == column;
	c->last_column = column;
	size_t i = 0;
	while (i < t->n_indexes && t->indexes[i].column != column)
		i++;
	if (i == TABLE_INDEXES || (i == t->n_indexes && !is_again))
		return NULL;
	struct table_index *x = &t->indexes[i];
	if (i == t->n_indexes) {
		*x = (struct table_index){.column = column};
		t->n_indexes++;
	}
	if (!x->is_built && !x->is_refused)
		(void)build(t, x);
	return x->is_built ? &x->index : NULL;
}

static int filter(
	sqlite3_vtab_cursor *base, int column, const char *text, int argc, sqlite3_value **argv)
{
	struct cursor *c = container_of(base, struct cursor, base);
	struct table *t = container_of(base->pVtab, struct table, base);
	(void)text;
	c->row = 0;
	c->entry = 0;
	c->index = NULL;
	if (argc == 1) {
		int type = sqlite3_value_type(argv[0]);
		c->is_end = type == SQLITE_NULL;
		if (c->is_end)
			return SQLITE_OK;
		c->index = find_index(t, c, column - 1);
		c->hash = type == SQLITE_INTEGER || type == SQLITE_FLOAT
			? index_hash_real(sqlite3_value_double(argv[0]))
			: index_hash_text(sqlite3_value_blob(argv[0]),
				  (size_t)sqlite3_value_bytes(argv[0]));
	}
	if (!c->index) {
		csv_seek(&c->csv, t->columns.rows_offset);
		c->csv.want = CSV_CHUNK_BYTES;
	}
	return next(base);
}

static int is_eof(sqlite3_vtab_cursor *base)
{
	return container_of(base, struct cursor, base)->is_end;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	struct cursor *c = container_of(base, struct cursor, base);
	struct table *t = container_of(base->pVtab, struct table, base);
	struct csv_field field = csv_field(&c->csv, (size_t)i);
	int64_t integer = 0;
	double real = 0;
	enum column_type type = COLUMN_TEXT;
	if (is_null(t, &field, (size_t)i)) {
		sqlite3_result_null(ctx);
		return SQLITE_OK;
	}
	if (t->columns.types[i] != COLUMN_TEXT)
		type = column_parse(field.text, field.bytes, &integer, &real);
	if (type == COLUMN_INTEGER && t->columns.types[i] == COLUMN_REAL)
		sqlite3_result_double(ctx, (double)integer);
	else if (type == COLUMN_INTEGER)
		sqlite3_result_int64(ctx, integer);
	else if (type == COLUMN_REAL)
		sqlite3_result_double(ctx, real);
	else
		sqlite3_result_text(ctx, field.text, (int)field.bytes, SQLITE_TRANSIENT);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = (sqlite3_int64)container_of(base, struct cursor, base)->row;
	return SQLITE_OK;
}

int table_register(sqlite3 *db, volatile sig_atomic_t *stop)
{
	static const sqlite3_module module = {
		.iVersion = 1,
		.xCreate = create_table,
		.xConnect = connect_table,
		.xBestIndex = best_index,
		.xDisconnect = disconnect,
		.xDestroy = disconnect,
		.xOpen = open_cursor,
		.xClose = close_cursor,
		.xFilter = filter,
		.xNext = next,
		.xEof = is_eof,
		.xColumn = column,
		.xRowid = rowid,
	};
	return sqlite3_create_module(db, "csv", &module, (void *)(uintptr_t)stop);
}
