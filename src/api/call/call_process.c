/* Operations on processes: programs that clients start in a session's box. SPDX-License-Identifier:
 * Apache-2.0 */
#define _GNU_SOURCE 1
#include "api/call/inside.h"
#include "api/call/process_argv.h"
#include "api/call/process_reader.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include "registry/processes.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
	ARGS_MAX = 16384,
	ENV_MAX = 1024,
	SIDE_MAX = PROCESS_SIDE_MAX,
	CHUNK_MAX = 1 << 20,
	ROWS_USUAL = 24,
	COLS_USUAL = 80,
	WRITE_MAX = INPUT_BYTES
};

static const char *text(const struct operation_call *call, const char *name)
{
	return param_text(call->params, name, "");
}

static struct process *find(struct operation_call *call)
{
	struct err err = {0};
	struct process *p = registry_process(
		call->context->registry, text(call, "session"), text(call, "process"), &err);
	if (!p)
		call_fail(call, &err);
	return p;
}

/* ---- start ---- */

static void on_started(void *arg, struct process *p, const struct err *err)
{
	struct operation_call *call = arg;
	struct err gone;
	call->cancel = NULL;
	if (!p) {
		call_fail(call, err);
	} else if (!param_flag(call->params, "attach")) {
		call_give(call, process_reader_about(call, p), NULL);
	} else if (call->is_cancelled) {
		process_kill(p);
		err_set(&gone, ERR_INTERRUPTED, "the call was cancelled while the program began");
		call_fail(call, &gone);
	} else {
		process_reader_own(call, p);
	}
}

/* The program begins at this moment: on_started() ends it, if it is to end with the call. */
static void note_cancelled(struct operation_call *call)
{
	call->is_cancelled = true;
}

static void start_now(struct operation_call *call)
{
	const json_t *params = call->params;
	bool is_terminal =
		call->op != operation_find("process.start") || param_flag(params, "terminal");
	struct process_argv s = {0};
	struct err err = {0};
	const char *id;
	struct session *session =
		registry_process_session(call->context->registry, text(call, "session"), &id, &err);
	int r = session ? 0 : -1;
	if (r == 0 && !session_may_start(session))
		r = err_fail(&err, ERR_BUSY, "ask again in a moment", "the session has no box now");
	if (r == 0)
		r = process_argv_read(&s, params, session, is_terminal, &err);
	const struct process_order order = {.argv = (const char *const *)s.argv,
		.envp = (const char *const *)s.envp,
		.directory = param_text(params, "cwd", NULL),
		.name = param_text(params, "name", NULL),
		.is_terminal = is_terminal,
		.rows = (unsigned)param_count(params, "rows", ROWS_USUAL),
		.columns = (unsigned)param_count(params, "cols", COLS_USUAL),
		.has_input = param_flag(params, "input"),
		.is_held = param_flag(params, "hold"),
		.is_use = param_flag(params, "keep_alive"),
		.is_transient = param_flag(params, "attach"),
		.timeout_ms = param_count(params, "timeout_ms", 0),
		.output_bytes = param_count(params, "output_bytes", 0)};
	if (r < 0)
		call_fail(call, &err);
	else
		session_start_process(session, &order, on_started, call);
	process_argv_done(&s);
}

static void on_ready(void *arg, const json_t *result, const struct err *err)
{
	struct operation_call *call = arg;
	call->cancel = note_cancelled;
	if (result)
		start_now(call);
	else
		call_fail(call, err);
}

static void start_start(struct operation_call *call)
{
	call->cancel = call_withdraw;
	registry_await_process(call->context->registry, text(call, "session"), on_ready, call);
}

/* ---- the other operations ---- */

static void start_get(struct operation_call *call)
{
	struct process *p = find(call);
	if (p)
		call_give(call, process_reader_about(call, p), NULL);
}

static void on_listed(void *arg, json_t *processes, const struct err *err)
{
	struct operation_call *call = arg;
	struct err wrong;
	const char *id = "";
	json_t *out = processes ? json_need(json_object()) : NULL;
	(void)registry_process_session(call->context->registry, text(call, "session"), &id, &wrong);
	if (out) {
		json_put_text(out, "session", id);
		json_put_shared(out, "processes", processes);
	}
	call_give(call, out, err);
}

static void on_opened(void *arg, const json_t *result, const struct err *why)
{
	struct operation_call *call = arg;
	struct err err = {0};
	const char *id;
	call->cancel = NULL;
	if (!result) {
		call_fail(call, why);
		return;
	}
	struct session *s =
		registry_process_session(call->context->registry, text(call, "session"), &id, &err);
	if (s)
		session_list_processes(s, on_listed, call);
	else
		call_fail(call, &err);
}

static void start_list(struct operation_call *call)
{
	call->cancel = call_withdraw;
	registry_await_opened(call->context->registry, text(call, "session"), on_opened, call);
}

static void start_wait(struct operation_call *call)
{
	struct process *p = find(call);
	if (p)
		process_reader_wait(call, p, param_count(call->params, "timeout_ms", UINT64_MAX));
}

static void start_attach(struct operation_call *call)
{
	struct process *p = find(call);
	if (p)
		process_reader_attach(call, p, param_count(call->params, "stdout_offset", 0),
			param_count(call->params, "stderr_offset", 0));
}

static void start_read(struct operation_call *call)
{
	struct process *p = find(call);
	if (!p)
		return;
	unsigned i = strcmp(param_text(call->params, "stream", "stdout"), "stderr") == 0;
	uint64_t asked = param_count(call->params, "offset", 0), at = asked;
	size_t room = (size_t)param_count(call->params, "limit", 64 << 10);
	char *chunk = xcalloc(1, room + 1);
	const struct stream *stream = &p->out[i];
	size_t n = i < p->n_out ? capture_read(&stream->kept, &at, chunk, room) : 0;
	bool is_last = process_is_read(p, i, at + n);
	json_t *out = json_need(json_object());
	bool is_base64 = strcmp(param_text(call->params, "encoding", "utf-8"), "base64") == 0;
	cleanup_buf struct buf raw = BUF_INIT(base64_bytes(n));
	if (is_base64 && base64_write(&raw, chunk, n) == 0) {
		json_put_textn(out, "data", buf_str(&raw), raw.bytes);
		json_put_text(out, "encoding", "base64");
	} else if (n > 0) {
		n = process_chunk_json(out, chunk, n, is_last);
	} else {
		json_put_text(out, "data", "");
		json_put_text(out, "encoding", "utf-8");
	}
	json_put_int(out, "offset", (int64_t)at);
	json_put_int(out, "next", (int64_t)(at + n));
	json_put_int(out, "total_bytes", (int64_t)stream->kept.total_bytes);
	if (at > asked)
		json_put_int(out, "cut_bytes", (int64_t)(at - asked));
	json_put_bool(out, "end", process_is_read(p, i, at + n));
	free(chunk);
	call_give(call, out, NULL);
}

static void start_write(struct operation_call *call)
{
	const json_t *data = param_get(call->params, "data");
	const char *given = json_string_value(data);
	size_t bytes = json_string_length(data);
	cleanup_buf struct buf raw = BUF_INIT(WRITE_MAX);
	struct err err;
	struct process *p = find(call);
	if (!p)
		return;
	int r = strcmp(param_text(call->params, "encoding", "utf-8"), "base64") == 0
		? base64_read(&raw, given ? given : "", bytes, &err)
		: buf_append(&raw, given ? given : "", bytes);
	if (r == -E2BIG || r == -ENOMEM)
		err_fail(&err, ERR_LIMIT, "write it in parts", "`data`: over %d MiB",
			WRITE_MAX >> 20);
	if (r < 0) {
		call_fail(call, &err);
		return;
	}
	bytes = raw.bytes;
	process_reader_write(call, p, buf_take(&raw), bytes, param_flag(call->params, "end"));
}

static void start_resize(struct operation_call *call)
{
	struct err err;
	struct process *p = find(call);
	if (!p)
		return;
	int r = process_resize(p, (unsigned)param_count(call->params, "rows", ROWS_USUAL),
		(unsigned)param_count(call->params, "cols", COLS_USUAL), &err);
	call_give(call, r < 0 ? NULL : json_object(), &err);
}

/* Return the number of the signal that @name names: "TERM", "SIGTERM" or "15"; 0 if there is no
 * such signal. */
static int signal_number(const char *name)
{
	uint64_t number;
	struct err err;
	if (num_parse_count(name, (struct num_range){1, (uint64_t)SIGRTMAX}, &number, &err) == 0)
		return (int)number;
	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (int i = 1; i < SIGRTMIN; i++) {
		const char *word = sigabbrev_np(i);
		if (word && strcmp(word, name) == 0)
			return i;
	}
	return 0;
}

static void start_signal(struct operation_call *call)
{
	struct err err;
	const char *name = param_text(call->params, "signal", "TERM");
	int number = signal_number(name);
	struct process *p = find(call);
	if (!p)
		return;
	int r = number ? process_signal(p, number, &err)
		       : err_fail(&err, ERR_USAGE, "for example TERM, INT, KILL or 15",
				 "`signal`: no signal \"%.32s\"", name);
	call_give(call, r < 0 ? NULL : json_object(), &err);
}

/* ---- rows of the table of operations ---- */

#define PROCESS                                                                                    \
	{                                                                                          \
		.name = "process", .type = PARAM_TEXT, NEEDED, .min = 1,                           \
		.max = PROCESS_NAME_BYTES,                                                         \
		.help = "id of the process, the unique beginning of its id, or its name"           \
	}
#define START_ROWS                                                                                                   \
	SESSION,                                                                                                     \
		{"argv", PARAM_TEXTS, false, 1, ARGS_MAX,                                                            \
			.help = "program and arguments; the program is searched for in the box's "                   \
				"PATH"},                                                                             \
		{"command", PARAM_TEXT, false, 1, TEXT_BYTES,                                                        \
			.help = "instead of argv: a line for /bin/sh"},                                              \
		{"cwd", PARAM_TEXT, false, 1, PATH_BYTES,                                                            \
			.help = "working directory in the box (default: that of the image, or else the workspace)"}, \
		{"env", PARAM_MAP, false, 0, ENV_MAX, .help = "additional variables"},                               \
		{"name", PARAM_TEXT, false, 1, SESSION_NAME_BYTES,                                                   \
			.help = "a name, unique among the session's running processes"},                             \
		{"timeout_ms", PARAM_COUNT, false, 1, TIME_MS,                                                       \
			.help = "time after which the process is ended: SIGTERM, after two "                         \
				"seconds SIGKILL (default: no limit)"},                                              \
		{"keep_alive", PARAM_FLAG, .fallback = "false",                                                      \
			.help = "while the process runs, the session counts as used"},                               \
		{"hold", PARAM_FLAG, .fallback = "false",                                                            \
			.help = "while nobody takes its output, let the program wait instead of "                    \
				"dropping the middle; ends when the last client detaches"},                          \
	{                                                                                                            \
		"output_bytes", PARAM_COUNT, false, 1 << 10, PROCESS_OUTPUT_MAX_BYTES,                               \
			.fallback = "262144",                                                                        \
			.help = "how much of each output stream is kept: its beginning and its "                     \
				"end"                                                                                \
	}
#define TERMINAL_ROWS                                                                              \
	{"rows", PARAM_COUNT, false, 1, SIDE_MAX, .fallback = "24", .help = "height in lines"},    \
		{"cols", PARAM_COUNT, false, 1, SIDE_MAX, .fallback = "80",                        \
			.help = "width in characters"},                                            \
	{                                                                                          \
		"term", PARAM_TEXT, false, 1, NAME_BYTES, .fallback = "xterm-256color",            \
							  .help = "the variable TERM"              \
	}

#define STREAM_ROWS                                                                                \
	{"stream", PARAM_FLAG, .fallback = "false", .help = "send the events"},                    \
	{                                                                                          \
		"raw", PARAM_FLAG,                                                                 \
			.fallback = "false",                                                       \
			.help = "on the unix socket: send output as bytes behind the event's line" \
	}

static const struct param start_rows[] = {
	START_ROWS,
	{"input", PARAM_FLAG, .fallback = "false",
		.help = "keep stdin open for process.write (default: it is empty)"},
	{"terminal", PARAM_FLAG, .fallback = "false",
		.help = "stdin, stdout and stderr are a terminal"},
	TERMINAL_ROWS,
	{"attach", PARAM_FLAG, .fallback = "false",
		.help = "stay attached from the beginning, as `process.attach`, and answer when the "
			"program has ended. It is killed when the call is cancelled or the client "
			"disconnects, and is not listed after its end"},
	STREAM_ROWS,
};
static const struct param open_rows[] = {START_ROWS, TERMINAL_ROWS};
static const struct param list_rows[] = {SESSION};
static const struct param process_rows[] = {SESSION, PROCESS};
static const struct param wait_rows[] = {
	SESSION,
	PROCESS,
	{"timeout_ms", PARAM_COUNT, false, 0, TIME_MS,
		.help = "time after which the call is answered in any case (default: no limit)"},
};
static const struct param attach_rows[] = {
	SESSION,
	PROCESS,
	{"stdout_offset", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0",
		.help = "first byte of stdout or of the terminal"},
	{"stderr_offset", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0",
		.help = "first byte of stderr"},
	STREAM_ROWS,
};
static const struct param read_rows[] = {
	SESSION,
	PROCESS,
	{"stream", PARAM_CHOICE, .choices = "stdout|stderr", .fallback = "stdout",
		.help = "which output; a terminal has only stdout"},
	{"offset", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0", .help = "first byte"},
	{"limit", PARAM_COUNT, false, 4, CHUNK_MAX, .fallback = "65536", .help = "bytes at most"},
	{"encoding", PARAM_CHOICE, .choices = "utf-8|base64", .fallback = "utf-8",
		.help = "encoding of data; base64 in any case if the bytes are not UTF-8"},
};
static const struct param write_rows[] = {
	SESSION,
	PROCESS,
	{"data", PARAM_DATA, .help = "what to write"},
	{"encoding", PARAM_CHOICE, .choices = "utf-8|base64", .fallback = "utf-8",
		.help = "encoding of data"},
	{"end", PARAM_FLAG, .fallback = "false",
		.help = "end the input afterwards; in a terminal: write Ctrl-D"},
};
static const struct param resize_rows[] = {
	SESSION,
	PROCESS,
	{"rows", PARAM_COUNT, true, 1, SIDE_MAX, .help = "height in lines"},
	{"cols", PARAM_COUNT, true, 1, SIDE_MAX, .help = "width in characters"},
};
static const struct param signal_rows[] = {
	SESSION,
	PROCESS,
	{"signal", PARAM_TEXT, false, 1, NAME_BYTES, .fallback = "TERM",
		.help = "name or number: TERM, SIGTERM, 15"},
};

#define ABOUT_PROCESS                                                                              \
	MAY_GIVE("process", PARAM_TEXT, "id of the process"),                                      \
		MAY_GIVE("name", PARAM_TEXT, "name of the process, if it has one"),                \
		GIVES("pid", PARAM_COUNT, "number of the process in the box"),                     \
		MAY_GIVE("argv", PARAM_TEXTS, "program and arguments"),                            \
		MAY_GIVE("cwd", PARAM_TEXT, "working directory, if one was given"),                \
		{"by", PARAM_CHOICE, NEEDED, .choices = "call|step",                               \
			.help = "who started it: a client, or a step"},                            \
		{"state", PARAM_CHOICE, NEEDED, .choices = "running|exited",                       \
			.help = "whether it has ended"},                                           \
		MAY_GIVE("terminal", PARAM_FLAG, "it has a terminal"),                             \
		MAY_GIVE("rows", PARAM_COUNT, "height of the terminal"),                           \
		MAY_GIVE("cols", PARAM_COUNT, "width of the terminal"),                            \
		MAY_GIVE("keep_alive", PARAM_FLAG, "while it runs, the session counts as used"),   \
		MAY_GIVE("started_ms", PARAM_COUNT, "when it began: milliseconds since 1970"),     \
		MAY_GIVE("wall_ms", PARAM_COUNT, "how long it has run"),                           \
		MAY_GIVE("cpu_ms", PARAM_COUNT, "CPU time"),                                       \
		MAY_GIVE("exit_code", PARAM_COUNT, "exit status"),                                 \
		MAY_GIVE("signal", PARAM_COUNT, "the signal that ended it"),                       \
		MAY_GIVE("oom", PARAM_FLAG, "it was ended because memory ran out"),                \
		MAY_GIVE("timed_out", PARAM_FLAG, "it was ended by timeout_ms"),                   \
		MAY_GIVE("ended", PARAM_TEXT, HELP_ENDED),                                         \
		MAY_GIVE("stdout_bytes", PARAM_COUNT, "bytes that it has written to stdout"),      \
		MAY_GIVE("stderr_bytes", PARAM_COUNT, "bytes that it has written to stderr")
#define HELP_ENDED                                                                                 \
	"why it has ended, if not by itself: box (the box ended), state (the session returned to " \
	"a state that only another box has), close (the session was closed)"

static const struct param about_rows[] = {
	MAY_GIVE("session", PARAM_TEXT, "id of the session"), ABOUT_PROCESS};
static const struct param one_rows[] = {
	ABOUT_PROCESS,
	MAY_GIVE("memory_bytes", PARAM_COUNT, "resident memory"),
	MAY_GIVE("ppid", PARAM_COUNT, "number of its parent"),
	MAY_GIVE("command", PARAM_TEXT, "beginning of its command line"),
	MAY_GIVE("of", PARAM_TEXT, "id of the process from which it descends"),
	MAY_GIVE("step", PARAM_TEXT, "id of the step that left it running"),
};
static const struct param listed_rows[] = {
	GIVES_SESSION,
	{"processes", PARAM_OBJECTS, NEEDED, FIELDS(one_rows),
		.help = "what clients have started, newest first, then all others"},
};
static const struct param chunk_rows[] = {
	GIVES("data", PARAM_DATA, "bytes of the output, in that encoding"),
	{"encoding", PARAM_CHOICE, NEEDED, .choices = "utf-8|base64",
		.help = "base64 if the bytes are not UTF-8 text"},
	GIVES("offset", PARAM_COUNT, "offset of the first byte of data"),
	GIVES("next", PARAM_COUNT, "offset of the byte after data"),
	GIVES("total_bytes", PARAM_COUNT, "bytes written so far"),
	MAY_GIVE("cut_bytes", PARAM_COUNT, "bytes before data that were asked for but not kept"),
	GIVES("end", PARAM_FLAG, "this was the last of the output"),
};
static const struct param written_rows[] = {GIVES("bytes", PARAM_COUNT, "bytes that were written")};

#define HELP_PROCESS_LIMITS                                                                        \
	"At most 100 running processes in a session; the last 32 that have ended are remembered. " \
	"argv and env together: at most 96 KiB."

static const struct operation rows[] = {
	{"process.start", "Start a program in the box of a session", ROWS(start_rows),
		RESULT(about_rows), .label = OPERATION_CALLER, .limits = HELP_PROCESS_LIMITS,
		.errors = "not_found|access|runtime|limit|quota|busy|gone|box|io|interrupted",
		.has_events = true,
		.example = "{'session': 'demo', 'argv': ['cat'], 'input': true, 'name': 'cat'}",
		.answer = "{'name': 'cat', 'argv': ['cat'], 'by': 'call', 'state': 'running'}",
		.start = start_start},
	{"process.list", "List the processes of a session's box", ROWS(list_rows),
		RESULT(listed_rows), .label = OPERATION_PROGRAM,
		.limits = "At most 1024 processes that clients have not started.",
		.errors = "not_found|busy|gone|box|interrupted", .example = "{'session': 'demo'}",
		.answer = "{'processes': [{'name': 'cat', 'by': 'call', 'state': 'running'}]}",
		.start = start_list},
	{"process.get", "Describe a process", ROWS(process_rows), RESULT(about_rows),
		.label = OPERATION_PROGRAM, .errors = "not_found|busy|gone",
		.example = "{'session': 'demo', 'process': 'cat'}",
		.answer = "{'name': 'cat', 'state': 'running'}", .start = start_get},
	{"process.write", "Write to the input of a process", ROWS(write_rows), RESULT(written_rows),
		.label = OPERATION_ENGINE, .limits = "At most 16 MiB wait for the program.",
		.errors = "not_found|busy|limit|gone|interrupted",
		.example = "{'session': 'demo', 'process': 'cat', 'data': 'hello\\n', 'end': true}",
		.answer = "{'bytes': 6}", .start = start_write},
	{"process.wait", "Wait until a process has ended", ROWS(wait_rows), RESULT(about_rows),
		.label = OPERATION_PROGRAM, .errors = "not_found|busy|gone",
		.example = "{'session': 'demo', 'process': 'cat', 'timeout_ms': 60000}",
		.answer = "{'name': 'cat', 'state': 'exited', 'exit_code': 0}",
		.start = start_wait},
	{"process.read", "Read the output of a process", ROWS(read_rows), RESULT(chunk_rows),
		.label = OPERATION_PROGRAM, .limits = "At most 1 MiB per call.",
		.errors = "not_found|busy|gone", .example = "{'session': 'demo', 'process': 'cat'}",
		.answer = "{'data': 'hello\\n', 'encoding': 'utf-8', 'offset': 0, 'next': 6, "
			  "'end': true}",
		.start = start_read},
	{"process.attach", "Get the output of a process as events, until it has ended",
		ROWS(attach_rows), RESULT(about_rows), .label = OPERATION_PROGRAM,
		.limits = "A cancelled call detaches; the process runs on.",
		.errors = "not_found|busy|gone", .has_events = true,
		.example = "{'session': 'demo', 'process': 'cat', 'stream': true}",
		.answer = "{'name': 'cat', 'state': 'exited', 'stdout_bytes': 6}",
		.start = start_attach},
	{"terminal.open", "Start a program with a terminal, by default a shell", ROWS(open_rows),
		RESULT(about_rows), .label = OPERATION_CALLER, .limits = HELP_PROCESS_LIMITS,
		.errors = "not_found|access|runtime|limit|quota|busy|gone|box|io",
		.example = "{'session': 'demo', 'name': 'terminal', 'rows': 40, 'cols': 120}",
		.answer = "{'name': 'terminal', 'terminal': true, 'rows': 40, 'cols': 120}",
		.start = start_start},
	{"process.resize", "Set the size of a process's terminal", ROWS(resize_rows),
		.label = OPERATION_ENGINE, .errors = "not_found|busy|gone|io",
		.example = "{'session': 'demo', 'process': 'terminal', 'rows': 50, 'cols': 100}",
		.answer = "{}", .start = start_resize},
	{"process.signal", "Send a signal to the process group of a process", ROWS(signal_rows),
		.label = OPERATION_ENGINE, .errors = "not_found|busy|gone",
		.example = "{'session': 'demo', 'process': 'terminal', 'signal': 'HUP'}",
		.answer = "{}", .start = start_signal},
};

const struct operation_family process_family = FAMILY(rows);
