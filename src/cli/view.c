/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"

#include "api/json.h"
#include "base/num.h"
#include "cli/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SINK_EXTRA_BYTES = 64 << 20 };

void view_init(struct view *view, const struct view_options *options)
{
	/* Text of a stream grows at most so much as JSON; displays and the record come on top. */
	size_t room = (size_t)options->limits->value[LIMIT_output_bytes] * 8 + SINK_EXTRA_BYTES;
	*view = (struct view){.options = *options};
	sink_init(&view->out, STDOUT_FILENO, room);
	sink_init(&view->err, STDERR_FILENO, room);
	picture_init(&view->picture, options->images, options->out_dir, &view->out);
}

void view_done(struct view *view)
{
	sink_done(&view->out);
	sink_done(&view->err);
}

static void put_event(struct view *view, json_t *event)
{
	char *line = json_text(event, JSON_COMPACT | JSON_ENSURE_ASCII);
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
	if (view->options.jsonl)
		put_event(
			view, json_pack("{s:s, s:s}", "event", "step.started", "session", session));
}

/* How many bytes at the end are the start of a character that may go on. */
static size_t unfinished_bytes(const char *data, size_t bytes)
{
	for (size_t n = 1; n < UTF8_MAX_BYTES && n <= bytes; n++) {
		unsigned char c = (unsigned char)data[bytes - n];
		if (c >= 0xc0)
			return n < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? n : 0;
		if (c < 0x80)
			break;
	}
	return 0;
}

/* An event of text; a character cut by the pipe waits for its rest, unless this @is_end. */
static void put_text(struct view *view, int stream, const char *data, size_t bytes, bool is_end)
{
	struct view_rest *rest = &view->rest[stream];
	cleanup_buf struct buf raw = BUF_INIT(bytes + UTF8_MAX_BYTES);
	cleanup_buf struct buf text = BUF_INIT((bytes + UTF8_MAX_BYTES) * 3);
	if (buf_append(&raw, rest->data, rest->bytes) < 0 || buf_append(&raw, data, bytes) < 0)
		return;
	size_t n_rest = is_end ? 0 : unfinished_bytes(buf_str(&raw), raw.bytes);
	size_t n = raw.bytes - n_rest;
	memcpy(rest->data, buf_str(&raw) + n, n_rest);
	rest->bytes = n_rest;
	if (n > 0 && utf8_repair(&text, buf_str(&raw), n, NULL) == 0)
		put_event(view,
			json_pack("{s:s, s:o}", "event", stream ? "stderr" : "stdout", "text",
				json_stringn(buf_str(&text), text.bytes)));
}

static void on_output(void *arg, int stream, const char *data, size_t bytes)
{
	struct view *view = arg;
	if (view->options.jsonl) {
		put_text(view, stream, data, bytes, false);
	} else if (!view->options.json) {
		sink_add(stream ? &view->err : &view->out, data, bytes);
	}
}

static void on_tail(void *arg, int stream, uint64_t cut_bytes, const char *data, size_t bytes)
{
	struct view *view = arg;
	char note[96] = "";
	if (cut_bytes > 0)
		(void)snprintf(note, sizeof note, "\n[... %" PRIu64 " bytes cut ...]\n", cut_bytes);
	on_output(arg, stream, note, strlen(note));
	on_output(arg, stream, data, bytes);
	if (cut_bytes > 0 && !view->options.json && !view->options.jsonl && !view->options.quiet)
		(void)fprintf(stderr,
			"retort: %s: %" PRIu64 " bytes over the limit of %s: raise it with "
			"--output-limit\n",
			stream ? "stderr" : "stdout", cut_bytes,
			num_format_bytes(view->options.limits->value[LIMIT_output_bytes]).text);
}

static void on_display(void *arg, const json_t *display)
{
	struct view *view = arg;
	if (view->options.jsonl) {
		put_event(view,
			json_pack("{s:s, s:O}", "event", "display", "data",
				(json_t *)(uintptr_t)display));
	} else if (!view->options.json) {
		picture_show(&view->picture, display);
	}
}

static void show_value(struct view *view, const json_t *record)
{
	const json_t *value = json_object_get(record, "value");
	const json_t *text = json_object_get(value, "text/plain");
	/* An image says more than its repr. */
	if (json_object_get(value, "image/png") && picture_show(&view->picture, value))
		return;
	if (!json_is_string(text))
		return;
	sink_add(&view->out, json_string_value(text), json_string_length(text));
	sink_add(&view->out, "\n", 1);
}

/* An option that was given and has no effect on this host is never silently ignored. */
static void show_unenforced(const struct view *view, const json_t *record)
{
	static const struct {
		const char *option, *limit;
	} rows[] = {{"memory", "memory_bytes"}, {"cpus", "cpus"}, {"cpu-time", "cpu_ms"},
		{"pids", "pids"}, {"disk", "disk_bytes"}, {"inodes", "disk_inodes"},
		{"file-size", "file_bytes"}, {"open-files", "open_files"}};
	const json_t *limits = json_object_get(record, "limits");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const json_t *limit = json_object_get(limits, rows[i].limit);
		if (opt_source(view->options.set, rows[i].option) != OPT_UNSET &&
			json_is_false(json_object_get(limit, "enforced")))
			(void)fprintf(stderr,
				"retort: --%s is not enforced here: `retort doctor` says "
				"why; a --workspace of the host has no size of its own\n",
				rows[i].option);
	}
}

/* A program's own exception is on its stderr already; what retort did is said here. */
static void show_end(const struct view *view, const json_t *record)
{
	const char *status = json_string_value(json_object_get(record, "status"));
	const json_t *error = json_object_get(record, "error");
	const char *message = json_string_value(json_object_get(error, "message"));
	static const struct {
		const char *status, *part, *hint; /* of the message: tells one limit from another */
	} hints[] = {
		{"timeout", "CPU time", "give it more with --cpu-time"},
		{"timeout", "wall time", "give it more with --timeout"},
		{"oom", "", "give it more with --memory"},
		{"killed", "", "see --json for the whole record"},
	};
	cleanup_buf struct buf safe = BUF_INIT(8 * ERR_MSG_BYTES);
	if (view->options.quiet || !message ||
		utf8_escape_terminal(&safe, message, strlen(message), UTF8_ONE_LINE) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(hints); i++)
		if (strcmp(status, hints[i].status) == 0 && strstr(message, hints[i].part))
			(void)fprintf(stderr, "retort: %s: %s: %s\n", status, buf_str(&safe),
				hints[i].hint);
}

static int show_result(struct view *view, const struct run_result *result)
{
	int r;
	if (view->options.json) {
		char *text = json_text(result->record, JSON_INDENT(1));
		if (!text)
			return -ENOMEM;
		sink_add(&view->out, text, strlen(text));
		sink_add(&view->out, "\n", 1);
		free(text);
	} else if (view->options.jsonl) {
		for (int i = 0; i < 2; i++)
			put_text(view, i, "", 0, true);
		put_event(view,
			json_pack(
				"{s:s, s:O}", "event", "step.finished", "result", result->record));
	} else {
		show_value(view, result->record);
	}
	r = sink_flush(&view->out);
	(void)sink_flush(&view->err);
	if (!view->options.json && !view->options.jsonl)
		show_end(view, result->record);
	if (!view->options.quiet)
		show_unenforced(view, result->record);
	return r;
}

/* Output that was lost is an error, but for a reader that had enough. Returns: the exit status. */
static int show_failed(int r, int status)
{
	if (r < 0 && r != -EPIPE)
		(void)fprintf(stderr,
			"retort: standard output: %s: send it elsewhere, or use -o DIR\n",
			strerror(-r));
	if (r < 0 && status == 0)
		status = r == -EPIPE ? 128 + SIGPIPE : 1;
	return status;
}

int view_run(struct view *view, const struct run_request *req)
{
	const struct run_events events = {.arg = view,
		.started = on_started,
		.output = on_output,
		.tail = on_tail,
		.display = on_display};
	struct run_result result;
	struct err err = {0};
	int r = run_once(req, &events, &result, &err);
	int status = result.exit_status;
	if (result.record)
		status = show_failed(show_result(view, &result), status);
	json_decref(result.record);
	if (r < 0)
		status = cli_fail(&err, view->options.json && !result.record);
	return status;
}
