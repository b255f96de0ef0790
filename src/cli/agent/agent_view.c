/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent/agent_view.h"

#include "api/text/json.h"
#include "api/text/observation.h"
#include "base/attr.h"
#include "base/json.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ROOM_BYTES = 256 << 20,
	SHOWN_BYTES = 64 << 20,
	NOTE_BYTES = 4096,
	VALUE_BYTES = 4096,
	REFUSALS_BYTES = 16 << 10,
	QUERIES_SHOWN = 10,
	NUMBERS_SHOWN = 10
};

void agent_view_init(struct agent_view *view, int images)
{
	sink_init(&view->out, STDOUT_FILENO, ROOM_BYTES);
	sink_init(&view->err, STDERR_FILENO, ROOM_BYTES);
	view->said = BUF_INIT(SHOWN_BYTES);
	picture_init(&view->picture, images, NULL, &view->out);
}

void agent_view_done(struct agent_view *view)
{
	sink_done(&view->out);
	sink_done(&view->err);
	buf_done(&view->said);
}

static void put(struct agent_view *view, const char *text)
{
	sink_add(&view->err, text, strlen(text));
}

/* Append a text of the model or the box to stderr. Terminal control characters in it are
 * escaped. */
static void put_text(struct agent_view *view, const char *text, size_t bytes)
{
	struct buf safe = BUF_INIT(SHOWN_BYTES);
	if (bytes > 0 && utf8_escape_terminal(&safe, text, bytes, UTF8_KEEP_LINES) == 0) {
		sink_add(&view->err, safe.data, safe.bytes);
		view->is_inside = text[bytes - 1] != '\n';
	}
	buf_done(&safe);
}

static void end_line(struct agent_view *view)
{
	if (view->is_inside)
		put(view, "\n");
	view->is_inside = false;
}

/* Append a line of retort itself to stderr. @code: the escape sequence of its colour. */
static attr_printf(3, 4) void note(struct agent_view *view, const char *code, const char *fmt, ...)
{
	char text[NOTE_BYTES];
	struct buf safe = BUF_INIT(4 * NOTE_BYTES);
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	end_line(view);
	if (n < 0 || utf8_escape_terminal(&safe, text, strlen(text), UTF8_ONE_LINE) < 0)
		return;
	if (view->has_color)
		put(view, code);
	put(view, buf_str(&safe));
	put(view, view->has_color ? "\033[0m\n" : "\n");
	buf_done(&safe);
}

#define DIM    "\033[2m"
#define HEAD   "\033[1;36m"
#define YELLOW "\033[33m"

/* ---- showing events ---- */

static json_int_t count(const json_t *event, const char *name)
{
	return json_integer_value(json_object_get(event, name));
}

/* Show a line that says which model is asked. If colours are on, the next output replaces this
 * line. */
static void show_asked(struct agent_view *view, const json_t *event)
{
	buf_clear(&view->said);
	note(view, DIM, "── asking %.60s …", json_get_text(event, "model"));
	view->is_asking = view->has_color;
}

static void end_asking(struct agent_view *view)
{
	if (view->is_asking)
		put(view, "\033[A\r\033[K");
	view->is_asking = false;
}

static void show_restart(struct agent_view *view, const json_t *event)
{
	buf_clear(&view->said);
	note(view, YELLOW, "── the reply broke off (%s); the model is asked again",
		json_get_text(event, "why"));
}

/* Show a piece of the model's reply. Store it in `said`, so that the answer is not shown twice. */
static void show_delta(struct agent_view *view, const json_t *event)
{
	const json_t *text = json_object_get(event, "text");
	buf_append(&view->said, json_string_value(text), json_string_length(text));
	put_text(view, json_string_value(text), json_string_length(text));
}

static void show_said(struct agent_view *view, const json_t *event)
{
	const json_t *text = json_object_get(event, "text");
	put_text(view, json_string_value(text), json_string_length(text));
}

static void show_code(struct agent_view *view, const json_t *event)
{
	note(view, HEAD, "── step %" JSON_INTEGER_FORMAT " · %s", count(event, "number"),
		json_get_text(event, "runtime"));
}

static void show_display(struct agent_view *view, const json_t *event)
{
	end_line(view);
	(void)sink_flush(&view->err);
	if (isatty(STDOUT_FILENO))
		(void)picture_show(&view->picture, json_object_get(event, "data"));
}

/* Show what the network has refused, as the model sees it. */
static void show_refusals(struct agent_view *view, const json_t *record)
{
	cleanup_buf struct buf text = BUF_INIT(REFUSALS_BYTES);
	if (!observation_refusals(&text, record, PLACE_RUN))
		return;
	for (const char *line = buf_str(&text); *line; line += strcspn(line, "\n") + 1)
		note(view, DIM, "── %.*s", (int)strcspn(line, "\n"), line);
}

static void show_finished(struct agent_view *view, const json_t *event)
{
	const json_t *record = json_object_get(event, "result");
	const json_t *value = json_object_get(json_object_get(record, "value"), "text/plain");
	const char *message = json_get_text(json_object_get(record, "error"), "message");
	const json_t *wall = json_object_get(json_object_get(record, "usage"), "wall_ms");
	const char *status = json_get_text(record, "status");
	bool is_good = strcmp(status, "ok") == 0;
	end_line(view);
	put_text(view, json_string_value(value),
		utf8_cut(json_string_value(value) ? json_string_value(value) : "",
			json_string_length(value), VALUE_BYTES));
	note(view, is_good ? DIM : YELLOW, "── %s, %.0f ms%s%.*s", status, json_number_value(wall),
		message[0] ? ": " : "", (int)strcspn(message, "\n"), message);
	show_refusals(view, record);
}

static void show_wait(struct agent_view *view, const json_t *event)
{
	note(view, YELLOW, "── %s: trying again in %.1f s", json_get_text(event, "message"),
		(double)count(event, "wait_ms") / 1000);
}

static void show_budget(struct agent_view *view, const json_t *event)
{
	note(view, YELLOW, "── %s: %.6g of %.6g used", json_get_text(event, "budget"),
		json_number_value(json_object_get(event, "used")),
		json_number_value(json_object_get(event, "limit")));
}

static void show_stuck(struct agent_view *view, const json_t *event)
{
	note(view, YELLOW, "── the same code with the same result, %" JSON_INTEGER_FORMAT " times",
		count(event, "times"));
}

/* Append the numbers as in "12, 93 and 4". Numbers after the first NUMBERS_SHOWN are only
 * counted: "12, 93, 4 and 2 more". */
static int list(struct buf *out, const json_t *numbers)
{
	size_t n = json_array_size(numbers), n_shown = MIN(n, NUMBERS_SHOWN);
	int r = 0;
	for (size_t i = 0; i < n_shown && r == 0; i++)
		r = buf_addf(out, "%s%s",
			i == 0		    ? ""
				: i + 1 < n ? ", "
					    : " and ",
			json_string_value(json_array_get(numbers, i)));
	if (r == 0 && n > n_shown)
		r = buf_addf(out, " and %zu more", n - n_shown);
	return r;
}

static void show_answer(struct agent_view *view, const json_t *event)
{
	const json_t *numbers = json_object_get(event, "ungrounded");
	struct buf text = BUF_INIT(NOTE_BYTES);
	if (json_array_size(numbers) > 0 && list(&text, numbers) == 0)
		note(view, YELLOW, "── the answer contains %s, which no step printed",
			buf_str(&text));
	buf_done(&text);
}

static void show_images(struct agent_view *view, const json_t *event)
{
	note(view, YELLOW, "── the model cannot read images: %" JSON_INTEGER_FORMAT " left out",
		count(event, "left_out"));
}

static void show_resumed(struct agent_view *view, const json_t *event)
{
	const char *difference = json_get_text(event, "difference");
	note(view, DIM, "── the task is resumed; state of its session: %s%s%s",
		json_get_text(event, "outcome"), difference[0] ? ": " : "", difference);
}

static void show_unkept(struct agent_view *view, const json_t *event)
{
	note(view, YELLOW, "── the task cannot be resumed later: %s",
		json_get_text(event, "message"));
}

static void show_check(struct agent_view *view, const json_t *event)
{
	note(view, DIM, "── the check %s",
		json_is_true(json_object_get(event, "passed")) ? "passed" : "failed");
}

/* Show a query that failed. Queries that succeeded are not shown one by one. Instead, a line
 * with the number of queries is shown after every QUERIES_SHOWN of them. */
static void show_query(struct agent_view *view, const json_t *event)
{
	const char *error = json_get_text(event, "error");
	if (strcmp(json_get_text(event, "state"), "finished") != 0)
		return;
	if (error[0])
		note(view, YELLOW, "── query %" JSON_INTEGER_FORMAT ": %s: %s",
			count(event, "number"), error, json_get_text(event, "message"));
	else if (count(event, "number") % QUERIES_SHOWN == 0)
		note(view, DIM, "── %" JSON_INTEGER_FORMAT " queries", count(event, "number"));
}

static void show_message(struct agent_view *view, const json_t *event)
{
	if (!view->is_round)
		return;
	view->is_round = false;
	show_delta(view, event);
	end_line(view);
}

/* ---- events about candidates, and the table of all events ---- */

static void show_candidate(struct agent_view *view, const json_t *event)
{
	const json_t *of = json_object_get(event, "of");
	const json_t *record = json_object_get(of, "result");
	json_int_t number = count(event, "candidate");
	const char *name = json_get_text(of, "event");
	if (strcmp(name, "step.finished") == 0)
		note(view, DIM, "── candidate %" JSON_INTEGER_FORMAT ": %s, %.0f ms", number,
			json_get_text(record, "status"),
			json_number_value(
				json_object_get(json_object_get(record, "usage"), "wall_ms")));
	else if (strcmp(name, "check") == 0)
		note(view, DIM, "── candidate %" JSON_INTEGER_FORMAT ": the check %s", number,
			json_is_true(json_object_get(of, "passed")) ? "passed" : "failed");
	else if (strcmp(name, "model.wait") == 0)
		show_wait(view, of);
}

/* Show which candidate was chosen, and why, in a sentence. */
static void show_chosen(struct agent_view *view, const json_t *event)
{
	static const char *const reasons[][2] = {{"only", "no other has a result"},
		{"check", "it passes the check"}, {"success", "it ended without an error"},
		{"majority", "most have its result"}, {"first", "no two have the same result"}};
	const char *why = json_get_text(event, "why");
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (strcmp(why, reasons[i][0]) == 0)
			why = reasons[i][1];
	note(view, HEAD,
		"── candidate %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
		", %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " votes: %s",
		count(event, "chosen"), count(event, "asked"), count(event, "votes"),
		count(event, "of"), why);
}

static void show_candidates(struct agent_view *view, const json_t *event)
{
	const char *state = json_get_text(event, "state");
	if (strcmp(state, "asked") == 0) {
		view->is_round = true;
		note(view, DIM, "── %" JSON_INTEGER_FORMAT " candidates", count(event, "asked"));
	} else if (strcmp(state, "chosen") == 0) {
		show_chosen(view, event);
	} else {
		note(view, YELLOW,
			"── no branch: %s: %" JSON_INTEGER_FORMAT " candidates per step now",
			json_get_text(event, "message"), count(event, "left"));
	}
}

static void show_interrupt(struct agent_view *view, const json_t *event)
{
	note(view, YELLOW,
		json_is_true(json_object_get(event, "ends"))
			? "── the task is stopped"
			: "── the step is stopped; Ctrl-C again ends the task");
}

static const struct {
	const char *event;
	void (*show)(struct agent_view *view, const json_t *event);
} rows[] = {
	{"model.asked", show_asked},
	{"model.delta", show_delta},
	{"model.message", show_message},
	{"model.wait", show_wait},
	{"model.restart", show_restart},
	{"step.code", show_code},
	{"stdout", show_said},
	{"stderr", show_said},
	{"display", show_display},
	{"step.finished", show_finished},
	{"budget", show_budget},
	{"stuck", show_stuck},
	{"answer", show_answer},
	{"check", show_check},
	{"query", show_query},
	{"candidate", show_candidate},
	{"candidates", show_candidates},
	{"interrupt", show_interrupt},
	{"images", show_images},
	{"agent.resumed", show_resumed},
	{"agent.unkept", show_unkept},
};

static void put_json(struct agent_view *view, const json_t *event)
{
	char *line = json_text(event, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (!line)
		return;
	if (view->is_events) {
		sink_add(&view->out, line, strlen(line));
		sink_add(&view->out, "\n", 1);
	}
	if (view->record) {
		fprintf(view->record, "%s\n", line);
		(void)fflush(view->record);
	}
	free(line);
}

/* Report on stderr that the agent waits. Do so even if stderr is a pipe, because its reader has
 * to wait too. */
static void tell_wait(const json_t *event)
{
	cleanup_buf struct buf safe = BUF_INIT(4 * NOTE_BYTES);
	const char *message = json_get_text(event, "message");
	(void)utf8_escape_terminal(
		&safe, message, utf8_cut(message, strlen(message), NOTE_BYTES), UTF8_ONE_LINE);
	fprintf(stderr, "retort: %s: trying again in %.1f s\n", buf_str(&safe),
		(double)count(event, "wait_ms") / 1000);
}

void agent_view_event(void *arg, const json_t *event)
{
	struct agent_view *view = arg;
	const char *name = json_get_text(event, "event");
	if (view->is_events || view->record)
		put_json(view, event);
	if (!view->is_live && view->tells_waits && strcmp(name, "model.wait") == 0)
		tell_wait(event);
	for (size_t i = 0; view->is_live && i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].event, name) == 0) {
			end_asking(view);
			rows[i].show(view, event);
		}
}

/* ---- showing the result of the agent ---- */

/* Warn that fewer candidates were tried than the user asked for. This is shown even if progress
 * is not. */
static void warn_of_refusal(const json_t *result)
{
	const json_t *refused = json_object_get(json_object_get(result, "candidates"), "refused");
	if (refused)
		fprintf(stderr,
			"retort: --best-of: %s: %" JSON_INTEGER_FORMAT
			" candidates per step from then on\n",
			json_get_text(refused, "message"), count(refused, "left"));
}

static void warn_of_numbers(const json_t *result)
{
	struct buf text = BUF_INIT(NOTE_BYTES);
	if (json_is_false(json_object_get(result, "grounded")) &&
		list(&text, json_object_get(result, "ungrounded")) == 0)
		fprintf(stderr,
			"retort: ungrounded: the answer contains %s, which no step printed: "
			"do not rely on it\n",
			buf_str(&text));
	buf_done(&text);
}

static void show_cost(struct agent_view *view, const json_t *result)
{
	const json_t *usage = json_object_get(result, "usage");
	const json_t *cost = json_object_get(usage, "cost_usd");
	char money[40] = "";
	if (cost)
		snprintf(money, sizeof money, ", %.4f USD", json_number_value(cost));
	note(view, DIM,
		"── %" JSON_INTEGER_FORMAT " step%s, %.1f s, %s%" JSON_INTEGER_FORMAT
		" tokens read, %" JSON_INTEGER_FORMAT " written%s",
		count(result, "steps"), count(result, "steps") == 1 ? "" : "s",
		(double)count(result, "wall_ms") / 1000,
		json_is_true(json_object_get(usage, "is_estimated")) ? "about " : "",
		count(usage, "input"), count(usage, "output"), money);
	const json_t *queries = json_object_get(result, "queries");
	const json_t *part = json_object_get(queries, "usage");
	if (count(queries, "count") > 0)
		note(view, DIM,
			"   including %" JSON_INTEGER_FORMAT
			" queries by the code, %" JSON_INTEGER_FORMAT
			" tokens read, %" JSON_INTEGER_FORMAT " written",
			count(queries, "count"), count(part, "input"), count(part, "output"));
}

/* Write the answer to stdout. A program gets it unchanged; on a terminal its control characters
 * are escaped. */
static void put_answer(struct agent_view *view, const char *answer, size_t bytes)
{
	struct buf safe = BUF_INIT(SHOWN_BYTES);
	bool is_safe = isatty(STDOUT_FILENO) &&
		utf8_escape_terminal(&safe, answer, bytes, UTF8_KEEP_LINES) == 0;
	if (is_safe)
		sink_add(&view->out, buf_str(&safe), safe.bytes);
	else if (!isatty(STDOUT_FILENO))
		sink_add(&view->out, answer, bytes);
	if (answer[bytes - 1] != '\n')
		sink_add(&view->out, "\n", 1);
	buf_done(&safe);
}

static size_t trimmed(const char *text, size_t bytes)
{
	while (bytes > 0 && strchr(" \t\r\n", text[bytes - 1]))
		bytes--;
	return bytes;
}

/* Return whether the answer is on the terminal already, because the model's last text ended with
 * it. */
static bool is_shown(const struct agent_view *view, const char *answer, size_t bytes)
{
	size_t said = trimmed(buf_str(&view->said), view->said.bytes);
	bytes = trimmed(answer, bytes);
	return view->is_live && isatty(STDOUT_FILENO) && bytes > 0 && bytes <= said &&
		memcmp(buf_str(&view->said) + said - bytes, answer, bytes) == 0;
}

int agent_view_result(struct agent_view *view, const json_t *result, bool is_quiet)
{
	json_t *event = json_pack("{s:s, s:O}", "event", "agent.finished", "result", result);
	const json_t *text = json_object_get(result, "answer");
	const char *answer = json_string_value(text);
	size_t bytes = json_string_length(text);
	end_asking(view);
	if (event && (view->is_events || view->record))
		put_json(view, event);
	json_decref(event);
	if (view->is_live)
		show_cost(view, result);
	(void)sink_flush(&view->err);
	if (!view->is_events && bytes > 0 && !is_shown(view, answer, bytes))
		put_answer(view, answer, bytes);
	int r = sink_flush(&view->out);
	if (!is_quiet)
		warn_of_numbers(result);
	if (!is_quiet)
		warn_of_refusal(result);
	return r;
}
