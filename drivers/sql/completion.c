/* SPDX-License-Identifier: Apache-2.0 */
#include "completion.h"

#include "base/utf8.h"
#include "text.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WORD_BYTES_MAX = 256 };

struct list {
	const char *word;
	struct buf *out;
	char *names[NAMES_MAX];
	size_t n;
};

static void add(struct list *l, const char *name)
{
	if (!name || l->n == NAMES_MAX || strncasecmp(name, l->word, strlen(l->word)) != 0)
		return;
	for (size_t i = 0; i < l->n; i++)
		if (strcasecmp(l->names[i], name) == 0)
			return;
	char *copy = strdup(name);
	if (copy)
		l->names[l->n++] = copy;
}

static void add_rows(struct list *l, struct db *db, const char *sql, const char *argument)
{
	sqlite3_stmt *stmt = NULL;
	db->is_own = true;
	if (sqlite3_prepare_v2(db->h, sql, -1, &stmt, NULL) == SQLITE_OK) {
		if (argument)
			(void)sqlite3_bind_text(stmt, 1, argument, -1, SQLITE_STATIC);
		while (l->n < NAMES_MAX && sqlite3_step(stmt) == SQLITE_ROW)
			add(l, (const char *)sqlite3_column_text(stmt, 0));
	}
	(void)sqlite3_finalize(stmt);
	db->is_own = false;
}

/*
 * Add the files that a statement can name without quotes: sales.csv is offered as `sales`. Files
 * whose name is not a plain word are left out.
 */
static void add_files(struct list *l)
{
	DIR *dir = opendir(".");
	struct dirent *entry;
	while (dir && l->n < NAMES_MAX && (entry = readdir(dir))) {
		char name[sizeof entry->d_name];
		if (!files_is_table(entry->d_name))
			continue;
		(void)strcpy(name, entry->d_name);
		name[strlen(name) - 4] = '\0';
		size_t n = 0;
		while (isalnum((unsigned char)name[n]) || name[n] == '_')
			n++;
		if (!name[n] && !isdigit((unsigned char)name[0]))
			add(l, name);
	}
	if (dir)
		(void)closedir(dir);
}

static void add_keywords(struct list *l)
{
	for (int i = 0; i < sqlite3_keyword_count(); i++) {
		char keyword[64];
		const char *text;
		int bytes;
		if (sqlite3_keyword_name(i, &text, &bytes) != SQLITE_OK ||
			(size_t)bytes >= sizeof keyword)
			continue;
		memcpy(keyword, text, (size_t)bytes);
		keyword[bytes] = '\0';
		add(l, keyword);
	}
}

/* Complete a word such as "sales.da" with the columns of the table before the point. */
static void add_columns_of(struct list *l, struct db *db)
{
	char table[WORD_BYTES_MAX];
	const char *dot = strrchr(l->word, '.');
	(void)strcpy(table, l->word);
	table[dot - l->word] = '\0';
	l->word = dot + 1;
	(void)files_resolve(&db->files, db, table);
	add_rows(l, db,
		"SELECT name FROM pragma_table_info(?1) UNION ALL "
		"SELECT name FROM pragma_table_info(?1, 'files')",
		table);
}

static void add_all(struct list *l, struct db *db)
{
	add_rows(l, db,
		"SELECT name FROM (SELECT name, type FROM sqlite_schema UNION ALL SELECT name, type "
		"FROM sqlite_temp_schema) WHERE type IN ('table', 'view') ORDER BY 1",
		NULL);
	add_files(l);
	add_rows(l, db,
		"SELECT DISTINCT p.name FROM sqlite_schema s, pragma_table_info(s.name) p WHERE s.type "
		"IN ('table', 'view') ORDER BY 1",
		NULL);
	if (!l->word[0])
		return;
	add_keywords(l);
	add_rows(l, db,
		"SELECT DISTINCT name FROM pragma_function_list WHERE name GLOB '[a-z]*' ORDER BY 1",
		NULL);
}

static const char *last_word(const char *text, char word[WORD_BYTES_MAX])
{
	size_t end = strlen(text), at = end;
	while (at > 0 &&
		(isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_' ||
			text[at - 1] == '.' || (text[at - 1] & 0x80)))
		at--;
	if (end - at >= WORD_BYTES_MAX)
		at = end;
	return strcpy(word, text + at);
}

int completion_write(struct db *db, const char *text, struct buf *out)
{
	static const char *const commands[] = {
		".databases", ".dump", ".help", ".import", ".indexes", ".schema", ".tables"};
	char word[WORD_BYTES_MAX];
	struct list l = {.word = last_word(text, word)};
	if (word[0] == '.')
		for (size_t i = 0; i < ARRAY_LEN(commands); i++)
			add(&l, commands[i]);
	else if (db_begin(db) == SQLITE_OK) {
		if (strchr(word, '.'))
			add_columns_of(&l, db);
		else
			add_all(&l, db);
		(void)db_end(db, true);
	}
	int r = buf_add(out, "[");
	for (size_t i = 0; i < l.n; i++) {
		if (r == 0 && i > 0)
			r = buf_add(out, ",");
		if (r == 0)
			r = utf8_quote(out, l.names[i], strlen(l.names[i]));
		free(l.names[i]);
	}
	return r < 0 ? r : buf_add(out, "]");
}
