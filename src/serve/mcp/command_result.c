/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/command_result.h"

#include "api/text/observation.h"
#include "api/text/printable.h"
#include "base/attr.h"
#include "base/json.h"
#include "base/utf8.h"
#include "serve/mcp/call.h"
#include "serve/mcp/result.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/*
 * TEXT_MAX: limit on a text, far above what is shown. PLAIN_MAX: of the output of a stream, which
 * the engine has limited; a control character becomes three bytes. OVERHEAD_CHARACTERS: room for
 * headings and for the lines that replace what was cut. RUNNING_CHARACTERS: a running process is
 * looked at again and again, so less of it is shown. KEPT_BYTES: longer output is cut in _meta.
 */
enum {
	TEXT_MAX = 1 << 20,
	PLAIN_MAX = 64 << 20,
	OVERHEAD_CHARACTERS = 600,
	RUNNING_CHARACTERS = 4000,
	KEPT_BYTES = 10000,
	LINE_BYTES = 120,
	SHOWN = 60
};

static const char *const streams[] = {"stdout", "stderr"};

/* ---- how a process ended ---- */

static bool is_running(const json_t *about)
{
	return strcmp(json_get_text(about, "state"), "running") == 0;
}

/* Return the word for the state of a process, one of those that the record of a step has. */
static const char *status_of(const json_t *about)
{
	const json_t *code = json_object_get(about, "exit_code");
	if (is_running(about))
		return "running";
	if (json_get_bool(about, "timed_out"))
		return "timeout";
	if (json_get_bool(about, "oom"))
		return "oom";
	if (!code)
		return "killed";
	return json_integer_value(code) == 0 ? "ok" : "error";
}

static bool is_good(const char *status)
{
	return strcmp(status, "ok") == 0 || strcmp(status, "running") == 0;
}

/* Append how the process ended: "error: exit 3, 12 ms". */
static void add_end(struct buf *b, const json_t *about)
{
	static const struct {
		const char *ended, *text;
	} rows[] = {
		{"box", "its box has ended, "},
		{"state", "the session returned to an earlier state, "},
		{"close", "the session was closed, "},
	};
	const char *status = status_of(about), *ended = json_get_text(about, "ended");
	int64_t ms = json_get_int(about, "wall_ms"), signal = json_get_int(about, "signal");
	const char *word = signal > 0 && signal < SIGRTMIN ? sigabbrev_np((int)signal) : NULL;
	buf_addf(b, "%s: ", status);
	if (strcmp(status, "timeout") == 0)
		buf_add(b, "over its time limit, ");
	if (strcmp(status, "oom") == 0)
		buf_add(b, "out of memory, ");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].ended, ended) == 0)
			buf_add(b, rows[i].text);
	if (json_object_get(about, "exit_code"))
		buf_addf(b, "exit %" PRId64 ", ", json_get_int(about, "exit_code"));
	if (word)
		buf_addf(b, "signal %s, ", word);
	else if (signal)
		buf_addf(b, "signal %" PRId64 ", ", signal);
	if (ms < 1000)
		buf_addf(b, "%" PRId64 " ms", ms);
	else
		buf_addf(b, "%.1f s", (double)ms / 1000);
}

/* Append the arguments with which the tool process_output finds this process. The texts are ids,
 * which need no escapes. */
static void add_call(struct buf *b, const struct mcp_command_report *report)
{
	buf_addf(b, "process_output {\"process\": \"%.*s\"", SHOWN,
		json_get_text(report->about, "process"));
	if (!report->is_default_session)
		buf_addf(b, ", \"session\": \"%.*s\"", SHOWN,
			json_get_text(report->about, "session"));
}

static void add_verdict(struct buf *b, const struct mcp_command_report *report)
{
	add_end(b, report->about);
	if (is_running(report->about)) {
		buf_add(b, " so far. Call ");
		add_call(b, report);
		buf_add(b, report->has_input ? "}, with stdin: a line with its \\n" : "}");
	}
	if (report->is_new)
		buf_addf(b, "%s in a new session", is_running(report->about) ? ";" : ",");
	buf_add(b, "\n");
}

/* ---- its output ---- */

struct section {
	const char *stream;
	const struct mcp_command_output *out;
	struct buf plain;
	size_t n, share; /* length and what is shown of it, in characters */
};

static void fill(struct section *s, const char *stream, const struct mcp_command_output *out)
{
	*s = (struct section){.stream = stream, .out = out, .plain = BUF_INIT(PLAIN_MAX)};
	(void)printable_add(&s->plain, buf_str(&out->raw), out->raw.bytes);
	while (s->plain.bytes > 0 && s->plain.data[s->plain.bytes - 1] == '\n')
		s->plain.data[--s->plain.bytes] = '\0';
	s->n = utf8_count(buf_str(&s->plain), s->plain.bytes);
}

/* Divide @room: a short section is shown whole, and leaves its room to the other one. */
static void divide(struct section *a, struct section *b, size_t room)
{
	size_t half = room / 2;
	size_t least_a = MIN(a->n, half), least_b = MIN(b->n, half);
	a->share = MIN(a->n, room - least_b);
	b->share = MIN(b->n, room - least_a);
}

static void add_section(
	struct buf *b, const struct section *s, const struct mcp_command_report *report)
{
	cleanup_buf struct buf rest = BUF_INIT(TEXT_MAX);
	if (s->plain.bytes == 0)
		return;
	bool is_line = s->n <= s->share && !memchr(s->plain.data, '\n', s->plain.bytes);
	add_call(&rest, report);
	buf_addf(&rest, ", \"stream\": \"%s\", \"offset\": 0}", s->stream);
	buf_addf(b, "%s:%s", s->stream, is_line ? " " : "\n");
	(void)printable_cut(b, s->plain.data, s->plain.bytes, s->share, buf_str(&rest));
	buf_add(b, "\n");
	if (s->out->lost_bytes > 0)
		buf_addf(b, "[%" PRIu64 " bytes from the middle of it were not kept]\n",
			s->out->lost_bytes);
}

static void add_both(
	struct buf *b, struct section sections[2], const struct mcp_command_report *report)
{
	size_t used = utf8_count(buf_str(b), b->bytes) + OVERHEAD_CHARACTERS;
	size_t room = is_running(report->about) ? RUNNING_CHARACTERS : OBSERVATION_CHARACTERS;
	divide(&sections[0], &sections[1], room - MIN(used, room));
	add_section(b, &sections[0], report);
	add_section(b, &sections[1], report);
	if (sections[0].n + sections[1].n == 0)
		buf_add(b, "no output\n");
}

/* Show a part of one stream, from the offset that the caller gave. */
static void add_part(struct buf *b, struct section *s, const struct mcp_command_report *report)
{
	char name[SHOWN];
	snprintf(name, sizeof name, "%s_bytes", s->stream);
	int64_t total = json_get_int(report->about, name);
	s->share = OBSERVATION_CHARACTERS;
	buf_addf(b, "%s: %" PRId64 " bytes", s->stream, total);
	if (is_running(report->about) || (int64_t)s->out->next < total)
		buf_addf(b, ", more from offset %" PRIu64, s->out->next);
	buf_add(b, "\n");
	if (s->out->lost_bytes > 0)
		buf_addf(b, "[%" PRIu64 " bytes before this were not kept]\n", s->out->lost_bytes);
	(void)printable_cut(b, buf_str(&s->plain), s->plain.bytes, s->share, NULL);
}

static void put_output(json_t *record, const struct section *s)
{
	cleanup_buf struct buf cut = BUF_INIT(PLAIN_MAX);
	const struct buf *raw = &s->out->raw;
	if (raw->bytes <= KEPT_BYTES) {
		json_put_new(record, s->stream, mcp_text(buf_str(raw), raw->bytes));
		return;
	}
	(void)printable_cut(&cut, buf_str(&s->plain), s->plain.bytes, s->share, NULL);
	json_put_new(record, s->stream, mcp_text(buf_str(&cut), cut.bytes));
}

static json_t *whole(struct buf *text, bool is_error, json_t *record, bool is_structured)
{
	if (text->bytes > 0 && text->data[text->bytes - 1] == '\n')
		text->data[--text->bytes] = '\0';
	json_t *result = mcp_result_text(buf_str(text), text->bytes);
	json_t *meta = json_need(json_object());
	json_put_bool(result, "isError", is_error);
	json_put_shared(meta, "retort/result", record);
	json_put_new(result, "_meta", meta);
	if (is_structured)
		json_put_shared(result, "structuredContent", record);
	json_decref(record);
	return result;
}

json_t *mcp_command_result(const struct mcp_command_report *report)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
	struct section sections[2];
	const char *status = status_of(report->about);
	json_t *record = json_need(json_copy(json_unconst(report->about)));
	json_put_text(record, "status", status);
	add_verdict(&text, report);
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		fill(&sections[i], streams[i], &report->out[i]);
	for (size_t i = 0; report->stream && i < ARRAY_LEN(sections); i++)
		if (strcmp(streams[i], report->stream) == 0) {
			add_part(&text, &sections[i], report);
			json_put_int(record, "next_offset", (int64_t)report->out[i].next);
		}
	if (!report->stream)
		add_both(&text, sections, report);
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		if (!report->stream || strcmp(streams[i], report->stream) == 0)
			put_output(record, &sections[i]);
		buf_done(&sections[i].plain);
	}
	return whole(&text, !is_good(status), record, report->is_structured);
}

/* ---- the list of processes ---- */

/* Append the beginning of a command line: of the line that run_command gave to a shell, if it is
 * one. */
static void add_command(struct buf *b, const json_t *one)
{
	cleanup_buf struct buf line = BUF_INIT(TEXT_MAX), plain = BUF_INIT(TEXT_MAX);
	const json_t *argv = json_object_get(one, "argv");
	size_t n = json_array_size(argv);
	bool is_shell = n == 3 &&
		strcmp(json_string_value(json_array_get(argv, 0)), "/bin/sh") == 0 &&
		strcmp(json_string_value(json_array_get(argv, 1)), "-c") == 0;
	for (size_t i = is_shell ? 2 : 0; i < n && line.bytes <= LINE_BYTES; i++)
		buf_addf(&line, "%s%s", line.bytes > 0 ? " " : "",
			json_string_value(json_array_get(argv, i)));
	buf_add(&line, json_get_text(one, "command"));
	size_t bytes = strcspn(buf_str(&line), "\n");
	(void)printable_add(&plain, buf_str(&line), bytes);
	size_t shown = utf8_cut(buf_str(&plain), plain.bytes, LINE_BYTES);
	buf_append(b, buf_str(&plain), shown);
	buf_add(b, shown < plain.bytes || bytes < line.bytes ? "…\n" : "\n");
}

static void add_process(struct buf *b, const json_t *one)
{
	const char *id = json_get_text(one, "process"), *of = json_get_text(one, "of"),
		   *step = json_get_text(one, "step");
	if (id[0]) {
		buf_addf(b, "%.*s (", SHOWN, id);
		add_end(b, one);
		buf_add(b, ")");
	} else {
		buf_addf(b, "pid %" PRId64, json_get_int(one, "pid"));
		if (of[0] || step[0])
			buf_addf(b, ", of %s%.*s", of[0] ? "" : "step ", SHOWN, of[0] ? of : step);
	}
	buf_add(b, ": ");
	add_command(b, one);
}

json_t *mcp_command_list(const json_t *processes, bool is_structured)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
	json_t *record = json_need(json_object()), *one;
	size_t i;
	json_array_foreach(processes, i, one)
	{
		if (text.bytes > OBSERVATION_CHARACTERS - OVERHEAD_CHARACTERS) {
			buf_addf(&text, "… and %zu more\n", json_array_size(processes) - i);
			break;
		}
		add_process(&text, one);
	}
	if (text.bytes == 0)
		buf_add(&text, "no processes\n");
	json_put_text(record, "status", "ok");
	json_put_shared(record, "processes", processes);
	return whole(&text, false, record, is_structured);
}
