/*
 * The cells of a notebook, one after the other.
 *
 * Each cell is a step. Its events become outputs (serve/jupyter/output.h), and the outputs what the
 * file has (serve/jupyter/cell_store.h). A cell that fails ends the run, unless its tag or
 * --allow-errors says otherwise. An interrupt always ends the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/notebook/cells.h"

#include "api/text/json.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/cmd.h"
#include "cli/screen/term.h"
#include "cli/view.h"
#include "cli/view_hint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NOTEBOOK_OUTPUT_BYTES: maximum of the outputs of all cells. The last error is kept beyond it. */
enum { NOTEBOOK_OUTPUT_BYTES = 256 << 20, TOLD_BYTES = 1 << 20 };

/* ---- what is shown while the cells run ---- */

static void show_progress(const struct cells_run *run)
{
	if (run->has_progress)
		fprintf(stderr, "\r\033[Kcell %zu of %zu", run->n_run, run->n_cells);
}

static void hide_progress(const struct cells_run *run)
{
	if (run->has_progress)
		fputs("\r\033[K", stderr);
}

static void on_hold(void *arg, bool is_shown)
{
	if (is_shown)
		hide_progress(arg);
	else
		show_progress(arg);
}

/* Write a text of the box to stderr, without what a terminal would interpret. */
static void tell_text(const json_t *text, enum utf8_lines lines)
{
	cleanup_buf struct buf safe = BUF_INIT(TOLD_BYTES);
	(void)utf8_escape_terminal(&safe, json_string_value(text), json_string_length(text), lines);
	fprintf(stderr, "%s", buf_str(&safe));
}

static const json_t *error_of(const json_t *record)
{
	return json_object_get(record, "error");
}

static bool is_interrupted(const json_t *record)
{
	return strcmp(json_get_text(error_of(record), "name"), "Interrupted") == 0;
}

/* Write why the last cell has failed, in one line. */
static void tell_reason(const struct cells_run *run, const json_t *record)
{
	static const struct {
		const char *status, *hint;
	} hints[] = {
		{"timeout", ": give each cell more with --timeout, or --cpu-time"},
		{"oom", ": give the notebook more with --memory"},
	};
	const char *status = json_get_text(record, "status");
	bool is_error = strcmp(status, "error") == 0;
	bool is_told = json_array_size(json_object_get(error_of(record), "traceback")) > 0;
	fprintf(stderr, "retort: cell %zu of %zu: %s", run->n_run, run->n_cells,
		is_interrupted(record) ? "interrupted"
			: is_error     ? "failed"
				       : status);
	if (!is_interrupted(record) && !(is_error && is_told)) {
		fputs(": ", stderr);
		tell_text(json_object_get(error_of(record), "message"), UTF8_ONE_LINE);
	}
	for (size_t i = 0; i < ARRAY_LEN(hints); i++)
		if (strcmp(hints[i].status, status) == 0)
			fputs(hints[i].hint, stderr);
	fputs("\n", stderr);
}

/* Tell how the last cell failed. The traceback is what `retort run` would show. */
static void tell_failure(const struct cells_run *run, const json_t *record)
{
	const struct view_options options = {.output = run->args->output, .program = run->path};
	const json_t *line;
	size_t i;
	if (!run->is_telling)
		return;
	json_array_foreach(json_object_get(error_of(record), "traceback"), i, line)
	{
		tell_text(line, UTF8_KEEP_LINES);
		fputs("\n", stderr);
	}
	tell_reason(run, record);
	view_hint(&options, record);
}

/* ---- what --json tells of a cell ---- */

static void add_row(struct cells_run *run, size_t index, const json_t *record)
{
	static const char *const members[] = {"status", "error", "exit_code", "signal", "exited",
		"state", "truncated", "files", "network", "usage"};
	json_t *row = json_need(json_pack("{s:I, s:I}", "index", (json_int_t)index,
		"execution_count", (json_int_t)run->n_run));
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		json_put_shared(row, members[i], json_object_get(record, members[i]));
	json_add_new(run->rows, row);
}

/* Remember which files have changed. A later change replaces an earlier one. */
static void note_files(struct cells_run *run, const json_t *record)
{
	const json_t *row;
	size_t i;
	json_array_foreach(json_object_get(record, "files"), i, row)
		json_put_shared(run->files, json_get_text(row, "path"), row);
}

/* ---- one cell ---- */

static void on_event(void *arg, const json_t *event)
{
	struct cells_run *run = arg;
	if (run->can_ask && approver_takes(&run->approver, event))
		return;
	cell_store_add(&run->store, cell_output_event(&run->output, event));
}

/* The approver has held events while a question was shown. */
static void on_held(void *arg, const json_t *event)
{
	struct cells_run *run = arg;
	cell_store_add(&run->store, cell_output_event(&run->output, event));
}

int cells_call(void *arg, const char *method, json_t *params, json_t **result, struct err *err)
{
	const struct cells_run *run = arg;
	return service_call(run->service, method, params, NULL, result, err);
}

/* Put the outputs into the notebook. If those of all cells become too large, only an error is
 * kept. */
static void keep_outputs(struct cells_run *run, size_t index)
{
	json_t *outputs = cell_store_end(&run->store);
	uint64_t bytes = json_bytes(outputs);
	if (bytes > NOTEBOOK_OUTPUT_BYTES - run->output_bytes) {
		json_t *last = json_incref(json_array_get(outputs, json_array_size(outputs) - 1));
		(void)json_array_clear(outputs);
		json_add_new(outputs,
			json_pack("{s:s, s:s, s:s}", "output_type", "stream", "name", "stderr",
				"text",
				"retort: outputs left out: the notebook's are over 256 MiB\n"));
		if (strcmp(json_get_text(last, "output_type"), "error") == 0)
			json_add_shared(outputs, last);
		json_decref(last);
		bytes = 0;
	}
	run->output_bytes += bytes;
	notebook_set(run->nb, index, (int64_t)run->n_run, outputs);
}

static int run_step(struct cells_run *run, size_t index, json_t **record, struct err *err)
{
	const struct operation_listener listener = {.arg = run, .event = on_event};
	cleanup_buf struct buf code = BUF_INIT(NOTEBOOK_CODE_BYTES);
	int r = notebook_code(run->nb, index, &code, err);
	if (r < 0)
		return r;
	json_t *params = json_need(json_pack("{s:s, s:s, s:s, s:b}", "session", run->session,
		"runtime", run->runtime, "filename", run->filename, "approvals", run->can_ask));
	json_put_new(params, "code", json_new_text(buf_str(&code), code.bytes));
	return service_call(run->service, "step.run", params, &listener, record, err);
}

static void begin_cell(struct cells_run *run, size_t index)
{
	run->n_run++;
	snprintf(run->name, sizeof run->name, "cell %zu", run->n_run);
	snprintf(run->filename, sizeof run->filename, "<%s>", run->name);
	cell_output_begin(&run->output, run->name, (int64_t)run->n_run);
	/* In JavaScript, what sets a variable has a value. */
	run->output.has_no_value = notebook_has_tag(run->nb, index, "injected-parameters");
	cell_store_begin(&run->store);
	show_progress(run);
}

static void set_end(struct cells_run *run, const char *status)
{
	snprintf(run->end_status, sizeof run->end_status, "%s", status);
}

/* The engine has not run the cell. */
static void fail_cell(struct cells_run *run, size_t index, const struct err *err)
{
	cleanup_json json_t *record = json_need(
		json_pack("{s:s}", "status", err->code == ERR_INTERRUPTED ? "killed" : "error"));
	json_t *error = json_need(json_object());
	json_put_text(error, "name", err_word(err->code));
	json_put_text(error, "message", err->msg);
	json_put_new(record, "error", error);
	cell_store_add(&run->store, cell_output_release(&run->output, true));
	cell_store_add(&run->store, json_pack("[o]", cell_output_failure(err)));
	add_row(run, index, record);
	set_end(run, json_get_text(record, "status"));
	run->status = err_exit(err->code);
}

/* Return whether the run goes on after a cell. */
static bool goes_on(const struct cells_run *run, size_t index, const json_t *record)
{
	const char *status = json_get_text(record, "status");
	bool may_raise = run->args->allow_errors ||
		(strcmp(status, "error") == 0 &&
			notebook_has_tag(run->nb, index, "raises-exception"));
	if (is_interrupted(record) || service_is_ended(run->service))
		return false;
	if (json_get_bool(record, "exited"))
		return may_raise;
	return strcmp(status, "ok") == 0 || may_raise;
}

/* Take the record of a cell. Returns: whether the run goes on. */
static bool end_cell(struct cells_run *run, size_t index, const json_t *record)
{
	json_t *outputs = cell_output_end(&run->output, record);
	bool has_failed = strcmp(json_get_text(record, "status"), "ok") != 0;
	cell_output_add_no_input(outputs);
	cell_store_add(&run->store, outputs);
	add_row(run, index, record);
	note_files(run, record);
	json_decref(run->limits);
	run->limits = json_incref(json_object_get(record, "limits"));
	if (goes_on(run, index, record)) {
		run->n_failed += has_failed;
		return true;
	}
	hide_progress(run);
	run->status = view_status(record);
	set_end(run, json_get_text(record, "status"));
	if (has_failed)
		tell_failure(run, record);
	return false;
}

/* Run a cell. Returns: whether the run goes on. */
static bool run_cell(struct cells_run *run, size_t index)
{
	json_t *record = NULL;
	struct err err = {0};
	begin_cell(run, index);
	bool is_ok = run_step(run, index, &record, &err) == 0;
	bool is_going_on = is_ok && end_cell(run, index, record);
	if (!is_ok) {
		hide_progress(run);
		fail_cell(run, index, &err);
		(void)cli_fail(&err, false);
	}
	keep_outputs(run, index);
	const struct view_options options = {.output = run->args->output, .program = run->path};
	if (is_ok && run->is_telling)
		view_refusals(&options, record);
	json_decref(record);
	return is_going_on;
}

/* ---- all cells ---- */

void cells_init(struct cells_run *run)
{
	*run = (struct cells_run){.approver = APPROVER_NONE,
		.output = CELL_OUTPUT_INIT,
		.store = CELL_STORE_INIT,
		.rows = json_need(json_array()),
		.files = json_need(json_object())};
	set_end(run, "ok");
}

void cells_done(struct cells_run *run)
{
	approver_close(&run->approver);
	cell_output_done(&run->output);
	cell_store_done(&run->store);
	json_decref(run->rows);
	json_decref(run->files);
	json_decref(run->limits);
}

void cells_run(struct cells_run *run)
{
	run->n_cells = notebook_count_run(run->nb);
	if (run->has_progress)
		run->can_ask = approver_open(&run->approver, run->service);
	run->approver.show = on_held;
	run->approver.hold = on_hold;
	run->approver.screen = run;
	for (size_t i = 0; i < json_array_size(run->nb->cells); i++)
		if (notebook_is_run(run->nb, i) && !run_cell(run, i))
			break;
	hide_progress(run);
}
