/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/output.h"

#include "api/text/observation.h"
#include "api/text/outcome.h"
#include "base/json.h"

#include <inttypes.h>
#include <string.h>

enum { ENDING_BYTES = 2 << 20, NOTE_BYTES = 64 << 10 };

void cell_output_begin(struct cell_output *o, const char *name, int64_t count)
{
	buf_clear(&o->out);
	buf_clear(&o->err);
	o->name = name;
	o->count = count;
	o->has_no_value = o->is_whole = false;
	o->n_told[0] = o->n_told[1] = o->n_displays = 0;
}

void cell_output_done(struct cell_output *o)
{
	buf_done(&o->out);
	buf_done(&o->err);
}

/* ---- text ---- */

static void add_stream(json_t *outputs, const char *name, const char *text, size_t bytes)
{
	if (bytes > 0)
		json_add_new(outputs,
			json_pack("{s:s, s:s, s:o}", "output_type", "stream", "name", name, "text",
				json_new_text(text, bytes)));
}

static void release_out(struct cell_output *o, json_t *outputs)
{
	add_stream(outputs, "stdout", buf_str(&o->out), o->out.bytes);
	buf_clear(&o->out);
}

/* A traceback names the cell in its first frames, whatever the language. */
static bool may_be_traceback(const struct cell_output *o)
{
	return o->name && memmem(buf_str(&o->err), o->err.bytes, o->name, strlen(o->name));
}

static void release_err(struct cell_output *o, json_t *outputs, bool is_all)
{
	if (!is_all && may_be_traceback(o))
		return;
	add_stream(outputs, "stderr", buf_str(&o->err), o->err.bytes);
	buf_clear(&o->err);
}

static void take_out(struct cell_output *o, json_t *outputs, const char *text, size_t bytes)
{
	release_err(o, outputs, false);
	if (buf_try(&o->out, text, bytes) < 0) {
		release_out(o, outputs);
		add_stream(outputs, "stdout", text, bytes);
	} else if (o->out.bytes >= CELL_CHUNK_BYTES) {
		release_out(o, outputs);
	}
}

static void take_err(struct cell_output *o, json_t *outputs, const char *text, size_t bytes)
{
	release_out(o, outputs);
	if (buf_try(&o->err, text, bytes) < 0) {
		release_err(o, outputs, true);
		add_stream(outputs, "stderr", text, bytes);
	} else if (o->err.bytes >= CELL_CHUNK_BYTES) {
		release_err(o, outputs, false);
	}
}

bool cell_output_holds(const struct cell_output *o)
{
	return o->out.bytes + o->err.bytes > 0;
}

json_t *cell_output_release(struct cell_output *o, bool is_all)
{
	json_t *outputs = json_array();
	release_out(o, outputs);
	release_err(o, outputs, is_all);
	return outputs;
}

json_t *cell_output_ask(struct cell_output *o, struct buf *prompt)
{
	json_t *outputs = json_array();
	const char *text = buf_str(&o->out);
	const char *end = memrchr(text, '\n', o->out.bytes);
	size_t before = end ? (size_t)(end - text) + 1 : 0;
	/* The step waits, so this is not the traceback of its end. */
	release_err(o, outputs, true);
	if (buf_try(prompt, text + before, o->out.bytes - before) == 0)
		buf_cut(&o->out, before);
	release_out(o, outputs);
	return outputs;
}

/* ---- displays and values ---- */

/* Return the types of a display or value that a notebook shows. What retort adds for programs would
 * be shown instead of the text: application/json as a tree, and types of its own not at all. */
static json_t *shown(const struct cell_output *o, const json_t *types)
{
	json_t *data = json_copy(json_unconst(types));
	const char *mime;
	json_t *value;
	void *next;
	if (o->is_whole || !json_object_get(data, "text/plain"))
		return data;
	json_object_foreach_safe(
		data, next, mime, value) if (strcmp(mime, "application/json") == 0 ||
		strncmp(mime, "application/vnd.retort.", 23) == 0)(void)
		json_object_del(data, mime);
	return data;
}

/* Make the output of a display. @event: its event, which may name it, or NULL. */
static json_t *display_output(const struct cell_output *o, const json_t *types, const json_t *event)
{
	const json_t *id = json_object_get(event, "display_id");
	bool is_update = id && json_get_bool(event, "update");
	json_t *output = json_pack("{s:s, s:o, s:{}}", "output_type",
		is_update ? "update_display_data" : "display_data", "data", shown(o, types),
		"metadata");
	if (id)
		json_put_new(
			output, "transient", json_pack("{s:O}", "display_id", json_unconst(id)));
	return output;
}

static void add_value(const struct cell_output *o, json_t *outputs, const json_t *record)
{
	const json_t *value = json_object_get(record, "value");
	if (value && !o->has_no_value)
		json_add_new(outputs,
			json_pack("{s:s, s:I, s:o, s:{}}", "output_type", "execute_result",
				"execution_count", (json_int_t)o->count, "data", shown(o, value),
				"metadata"));
}

json_t *cell_output_event(struct cell_output *o, const json_t *event)
{
	json_t *outputs = json_array();
	const char *name = json_get_text(event, "event");
	const json_t *text = json_object_get(event, "text");
	if (strcmp(name, "stdout") == 0) {
		o->n_told[0] += json_string_length(text);
		take_out(o, outputs, json_get_text(event, "text"), json_string_length(text));
	} else if (strcmp(name, "stderr") == 0) {
		o->n_told[1] += json_string_length(text);
		take_err(o, outputs, json_get_text(event, "text"), json_string_length(text));
	} else if (strcmp(name, "display") == 0) {
		release_out(o, outputs);
		release_err(o, outputs, false);
		o->n_displays++;
		json_add_new(outputs, display_output(o, json_object_get(event, "data"), event));
	} else if (strcmp(name, "clear") == 0) {
		release_out(o, outputs);
		release_err(o, outputs, true);
		json_add_new(outputs,
			json_pack("{s:s, s:b}", "output_type", "clear_output", "wait",
				json_get_bool(event, "wait")));
	}
	return outputs;
}

/* ---- the end of a step ---- */

/* Return how many bytes at the end of @text are the traceback of the record. */
static size_t traceback_bytes(const json_t *record, const char *text, size_t bytes)
{
	const json_t *line, *lines = json_object_get(json_object_get(record, "error"), "traceback");
	cleanup_buf struct buf end = BUF_INIT(ENDING_BYTES);
	size_t i;
	json_array_foreach(lines, i, line)
	{
		buf_append(&end, json_string_value(line), json_string_length(line));
		buf_add(&end, "\n");
	}
	bool is_end = buf_error(&end) == 0 && end.bytes <= bytes &&
		memcmp(text + bytes - end.bytes, buf_str(&end), end.bytes) == 0;
	return is_end ? end.bytes : 0;
}

/* Find output of the record that was in no event: the tail of long output, or fast output. */
static size_t find_rest(
	const struct cell_output *o, int stream, const json_t *record, const char **text)
{
	const char *member = stream ? "stderr" : "stdout";
	size_t bytes = json_string_length(json_object_get(record, member));
	size_t n_told = MIN(o->n_told[stream], bytes);
	*text = json_get_text(record, member) + n_told;
	return bytes - n_told;
}

static void end_text(struct cell_output *o, json_t *outputs, const json_t *record)
{
	const char *rest;
	const json_t *displays = json_object_get(record, "displays");
	size_t n = find_rest(o, 0, record, &rest);
	release_out(o, outputs);
	add_stream(outputs, "stdout", rest, n);
	for (size_t i = o->n_displays; i < json_array_size(displays); i++)
		json_add_new(outputs, display_output(o, json_array_get(displays, i), NULL));
	n = find_rest(o, 1, record, &rest);
	if (buf_try(&o->err, rest, n) < 0) {
		release_err(o, outputs, true);
		add_stream(outputs, "stderr", rest, n - traceback_bytes(record, rest, n));
		return;
	}
	size_t end = traceback_bytes(record, buf_str(&o->err), o->err.bytes);
	buf_cut(&o->err, o->err.bytes - end);
	release_err(o, outputs, true);
}

static void add_cut(struct buf *notes, const json_t *record)
{
	static const char *const members[] = {"stdout_bytes", "stderr_bytes", "displays"};
	static const char *const words[] = {"bytes of stdout", "bytes of stderr", "displays"};
	const json_t *cut = json_object_get(record, "truncated");
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		int64_t n = json_get_int(cut, members[i]);
		if (n > 0)
			buf_addf(notes, "retort: %" PRId64 " %s left out: over the limit\n", n,
				words[i]);
	}
}

static void add_reason(struct buf *notes, const json_t *record)
{
	buf_add(notes, json_get_text(json_object_get(record, "state"), "reason"));
	outcome_add_lost(notes, record);
}

static void add_anew(struct buf *notes, const json_t *record)
{
	outcome_add_anew(notes, record);
	outcome_add_lost(notes, record);
}

/* Say what has become of variables and files, if it is not what a notebook does. */
static void add_state(struct buf *notes, const json_t *record)
{
	static const struct {
		const char *outcome, *head;
		void (*add)(struct buf *notes, const json_t *record);
	} rows[] = {
		{"rolled_back", "rolled back", outcome_add_back},
		{"replayed", "replayed", add_reason},
		{"diverged", "the state was rebuilt, and may differ", add_reason},
		{"lost", "lost", add_anew},
	};
	const json_t *state = json_object_get(record, "state");
	const char *outcome = json_get_text(state, "outcome");
	const char *notice = json_get_text(state, "notice");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(outcome, rows[i].outcome) == 0) {
			buf_addf(notes, "retort: %s: ", rows[i].head);
			rows[i].add(notes, record);
			buf_add(notes, "\n");
		}
	if (notice[0])
		buf_addf(notes, "retort: %s\n", notice);
}

static json_t *error_output(const char *name, const char *message, json_t *traceback)
{
	json_t *output = json_need(json_pack("{s:s}", "output_type", "error"));
	if (json_array_size(traceback) == 0)
		json_add_new(traceback, json_sprintf("%s: %s", name, message));
	json_put_text(output, "ename", name);
	json_put_text(output, "evalue", message);
	json_put_new(output, "traceback", traceback);
	return output;
}

static void add_error(json_t *outputs, const json_t *record)
{
	const json_t *error = json_object_get(record, "error");
	const json_t *lines = json_object_get(error, "traceback");
	const char *name = json_get_text(error, "name"), *status = json_get_text(record, "status");
	cleanup_buf struct buf hint = BUF_INIT(NOTE_BYTES);
	if (strcmp(status, "ok") == 0)
		return;
	json_t *traceback = json_copy(json_unconst(lines));
	if (!traceback)
		traceback = json_need(json_array());
	/* A notebook knows an interrupt by the name that Python has for it. */
	if (strcmp(name, "Interrupted") == 0)
		name = "KeyboardInterrupt";
	json_t *output =
		error_output(name[0] ? name : status, json_get_text(error, "message"), traceback);
	/* The hints name options, which a kernel has, too; but not --stdin. */
	if (strcmp(name, "EOFError") != 0 && observation_hint(&hint, record, PLACE_RUN))
		json_add_new(json_object_get(output, "traceback"),
			json_new_text(buf_str(&hint), hint.bytes));
	json_add_new(outputs, output);
}

json_t *cell_output_end(struct cell_output *o, const json_t *record)
{
	json_t *outputs = json_array();
	cleanup_buf struct buf notes = BUF_INIT(NOTE_BYTES);
	end_text(o, outputs, record);
	add_cut(&notes, record);
	add_state(&notes, record);
	add_stream(outputs, "stderr", buf_str(&notes), notes.bytes);
	add_value(o, outputs, record);
	add_error(outputs, record);
	return outputs;
}

void cell_output_add_no_input(json_t *outputs)
{
	const json_t *last = json_array_get(outputs, json_array_size(outputs) - 1);
	if (strcmp(json_get_text(last, "ename"), "EOFError") == 0)
		json_add_text(json_object_get(last, "traceback"),
			"retort: this client answers no questions: input() has nothing to read");
}

json_t *cell_output_failure(const struct err *err)
{
	json_t *output = error_output(err_word(err->code), err->msg, json_need(json_array()));
	if (err->hint[0])
		json_add_text(json_object_get(output, "traceback"), err->hint);
	return output;
}
