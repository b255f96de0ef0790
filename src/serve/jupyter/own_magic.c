/* Commands of retort in a notebook: cells of one line that begin with %, by the names that `retort
 * repl` has for them. SPDX-License-Identifier: Apache-2.0 */
#include "api/row/param.h"
#include "api/text/magic.h"
#include "api/text/outcome.h"
#include "api/text/printable.h"
#include "base/attr.h"
#include "base/num.h"
#include "base/utf8.h"
#include "serve/jupyter/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_SHOWN = 12, CODE_SHOWN = 80 };

/* ---- answers ---- */

/* Print the text, and end the cell. */
static void give(struct kernel *k, const struct buf *text)
{
	kernel_print(k, k->current, "stdout", buf_str(text), text->bytes);
	cell_succeed(k);
}

static const char *name_of(const json_t *session)
{
	return param_text(session, "name", json_get_text(session, "session"));
}

static void on_undone(struct kernel *k, const json_t *result, const struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(OUTCOME_BYTES + KERNEL_NAME_BYTES);
	if (!result) {
		cell_fail(k, err);
		return;
	}
	for (uint64_t i = 0; i < k->n_undo && json_array_size(k->parents) > 0; i++)
		(void)json_array_remove(k->parents, json_array_size(k->parents) - 1);
	const char *head = json_get_text(result, "head");
	buf_addf(&text, "back at %.12s", head[0] ? head : "the start");
	if (!outcome_is_plain_undo(result)) {
		buf_add(&text, ": ");
		outcome_add_undone(&text, result);
	}
	buf_add(&text, "\n");
	give(k, &text);
}

static void on_branched(struct kernel *k, const json_t *result, const struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(OUTCOME_BYTES + 2 * KERNEL_NAME_BYTES);
	if (!result) {
		cell_fail(k, err);
		return;
	}
	kernel_take_session(k, result);
	buf_addf(
		&text, "now in %s, a copy of %s", name_of(result), json_get_text(result, "parent"));
	size_t bytes = text.bytes;
	buf_add(&text, "; ");
	if (!outcome_add_branched(&text, result))
		buf_cut(&text, bytes);
	buf_add(&text, "\n");
	give(k, &text);
}

static void on_switched(struct kernel *k, const json_t *result, const struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(KERNEL_TEXT_BYTES);
	const json_t *row;
	size_t i;
	if (!result) {
		cell_fail(k, err);
		return;
	}
	if (json_object_get(result, "session")) {
		kernel_take_session(k, result);
		(void)json_array_clear(k->parents);
		buf_addf(&text, "now in %s\n", name_of(result));
	}
	json_array_foreach(json_object_get(result, "sessions"), i, row)
		buf_addf(&text, "%s %s: %s, %" PRId64 " steps\n",
			strcmp(json_get_text(row, "session"), k->session) == 0 ? "*" : " ",
			name_of(row), json_get_text(row, "runtime"), json_get_int(row, "steps"));
	give(k, &text);
}

static void on_logged(struct kernel *k, const json_t *result, const struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(KERNEL_TEXT_BYTES);
	const json_t *row;
	size_t i;
	if (!result) {
		cell_fail(k, err);
		return;
	}
	json_array_foreach(json_object_get(result, "steps"), i, row)
	{
		const char *code = json_get_text(row, "code");
		size_t line = strcspn(code, "\n"), shown = utf8_cut(code, line, CODE_SHOWN);
		buf_addf(&text, "%.*s %-5s ", ID_SHOWN, json_get_text(row, "step"),
			json_get_text(row, "status"));
		(void)printable_add(&text, code, shown);
		buf_add(&text, code[shown] ? " …\n" : "\n");
	}
	give(k, &text);
}

static void on_listed(struct kernel *k, const json_t *result, const struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(KERNEL_TEXT_BYTES);
	const json_t *row;
	size_t i;
	if (!result) {
		cell_fail(k, err);
		return;
	}
	json_array_foreach(json_object_get(result, "files"), i, row)
	{
		const char *path = json_get_text(row, "path");
		buf_addf(
			&text, "%9s  ", num_format_bytes((uint64_t)json_get_int(row, "size")).text);
		(void)printable_add(&text, path, strlen(path));
		buf_add(&text, "\n");
	}
	if (json_get_bool(result, "truncated"))
		buf_add(&text, "… and more: name a directory to list it\n");
	give(k, &text);
}

static void on_reset(struct kernel *k, const json_t *session, const struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(KERNEL_NAME_BYTES);
	if (!session) {
		cell_fail(k, err);
		return;
	}
	kernel_take_session(k, session);
	buf_addf(&text, "a new session: %s\n", k->session);
	give(k, &text);
}

static void on_closed(
	struct kernel *k, const json_t *result attr_unused, const struct err *err attr_unused)
{
	kernel_take_session(k, NULL);
	(void)json_array_clear(k->parents);
	kernel_create(k, on_reset);
}

/* ---- commands ---- */

static json_t *here(const struct kernel *k)
{
	return json_need(json_pack("{s:s}", "session", k->session));
}

/* The session was described: go back to its beginning. */
static void on_described(struct kernel *k, const json_t *result, const struct err *err)
{
	json_t *params = here(k);
	if (!result) {
		json_decref(params);
		cell_fail(k, err);
		return;
	}
	json_put_int(params, "count", MAX(json_get_int(result, "steps"), 1));
	kernel_operate(k, "session.undo", params, on_undone);
}

/* Undo cells. Steps that are not cells, such as expressions of the client, go with the cell before
 * them. */
static void do_undo(struct kernel *k, const struct magic *m)
{
	json_t *params = here(k);
	size_t n = json_array_size(k->parents);
	const json_t *to = m->count <= n ? json_array_get(k->parents, n - m->count) : NULL;
	k->n_undo = m->count;
	if (json_is_null(to)) {
		kernel_operate(k, "session.get", params, on_described);
		return;
	}
	if (to)
		json_put_shared(params, "to", to);
	else
		json_put_int(params, "count", (int64_t)m->count);
	kernel_operate(k, "session.undo", params, on_undone);
}

static void do_branch(struct kernel *k, const struct magic *m)
{
	json_t *params = here(k);
	json_put_text(params, "name", m->arg);
	json_put_bool(params, "force", m->is_forced);
	json_put_bool(params, "keep_processes", m->is_kept);
	json_put_bool(params, "secrets", m->has_secrets);
	kernel_operate(k, "session.branch", params, on_branched);
}

static void do_switch(struct kernel *k, const struct magic *m)
{
	json_t *params = json_need(json_object());
	if (m->arg[0])
		json_put_text(params, "session", m->arg);
	kernel_operate(k, m->arg[0] ? "session.get" : "session.list", params, on_switched);
}

static void do_log(struct kernel *k, const struct magic *m attr_unused)
{
	kernel_operate(k, "session.log", here(k), on_logged);
}

static void do_files(struct kernel *k, const struct magic *m)
{
	json_t *params = here(k);
	json_put_text(params, "path", m->arg);
	kernel_operate(k, "file.list", params, on_listed);
}

static void do_runtime(struct kernel *k, const struct magic *m)
{
	static const char names[] = "python, javascript, sql, shell";
	cleanup_buf struct buf text = BUF_INIT(2 * KERNEL_NAME_BYTES);
	const char *known = param_language(m->arg);
	struct err err;
	if (m->arg[0] && (!known || !magic_is_listed(names, known))) {
		(void)err_set(&err, ERR_RUNTIME, "no runtime %.60s here", m->arg);
		(void)err_hint(&err, "choose one of %s", names);
		cell_fail(k, &err);
		return;
	}
	if (m->arg[0])
		snprintf(k->runtime, sizeof k->runtime, "%s", known);
	buf_addf(&text, "%s (one of %s)\n", k->runtime, names);
	give(k, &text);
}

static void do_reset(struct kernel *k, const struct magic *m attr_unused)
{
	kernel_operate(k, "session.close", here(k), on_closed);
}

static void do_help(struct kernel *k, const struct magic *m);

/* ORDER enum magic_kind; NULL: not here, because a notebook has its own way */
static void (*const rows[MAGIC_END_])(struct kernel *k, const struct magic *m) = {do_undo,
	do_branch, do_switch, do_log, do_files, NULL, NULL, do_runtime, NULL, do_reset, do_help,
	NULL};

static void do_help(struct kernel *k, const struct magic *m attr_unused)
{
	cleanup_buf struct buf text = BUF_INIT(KERNEL_TEXT_BYTES);
	for (int i = 0; i < MAGIC_END_; i++)
		if (rows[i])
			buf_addf(&text, "%%%s %s: %s\n", magic_rows[i].name, magic_rows[i].arg,
				magic_rows[i].help);
	buf_add(&text, "Each stands alone in its cell. ");
	buf_add(&text, "In Python, other lines with % or ! are as in a notebook.\n");
	give(k, &text);
}

bool own_magic_is(const char *code, const char *runtime)
{
	const char *line = code + strspn(code, " \t\r\n");
	size_t bytes = strcspn(line, "\r\n");
	bool is_python = strcmp(runtime, "python") == 0;
	if (line[bytes + strspn(line + bytes, " \t\r\n")] || !magic_is(line, runtime))
		return false;
	/* %time is for Python's driver; what else is not a command here is refused. */
	struct magic m = {.text = NULL};
	struct err err;
	bool is_parsed = magic_parse(line, &m, &err) == 0;
	bool is_theirs = is_parsed && is_python && m.kind == MAGIC_TIME;
	free(m.text);
	return !is_theirs;
}

void own_magic_start(struct kernel *k, const char *code)
{
	struct magic m = {.text = NULL};
	struct err err;
	int r = magic_parse(code + strspn(code, " \t\r\n"), &m, &err);
	if (r == 0 && !rows[m.kind])
		r = err_fail(&err, ERR_USAGE, "%help lists the commands of a notebook",
			"%%%s is for a terminal", magic_rows[m.kind].name);
	if (r == 0)
		rows[m.kind](k, &m);
	else
		cell_fail(k, &err);
	free(m.text);
}
