/*
 * The execution of a cell.
 *
 * cell_start() makes the session if there is none, and runs the cell as a step. While it runs,
 * cell_event() publishes its outputs, and asks the client when the step waits for input. When it
 * has ended, expressions of the client are evaluated, each as a step of its own, and execute_reply
 * is sent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/attr.h"
#include "serve/jupyter/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { EXPRESSIONS_MAX = 64, CTRL_D = 4 };

/* ---- the end of a cell ---- */

static bool flag_of(const json_t *content, const char *member, bool fallback)
{
	const json_t *value = json_object_get(content, member);
	return json_is_boolean(value) ? json_is_true(value) : fallback;
}

static void end_cell(struct kernel *k)
{
	struct kernel_cell *cell = &k->cell;
	const char *status = cell->has_failed ? "error" : "ok";
	json_put_text(cell->reply, "status", status);
	json_t *metadata = json_pack("{s:b, s:s, s:s, s:s}", "dependencies_met", 1, "engine", k->id,
		"status", status, "started", cell->started);
	kernel_reply(k, k->current, "execute_reply", take_ptr(cell->reply), metadata);
	json_decref(take_ptr(cell->expressions));
	if (cell->has_failed && cell->stops_others)
		kernel_abort_cells(k);
	kernel_end(k);
}

/* Copy what a reply says of an error from the output of the error. */
static void copy_error(json_t *to, const json_t *output)
{
	static const char *const members[] = {"ename", "evalue", "traceback"};
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		json_put_shared(to, members[i], json_object_get(output, members[i]));
}

/* Publish outputs. An error also becomes part of the reply. Owns: takes @outputs. */
static void show_all(struct kernel *k, json_t *outputs)
{
	json_t *output;
	size_t i;
	json_array_foreach(outputs, i, output)
	{
		if (strcmp(json_get_text(output, "output_type"), "error") == 0) {
			k->cell.has_failed = true;
			copy_error(k->cell.reply, output);
		}
		kernel_show(k, k->current, output);
	}
	json_decref(outputs);
	kernel_hold(k);
}

void cell_release(struct kernel *k, bool is_all)
{
	if (k->current)
		show_all(k, cell_output_release(&k->cell.output, is_all));
}

void cell_fail(struct kernel *k, const struct err *err)
{
	json_t *outputs = json_need(json_array());
	cell_release(k, true);
	json_add_new(outputs, cell_output_failure(err));
	show_all(k, outputs);
	end_cell(k);
}

void cell_succeed(struct kernel *k)
{
	end_cell(k);
}

void cell_abort(struct kernel *k, struct kernel_request *r)
{
	kernel_reply(k, r, "execute_reply",
		json_pack(
			"{s:s, s:I}", "status", "aborted", "execution_count", (json_int_t)k->count),
		json_pack("{s:s}", "status", "aborted"));
}

/* ---- expressions of the client ---- */

static void evaluate_next(struct kernel *k);

static json_t *expression_json(const json_t *record, const struct err *err)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	json_t *outputs = record ? cell_output_end(&o, record) : json_need(json_array());
	if (!record)
		json_add_new(outputs, cell_output_failure(err));
	json_t *last = json_array_get(outputs, json_array_size(outputs) - 1);
	const char *type = json_get_text(last, "output_type");
	json_t *out = json_need(json_object());
	bool has_failed = strcmp(type, "error") == 0;
	json_put_text(out, "status", has_failed ? "error" : "ok");
	if (has_failed) {
		copy_error(out, last);
	} else {
		const json_t *data = json_object_get(last, "data");
		json_put_new(out, "metadata", json_object());
		json_put_new(out, "data",
			data && strcmp(type, "execute_result") == 0
				? json_incref(json_unconst(data))
				: json_pack("{s:s}", "text/plain", "None"));
	}
	json_decref(outputs);
	cell_output_done(&o);
	return out;
}

static void on_evaluated(struct kernel *k, const json_t *record, const struct err *err)
{
	json_put_new(json_object_get(k->cell.reply, "user_expressions"), k->cell.at,
		expression_json(record, err));
	(void)json_object_del(k->cell.expressions, k->cell.at);
	evaluate_next(k);
}

/* Evaluate the next of the expressions, or end the cell. */
static void evaluate_next(struct kernel *k)
{
	void *next = json_object_iter(k->cell.expressions);
	if (!next || k->cell.has_failed) {
		end_cell(k);
		return;
	}
	k->cell.at = json_object_iter_key(next);
	k->cell.is_evaluating = true;
	kernel_run(k,
		json_need(json_pack("{s:s, s:O, s:s, s:s}", "session", k->session, "code",
			json_object_iter_value(next), "runtime", k->runtime, "filename",
			"<expression>")),
		on_evaluated);
}

/* Take those expressions that are texts. Owns: the caller decrefs. */
static json_t *read_expressions(const json_t *content)
{
	json_t *out = json_need(json_object()), *code;
	const char *name;
	json_object_foreach(json_object_get(content, "user_expressions"), name,
		code) if (json_is_string(code) && json_object_size(out) < EXPRESSIONS_MAX)
		json_put_shared(out, name, code);
	return out;
}

/* ---- running the cell ---- */

/* Remember what %undo and history requests need. */
static void note(struct kernel *k, const json_t *record)
{
	const json_t *value = json_object_get(record, "value");
	const json_t *parent = json_object_get(record, "parent");
	if (!k->cell.is_stored)
		return;
	cell_log_set_value(&k->log, json_object_get(value, "text/plain"));
	if (strcmp(json_get_text(json_object_get(record, "state"), "outcome"), "committed") != 0)
		return;
	if (json_array_size(k->parents) >= CELL_LOG_CELLS)
		(void)json_array_remove(k->parents, 0);
	json_add_new(k->parents, parent ? json_incref(json_unconst(parent)) : json_null());
}

static void on_ran(struct kernel *k, const json_t *record, const struct err *err)
{
	struct err told;
	k->cell.run[0] = '\0';
	if (record) {
		note(k, record);
		json_t *outputs = cell_output_end(&k->cell.output, record);
		if (!k->cell.may_ask)
			cell_output_add_no_input(outputs);
		show_all(k, outputs);
		evaluate_next(k);
		return;
	}
	told = *err;
	if (err->code == ERR_GONE || err->code == ERR_NOT_FOUND) {
		k->is_lost = true;
		(void)json_array_clear(k->parents);
		(void)err_hint(&told, "variables and files are gone; the next cell begins anew");
	}
	cell_fail(k, &told);
}

static void run_cell(struct kernel *k)
{
	json_t *code = json_object_get(k->current->m.content, "code");
	bool can_read = strcmp(k->runtime, "python") == 0 || strcmp(k->runtime, "shell") == 0;
	k->cell.is_evaluating = false;
	kernel_run(k,
		json_need(json_pack("{s:s, s:O, s:s, s:s, s:b}", "session", k->session, "code",
			code, "runtime", k->runtime, "filename", k->cell.filename, "stdin_open",
			k->cell.may_ask && can_read)),
		on_ran);
}

static void on_created(struct kernel *k, const json_t *session, const struct err *err)
{
	if (!session) {
		cell_fail(k, err);
		/* Without the engine's warden there is no box any more: let Jupyter start again. */
		if (err->code == ERR_GONE)
			k->config.over(k->config.arg);
		return;
	}
	kernel_take_session(k, session);
	cell_go_on(k);
}

/* The lost session is closed, so that the next one can have its name. */
static void on_closed(
	struct kernel *k, const json_t *result attr_unused, const struct err *err attr_unused)
{
	k->is_lost = false;
	kernel_take_session(k, NULL);
	kernel_create(k, on_created);
}

void cell_go_on(struct kernel *k)
{
	const json_t *code = json_object_get(k->current->m.content, "code");
	const char *text = json_string_value(code);
	if (k->is_lost)
		kernel_operate(k, "session.close",
			json_need(json_pack("{s:s}", "session", k->session)), on_closed);
	else if (!k->session[0])
		kernel_create(k, on_created);
	else if (strlen(text) == json_string_length(code) && own_magic_is(text, k->runtime))
		own_magic_start(k, text);
	else
		run_cell(k);
}

static bool is_blank(const json_t *code)
{
	const char *text = json_string_value(code);
	return strspn(text, " \t\r\n") == json_string_length(code);
}

/* Read the request, and number the cell. */
static void read_cell(struct kernel *k, const json_t *content, bool is_counted)
{
	struct kernel_cell *cell = &k->cell;
	cell->is_silent = flag_of(content, "silent", false);
	cell->is_stored = is_counted && !cell->is_silent && flag_of(content, "store_history", true);
	cell->may_ask = flag_of(content, "allow_stdin", true);
	cell->stops_others = flag_of(content, "stop_on_error", true);
	cell->has_failed = false;
	cell->run[0] = '\0';
	k->count += cell->is_stored;
	int64_t count = k->count + !cell->is_stored;
	kernel_date(cell->started);
	snprintf(cell->name, sizeof cell->name, "cell %" PRId64, count);
	snprintf(cell->filename, sizeof cell->filename, "<%s>", cell->name);
	cell_output_begin(&cell->output, cell->name, count);
	cell->output.has_no_value = cell->is_silent;
	cell->expressions = read_expressions(content);
	cell->reply = json_need(json_pack("{s:I, s:{}, s:[]}", "execution_count",
		(json_int_t)(is_counted ? count : k->count), "user_expressions", "payload"));
}

void cell_start(struct kernel *k, struct kernel_request *r)
{
	const json_t *code = json_object_get(r->m.content, "code");
	bool is_text = json_is_string(code), is_empty = is_text && is_blank(code);
	struct err err;
	read_cell(k, r->m.content, is_text && !is_empty);
	if (!k->cell.is_silent && is_text)
		kernel_publish(k, r, "execute_input",
			json_pack("{s:O, s:I}", "code", code, "execution_count",
				(json_int_t)k->cell.output.count));
	if (k->cell.is_stored)
		cell_log_add(&k->log, k->count, code);
	if (!is_text) {
		(void)err_set(&err, ERR_USAGE, "execute_request: code: not a text");
		cell_fail(k, &err);
	} else if (is_empty) {
		evaluate_next(k);
	} else {
		cell_go_on(k);
	}
}

/* ---- while the cell runs ---- */

static void ask(struct kernel *k, const char *run)
{
	cleanup_buf struct buf prompt = BUF_INIT(CELL_PROMPT_BYTES);
	show_all(k, cell_output_ask(&k->cell.output, &prompt));
	snprintf(k->cell.run, sizeof k->cell.run, "%s", run);
	kernel_ask(k, buf_str(&prompt), prompt.bytes);
}

void cell_event(struct kernel *k, const json_t *event)
{
	if (!k->current || k->is_over || k->cell.is_evaluating)
		return;
	if (strcmp(json_get_text(event, "event"), "stdin") == 0)
		ask(k, json_get_text(event, "run"));
	else
		show_all(k, cell_output_event(&k->cell.output, event));
}

void cell_input(struct kernel *k, const struct jupyter_message *m)
{
	const json_t *value = json_object_get(m->content, "value");
	const char *text = json_string_value(value);
	size_t bytes = json_string_length(value);
	cleanup_buf struct buf line = BUF_INIT(bytes + 2);
	if (!k->cell.run[0] || !text)
		return;
	/* A client sends Ctrl-D for the end of the input. */
	bool is_end = bytes == 1 && text[0] == CTRL_D;
	buf_append(&line, text, bytes);
	buf_add(&line, "\n");
	json_t *params = json_need(json_pack("{s:s}", "run", k->cell.run));
	json_put_new(params, "text", json_new_text(buf_str(&line), is_end ? 0 : line.bytes));
	json_put_bool(params, "end", is_end);
	k->cell.run[0] = '\0';
	operation_tell(k->config.context, "step.input", params);
}
