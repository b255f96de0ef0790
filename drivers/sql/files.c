/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include "db.h"
#include "scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char *const endings[] = {".csv", ".tsv", ".tab", ".psv"};

bool files_is_table(const char *path)
{
	size_t n = strlen(path);
	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (n > 4 && strcasecmp(path + n - 4, endings[i]) == 0)
			return true;
	return false;
}

static bool is_file(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool files_find(const char *name, char path[FILES_PATH_BYTES])
{
	if (strlen(name) + sizeof ".csv" > FILES_PATH_BYTES)
		return false;
	snprintf(path, FILES_PATH_BYTES, "%s", name);
	if (files_is_table(name) && is_file(path))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		snprintf(path, FILES_PATH_BYTES, "%s%s", name, endings[i]);
		if (is_file(path))
			return true;
	}
	return false;
}

int files_create(struct files *f, struct db *db, const char *name, const char *path,
	const struct dialect *dialect)
{
	const char delimiter[2] = {dialect->delimiter, '\0'};
	if (f->n == FILES_MAX)
		return SQLITE_TOOBIG;
	char *kept = strdup(name);
	char *sql = sqlite3_mprintf(
		"CREATE VIRTUAL TABLE files.\"%w\" USING csv(%Q, %Q, '%s', '%s', '%u')", name, path,
		delimiter,
		dialect->header == COLUMN_YES	       ? "1"
			: dialect->header == COLUMN_NO ? "0"
						       : "",
		dialect->is_text ? "1" : "", dialect->skip_rows);
	int rc = kept && sql ? db_own(db, sql) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (rc == SQLITE_OK)
		f->names[f->n++] = kept;
	else
		free(kept);
	return rc;
}

/* Return the read_csv(…) call that was replaced by the name csvN, or NULL for another name. */
static const struct file_call *find_call(const struct files *f, const char *name)
{
	char *end;
	if (strncmp(name, "csv", 3) != 0)
		return NULL;
	unsigned long n = strtoul(name + 3, &end, 10);
	return n >= 1 && n <= f->n_calls && !*end ? &f->calls[n - 1] : NULL;
}

int files_resolve(struct files *f, struct db *db, const char *name)
{
	char path[FILES_PATH_BYTES];
	bool is_ours = strncmp(name, "files.", 6) == 0;
	if (is_ours)
		name += 6;
	for (size_t i = 0; i < f->n; i++)
		if (strcasecmp(f->names[i], name) == 0)
			return 0;
	const struct file_call *call = is_ours ? find_call(f, name) : NULL;
	const struct dialect guess = {0};
	int rc;
	if (call)
		rc = files_create(f, db, name, call->path, &call->dialect);
	else if (files_find(name, path))
		rc = files_create(f, db, name, path, &guess);
	else
		return 0;
	return rc == SQLITE_OK ? 1 : -rc;
}

void files_forget(struct files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->names[i]);
	f->n = 0;
}

void files_drop(struct files *f, struct db *db)
{
	for (size_t i = 0; i < f->n; i++) {
		/* Ignore a failure. The table no longer exists if its creation was rolled back. */
		char *sql = sqlite3_mprintf("DROP TABLE IF EXISTS files.\"%w\"", f->names[i]);
		if (sql)
			(void)db_own(db, sql);
		sqlite3_free(sql);
	}
	files_forget(f);
}

void files_done(struct files *f)
{
	files_forget(f);
	free(f->calls);
	*f = (struct files){0};
}

/* ---- read_csv(…) ---- */

static bool read_bool(const char *text, bool *out)
{
	static const char *const yes[] = {"true", "yes", "on", "1"};
	static const char *const no[] = {"false", "no", "off", "0"};
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		bool is_yes = strcasecmp(text, yes[i]) == 0;
		if (is_yes || strcasecmp(text, no[i]) == 0) {
			*out = is_yes;
			return true;
		}
	}
	return false;
}

/* Parse one option of read_csv(). Returns: NULL, or a description of the problem. */
static const char *set_option(struct dialect *d, const struct token *name, const char *value)
{
	bool yes = false;
	if (scan_is(name, "delim") || scan_is(name, "sep")) {
		d->delimiter = strcmp(value, "\\t") == 0 ? '\t' : value[0];
		bool is_one = value[0] && (!value[1] || d->delimiter == '\t');
		bool is_bad = !is_one || strchr("\"\r\n", value[0]) || (value[0] & 0x80);
		return is_bad ? "delim must be one ASCII character" : NULL;
	}
	if (scan_is(name, "header")) {
		d->header = read_bool(value, &yes) && yes ? COLUMN_YES : COLUMN_NO;
		return read_bool(value, &yes) ? NULL : "header must be true or false";
	}
	if (scan_is(name, "all_text")) {
		bool is_good = read_bool(value, &d->is_text);
		return is_good ? NULL : "all_text must be true or false";
	}
	if (scan_is(name, "skip")) {
		char *end;
		d->skip_rows = (unsigned)strtoul(value, &end, 10);
		return value[0] && !*end && strlen(value) <= 6 ? NULL : "skip must be a number";
	}
	return "options are delim, header, all_text and skip";
}

/*
 * Parse the arguments of read_csv(). *@text is after the opening parenthesis, and moves past the
 * closing one. Returns: NULL, or a description of the problem.
 */
static const char *read_call(const char **text, struct file_call *call)
{
	char value[64];
	struct token t = scan_token(text);
	*call = (struct file_call){0};
	if (t.kind != SCAN_STRING || !scan_plain(&t, call->path, sizeof call->path) ||
		!call->path[0])
		return "the first argument must be a path in quotes";
	for (t = scan_token(text); scan_is(&t, ","); t = scan_token(text)) {
		struct token name = scan_token(text), sign = scan_token(text);
		if (scan_is(&sign, ":"))
			sign = scan_token(text);
		struct token given = scan_token(text);
		if (name.kind != SCAN_WORD || !scan_is(&sign, "=") || given.kind == SCAN_END ||
			!scan_plain(&given, value, sizeof value))
			return "options are written name = value";
		const char *problem = set_option(&call->dialect, &name, value);
		if (problem)
			return problem;
	}
	return scan_is(&t, ")") ? NULL : "a parenthesis is missing";
}

/*
 * Overwrite a read_csv(…) call with the name of its table, and the rest of the call with blanks.
 * Line breaks in the rest stay, so that line numbers in messages remain right.
 */
static void put_name(char *start, const char *end, size_t number)
{
	char name[FILES_NAME_BYTES];
	size_t n = (size_t)snprintf(name, sizeof name, "files.csv%zu", number);
	for (char *p = start; p < end; p++)
		if (*p != '\n')
			*p = ' ';
	/*
	 * The name always fits, because even the shortest call, read_csv('x'), has 13 bytes. Line
	 * breaks at the place of the name are lost.
	 */
	if (memchr(start, '\n', n))
		memset(start, ' ', n);
	memcpy(start, name, n);
}

int files_rewrite(struct files *f, char *code, size_t *at, const char **problem)
{
	f->n_calls = 0;
	for (const char *text = code;;) {
		struct token t = scan_token(&text);
		if (t.kind == SCAN_END)
			return 0;
		const char *behind = text;
		if (t.kind != SCAN_WORD || !scan_is(&t, "read_csv"))
			continue;
		struct token open = scan_token(&behind);
		if (!scan_is(&open, "("))
			continue;
		struct file_call *calls = realloc(f->calls, (f->n_calls + 1) * sizeof *f->calls);
		*at = (size_t)(t.text - code);
		if (calls)
			f->calls = calls;
		*problem = !calls		  ? "no memory"
			: f->n_calls == FILES_MAX ? "more than 64 calls"
						  : read_call(&behind, &f->calls[f->n_calls]);
		if (*problem)
			return -EINVAL;
		f->n_calls++;
		put_name(code + *at, behind, f->n_calls);
		text = behind;
	}
}
