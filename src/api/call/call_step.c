/* Operations on steps. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_order.h"
#include "base/json.h"
#include "api/call/inside.h"
#include "api/operation/calls.h"
#include "api/text/run_part.h"
#include "session/box/stdin_queue.h"

#include <stdlib.h>
#include <string.h>

enum {
	OUTPUT_BYTES = 64 << 10,
	OUTPUT_MAX_BYTES = 1 << 20,
	GREP_BYTES = 1000,
	INPUT_BYTES = 1 << 20
};

/* ---- runs ---- */

static void on_event(void *arg, const json_t *event)
{
	const struct operation_call *call = arg;
	call->listener.event(call->listener.arg, event);
}

static void interrupt(struct operation_call *call)
{
	if (call->waiter.run)
		run_interrupt(call->waiter.run, false);
}

static void leave(struct operation_call *call)
{
	waiter_leave(&call->waiter);
}

static void start_run(struct operation_call *call)
{
	const struct operation_context *context = call->context;
	const struct run_order order = {
		.registry = context->registry, .gate = context->gate, .params = call->params};
	struct err err = {0};
	if (!context->runs)
		(void)err_set(&err, ERR_INTERNAL, "an engine without a book of runs");
	call->waiter = (struct waiter){
		.arg = call, .event = call->listener.event ? on_event : NULL, .done = call_done};
	call->cancel = interrupt;
	if (err.code || runs_start(context->runs, &order, &call->waiter, &err) < 0)
		call_fail(call, &err);
}

/* Check that either `run` or the parameter @other is given, but not both. */
static int check_names(const json_t *params, const char *other, struct err *err)
{
	bool has_run = param_get(params, "run") != NULL;
	bool has_other = param_get(params, other) != NULL;
	if (has_run != has_other)
		return 0;
	if (has_run)
		return err_fail(
			err, ERR_USAGE, "give one of them", "%s: given together with run", other);
	(void)err_set(err, ERR_USAGE, "run: missing");
	return err_hint(err, "id of a run, as `step.run` gave it; or %s", other);
}

static struct run *find_run(struct operation_call *call, struct err *err)
{
	const struct operation_context *context = call->context;
	const json_t *params = call->params;
	const char *step = param_text(params, "step", NULL);
	const char *name = param_text(params, "session", NULL);
	if (param_get(params, "run"))
		return runs_find(
			context->runs, context->registry, param_text(params, "run", ""), err);
	return runs_find_step(context->runs, context->registry, name, step, err);
}

static void start_get(struct operation_call *call)
{
	const json_t *params = call->params;
	struct err err = {0};
	int bad = check_names(params, "session", &err);
	if (bad == 0 && param_get(params, "session") && !param_get(params, "step")) {
		bad = err_set(&err, ERR_USAGE, "step: missing");
		(void)err_hint(&err, "which step of the session: its id, or a start of it");
	}
	struct run *run = bad < 0 ? NULL : find_run(call, &err);
	call->waiter = (struct waiter){.arg = call, .done = call_done};
	call->cancel = leave;
	if (!run || waiter_await(&call->waiter, run, param_count(params, "wait_ms", 0), &err) < 0)
		call_fail(call, &err);
}

static json_t *part_json(
	const struct run *run, const char *stream, const struct run_part *part, size_t bytes)
{
	bool is_end = part->is_last && run_is_done(run);
	json_t *out = json_pack("{s:s, s:s, s:o, s:I, s:I, s:b}", "run", run_id(run), "stream",
		stream, "text", json_stringn(buf_str(&part->text), part->text.bytes), "offset",
		(json_int_t)part->offset, "bytes", (json_int_t)bytes, "is_end", is_end);
	if (!is_end)
		json_put_int(out, "next_offset", part->next);
	return out;
}

/* Read the requested part of @text. Returns: NULL and @err on failure. */
static json_t *read_part(const json_t *params, const struct run *run, const char *text,
	size_t bytes, struct err *err)
{
	struct run_part part;
	const char *word = param_text(params, "grep", NULL);
	size_t offset = (size_t)param_count(params, "offset", 0);
	size_t limit = (size_t)param_count(params, "limit", OUTPUT_BYTES);
	const struct run_part_search search = {
		.word = word, .offset = offset, .limit = limit, .is_whole = run_is_done(run)};
	if (word && strchr(word, '\n')) {
		err_fail(err, ERR_USAGE, "give text that stands in one line",
			"grep: holds the end of a line");
		return NULL;
	}
	int r = word ? run_part_find(&part, text, bytes, &search)
		     : run_part_read(&part, text, bytes, offset, limit);
	json_t *out =
		r < 0 ? NULL : part_json(run, param_text(params, "stream", "stdout"), &part, bytes);
	if (out && word)
		json_put_int(out, "lines", part.n_lines);
	if (!out)
		(void)err_set(err, ERR_NO_MEMORY, "no memory for the output");
	buf_done(&part.text);
	return out;
}

static void start_output(struct operation_call *call)
{
	const json_t *params = call->params;
	const char *text = NULL, *stream = param_text(params, "stream", "stdout");
	size_t bytes = 0;
	struct err err = {0};
	json_t *out = NULL;
	const struct run *run = find_run(call, &err);
	if (run && run_text(run, stream, &text, &bytes, &err) == 0)
		out = read_part(params, run, text, bytes, &err);
	call_give(call, out, &err);
}

static void start_input(struct operation_call *call)
{
	const json_t *text = param_get(call->params, "text");
	bool is_end = param_flag(call->params, "end");
	struct err err = {0};
	int r = 0;
	if (!text && !is_end) {
		err_fail(&err, ERR_USAGE, "give what is to be read, or end", "text: missing");
		call_fail(call, &err);
		return;
	}
	struct run *run = find_run(call, &err);
	struct stdin_queue *in = run ? run_stdin_queue(run, &err) : NULL;
	if (in && text)
		r = stdin_queue_put(
			in, json_string_value(text), json_string_length(text), false, &err);
	if (in && r == 0 && is_end)
		stdin_queue_end(in);
	json_t *out = in && r == 0
		? json_pack("{s:I, s:b}", "queued_bytes", (json_int_t)stdin_queue_bytes(in),
			  "is_open", stdin_queue_is_open(in))
		: NULL;
	call_give(call, out, &err);
}

static void start_interrupt(struct operation_call *call)
{
	const struct operation_context *context = call->context;
	const char *session = param_text(call->params, "session", NULL);
	bool is_kill = param_flag(call->params, "kill");
	struct err err = {0};
	int r = check_names(call->params, "session", &err);
	struct run *run = r == 0 && !session ? find_run(call, &err) : NULL;
	if (run)
		run_interrupt(run, is_kill);
	else if (r == 0 && !session)
		r = -err_errno(err.code);
	for (int i = 0; r == 0 && session && i < (is_kill ? 2 : 1); i++)
		r = registry_interrupt(context->registry, session, &err);
	call_give(call, r < 0 ? NULL : json_object(), &err);
}

/* ---- completion ---- */

static void start_complete(struct operation_call *call)
{
	if (call_is_behind_reader(call))
		return;
	registry_names(call->context->registry, param_text(call->params, "session", ""),
		param_text(call->params, "runtime", NULL), param_text(call->params, "text", ""),
		call_done, call);
}

/* ---- the rows ---- */

enum { STDIN_BYTES = 16 << 20 };

#define RUN(needed)                                                                                \
	{                                                                                          \
		.name = "run", .type = PARAM_TEXT, needed, .min = 1, .max = RUN_BYTES,             \
		.help = "id of a run, as step.run gave it"                                         \
	}

static const struct param run_rows[] = {
	SESSION,
	{"code", PARAM_DATA, true, 0, CODE_BYTES, .help = "the program text of this step"},
	LANGUAGE_BY(HELP_FILE_LANGUAGE),
	{"filename", PARAM_TEXT, false, 1, PATH_BYTES,
		.help = "the file that is run: tracebacks name it, and it may tell the language"},
	{"timeout_ms", PARAM_COUNT, false, 1, TIME_MS, .help = HELP_TIMEOUT},
#define STEP_FLAG_ROW(member, name_, is_told, help_)                                               \
	{.name = name_, .type = PARAM_FLAG, .fallback = "false", .help = help_},
	STEP_FLAGS(STEP_FLAG_ROW){"stdin", PARAM_DATA, false, 0, STDIN_BYTES,
		.help = "standard input; else it is empty"},
	{"stream", PARAM_FLAG, .fallback = "false", .help = "send events while it runs"},
	{"detach", PARAM_FLAG, .fallback = "false",
		.help = "go on when the client is gone; else the step is interrupted"},
	{"stdin_open", PARAM_FLAG, .fallback = "false",
		.help = "standard input stays open, for step.input; stdin is read first"},
	{"approvals", PARAM_FLAG, .fallback = "false",
		.help = "tool.approve will answer what its calls of tools ask, as events tool.approval "
			"and its record tell while it runs; else they are denied"},
	{"wait_ms", PARAM_COUNT, false, 0, WAIT_MS,
		.help = "answer after that time even if the step still runs, which goes on; else "
			"when it is done"},
};
static const struct param get_rows[] = {
	RUN(.is_required = false),
	{"session", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "in place of run: the session of step"},
	{"step", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "in place of run: a step of session, by its id or a unique start of it"},
	{"wait_ms", PARAM_COUNT, false, 0, WAIT_MS, .fallback = "0",
		.help = "how long to wait for the end of the step"},
};
static const struct param output_rows[] = {
	RUN(NEEDED),
	{"stream", PARAM_CHOICE, .choices = "stdout|stderr|value|code", .fallback = "stdout",
		.help = "what to read of it"},
	{"offset", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0", .help = "first byte"},
	{"limit", PARAM_COUNT, false, 1, OUTPUT_MAX_BYTES, .fallback = "65536",
		.help = "bytes at most"},
	{"grep", PARAM_TEXT, false, 1, GREP_BYTES,
		.help = "only lines that hold this text (not a pattern); each with its number"},
};
static const struct param interrupt_rows[] = {
	{"session", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "in place of run: whatever runs in this session"},
	RUN(.is_required = false),
	{"kill", PARAM_FLAG, .fallback = "false", .help = "at once, without the second of grace"},
};
static const struct param input_rows[] = {
	RUN(NEEDED),
	{"text", PARAM_DATA, false, 0, INPUT_BYTES, .help = "what the program is to read next"},
	{"end", PARAM_FLAG, .fallback = "false", .help = "nothing comes behind it"},
};
static const struct param complete_rows[] = {
	SESSION,
	{"text", PARAM_TEXT, true, 0, TEXT_BYTES, .help = "what was typed; its end is completed"},
	LANGUAGE,
};

static const struct param truncated_rows[] = {
	MAY_GIVE("stdout_bytes", PARAM_COUNT, "bytes cut out of the middle of stdout"),
	MAY_GIVE("stderr_bytes", PARAM_COUNT, "bytes cut out of the middle of stderr"),
	MAY_GIVE("invalid_utf8", PARAM_FLAG, "bytes that are no UTF-8 became U+FFFD"),
	MAY_GIVE("displays", PARAM_COUNT, "displays that were too many or too large"),
	MAY_GIVE("files", PARAM_FLAG, "there are more files than are looked at"),
	MAY_GIVE("tools", PARAM_COUNT, "calls of tools beyond the first hundred tools"),
	MAY_GIVE("dropped", PARAM_FLAG, "the output was dropped later: newer runs needed the room"),
};
static const struct param error_rows[] = {
	GIVES("name", PARAM_TEXT, "as ZeroDivisionError, or one of retort's own"),
	GIVES("message", PARAM_DATA, "what it says"),
	{"line", PARAM_COUNT, .is_nullable = true, .help = "of the code"},
	MAY_GIVE("traceback", PARAM_TEXTS, "lines, of the program's own frames"),
	MAY_GIVE("hint", PARAM_TEXT, "what helps, where that is known"),
	MAY_GIVE("near", PARAM_TEXT,
		"the file or the module that may have been meant, where one was not found"),
};
static const struct param state_rows[] = {
	{"outcome", PARAM_CHOICE, NEEDED, .choices = "committed|rolled_back|replayed|diverged|lost",
		.help = "what became of the session's state"},
	{"undone", PARAM_CHOICE, .choices = "step|part|transaction",
		.help = "of a step of SQL that failed: what it wrote is undone; of that, what came "
			"after something that stays, as a COMMIT; or a transaction with what "
			"earlier steps wrote in it"},
	MAY_GIVE("checkpoint", PARAM_TEXT, "the state before the step, if it was kept"),
	{"reason", PARAM_TEXT, .is_nullable = true, .help = "why it is not committed"},
	MAY_GIVE("notice", PARAM_TEXT,
		"what is closed or was not put back, since a branch or a rollback"),
};
static const struct param changed_file_rows[] = {
	GIVES("path", PARAM_TEXT, "relative to the workspace"),
	{"change", PARAM_CHOICE, NEEDED, .choices = "created|modified|deleted",
		.help = "what the step did with it"},
	GIVES("size", PARAM_COUNT, "bytes"),
	GIVES("mime", PARAM_TEXT, "what it seems to be, by its name"),
};
static const struct param variable_rows[] = {
	GIVES("name", PARAM_TEXT, "its name"),
	GIVES("type", PARAM_TEXT, "as the language calls it"),
	MAY_GIVE("size", PARAM_TEXT, "how much it holds: 12, or 48 x 6"),
	MAY_GIVE("change", PARAM_TEXT, "new or changed"),
};
static const struct param tool_rows[] = {
	GIVES("tool", PARAM_TEXT, "its name"),
	GIVES("calls", PARAM_COUNT, "how often it was called"),
	MAY_GIVE("errors", PARAM_COUNT, "calls that gave no value"),
	GIVES("bytes_in", PARAM_COUNT, "bytes it was given"),
	GIVES("bytes_out", PARAM_COUNT, "bytes it gave"),
};
static const struct param usage_rows[] = {
	GIVES("wall_ms", PARAM_NUMBER, "wall time, until now while it runs"),
	MAY_GIVE("cpu_ms", PARAM_NUMBER, "CPU time of all its processes"),
	MAY_GIVE("memory_peak_bytes", PARAM_COUNT,
		"most memory at one time, without pages that others have brought in"),
	MAY_GIVE("queued_ms", PARAM_NUMBER, "time it waited before it ran"),
	MAY_GIVE("waited_ms", PARAM_NUMBER, "of the wall time, for answers to its calls"),
	MAY_GIVE("oom_kills", PARAM_COUNT, "processes the kernel ended for want of memory"),
};
static const struct param asked_rows[] = {
	GIVES("approval", PARAM_TEXT, "what tool.approve names it by"),
	GIVES_SESSION,
	GIVES("tool", PARAM_TEXT, "server.tool"),
	GIVES("text", PARAM_TEXT, "what a person is asked, with the arguments; safe to show"),
	GIVES("destructive", PARAM_FLAG, "it may destroy"),
	GIVES("tainted", PARAM_FLAG, "the session has read what others wrote"),
};
static const struct param record_rows[] = {
	GIVES("schema", PARAM_COUNT, "of this record: 1"),
	GIVES("run", PARAM_TEXT, "id of the run, for step.get, step.output and step.interrupt"),
	MAY_GIVE("behind", PARAM_TEXT, "the run that goes before it, while it has not begun"),
	{"behind_waiting", PARAM_CHOICE, .choices = "stdin",
		.help = "what that one waits for: who waits for a time is answered at once"},
	MAY_GIVE("step", PARAM_TEXT, "id of the step: what it was, as SHA-256; when it is done"),
	{"parent", PARAM_TEXT, .is_nullable = true, .help = "the step before it"},
	GIVES_SESSION,
	GIVES("runtime", PARAM_TEXT, "its language"),
	{"status", PARAM_CHOICE, NEEDED, .choices = "ok|error|timeout|oom|killed|denied|running",
		.help = "how it ended"},
	{"value", PARAM_OBJECT, .help = "of the last expression, by MIME type; absent: none"},
	{"displays", PARAM_OBJECTS, NEEDED,
		.help = "plots and what else was displayed, by MIME type"},
	GIVES("stdout", PARAM_DATA, "what it printed; until now while it runs"),
	GIVES("stderr", PARAM_DATA, "likewise"),
	{"truncated", PARAM_OBJECT, NEEDED, FIELDS(truncated_rows), .help = "what is missing"},
	{"error", PARAM_OBJECT, FIELDS(error_rows), .help = "why it is not ok"},
	{"exit_code", PARAM_COUNT, NEEDED, .is_nullable = true,
		.help = "of the program; null: it was ended, or runs"},
	{"signal", PARAM_COUNT, NEEDED, .is_nullable = true, .help = "that ended it"},
	MAY_GIVE("exited", PARAM_FLAG, "the step ended itself, by exit() and its like"),
	{"state", PARAM_OBJECT, FIELDS(state_rows), .help = "what became of the session's state"},
	{"files", PARAM_OBJECTS, FIELDS(changed_file_rows),
		.help = "regular files it changed; no links"},
	MAY_GIVE("files_lost", PARAM_TEXTS,
		"files that a rollback could not bring back, or that steps run again may have changed"),
	MAY_GIVE("runs_again", PARAM_TEXTS, HELP_RUNS_AGAIN),
	{"variables", PARAM_OBJECTS, FIELDS(variable_rows),
		.help = "if they were asked for: those that are new or changed, 21 at most"},
	{"tools", PARAM_OBJECTS, FIELDS(tool_rows), .help = "tools it called"},
	{"waiting", PARAM_CHOICE, .choices = "stdin",
		.help = "while it runs: it waits for input: give some with "
			"step.input; who waits for a time is answered at once"},
	{"approvals", PARAM_OBJECTS, FIELDS(asked_rows),
		.help = "while it runs: calls of tools that wait for tool.approve; who waits for a "
			"time is answered at once"},
	{"usage", PARAM_OBJECT, FIELDS(usage_rows), .help = "what it cost"},
	{"limits", PARAM_OBJECT, .fields = order_enforced_rows, .n_fields = ORDER_N_LIMIT_ROWS,
		.help = "what bounded it, and what enforces that"},
};
static const struct param part_rows[] = {
	GIVES("run", PARAM_TEXT, "id of the run"),
	GIVES("stream", PARAM_TEXT, "what was read"),
	GIVES("text", PARAM_DATA, "the part; with grep, lines as 12:text, long ones cut"),
	GIVES("offset", PARAM_COUNT, "its first byte"),
	MAY_GIVE("next_offset", PARAM_COUNT, "where to go on, unless this is the end"),
	GIVES("bytes", PARAM_COUNT, "of all there is, until now while it runs"),
	GIVES("is_end", PARAM_FLAG, "the output is complete: no more will come"),
	MAY_GIVE("lines", PARAM_COUNT, "with grep: how many were found"),
};
static const struct param written_rows[] = {
	GIVES("queued_bytes", PARAM_COUNT, "what waits until the program has read more"),
	GIVES("is_open", PARAM_FLAG, "more can be written"),
};
static const struct param names_rows[] = {
	GIVES("names", PARAM_TEXTS, "what the text could go on with, each in whole"),
};

#define RUNS_KEPT                                                                                  \
	"The last 32 runs of a session are kept, with 32 MiB of what they printed, and 64 MiB "    \
	"of all; they go with their session."

static const struct operation rows[] = {
	{"step.run", TEXT_RUN, ROWS(run_rows), RESULT(record_rows), .label = OPERATION_PROGRAM,
		.limits = "One step of a session at a time: others wait in line. " RUNS_KEPT,
		.errors = "not_found|runtime|limit|quota|box|gone|no_space",
		.example = "{'session': 'demo', 'code': '6 * 7'}",
		.answer = "{'status': 'ok', 'value': {'text/plain': '42'}, 'stdout': '', "
			  "'run': 'r-zvn2hxq5c4d7k3tq6mwyp2abfe', 'exit_code': 0, "
			  "'state': {'outcome': 'committed'}}",
		.has_events = true, .last = "step.finished", .start = start_run},
	{"step.get", "Get the record of a step, or what there is of it while it runs",
		ROWS(get_rows), RESULT(record_rows), .label = OPERATION_PROGRAM,
		.limits = RUNS_KEPT, .errors = "not_found|gone|box|limit",
		.example = "{'run': 'r-zvn2hxq5c4d7k3tq6mwyp2abfe', 'wait_ms': 1000}",
		.answer = "{'status': 'ok', 'value': {'text/plain': '42'}}", .start = start_get},
	{"step.output", "Read what a step printed, its value or its code, in parts",
		ROWS(output_rows), RESULT(part_rows), .label = OPERATION_PROGRAM,
		.limits = RUNS_KEPT, .errors = "not_found|gone|box|limit",
		.example = "{'run': 'r-zvn2hxq5c4d7k3tq6mwyp2abfe', 'stream': 'value'}",
		.answer = "{'text': '42', 'offset': 0, 'bytes': 2, 'is_end': true}",
		.start = start_output},
	{"step.input", "Write to the standard input of a step while it runs", ROWS(input_rows),
		RESULT(written_rows), .label = OPERATION_ENGINE,
		.limits = "1 MiB waits at most, then it is refused as busy until the program has "
			  "read some; 16 MiB in all. Not of javascript, which reads its input "
			  "whole.",
		.errors = "not_found|busy|limit|gone",
		.example = "{'run': 'r-zvn2hxq5c4d7k3tq6mwyp2abfe', 'text': 'yes\\n', 'end': true}",
		.answer = "{'queued_bytes': 0, 'is_open': false}", .start = start_input},
	{"step.interrupt",
		"Stop the running step, asked twice: at once; one that has not begun is not run",
		ROWS(interrupt_rows), .label = OPERATION_ENGINE, .errors = "not_found",
		.example = "{'session': 'demo'}", .answer = "{}", .start = start_interrupt},
	{"step.complete", "Complete a name at the end of a text", ROWS(complete_rows),
		RESULT(names_rows), .label = OPERATION_PROGRAM, .errors = "not_found|busy|gone|box",
		.example = "{'session': 'demo', 'text': 'pri'}", .answer = "{'names': ['print']}",
		.start = start_complete},
};

const struct operation_family step_family = FAMILY(rows);
