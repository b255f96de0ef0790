/* Operations on steps. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_order.h"
#include "base/json.h"
#include "api/call/inside.h"
#include "api/operation/calls.h"
#include "api/text/run_part.h"
#include "session/box/stdin_queue.h"
#include "session/step/step_setting.h"

#include <stdlib.h>
#include <string.h>

enum {
	OUTPUT_BYTES = 64 << 10,
	OUTPUT_MAX_BYTES = 1 << 20,
	GREP_BYTES = 1000,
	INPUT_BYTES = 1 << 20
};

/* ---- the operations on runs, such as step.run ---- */

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

/* Check that the caller has given either `run` or the parameter @other, but not both. */
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

/* Make the result of step.output: the part of @text that the parameters ask for. @text: the
 * output, value or code of @run. Returns: NULL and @err on failure. */
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
		err_fail(err, ERR_USAGE, "give text without a line end",
			"grep: contains a line end");
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
		err_fail(&err, ERR_USAGE, "give text for the program to read, or end",
			"text: missing");
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

/* ---- the operation step.complete ---- */

static void start_complete(struct operation_call *call)
{
	if (call_is_behind_reader(call))
		return;
	const struct registry_text text = {.session = param_text(call->params, "session", ""),
		.runtime = param_text(call->params, "runtime", NULL),
		.scope = param_text(call->params, "scope", NULL),
		.text = param_text(call->params, "text", "")};
	registry_names(call->context->registry, &text, call_done, call);
}

/* ---- rows of the table of operations ---- */

enum { STDIN_BYTES = 16 << 20 };

#define RUN(needed)                                                                                \
	{                                                                                          \
		.name = "run", .type = PARAM_TEXT, needed, .min = 1, .max = RUN_BYTES,             \
		.help = "id of a run, from step.run"                                               \
	}

static const struct param run_rows[] = {
	SESSION,
	{"code", PARAM_DATA, true, 0, CODE_BYTES, .help = "the program text of this step"},
	LANGUAGE_BY(HELP_FILE_LANGUAGE),
	{"filename", PARAM_TEXT, false, 1, PATH_BYTES,
		.help = "name of the program's file, for tracebacks and to choose the language"},
	{"timeout_ms", PARAM_COUNT, false, 1, TIME_MS, .help = HELP_TIMEOUT},
#define STEP_FLAG_ROW(member, name_, is_told, help_)                                               \
	{.name = name_, .type = PARAM_FLAG, .fallback = "false", .help = help_},
	STEP_FLAGS(STEP_FLAG_ROW){
		"args", PARAM_TEXTS, .max = SCRIPT_ARGS_MAX, .help = "arguments of a script"},
	{"stdin", PARAM_DATA, false, 0, STDIN_BYTES, .help = "standard input (default: empty)"},
	{"env", PARAM_MAP, .max = STEP_VARIABLES_MAX,
		.help = "environment variables for this step only, 128 KiB in all; not in sql"},
	{"scope", PARAM_TEXT, false, 1, STEP_SCOPE_BYTES,
		.help = "name of the set of global variables that the step uses, in python and "
			"javascript (default: the session's own)"},
	{"fresh_scope", PARAM_FLAG, .fallback = "false",
		.help = "remove all variables of the scope before the code runs"},
	{"cwd", PARAM_TEXT, false, 1, STEP_CWD_BYTES,
		.help = "directory in which a scope begins, absolute or relative to the "
			"workspace; later steps of the scope continue where it is "
			"(default: the workspace)"},
	{"stream", PARAM_FLAG, .fallback = "false", .help = "send events while it runs"},
	{"detach", PARAM_FLAG, .fallback = "false",
		.help = "continue when the client disconnects (default: the step is interrupted)"},
	{"stdin_open", PARAM_FLAG, .fallback = "false",
		.help = "keep standard input open for step.input, after the text of stdin"},
	{"approvals", PARAM_FLAG, .fallback = "false",
		.help = "tool.approve will decide on tool calls that need approval, which events "
			"tool.approval and the record of the running step list (default: they are "
			"denied)"},
	{"wait_ms", PARAM_COUNT, false, 0, WAIT_MS,
		.help = "answer after this time even if the step still runs; the step continues "
			"(default: answer when it is done)"},
};
static const struct param get_rows[] = {
	RUN(.is_required = false),
	{"session", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "instead of run: the session of the step"},
	{"step", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "instead of run: id of a step of that session, or the unique beginning of "
			"its id"},
	{"wait_ms", PARAM_COUNT, false, 0, WAIT_MS, .fallback = "0",
		.help = "how long to wait for the end of the step"},
};
static const struct param output_rows[] = {
	RUN(NEEDED),
	{"stream", PARAM_CHOICE, .choices = "stdout|stderr|value|code", .fallback = "stdout",
		.help = "which text to read"},
	{"offset", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0", .help = "first byte"},
	{"limit", PARAM_COUNT, false, 1, OUTPUT_MAX_BYTES, .fallback = "65536",
		.help = "bytes at most"},
	{"grep", PARAM_TEXT, false, 1, GREP_BYTES,
		.help = "return only lines that contain this text (not a pattern), with line "
			"numbers"},
};
static const struct param interrupt_rows[] = {
	{"session", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "instead of run: stop whatever runs in this session"},
	RUN(.is_required = false),
	{"kill", PARAM_FLAG, .fallback = "false",
		.help = "stop the step at once, without one second of grace"},
};
static const struct param input_rows[] = {
	RUN(NEEDED),
	{"text", PARAM_DATA, false, 0, INPUT_BYTES, .help = "text for the program to read next"},
	{"end", PARAM_FLAG, .fallback = "false", .help = "end standard input after the text"},
};
static const struct param complete_rows[] = {
	SESSION,
	{"text", PARAM_TEXT, true, 0, TEXT_BYTES,
		.help = "typed text; the name at its end is completed; in python, a name with ? "
			"or ?? is answered with its help"},
	LANGUAGE,
	{"scope", PARAM_TEXT, false, 1, STEP_SCOPE_BYTES,
		.help = "complete names of this scope (default: the session's own variables)"},
};

static const struct param truncated_rows[] = {
	MAY_GIVE("stdout_bytes", PARAM_COUNT, "bytes cut out of the middle of stdout"),
	MAY_GIVE("stderr_bytes", PARAM_COUNT, "bytes cut out of the middle of stderr"),
	MAY_GIVE("invalid_utf8", PARAM_FLAG, "bytes that are not UTF-8 were replaced by U+FFFD"),
	MAY_GIVE("displays", PARAM_COUNT, "number of displays left out: too many or too large"),
	MAY_GIVE("files", PARAM_FLAG, "there were too many files to look at all"),
	MAY_GIVE("tools", PARAM_COUNT, "calls of tools other than the first hundred tools"),
	MAY_GIVE(
		"dropped", PARAM_FLAG, "the output was dropped later, to make room for newer runs"),
};
static const struct param error_rows[] = {
	GIVES("name", PARAM_TEXT,
		"name of the error: ZeroDivisionError, or a name of retort's own"),
	GIVES("message", PARAM_DATA, "message of the error"),
	{"line", PARAM_COUNT, .is_nullable = true, .help = "line of the code"},
	MAY_GIVE("traceback", PARAM_TEXTS, "lines of the traceback, with the program's own frames"),
	MAY_GIVE("hint", PARAM_TEXT, "what to do, if known"),
	MAY_GIVE("near", PARAM_TEXT,
		"if a file or module was not found: a similar name that exists"),
};
static const struct param state_rows[] = {
	{"outcome", PARAM_CHOICE, NEEDED, .choices = "committed|rolled_back|replayed|diverged|lost",
		.help = "what happened to the session's state"},
	{"undone", PARAM_CHOICE, .choices = "step|part|transaction",
		.help = "what was undone after a failed SQL step: all that it wrote; only the "
			"part after, for example, a COMMIT; or a transaction, with what earlier "
			"steps wrote in it"},
	MAY_GIVE("checkpoint", PARAM_TEXT, "the state before the step, if it was kept"),
	{"reason", PARAM_TEXT, .is_nullable = true, .help = "why the state was not committed"},
	MAY_GIVE("notice", PARAM_TEXT, "what a branch or a rollback closed or could not restore"),
};
static const struct param changed_file_rows[] = {
	GIVES("path", PARAM_TEXT, "relative to the workspace"),
	{"change", PARAM_CHOICE, NEEDED, .choices = "created|modified|deleted",
		.help = "what the step did with the file"},
	GIVES("size", PARAM_COUNT, "size in bytes"),
	GIVES("mime", PARAM_TEXT, "MIME type, guessed from the file's name"),
};
static const struct param variable_rows[] = {
	GIVES("name", PARAM_TEXT, "name of the variable"),
	GIVES("type", PARAM_TEXT, "type, as the language names it"),
	MAY_GIVE("size", PARAM_TEXT, "number of elements: 12, or 48 x 6"),
	MAY_GIVE("change", PARAM_TEXT, "new or changed"),
};
static const struct param record_image_rows[] = {
	GIVES("name", PARAM_TEXT, "its name in full"),
	GIVES("digest", PARAM_TEXT, "SHA-256 of its manifest"),
};
static const struct param tool_rows[] = {
	GIVES("tool", PARAM_TEXT, "name of the tool"),
	GIVES("calls", PARAM_COUNT, "number of calls"),
	MAY_GIVE("errors", PARAM_COUNT, "number of failed calls"),
	GIVES("bytes_in", PARAM_COUNT, "bytes of arguments"),
	GIVES("bytes_out", PARAM_COUNT, "bytes of results"),
};
static const struct param network_rows[] = {
	MAY_GIVE("name", PARAM_TEXT, "the name or address that was asked for"),
	MAY_GIVE("port", PARAM_COUNT,
		"the port; absent if a program only asked for the address of the name"),
	MAY_GIVE("verdict", PARAM_TEXT, "allowed, refused by the rules, or failed"),
	MAY_GIVE("reason", PARAM_TEXT, "why it was refused or has failed"),
	MAY_GIVE("count", PARAM_COUNT, "number of questions or connections"),
	MAY_GIVE("bytes_in", PARAM_COUNT, "bytes that the box has received"),
	MAY_GIVE("bytes_out", PARAM_COUNT, "bytes that the box has sent"),
	MAY_GIVE("more", PARAM_COUNT, "alone in the last row: number of things that are left out"),
};
static const struct param usage_rows[] = {
	GIVES("wall_ms", PARAM_NUMBER, "wall time; while the step runs, the time so far"),
	MAY_GIVE("cpu_ms", PARAM_NUMBER, "CPU time of all processes"),
	MAY_GIVE("memory_peak_bytes", PARAM_COUNT,
		"peak memory of the box so far, without pages that others had loaded before"),
	MAY_GIVE("queued_ms", PARAM_NUMBER, "time that the step waited before it started"),
	MAY_GIVE("waited_ms", PARAM_NUMBER,
		"part of the wall time spent waiting for answers to calls, for a person or for input"),
	MAY_GIVE("oom_kills", PARAM_COUNT, "processes that the kernel killed for lack of memory"),
};
static const struct param connection_rows[] = {
	GIVES("host", PARAM_TEXT, "name of the host"),
	GIVES("port", PARAM_COUNT, "TCP port"),
};
static const struct param asked_rows[] = {
	GIVES("approval", PARAM_TEXT, "id of the question, for tool.approve"),
	GIVES_SESSION,
	GIVES("tool", PARAM_TEXT, "name of the tool: server.tool, or retort.connect"),
	{"connection", PARAM_OBJECT, FIELDS(connection_rows),
		.help = "where a program wants to connect to; with retort.connect only"},
	GIVES("text", PARAM_TEXT, "question to a person, with the arguments; safe to print"),
	GIVES("destructive", PARAM_FLAG, "the tool may destroy data"),
	GIVES("tainted", PARAM_FLAG, "the session has read data that others wrote"),
};
static const struct param record_rows[] = {
	GIVES("schema", PARAM_COUNT, "version of the record's format: 1"),
	GIVES("run", PARAM_TEXT, "id of the run, for step.get, step.output and step.interrupt"),
	MAY_GIVE("behind", PARAM_TEXT, "while the step waits: id of the run before it"),
	{"behind_waiting", PARAM_CHOICE, .choices = "stdin",
		.help = "what the run before it waits for; a call with wait_ms is answered at "
			"once"},
	MAY_GIVE("step", PARAM_TEXT, "id of the step: SHA-256 of its record; absent while it runs"),
	{"parent", PARAM_TEXT, .is_nullable = true, .help = "id of the previous step"},
	GIVES_SESSION,
	GIVES("runtime", PARAM_TEXT, "language"),
	{"status", PARAM_CHOICE, NEEDED, .choices = "ok|error|timeout|oom|killed|denied|running",
		.help = "how the step ended, or running"},
	{"value", PARAM_OBJECT,
		.help = "value of the last expression, by MIME type; absent if it has no value"},
	{"displays", PARAM_OBJECTS, NEEDED,
		.help = "plots and other displayed objects, by MIME type"},
	GIVES("stdout", PARAM_DATA, "standard output; while the step runs, the output so far"),
	GIVES("stderr", PARAM_DATA, "standard error, likewise"),
	{"truncated", PARAM_OBJECT, NEEDED, FIELDS(truncated_rows),
		.help = "what is missing from this record"},
	{"error", PARAM_OBJECT, FIELDS(error_rows), .help = "why the step failed"},
	{"exit_code", PARAM_COUNT, NEEDED, .is_nullable = true,
		.help = "exit code of the program; null if it was killed or still runs"},
	{"signal", PARAM_COUNT, NEEDED, .is_nullable = true,
		.help = "signal that killed the program"},
	MAY_GIVE("exited", PARAM_FLAG, "the step ended itself, with exit() or the like"),
	{"state", PARAM_OBJECT, FIELDS(state_rows), .help = "what happened to the session's state"},
	{"files", PARAM_OBJECTS, FIELDS(changed_file_rows),
		.help = "regular files that the step changed; links are not listed"},
	MAY_GIVE("files_lost", PARAM_TEXTS,
		"files that a rollback could not restore, or that repeated steps may have changed"),
	MAY_GIVE("runs_again", PARAM_TEXTS, HELP_RUNS_AGAIN),
	{"variables", PARAM_OBJECTS, FIELDS(variable_rows),
		.help = "with the parameter variables: new and changed variables, at most 21"},
	{"tools", PARAM_OBJECTS, FIELDS(tool_rows), .help = "tools that the step called"},
	{"waiting", PARAM_CHOICE, .choices = "stdin",
		.help = "the running step waits for input: send some with step.input; a call with "
			"wait_ms is answered at once"},
	{"approvals", PARAM_OBJECTS, FIELDS(asked_rows),
		.help = "tool calls and connections of the running step that wait for "
			"tool.approve; a call with wait_ms is answered at once"},
	MAY_GIVE("processes", PARAM_OBJECTS,
		"processes that run in the box after the step, and processes of clients that "
		"ended with their box; rows as in process.list"),
	{"network", PARAM_OBJECTS, FIELDS(network_rows),
		.help = "what programs of the box asked of the network since the last step's "
			"record: one row for each name, port and outcome, at most 256"},
	{"image", PARAM_OBJECT, FIELDS(record_image_rows), .help = "the image that the box has"},
	{"usage", PARAM_OBJECT, FIELDS(usage_rows), .help = "time and memory used"},
	{"limits", PARAM_OBJECT, .fields = order_enforced_rows, .n_fields = ORDER_N_LIMIT_ROWS,
		.help = "limits of the step, and what enforces them"},
};
static const struct param part_rows[] = {
	GIVES("run", PARAM_TEXT, "id of the run"),
	GIVES("stream", PARAM_TEXT, "which text was read"),
	GIVES("text", PARAM_DATA,
		"part of the text; with grep, lines such as 12:text, long lines cut"),
	GIVES("offset", PARAM_COUNT, "offset of the first byte of the part"),
	MAY_GIVE("next_offset", PARAM_COUNT, "offset of the next part; absent at the end"),
	GIVES("bytes", PARAM_COUNT, "size of the whole text; while the step runs, the size so far"),
	GIVES("is_end", PARAM_FLAG, "the output is complete: no more will come"),
	MAY_GIVE("lines", PARAM_COUNT, "with grep: number of lines found"),
};
static const struct param written_rows[] = {
	GIVES("queued_bytes", PARAM_COUNT, "bytes that the program has not read yet"),
	GIVES("is_open", PARAM_FLAG, "standard input is open for more"),
};
static const struct param names_rows[] = {
	GIVES("names", PARAM_TEXTS, "possible names, each in full"),
};

#define RUNS_KEPT                                                                                  \
	"The last 32 runs of a session are kept until it ends, with 32 MiB of output per "         \
	"session "                                                                                 \
	"and 64 MiB in all."

static const struct operation rows[] = {
	{"step.run", TEXT_RUN, ROWS(run_rows), RESULT(record_rows), .label = OPERATION_PROGRAM,
		.limits = "A session runs one step at a time; others wait. " RUNS_KEPT,
		.errors = "not_found|runtime|limit|quota|box|gone|no_space",
		.example = "{'session': 'demo', 'code': '6 * 7'}",
		.answer = "{'status': 'ok', 'value': {'text/plain': '42'}, 'stdout': '', "
			  "'run': 'r-zvn2hxq5c4d7k3tq6mwyp2abfe', 'exit_code': 0, "
			  "'state': {'outcome': 'committed'}}",
		.has_events = true, .last = "step.finished", .start = start_run},
	{"step.get", "Get the record of a step, even while it runs", ROWS(get_rows),
		RESULT(record_rows), .label = OPERATION_PROGRAM, .limits = RUNS_KEPT,
		.errors = "not_found|gone|box|limit",
		.example = "{'run': 'r-zvn2hxq5c4d7k3tq6mwyp2abfe', 'wait_ms': 1000}",
		.answer = "{'status': 'ok', 'value': {'text/plain': '42'}}", .start = start_get},
	{"step.output", "Read a step's output, value or code, in parts", ROWS(output_rows),
		RESULT(part_rows), .label = OPERATION_PROGRAM, .limits = RUNS_KEPT,
		.errors = "not_found|gone|box|limit",
		.example = "{'run': 'r-zvn2hxq5c4d7k3tq6mwyp2abfe', 'stream': 'value'}",
		.answer = "{'text': '42', 'offset': 0, 'bytes': 2, 'is_end': true}",
		.start = start_output},
	{"step.input", "Write to the standard input of a step while it runs", ROWS(input_rows),
		RESULT(written_rows), .label = OPERATION_ENGINE,
		.limits = "At most 1 MiB waits: more is refused as busy until the program has read "
			  "some. At most 16 MiB in all. Not for javascript, which reads its whole "
			  "input at once.",
		.errors = "not_found|busy|limit|gone",
		.example = "{'run': 'r-zvn2hxq5c4d7k3tq6mwyp2abfe', 'text': 'yes\\n', 'end': true}",
		.answer = "{'queued_bytes': 0, 'is_open': false}", .start = start_input},
	{"step.interrupt",
		"Stop a step: a second call stops it at once; a waiting step does not run",
		ROWS(interrupt_rows), .label = OPERATION_ENGINE, .errors = "not_found",
		.example = "{'session': 'demo'}", .answer = "{}", .start = start_interrupt},
	{"step.complete", "Complete a name at the end of a text", ROWS(complete_rows),
		RESULT(names_rows), .label = OPERATION_PROGRAM, .errors = "not_found|busy|gone|box",
		.example = "{'session': 'demo', 'text': 'pri'}", .answer = "{'names': ['print']}",
		.start = start_complete},
};

const struct operation_family step_family = FAMILY(rows);
