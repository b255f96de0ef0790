/* SPDX-License-Identifier: Apache-2.0 */
#include "sum_warning.h"

#include "base/attr.h"
#include "scan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 256, ROWS_MAX = 1000, VALUE_BYTES = 64, NAMES_MAX = 64 };

/*
 * Words of a statement, from which the summed columns are guessed.
 * A name within the parentheses of sum(…), avg(…) or total(…) is taken for a column if a table that
 * the statement names has such a column. If another call is within the parentheses, such as
 * replace(), the names there are ignored, because that call has probably converted the text to a
 * number.
 */
struct words {
	char names[NAMES_MAX][NAME_BYTES];
	size_t n;
};

/* Return whether @text is a number for people but not for SQLite, such as "1,234.50" or "$5". */
static bool is_written_number(const char *text)
{
	char plain[VALUE_BYTES], *end;
	size_t n = 0;
	bool has_sign = false;
	for (; *text && n + 1 < sizeof plain; text++) {
		if (strchr(",$% ", *text) || (*text & 0x80))
			has_sign = true;
		else
			plain[n++] = *text;
	}
	plain[n] = '\0';
	if (*text || !has_sign || !plain[strcspn(plain, "0123456789")])
		return false;
	(void)strtod(plain, &end);
	return !*end;
}

/*
 * Find a value of @column in @table for which is_written_number() is true, and copy it to @out.
 * Returns: whether there is such a value.
 */
static bool find_value(struct db *db, const char *table, const char *column, char out[VALUE_BYTES])
{
	sqlite3_stmt *stmt = NULL;
	bool is_found = false;
	/*
	 * Quote names as [name]: an unknown column is then an error, while SQLite would take "name"
	 * as a string.
	 */
	char *sql = sqlite3_mprintf(
		"SELECT [%s] FROM [%s] WHERE typeof([%s]) = 'text' AND [%s] GLOB '*[0-9]*' LIMIT %d",
		column, table, column, column, ROWS_MAX);
	db->is_own = true;
	if (sql && sqlite3_prepare_v2(db->h, sql, -1, &stmt, NULL) == SQLITE_OK)
		while (!is_found && sqlite3_step(stmt) == SQLITE_ROW) {
			const char *text = (const char *)sqlite3_column_text(stmt, 0);
			is_found = text && strlen(text) < VALUE_BYTES && is_written_number(text);
			if (is_found)
				strcpy(out, text);
		}
	(void)sqlite3_finalize(stmt);
	db->is_own = false;
	sqlite3_free(sql);
	return is_found;
}

static void add_word(struct words *words, const struct token *t)
{
	bool is_name = t->kind == SCAN_WORD || t->kind == SCAN_NAME || t->kind == SCAN_STRING;
	if (is_name && words->n < NAMES_MAX && scan_plain(t, words->names[words->n], NAME_BYTES) &&
		!strchr(words->names[words->n], ']'))
		words->n++;
}

/*
 * Read the names between "sum(" and its closing parenthesis. If another call is between them, drop
 * the names.
 */
static const char *take_sum(const char *at, const char *end, struct words *columns)
{
	size_t n_before = columns->n;
	int depth = 1;
	while (depth > 0 && at < end) {
		const char *before = at;
		struct token t = scan_token(&at);
		if (t.kind == SCAN_END || at > end)
			return before;
		depth += t.bytes == 1 && *t.text == '('	 ? 1
			: t.bytes == 1 && *t.text == ')' ? -1
							 : 0;
		if (*t.text == '(' || scan_is(&t, "CAST")) {
			columns->n = n_before;
			return at;
		}
		add_word(columns, &t);
	}
	return at;
}

static bool is_sum(const struct token *t)
{
	return scan_is(t, "sum") || scan_is(t, "avg") || scan_is(t, "total");
}

static void read_words(const char *at, const char *end, struct words *all, struct words *columns)
{
	bool was_sum = false;
	while (at < end) {
		struct token t = scan_token(&at);
		if (t.kind == SCAN_END || at > end)
			return;
		if (was_sum && *t.text == '(')
			at = take_sum(at, end, columns);
		else
			add_word(all, &t);
		was_sum = is_sum(&t);
	}
}

void sum_warning(struct db *db, const char *sql)
{
	char value[VALUE_BYTES];
	struct words *words = calloc(2, sizeof *words);
	if (words)
		read_words(sql, sql + strlen(sql), &words[0], &words[1]);
	for (size_t c = 0; words && c < words[1].n; c++)
		for (size_t t = 0; t < words[0].n; t++) {
			const char *column = words[1].names[c];
			if (!find_value(db, words[0].names[t], column, value))
				continue;
			fprintf(stderr,
				"retort: note: %s is text, such as \"%s\", and a sum uses only "
				"the number at its beginning: write replace(%s, ',', '')\n",
				column, value, column);
			break;
		}
	free(words);
}
