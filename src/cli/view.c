/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"

#include "api/text/json.h"
#include "api/text/observation.h"
#include "api/text/outcome.h"
#include "base/json.h"
#include "base/num.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "cli/cmd.h"
#include "cli/screen/json_print.h"
#include "cli/view_hint.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SINK_EXTRA_BYTES = 64 << 20, REBUILDING_MS = 1000 };

int output_check(const struct output_args *args, struct err *err)
{
	if (args->json && args->jsonl)
		return err_set(err, ERR_USAGE, "--json and --jsonl exclude each other");
	return 0;
}

void view_init(struct view *view, const struct view_options *options)
{
	struct limits defaults = order_default_limits();
	const struct limits *limits = options->limits ? options->limits : &defaults;
	/* Leave room above the output limit: JSON makes text longer, and displays are added. */
	size_t room = (size_t)limits->value[LIMIT_output_bytes] * 8 + SINK_EXTRA_BYTES;
	*view = (struct view){.options = *options};
	sink_init(&view->out, STDOUT_FILENO, room);
	sink_init(&view->err, STDERR_FILENO, room);
	picture_init(&view->picture, options->output.images, options->output.dir, &view->out);
	view->picture.is_quiet = options->output.quiet;
}

void view_done(struct view *view)
{
	sink_done(&view->out);
	sink_done(&view->err);
}

void view_hold(void *arg, bool is_held)
{
	struct view *view = arg;
	sink_hold(&view->out, is_held);
	sink_hold(&view->err, is_held);
}

static void put_event(struct view *view, json_t *event)
{
	char *line = event ? json_text(event, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	json_decref(event);
	if (line) {
		sink_add(&view->out, line, strlen(line));
		sink_add(&view->out, "\n", 1);
	}
	free(line);
}

static void on_started(void *arg, const char *session)
{
	struct view *view = arg;
	if (view->options.output.jsonl)
		put_event(view, event_started(session));
}

/* Print output as an event. Unless @is_end, keep an incomplete last character for later. */
static void put_text(struct view *view, int stream, const char *data, size_t bytes, bool is_end)
{
	put_event(view, event_text(&view->rest[stream], stream, data, bytes, is_end));
}

static void on_output(void *arg, int stream, const char *data, size_t bytes)
{
	struct view *view = arg;
	if (view->options.output.jsonl) {
		put_text(view, stream, data, bytes, false);
	} else if (!view->options.output.json) {
		sink_add(stream ? &view->err : &view->out, data, bytes);
	}
}

static void tell_cut(const struct view *view, int stream, uint64_t cut_bytes, uint64_t limit_bytes)
{
	static const char *const more[PLACE_END_] = {"raise it with --output-limit",
		"a new session can have a higher one: retort session new --output-limit SIZE",
		"start with a higher one: retort repl --output-limit SIZE"};
	if (cut_bytes > 0 && !view->options.output.json && !view->options.output.jsonl &&
		!view->options.output.quiet)
		fprintf(stderr, "retort: %s: %" PRIu64 " bytes over the limit of %s: %s\n",
			stream ? "stderr" : "stdout", cut_bytes, num_format_bytes(limit_bytes).text,
			more[view->options.place]);
}

static void on_tail(void *arg, int stream, uint64_t cut_bytes, const char *data, size_t bytes)
{
	struct view *view = arg;
	char note[96] = "";
	if (cut_bytes > 0)
		snprintf(note, sizeof note, "\n[... %" PRIu64 " bytes cut ...]\n", cut_bytes);
	on_output(arg, stream, note, strlen(note));
	on_output(arg, stream, data, bytes);
	tell_cut(view, stream, cut_bytes, view->options.limits->value[LIMIT_output_bytes]);
}

static void on_display(void *arg, const json_t *display, const json_t *about)
{
	struct view *view = arg;
	if (view->options.output.jsonl) {
		put_event(view, event_display(display, about));
	} else if (display && !view->options.output.json) {
		picture_show(&view->picture, display);
	}
}

static void show_value(struct view *view, const json_t *record)
{
	const json_t *value = json_object_get(record, "value");
	const json_t *text = json_object_get(value, "text/plain");
	/* An image is shown instead of the value's text. */
	if (json_object_get(value, "image/png") && picture_show(&view->picture, value))
		return;
	if (!json_is_string(text))
		return;
	sink_add(&view->out, json_string_value(text), json_string_length(text));
	sink_add(&view->out, "\n", 1);
}

void view_unenforced(const struct opt_set *set, const json_t *record)
{
	static const struct {
		const char *option, *limit;
	} rows[] = {{"memory", "memory_bytes"}, {"cpus", "cpus"}, {"cpu-time", "cpu_ms"},
		{"pids", "pids"}, {"disk", "disk_bytes"}, {"inodes", "disk_inodes"},
		{"file-size", "file_bytes"}, {"open-files", "open_files"}};
	const json_t *limits = json_object_get(record, "limits");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const json_t *limit = json_object_get(limits, rows[i].limit);
		if (opt_source(set, rows[i].option) != OPT_UNSET &&
			json_is_false(json_object_get(limit, "enforced")))
			fprintf(stderr,
				"retort: --%s is not enforced here: `retort doctor` says why; a "
				"--workspace of the host has no size limit\n",
				rows[i].option);
	}
}

/* Report that the code called exit(), which the user may expect to end the session or REPL. */
static void show_exit(const struct view *view, const json_t *record)
{
	const json_t *state = json_object_get(record, "state");
	const json_t *error = json_object_get(record, "error");
	const json_t *code = json_object_get(record, "exit_code");
	const char *outcome = json_string_value(json_object_get(state, "outcome"));
	const char *name = json_string_value(json_object_get(error, "name"));
	/* An error "Exit" or "SystemExit" comes from exit() only if it has no traceback. */
	bool is_exit = name && (strcmp(name, "Exit") == 0 || strcmp(name, "SystemExit") == 0) &&
		json_array_size(json_object_get(error, "traceback")) == 0;
	bool is_gone =
		outcome && (strcmp(outcome, "rolled_back") == 0 || strcmp(outcome, "lost") == 0);
	bool is_ended = (is_exit || (!name && is_gone)) && json_is_integer(code);
	bool is_told = view->options.is_typed || (view->options.place == PLACE_SESSION && is_gone);
	if (is_ended && is_told && !view->options.output.quiet)
		fprintf(stderr, "retort: exited: the step ended itself with status %d%s\n",
			(int)json_integer_value(code),
			view->options.is_typed ? ": Ctrl-D or %quit leaves" : "");
}

/* Report how the step ended. The program's exception is already on its stderr. */
static void show_end(const struct view *view, const json_t *record)
{
	const char *status = json_string_value(json_object_get(record, "status"));
	const json_t *error = json_object_get(record, "error");
	const char *message = json_string_value(json_object_get(error, "message"));
	static const struct {
		const char *status, *part; /* the hint is for error messages that contain `part` */
		const char *hint[PLACE_END_];
	} hints[] = {
		{"timeout", "CPU time, which follows",
			{"give it more with --timeout, or --cpu-time",
				"give it more with --timeout, or a new session: retort session new --cpu-time TIME",
				"start with more: retort repl --timeout TIME, or --cpu-time TIME"}},
		{"timeout", "CPU time",
			{"give it more with --cpu-time",
				"a new session can have more: retort session new --cpu-time TIME",
				"start with more: retort repl --cpu-time TIME"}},
		{"timeout", "wall time",
			{"give it more with --timeout", "give it more with --timeout",
				"start with more: retort repl --timeout TIME"}},
		{"oom", "",
			{"give it more with --memory",
				"a new session can have more: retort session new --memory SIZE",
				"start with more: retort repl --memory SIZE"}},
		{"killed", "",
			{"--json shows the whole record", "--json shows the whole record", ""}},
	};
	const char *name = json_string_value(json_object_get(error, "name"));
	cleanup_buf struct buf safe = BUF_INIT(8 * ERR_MSG_BYTES);
	bool is_interrupted = name && strcmp(name, "Interrupted") == 0;
	if (is_interrupted && !view->options.is_typed && !view->options.output.quiet)
		fputs("retort: interrupted\n", stderr);
	if (is_interrupted)
		return;
	if (view->options.output.quiet || !message ||
		utf8_escape_terminal(&safe, message, strlen(message), UTF8_ONE_LINE) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(hints); i++)
		if (strcmp(status, hints[i].status) == 0 && strstr(message, hints[i].part)) {
			const char *hint = hints[i].hint[view->options.place];
			fprintf(stderr, "retort: %s: %s%s%s\n", status, buf_str(&safe),
				hint[0] ? ": " : "", hint);
			return;
		}
}

void view_tell(const char *head, void (*add)(struct buf *b, const json_t *json), const json_t *json)
{
	cleanup_buf struct buf words = BUF_INIT(OUTCOME_BYTES);
	add(&words, json);
	fprintf(stderr, "retort: %s: %s\n", head, buf_str(&words));
}

static const char *state_text(const json_t *record, const char *name)
{
	return json_string_value(json_object_get(json_object_get(record, "state"), name));
}

static void add_again(struct buf *b, const json_t *record)
{
	const char *reason = state_text(record, "reason");
	if (reason)
		(void)utf8_escape_terminal(b, reason, strlen(reason), UTF8_ONE_LINE);
	outcome_add_lost(b, record);
}

static void add_because(struct buf *b, const json_t *record)
{
	const char *reason = state_text(record, "reason"), *notice = state_text(record, "notice");
	if (!reason || (notice && strcmp(notice, reason) == 0))
		return;
	buf_add(b, " (");
	(void)utf8_escape_terminal(b, reason, strlen(reason), UTF8_ONE_LINE);
	buf_add(b, ")");
}

static void add_back(struct buf *b, const json_t *record)
{
	outcome_add_back(b, record);
	add_because(b, record);
}

static void add_anew(struct buf *b, const json_t *record)
{
	outcome_add_anew(b, record);
	outcome_add_lost(b, record);
	add_because(b, record);
}

static void add_kept(struct buf *b, const json_t *record)
{
	buf_add(b, "changes of the step are kept");
	add_because(b, record);
}

/* Return whether the step should have been rolled back. With --atomic, this is so if the step
 * failed in any way. Without --atomic, it is so only if the step was ended from outside, for
 * example at a limit; an error of the program or an interrupt is no reason then. */
static bool is_for_rollback(const struct view *view, const json_t *record)
{
	const char *status = json_string_value(json_object_get(record, "status"));
	const json_t *error = json_object_get(record, "error");
	const char *name = json_string_value(json_object_get(error, "name"));
	bool is_ok = !status || strcmp(status, "ok") == 0;
	bool is_error = status && strcmp(status, "error") == 0;
	bool is_interrupted = name && strcmp(name, "Interrupted") == 0;
	return view->options.is_atomic ? !is_ok : !is_ok && !is_error && !is_interrupted;
}

static void show_state(const struct view *view, const json_t *record)
{
	static const struct {
		const char *outcome, *head;
		void (*add)(struct buf *b, const json_t *record);
	} rows[] = {
		{"committed", "not rolled back", add_kept},
		{"rolled_back", "rolled back", add_back},
		{"replayed", "replayed", add_again},
		{"diverged", "the state was rebuilt, and may differ", add_again},
		{"lost", "lost", add_anew},
	};
	const char *outcome = state_text(record, "outcome"), *undone = state_text(record, "undone");
	if (view->options.output.quiet || view->options.output.json || view->options.output.jsonl)
		return;
	for (size_t i = 0; outcome && i < ARRAY_LEN(rows); i++)
		if (strcmp(outcome, rows[i].outcome) == 0 &&
			(i > 0 || is_for_rollback(view, record)))
			view_tell(rows[i].head, rows[i].add, record);
	/* A failed SQL step that undid only its own changes ("step") need not be reported. */
	if (undone && strcmp(undone, "step") != 0)
		view_tell("undone", outcome_add_taken_back, record);
	const char *notice = state_text(record, "notice");
	cleanup_buf struct buf told = BUF_INIT(8 * ERR_MSG_BYTES);
	if (notice && utf8_escape_terminal(&told, notice, strlen(notice), UTF8_ONE_LINE) == 0)
		fprintf(stderr, "retort: %s\n", buf_str(&told));
}

static void show_json(struct view *view, const json_t *record)
{
	char *text = json_text(record, JSON_INDENT(1));
	sink_add(&view->out, text ? text : "", text ? strlen(text) : 0);
	sink_add(&view->out, "\n", 1);
	free(text);
}

void view_tell_not_all(void)
{
	fprintf(stderr,
		"retort: there are more files, which were not copied: put them into one archive\n");
}

static int show_result(struct view *view, const json_t *record)
{
	if (view->options.output.json) {
		show_json(view, record);
	} else if (view->options.output.jsonl) {
		for (int i = 0; i < 2; i++)
			put_text(view, i, "", 0, true);
		put_event(view, event_finished(record));
	} else {
		show_value(view, record);
	}
	int r = sink_flush(&view->out);
	(void)sink_flush(&view->err);
	if (!view->options.output.json && !view->options.output.jsonl)
		show_end(view, record);
	if (!view->options.output.json && !view->options.output.jsonl) {
		view_hint(&view->options, record);
		view_refusals(&view->options, record);
	}
	show_exit(view, record);
	if (view->options.output.dir &&
		json_is_true(json_object_get(json_object_get(record, "truncated"), "files")))
		view_tell_not_all();
	if (!view->options.output.quiet && view->options.set)
		view_unenforced(view->options.set, record);
	return r;
}

/* Report a failed write, unless the reader closed the pipe. Returns: the exit status. */
static int show_failed(int r, int status)
{
	if (r < 0 && r != -EPIPE)
		fprintf(stderr, "retort: standard output: %s: send it elsewhere, or use -o DIR\n",
			strerror(-r));
	if (r < 0 && status == 0)
		status = r == -EPIPE ? 128 + SIGPIPE : 1;
	return status;
}

static void on_network(void *arg, const json_t *row)
{
	put_event(arg, event_network(row));
}

int view_run(struct view *view, const struct once_request *req)
{
	const struct step_listener listener = {.arg = view,
		.started = on_started,
		.output = on_output,
		.display = on_display,
		.network = view->options.output.jsonl ? on_network : NULL};
	struct once_request heard = *req;
	struct once_result result;
	struct err err = {0};
	heard.listener = &listener;
	heard.tail = on_tail;
	int r = once_run(&heard, &result, &err);
	int status = result.exit_status;
	if (result.record)
		status = show_failed(show_result(view, result.record), status);
	json_decref(result.record);
	if (r < 0)
		status = cli_fail(&err, view->options.output.json && !result.record);
	return status;
}

/* ---- showing a step that an engine runs ---- */

static void show_text(struct view *view, int stream, const char *text, size_t bytes)
{
	bool is_red = stream && view->options.error_color;
	struct sink *sink = stream ? &view->err : &view->out;
	view->n_told_bytes[stream] += bytes;
	if (view->options.output.json || view->options.output.jsonl || bytes == 0)
		return;
	if (is_red)
		sink_add(sink, "\033[31m", 5);
	sink_add(sink, text, bytes);
	if (is_red)
		sink_add(sink, "\033[0m", 4);
}

static void show_display(struct view *view, const json_t *display)
{
	view->n_told_displays++;
	if (!view->options.output.json && !view->options.output.jsonl)
		(void)picture_show(&view->picture, display);
}

/* Report that the state is being rebuilt, at most once per REBUILDING_MS. */
static void show_rebuilding(struct view *view, const json_t *event)
{
	const struct output_args *output = &view->options.output;
	bool is_early = view->told_ms > 0 && timer_since(view->told_ms) < REBUILDING_MS;
	if (is_early || !term_is(STDERR_FILENO) || output->quiet || output->json || output->jsonl)
		return;
	view->told_ms = timer_now();
	fprintf(stderr,
		"retort: the session is rebuilt: running step %" JSON_INTEGER_FORMAT
		" of %" JSON_INTEGER_FORMAT "\n",
		json_integer_value(json_object_get(event, "step")),
		json_integer_value(json_object_get(event, "of")));
}

static void show_queued(const struct view *view, const json_t *event)
{
	const struct output_args *output = &view->options.output;
	if (term_is(STDERR_FILENO) && !output->quiet && !output->json && !output->jsonl)
		fprintf(stderr, "retort: another step of the session %s: this one waits\n",
			json_object_get(event, "waiting") ? "waits for input" : "is running");
}

static int stream_of(const char *event)
{
	return strcmp(event, "stdout") == 0 ? 0 : strcmp(event, "stderr") == 0 ? 1 : -1;
}

void view_event(void *arg, const json_t *event)
{
	struct view *view = arg;
	const json_t *text = json_object_get(event, "text");
	const char *name = json_string_value(json_object_get(event, "event"));
	int stream = name ? stream_of(name) : -1;
	/* Ignore the last event, because the response contains the same record. */
	if (!name || strcmp(name, "step.finished") == 0)
		return;
	if (view->options.output.jsonl) {
		json_t *copy = json_copy(json_unconst(event));
		(void)json_object_del(copy, "id");
		put_event(view, copy);
	}
	if (stream >= 0)
		show_text(view, stream, json_string_value(text), json_string_length(text));
	else if (strcmp(name, "display") == 0)
		show_display(view, json_object_get(event, "data"));
	else if (strcmp(name, "rebuilding") == 0)
		show_rebuilding(view, event);
	else if (strcmp(name, "queued") == 0)
		show_queued(view, event);
}

/* Show output of the record that was in no event: the tail of long output, or fast output. */
static void show_rest(struct view *view, int stream, const json_t *record)
{
	const json_t *text = json_object_get(record, stream ? "stderr" : "stdout");
	size_t n_told = view->n_told_bytes[stream], bytes = json_string_length(text);
	if (!json_is_string(text) || n_told >= bytes)
		return;
	if (view->options.output.jsonl)
		put_text(view, stream, json_string_value(text) + n_told, bytes - n_told, true);
	show_text(view, stream, json_string_value(text) + n_told, bytes - n_told);
}

static void show_cut(const struct view *view, int stream, const json_t *record)
{
	const json_t *cut = json_object_get(record, "truncated");
	const json_t *limit = json_object_get(json_object_get(record, "limits"), "output_bytes");
	json_int_t n =
		json_integer_value(json_object_get(cut, stream ? "stderr_bytes" : "stdout_bytes"));
	tell_cut(view, stream, (uint64_t)n,
		(uint64_t)json_integer_value(json_object_get(limit, "value")));
}

static void show_displays(struct view *view, const json_t *record)
{
	const json_t *displays = json_object_get(record, "displays");
	for (size_t i = view->n_told_displays; i < json_array_size(displays); i++) {
		const json_t *display = json_array_get(displays, i);
		if (view->options.output.jsonl)
			put_event(view, event_display(display, NULL));
		show_display(view, display);
	}
}

int view_status(const json_t *record)
{
	static const struct {
		const char *status;
		int exit_status;
	} rows[] = {{"timeout", 124}, {"denied", 126}, {"oom", 128 + SIGKILL}};
	const char *status = json_string_value(json_object_get(record, "status"));
	const json_t *code = json_object_get(record, "exit_code");
	const json_t *error = json_object_get(record, "error");
	const char *name = json_string_value(json_object_get(error, "name"));
	int number = (int)json_integer_value(json_object_get(record, "signal"));
	for (size_t i = 0; status && i < ARRAY_LEN(rows); i++)
		if (strcmp(status, rows[i].status) == 0)
			return rows[i].exit_status;
	if (number > 0)
		return 128 + number;
	if (status && strcmp(status, "killed") == 0)
		return name && strcmp(name, "Interrupted") != 0 ? 125 : 130;
	if (json_is_integer(code))
		return (int)json_integer_value(code) & 255;
	return status && strcmp(status, "ok") == 0 ? 0 : 1;
}

int view_record(struct view *view, const json_t *record)
{
	for (int i = 0; i < 2; i++)
		show_rest(view, i, record);
	show_displays(view, record);
	int status = show_failed(show_result(view, record), view_status(record));
	for (int i = 0; i < 2; i++)
		show_cut(view, i, record);
	show_state(view, record);
	view->n_told_bytes[0] = view->n_told_bytes[1] = view->n_told_displays = 0;
	return status;
}

int view_json(const json_t *json)
{
	return json_print(stdout, json, JSON_INDENT(1));
}
