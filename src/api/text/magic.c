/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text/magic.h"

#include "base/attr.h"
#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include "base/word.h"

#include <stdlib.h>
#include <string.h>

enum { UNDO_MAX = 1000000, WORD_BYTES = 32 };

/* ORDER enum magic_kind */
const struct magic_row magic_rows[MAGIC_END_] = {
	{"undo", "[N]", "undo N steps: restore variables and files"},
	{"branch", "[--force | --keep-processes] [--secrets] NAME",
		"branch into a new session NAME, and continue there"},
	{"switch", "[NAME]", "continue in session NAME; without NAME, list sessions"},
	{"log", "[all]", "list the steps; with all: of all sessions, as a tree"},
	{"files", "[DIR]", "list the files of the workspace and of volumes"},
	{"get", "[--force] FILE [DEST]", "copy a file of the workspace to this host"},
	{"put", "FILE [DEST]", "copy a file of this host to the workspace"},
	{"runtime", "[NAME]", "use language NAME from now on"},
	{"time", "CODE", "run CODE and print the time it took"},
	{"reset", "", "replace this session by a new one"},
	{"help", "", "show this"},
	{"quit", "", "leave, as Ctrl-D does"},
};

/* Find the command whose name is most similar to @name. @word: gets a copy of @name, cut to fit.
 * The result points to @word. */
static struct word_near find_near(const char *name, size_t bytes, char word[WORD_BYTES])
{
	memset(word, 0, WORD_BYTES);
	memcpy(word, name, utf8_cut(name, bytes, WORD_BYTES - 1));
	struct word_near near = {.word = word, .before = "%"};
	WORD_NEAR_ROWS(&near, magic_rows, MAGIC_END_, name);
	return near;
}

static int fail_unknown(const char *name, size_t bytes, struct err *err)
{
	char word[WORD_BYTES];
	const struct word_near near = find_near(name, bytes, word);
	return err_unknown(err, ERR_USAGE, &near, "%help lists them", "unknown command %%%s", word);
}

/* If the argument begins with the option @word, remove it. Returns: whether it did. */
static bool take_option(struct magic *m, const char *word)
{
	size_t bytes = strlen(word);
	const char *after = m->arg + bytes;
	if (strncmp(m->arg, word, bytes) != 0 || (*after && !strchr(" \t", *after)))
		return false;
	m->arg = after + strspn(after, " \t");
	return true;
}

/* Take the next word from *@at. A word in quotes may contain blanks. Returns: the word; NULL if
 * no word is left, or a quote is not closed. */
static char *take_word(char **at)
{
	char *word = *at + strspn(*at, " \t"), *end;
	if (*word == '"' || *word == '\'') {
		end = strchr(word + 1, *word);
		word++;
	} else {
		end = word + strcspn(word, " \t");
	}
	if (!end || end == word)
		return NULL;
	*at = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

/* Parse the arguments FILE [DEST] of %get and %put. */
static int take_files(struct magic *m, struct err *err)
{
	const struct magic_row *row = &magic_rows[m->kind];
	char *at = m->text + (m->arg - m->text), *first = take_word(&at);
	bool is_more = first && at[strspn(at, " \t")];
	m->second = is_more ? take_word(&at) : NULL;
	if (first && !at[strspn(at, " \t")] && (!is_more || m->second)) {
		m->arg = first;
		return 0;
	}
	(void)err_set(err, ERR_USAGE, "%%%s: %s", row->name,
		first ? "more than two files" : "nothing named");
	return err_hint(
		err, "write %%%s %s, and a name with blanks in quotes", row->name, row->arg);
}

static int check_arg(struct magic *m, struct err *err)
{
	const struct magic_row *row = &magic_rows[m->kind];
	struct num_range range = {1, UNDO_MAX};
	size_t arg_bytes = strlen(row->arg);
	bool is_needed = arg_bytes > 0 && row->arg[arg_bytes - 1] != ']';
	m->count = 1;
	if (m->kind == MAGIC_BRANCH || m->kind == MAGIC_GET)
		m->is_forced = take_option(m, "--force");
	if (m->kind == MAGIC_BRANCH) {
		m->is_kept = take_option(m, "--keep-processes");
		m->has_secrets = take_option(m, "--secrets");
	}
	if (m->kind == MAGIC_GET || m->kind == MAGIC_PUT)
		return take_files(m, err);
	if (m->kind == MAGIC_UNDO && m->arg[0] &&
		num_parse_count(m->arg, range, &m->count, err) < 0) {
		(void)err_wrap(err, "%%undo");
		return err_hint(err, "write %%undo %s, e.g. %%undo 3", row->arg);
	}
	if (m->kind == MAGIC_LOG && m->arg[0] && strcmp(m->arg, "all") != 0)
		return err_fail(
			err, ERR_USAGE, "write %log or %log all", "%%log: \"%.60s\"", m->arg);
	if (is_needed && !m->arg[0]) {
		(void)err_set(err, ERR_USAGE, "%%%s: nothing named", row->name);
		return err_hint(err, "write %%%s %s", row->name, row->arg);
	}
	if (!row->arg[0] && m->arg[0] && !(m->kind == MAGIC_RESET && strcmp(m->arg, "-f") == 0))
		return err_fail(err, ERR_USAGE, "leave it out", "%%%s: unexpected \"%.60s\"",
			row->name, m->arg);
	return 0;
}

/* Find the command in *@line. Set *@line to the start of its name, and *@bytes to the length.
 * Returns: its kind; MAGIC_END_ if it is unknown. */
static enum magic_kind find(const char **line, size_t *bytes)
{
	size_t kind = 0;
	*line += strspn(*line, " \t");
	*line += (*line)[0] == '%';
	*bytes = strcspn(*line, " \t\r\n");
	while (kind < MAGIC_END_ &&
		(strncmp(magic_rows[kind].name, *line, *bytes) != 0 ||
			magic_rows[kind].name[*bytes]))
		kind++;
	return (enum magic_kind)kind;
}

/* Return whether the Python driver knows a notebook magic with this name. Such a name is not
 * treated as a misspelt command. */
static bool is_known_to_python(const char *name, size_t bytes)
{
	static const char *const names[] = {"run", "timeit", "file"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == bytes && strncmp(names[i], name, bytes) == 0)
			return true;
	return false;
}

bool magic_is(const char *line, const char *runtime)
{
	char word[WORD_BYTES];
	size_t bytes;
	if (line[strspn(line, " \t")] != '%')
		return false;
	if (find(&line, &bytes) != MAGIC_END_ || strcmp(runtime, "python") != 0 || bytes == 0)
		return true;
	return line[0] != '%' && !is_known_to_python(line, bytes) &&
		find_near(line, bytes, word).best;
}

enum magic_kind magic_at(const char *line)
{
	size_t bytes;
	enum magic_kind kind = find(&line, &bytes);
	return line[bytes] ? kind : MAGIC_END_;
}

int magic_parse(const char *line, struct magic *out, struct err *err)
{
	size_t bytes;
	enum magic_kind kind = find(&line, &bytes);
	if (kind == MAGIC_END_)
		return fail_unknown(line, bytes, err);
	if (!utf8_is_valid(line, strlen(line)))
		return err_fail(
			err, ERR_USAGE, "type it again", "%%%s: not UTF-8", magic_rows[kind].name);
	char *text = strdup(line + bytes);
	if (!text)
		return err_set(err, ERR_NO_MEMORY, "no memory for a line");
	size_t n = strlen(text);
	while (n > 0 && strchr(" \t\r\n", text[n - 1]))
		text[--n] = '\0';
	struct magic m = {.kind = kind, .text = text, .arg = text + strspn(text, " \t")};
	int r = check_arg(&m, err);
	if (r < 0)
		free(text);
	else
		*out = m; /* NOLINT(clang-analyzer-unix.Malloc): the text goes out in it */
	return r;
}

/* ---- completing commands and their arguments ---- */

/* Return the next word of a list such as "python, sql", or NULL at its end. *@bytes: its length. */
static const char *next_word(const char **at, size_t *bytes)
{
	const char *word = *at + strspn(*at, ", ");
	*bytes = strcspn(word, ", ");
	*at = word + *bytes;
	return *bytes > 0 ? word : NULL;
}

bool magic_is_listed(const char *names, const char *name)
{
	const char *word;
	size_t bytes;
	while ((word = next_word(&names, &bytes)))
		if (bytes == strlen(name) && strncmp(word, name, bytes) == 0)
			return true;
	return false;
}

static const char *path_of(const json_t *rows, size_t i)
{
	const char *path = json_string_value(json_object_get(json_array_get(rows, i), "path"));
	return path ? path : "";
}

/* Add the paths to @out. A path with blanks gets quotes, as take_word() expects it. */
static void add_paths(const json_t *rows, json_t *out)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const char *path = path_of(rows, i), *quote = strchr(path, '\'') ? "\"" : "'";
		if (!strpbrk(path, " \t"))
			quote = "";
		json_add_new(out, json_sprintf("%s%s%s", quote, path, quote));
	}
}

/*
 * Add the directories of files to @out. @rows describes the files, and is sorted by path.
 *
 * A file adds the directory that contains the file, such as "a/" for "a/x". But a file adds nothing
 * if the path of the previous file begins with the same directory. An example with four files:
 * - "a/b/x" adds "a/b/".
 * - "a/y" adds nothing, because the previous path, "a/b/x", begins with "a/". So "a/" is left out.
 * - "c/x" adds "c/".
 * - "c/z" adds nothing, because the previous path, "c/x", begins with "c/".
 */
static void add_directories(const json_t *rows, json_t *out)
{
	const char *last = "";
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const char *path = path_of(rows, i), *slash = strrchr(path, '/');
		size_t bytes = slash ? (size_t)(slash - path) + 1 : 0;
		if (bytes > 0 && strncmp(last, path, bytes) != 0)
			json_add_new(out, json_stringn(path, bytes));
		last = path;
	}
}

static void add_sessions(const json_t *rows, json_t *out)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i), *name = json_object_get(row, "name");
		if (json_string_length(name) == 0)
			name = json_object_get(row, "session");
		json_add_shared(out, name);
	}
}

json_t *magic_names(enum magic_kind kind, const json_t *known)
{
	json_t *names = json_array();
	const char *runtimes = json_string_value(json_object_get(known, "runtimes")), *word;
	size_t bytes;
	if (kind == MAGIC_RUNTIME)
		while (runtimes && (word = next_word(&runtimes, &bytes)))
			json_add_new(names, json_stringn(word, bytes));
	if (kind == MAGIC_SWITCH)
		add_sessions(json_object_get(known, "sessions"), names);
	if (kind == MAGIC_GET)
		add_paths(json_object_get(known, "files"), names);
	if (kind == MAGIC_FILES)
		add_directories(json_object_get(known, "files"), names);
	if (kind == MAGIC_LOG)
		json_add_text(names, "all");
	for (int i = 0; kind == MAGIC_END_ && i < MAGIC_END_; i++)
		json_add_text(names, magic_rows[i].name);
	return names;
}
