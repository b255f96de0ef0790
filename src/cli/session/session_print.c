/* Prints sessions, steps and files as tables, and steps as a tree. SPDX-License-Identifier:
 * Apache-2.0 */
#include "cli/session/session.h"

#include "base/num.h"
#include "base/utf8.h"
#include "cli/screen/graph.h"
#include "cli/screen/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OUT_MAX_BYTES = 64 << 20, ID_CHARS = 12, LABEL_BYTES = 512, HEADS_BYTES = 4096 };

const char *session_text(const json_t *row, const char *name)
{
	const char *text = json_string_value(json_object_get(row, name));
	return text ? text : "";
}

static int print(const struct buf *out)
{
	return fwrite(buf_str(out), 1, out->bytes, stdout) == out->bytes ? 0 : 1;
}

/* Move *@code to the first line that is not empty. Returns: the length of that line. */
static size_t first_line(const char **code)
{
	*code += strspn(*code, " \t\r\n");
	return strcspn(*code, "\r\n");
}

/* If a list is not complete, report that on stderr: on stdout, a program would read the message
 * as a row. Returns: @status. */
static int tell_cut(int status, const json_t *list, const char *what, const char *hint)
{
	if (json_is_true(json_object_get(list, "truncated")))
		fprintf(stderr, "retort: there are more %s: %s\n", what, hint);
	return status;
}

int session_print_list(const json_t *list)
{
	static const char *const heads[] = {
		"SESSION", "NAME", "RUNTIME", "STATE", "HEAD", "PARENT", "CREATED", "OWNER"};
	const json_t *rows = json_object_get(list, "sessions"), *row;
	bool has_owners = false;
	for (size_t i = 0; i < json_array_size(rows); i++)
		has_owners |= session_text(json_array_get(rows, i), "owner")[0] != '\0';
	struct grid c = grid_new(heads, ARRAY_LEN(heads) - !has_owners, json_array_size(rows));
	for (size_t i = 0; i < json_array_size(rows); i++) {
		row = json_array_get(rows, i);
		grid_add(&c, session_text(row, "session"));
		grid_add(&c, session_text(row, "name"));
		grid_add(&c, session_text(row, "runtime"));
		grid_add(&c, session_text(row, "state"));
		grid_add_bytes(&c, session_text(row, "head"), ID_CHARS);
		grid_add(&c, session_text(row, "parent"));
		grid_add_time(&c, json_object_get(row, "created_ms"));
		if (has_owners)
			grid_add(&c, session_text(row, "owner"));
	}
	return tell_cut(
		grid_print(&c, stdout, 0), list, "sessions", "close sessions that are not needed");
}

int session_print_log(const json_t *log)
{
	static const char *const heads[] = {"STEP", "STATUS", "OUTCOME", "RUNTIME", "CODE"};
	const json_t *rows = json_object_get(log, "steps"), *row;
	struct grid c = grid_new(heads, ARRAY_LEN(heads), json_array_size(rows));
	for (size_t i = 0; i < json_array_size(rows); i++) {
		row = json_array_get(rows, i);
		const char *code = session_text(row, "code");
		size_t bytes = first_line(&code);
		grid_add_bytes(&c, session_text(row, "step"), ID_CHARS);
		grid_add(&c, session_text(row, "status"));
		grid_add(&c, session_text(row, "outcome"));
		grid_add(&c, session_text(row, "runtime"));
		grid_add_bytes(&c, code, bytes);
	}
	return tell_cut(grid_print(&c, stdout, grid_width(stdout)), log, "steps, older ones",
		"`retort session export` writes all down");
}

int session_print_files(const json_t *files)
{
	static const char *const heads[] = {"SIZE", "MODIFIED", "PATH"};
	const json_t *rows = json_object_get(files, "files"), *row;
	struct grid c = grid_new(heads, ARRAY_LEN(heads), json_array_size(rows));
	for (size_t i = 0; i < json_array_size(rows); i++) {
		row = json_array_get(rows, i);
		json_int_t size = json_integer_value(json_object_get(row, "size"));
		grid_add(&c, num_format_bytes((uint64_t)size).text);
		grid_add_time(&c, json_object_get(row, "modified_ms"));
		grid_add(&c, session_text(row, "path"));
	}
	return tell_cut(grid_print(&c, stdout, 0), files, "files",
		"name a directory to list it, or list them with a step");
}

/* ---- steps as a tree ---- */

/* Append the names of the sessions whose last step is @step: "(main, s-2) ". If the names are
 * too long, append the number of the remaining sessions: "(main, s-2 and 7 more) ". */
static void add_heads(struct buf *label, const json_t *heads, const char *step, bool color)
{
	const char *before = "(";
	size_t n_left = 0;
	for (size_t i = 0; i < json_array_size(heads); i++) {
		const json_t *row = json_array_get(heads, i);
		const char *name = session_text(row, "name");
		name = name[0] ? name : session_text(row, "session");
		if (strcmp(session_text(row, "head"), step) != 0)
			continue;
		if (label->bytes > HEADS_BYTES) {
			n_left++;
			continue;
		}
		buf_addf(label, "%s%s", before, color ? "\033[1;32m" : "");
		(void)utf8_escape_terminal(label, name, strlen(name), UTF8_ONE_LINE);
		buf_add(label, color ? "\033[0m" : "");
		before = ", ";
	}
	if (n_left > 0)
		buf_addf(label, " and %zu more", n_left);
	if (before[0] == ',')
		buf_add(label, ") ");
}

static char *label_of(const json_t *row, const json_t *heads, bool color)
{
	struct buf label = BUF_INIT(LABEL_BYTES * 16);
	const char *step = session_text(row, "step"), *status = session_text(row, "status");
	const char *code = session_text(row, "code");
	size_t bytes = first_line(&code), n = grid_width(stdout);
	buf_addf(&label, "%s%.*s%s ", color ? "\033[33m" : "", ID_CHARS, step,
		color ? "\033[0m" : "");
	add_heads(&label, heads, step, color);
	if (strcmp(status, "ok") != 0)
		buf_addf(&label, "%s[%.20s]%s ", color ? "\033[31m" : "", status,
			color ? "\033[0m" : "");
	size_t most = n > 40 ? n - 24 : LABEL_BYTES;
	(void)utf8_escape_terminal(
		&label, code, utf8_cut(code, bytes, MIN(most, (size_t)LABEL_BYTES)), UTF8_ONE_LINE);
	return buf_take(&label);
}

int session_print_graph(const json_t *graph, bool color)
{
	const json_t *rows = json_object_get(graph, "steps");
	const json_t *heads = json_object_get(graph, "heads");
	size_t n = json_array_size(rows);
	cleanup_buf struct buf out = BUF_INIT(OUT_MAX_BYTES);
	struct graph_node *nodes = calloc(n + 1, sizeof *nodes);
	for (size_t i = 0; nodes && i < n; i++) {
		const json_t *row = json_array_get(rows, i);
		char *label = label_of(row, heads, color);
		nodes[i] = (struct graph_node){.id = session_text(row, "step"),
			.parent = json_string_value(json_object_get(row, "parent")),
			.text = label ? label : ""};
	}
	int r = nodes ? graph_write(&out, nodes, n) : -1;
	for (size_t i = 0; nodes && i < n; i++)
		if (nodes[i].text[0])
			free((char *)(uintptr_t)nodes[i].text);
	free(nodes);
	return tell_cut(r < 0 ? 1 : print(&out), graph, "steps",
		"`retort session log SESSION` lists those of one");
}
