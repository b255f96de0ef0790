/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/notebook.h"

#include "api/text/json.h"
#include "base/id.h"
#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FORMAT = 4, FORMAT_OF_IDS = 5, CELL_ID_BYTES = 13, LINES_MAX = 1 << 16, SHOWN_BYTES = 60 };

/* ---- reading ---- */

static int fail_format(const json_t *root, struct err *err)
{
	json_int_t format = json_integer_value(json_object_get(root, "nbformat"));
	if (!json_is_integer(json_object_get(root, "nbformat")))
		return err_fail(err, ERR_USAGE,
			"a notebook is a JSON object with the members nbformat and cells",
			"not a notebook");
	if (format > FORMAT)
		return err_fail(err, ERR_USAGE, "save it in format 4",
			"a notebook of format %" JSON_INTEGER_FORMAT
			", which is newer than this program",
			format);
	return err_fail(err, ERR_USAGE, "convert it: jupyter nbconvert --to notebook FILE",
		"a notebook of the old format %" JSON_INTEGER_FORMAT, format);
}

static bool is_text(const json_t *source)
{
	const json_t *line;
	size_t i;
	json_array_foreach(source, i, line) if (!json_is_string(line)) return false;
	return json_is_string(source) || json_is_array(source);
}

static int check_cell(const json_t *cell, size_t i, struct err *err)
{
	static const char *const types[] = {"code", "markdown", "raw"};
	const char *type = json_get_text(cell, "cell_type");
	const json_t *metadata = json_object_get(cell, "metadata");
	bool is_known = false;
	for (size_t t = 0; t < ARRAY_LEN(types); t++)
		is_known = is_known || strcmp(type, types[t]) == 0;
	if (!json_is_object(cell))
		return err_set(err, ERR_USAGE, "cell %zu: not an object", i + 1);
	if (!is_known)
		return err_fail(err, ERR_USAGE, "it is one of code, markdown and raw",
			"cell %zu: cell_type: missing or unknown", i + 1);
	if (!is_text(json_object_get(cell, "source")))
		return err_set(err, ERR_USAGE,
			"cell %zu: source: neither a text nor an array of texts", i + 1);
	if (metadata && !json_is_object(metadata))
		return err_set(err, ERR_USAGE, "cell %zu: metadata: not an object", i + 1);
	return 0;
}

static int check(const json_t *root, struct err *err)
{
	const json_t *cell, *cells = json_object_get(root, "cells");
	const json_t *metadata = json_object_get(root, "metadata");
	size_t i;
	if (json_integer_value(json_object_get(root, "nbformat")) != FORMAT)
		return fail_format(root, err);
	if (!json_is_array(cells))
		return err_set(err, ERR_USAGE, "cells: missing, or not an array");
	if (metadata && !json_is_object(metadata))
		return err_set(err, ERR_USAGE, "metadata: not an object");
	json_array_foreach(cells, i, cell)
	{
		int r = check_cell(cell, i, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int notebook_read(struct notebook *out, const char *text, size_t bytes, struct err *err)
{
	json_error_t why;
	if (bytes > NOTEBOOK_BYTES || json_parts(text, bytes) > NOTEBOOK_PARTS)
		return err_fail(err, ERR_LIMIT,
			"remove its outputs: jupyter nbconvert --clear-output FILE",
			"a notebook of more than %d MiB, or of %d values", NOTEBOOK_BYTES >> 20,
			NOTEBOOK_PARTS);
	json_t *root = json_loadb(text, bytes, JSON_ALLOW_NUL, &why);
	if (!root)
		return err_set(
			err, ERR_USAGE, "not a notebook: line %d: %.120s", why.line, why.text);
	int r = check(root, err);
	if (r < 0) {
		json_decref(root);
		return r;
	}
	*out = (struct notebook){.json = root, .cells = json_object_get(root, "cells")};
	return 0;
}

void notebook_done(struct notebook *nb)
{
	json_decref(nb->json);
	*nb = (struct notebook){.json = NULL};
}

/* ---- the language ---- */

static bool has_word(const char *words, const char *word)
{
	size_t bytes = strlen(word);
	for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == bytes && strncasecmp(at, word, bytes) == 0)
			return true;
	return false;
}

const char *notebook_runtime(const struct notebook *nb, struct err *err)
{
	static const struct {
		const char *runtime, *words;
	} rows[] = {
		{"python", "python python3 ipython ipython3"},
		{"javascript", "javascript typescript js ts node nodejs ecmascript"},
		{"shell", "bash shell sh"},
		{"sql", "sql sqlite sqlite3"},
	};
	const json_t *metadata = json_object_get(nb->json, "metadata");
	const json_t *kernel = json_object_get(metadata, "kernelspec");
	const char *const words[] = {json_get_text(kernel, "language"),
		json_get_text(json_object_get(metadata, "language_info"), "name"),
		json_get_text(kernel, "name")};
	const char *word = "";
	for (size_t i = 0; i < ARRAY_LEN(words) && !word[0]; i++)
		word = words[i];
	if (!word[0])
		return rows[0].runtime;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (has_word(rows[i].words, word))
			return rows[i].runtime;
	(void)err_fail(err, ERR_RUNTIME,
		"retort runs python, javascript, shell and sql: if it is one of these, name it "
		"with -r",
		"a notebook of the language %.*s", SHOWN_BYTES, word);
	return NULL;
}

/* ---- cells ---- */

bool notebook_has_tag(const struct notebook *nb, size_t i, const char *tag)
{
	const json_t *metadata = json_object_get(json_array_get(nb->cells, i), "metadata");
	const json_t *item;
	size_t n;
	json_array_foreach(json_object_get(metadata, "tags"), n, item)
	{
		const char *text = json_string_value(item);
		if (text && strcmp(text, tag) == 0)
			return true;
	}
	return false;
}

static bool is_code(const struct notebook *nb, size_t i)
{
	return strcmp(json_get_text(json_array_get(nb->cells, i), "cell_type"), "code") == 0;
}

static bool is_kept(const struct notebook *nb, size_t i)
{
	return !is_code(nb, i) || notebook_has_tag(nb, i, "skip-execution");
}

static bool is_blank(const json_t *text)
{
	const char *at = json_string_value(text);
	return strspn(at, " \t\r\n\f\v") == json_string_length(text);
}

bool notebook_is_run(const struct notebook *nb, size_t i)
{
	const json_t *source = json_object_get(json_array_get(nb->cells, i), "source"), *line;
	size_t n;
	if (is_kept(nb, i))
		return false;
	json_array_foreach(source, n, line) if (!is_blank(line)) return true;
	return json_is_string(source) && !is_blank(source);
}

size_t notebook_count_run(const struct notebook *nb)
{
	size_t n = 0;
	for (size_t i = 0; i < json_array_size(nb->cells); i++)
		n += notebook_is_run(nb, i);
	return n;
}

int notebook_code(const struct notebook *nb, size_t i, struct buf *out, struct err *err)
{
	const json_t *source = json_object_get(json_array_get(nb->cells, i), "source"), *line;
	size_t n;
	if (json_is_string(source))
		(void)buf_append(out, json_string_value(source), json_string_length(source));
	json_array_foreach(source, n, line)
		buf_append(out, json_string_value(line), json_string_length(line));
	if (buf_error(out) == 0)
		return 0;
	return err_set(err, ERR_LIMIT, "the code of a cell is over %zu MiB", out->max_bytes >> 20);
}

void notebook_clear(struct notebook *nb)
{
	json_t *cell;
	size_t i;
	json_array_foreach(nb->cells, i, cell)
	{
		if (is_kept(nb, i))
			continue;
		json_put_new(cell, "execution_count", json_null());
		json_put_new(cell, "outputs", json_need(json_array()));
	}
}

void notebook_set(struct notebook *nb, size_t i, int64_t count, json_t *outputs)
{
	json_t *cell = json_array_get(nb->cells, i);
	json_put_int(cell, "execution_count", count);
	json_put_new(cell, "outputs", outputs);
}

/* ---- parameters ---- */

/* Return the index of the first cell with @tag; the number of cells if it does not exist. */
static size_t find_tag(const struct notebook *nb, const char *tag)
{
	size_t i = 0, n = json_array_size(nb->cells);
	while (i < n && !(is_code(nb, i) && notebook_has_tag(nb, i, tag)))
		i++;
	return i;
}

static json_t *new_cell(const struct notebook *nb)
{
	char id[CELL_ID_BYTES];
	json_t *cell = json_need(json_pack("{s:s, s:n}", "cell_type", "code", "execution_count"));
	if (json_get_int(nb->json, "nbformat_minor") >= FORMAT_OF_IDS) {
		id_make(id, sizeof id, "");
		json_put_text(cell, "id", id);
	}
	json_put_new(cell, "metadata", json_pack("{s:[s]}", "tags", "injected-parameters"));
	json_put_new(cell, "outputs", json_array());
	return cell;
}

void notebook_inject(struct notebook *nb, const char *code)
{
	size_t n = json_array_size(nb->cells), at = find_tag(nb, "injected-parameters");
	if (at == n) {
		size_t after = find_tag(nb, "parameters");
		at = after == n ? 0 : after + 1;
		(void)json_array_insert_new(nb->cells, at, new_cell(nb));
	}
	json_put_new(json_array_get(nb->cells, at), "source", notebook_lines(code, strlen(code)));
}

/* ---- writing ---- */

json_t *notebook_lines(const char *text, size_t bytes)
{
	const char *at = text, *end = text + bytes;
	json_t *lines = json_need(json_array());
	while (at < end && json_array_size(lines) < LINES_MAX) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *next = newline ? newline + 1 : end;
		json_add_new(lines, json_new_text(at, (size_t)(next - at)));
		at = next;
	}
	if (at == end)
		return lines;
	json_decref(lines);
	return json_new_text(text, bytes);
}

char *notebook_text(const struct notebook *nb)
{
	char *text = json_text(nb->json, JSON_INDENT(1)), *file = NULL;
	if (text && asprintf(&file, "%s\n", text) < 0)
		file = NULL;
	free(text);
	return file;
}
