/* Terminals of the front "open-terminal": made, listed, ended; socket.c is for who looks at them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/openterminal/inside.h"

#include "base/base64.h"
#include "base/id.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ID_BYTES = 21, DATE_BYTES = 40, LAST_BYTES = 64 << 10, TERMINAL_OUTPUT_BYTES = 256 << 10 };

static bool is_of_chat(const struct front_call *c, const json_t *terminal)
{
	return terminal && !json_get_bool(terminal, "opening") &&
		strcmp(json_get_text(terminal, "chat"), json_get_text(c->kept, "chat")) == 0;
}

static json_t *terminal_json(const char *id, const json_t *terminal)
{
	return json_pack("{s:s, s:O, s:O}", "id", id, "created_at",
		json_object_get(terminal, "created"), "pid", json_object_get(terminal, "pid"));
}

/* ---- making one ---- */

static void on_opened(struct front_call *c, const json_t *about, const struct err *err)
{
	const struct ot_box *b = ot_find(c);
	const char *id = json_get_text(c->kept, "terminal");
	char date[DATE_BYTES];
	time_t now = time(NULL);
	struct tm at;
	if (b)
		(void)json_object_del(b->terminals, id);
	if (!about || !b) {
		struct err gone = {.code = ERR_GONE, .msg = "the box has ended"};
		front_fail(c, about ? &gone : err);
		return;
	}
	(void)gmtime_r(&now, &at);
	(void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &at);
	json_t *terminal = json_need(json_pack("{s:O, s:O, s:O, s:s, s:I, s:b}", "process",
		json_object_get(about, "process"), "chat", json_object_get(c->kept, "chat"), "pid",
		json_object_get(about, "pid"), "created", date, "since_ms", (json_int_t)ot_now(),
		"connected", 0));
	json_put_new(b->terminals, id, terminal);
	front_answer(c, 200, terminal_json(id, terminal));
}

/* Count a terminal that is being opened, whose id nobody knows. */
static void reserve(struct front_call *c, const struct ot_box *b)
{
	char id[ID_BYTES];
	id_make(id, sizeof id, "");
	json_put_text(c->kept, "terminal", id);
	json_put_new(b->terminals, id, json_pack("{s:b, s:b}", "opening", 1, "connected", 1));
}

static void on_counted(struct front_call *c, const json_t *result, const struct err *err);

/* List the processes of the box, and note when: terminals that were opened later may be missing. */
static void list_processes(struct front_call *c,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err))
{
	json_put_int(c->kept, "asked_ms", (int64_t)ot_now());
	front_operate(c, "process.list", ot_params(c), answered);
}

static void new_terminal(struct front_call *c)
{
	list_processes(c, on_counted);
}

void ot_start_new_terminal(struct front_call *c)
{
	ot_enter(c, new_terminal);
}

/* ---- listing ---- */

/* Forget the terminals of the box whose programs have ended: those that were there when @list was
 * asked for, and are not in it. */
static void drop_dead(const struct front_call *c, const struct ot_box *b, const json_t *list)
{
	const char *id;
	json_t *terminal, *about;
	void *next;
	size_t i;
	json_object_foreach_safe(b->terminals, next, id, terminal)
	{
		bool is_alive = json_get_bool(terminal, "opening") ||
			json_get_int(terminal, "since_ms") >= json_get_int(c->kept, "asked_ms");
		json_array_foreach(list, i, about) is_alive |=
			strcmp(json_get_text(about, "process"),
				json_get_text(terminal, "process")) == 0 &&
			strcmp(json_get_text(about, "state"), "running") == 0;
		if (!is_alive)
			(void)json_object_del(b->terminals, id);
	}
}

static void on_counted(struct front_call *c, const json_t *result, const struct err *err)
{
	const struct ot_box *b = ot_find(c);
	if (!result || !b) {
		struct err gone = {.code = ERR_GONE, .msg = "the box has ended"};
		front_fail(c, result ? &gone : err);
		return;
	}
	drop_dead(c, b, json_object_get(result, "processes"));
	if (json_object_size(b->terminals) >= OT_TERMINALS_MAX) {
		ot_refuse_terminal(c, 429, "Maximum number of terminal sessions (16) reached");
		return;
	}
	reserve(c, b);
	json_t *params = ot_params(c);
	json_put_shared(params, "cwd", json_object_get(c->kept, "cwd"));
	json_put_bool(params, "keep_alive", true);
	json_put_bool(params, "hold", false);
	json_put_int(params, "output_bytes", TERMINAL_OUTPUT_BYTES);
	front_operate(c, "terminal.open", params, on_opened);
}

static void on_listed(struct front_call *c, const json_t *result, const struct err *err)
{
	const struct ot_box *b = ot_find(c);
	json_t *all, *terminal;
	const char *id;
	if (!result) {
		front_fail(c, err);
		return;
	}
	all = json_need(json_array());
	if (b)
		drop_dead(c, b, json_object_get(result, "processes"));
	json_object_foreach(b ? b->terminals : NULL, id, terminal)
	{
		if (is_of_chat(c, terminal))
			json_add_new(all, terminal_json(id, terminal));
	}
	front_answer(c, 200, all);
}

static void list(struct front_call *c)
{
	list_processes(c, on_listed);
}

void ot_start_terminals(struct front_call *c)
{
	ot_enter(c, list);
}

/* ---- one terminal ---- */

/* Find the terminal of the path. Returns: NULL, and the request was answered, if there is none. */
static const json_t *read_terminal(struct front_call *c)
{
	char id[OT_PATH_BYTES];
	const struct ot_box *b = ot_find(c);
	bool is_read = ot_read_rest(http_target(c->x), "/api/terminals/", id);
	const json_t *terminal = b && is_read ? json_object_get(b->terminals, id) : NULL;
	if (!is_of_chat(c, terminal)) {
		ot_refuse_terminal(c, 404, "Session not found");
		return NULL;
	}
	json_put_text(c->kept, "terminal", id);
	return terminal;
}

static void on_found(struct front_call *c, const json_t *about, const struct err *err)
{
	const struct ot_box *b = ot_find(c);
	const char *id = json_get_text(c->kept, "terminal");
	const json_t *terminal = b ? json_object_get(b->terminals, id) : NULL;
	(void)err;
	if (terminal && strcmp(json_get_text(about, "state"), "running") == 0) {
		front_answer(c, 200, terminal_json(id, terminal));
		return;
	}
	if (b)
		(void)json_object_del(b->terminals, id);
	ot_refuse_terminal(c, 404, "Session not found");
}

static void terminal(struct front_call *c)
{
	const json_t *found = read_terminal(c);
	if (!found)
		return;
	json_t *params = ot_params(c);
	json_put_shared(params, "process", json_object_get(found, "process"));
	front_operate(c, "process.get", params, on_found);
}

void ot_start_terminal(struct front_call *c)
{
	char id[OT_PATH_BYTES];
	/* The same header decides whether the request needs a token: see `is_open_socket`. */
	if (!http_header(c->x, "Upgrade")) {
		ot_enter(c, terminal);
		return;
	}
	if (!ot_read_rest(http_target(c->x), "/api/terminals/", id))
		id[0] = '\0';
	ot_open_socket(c, id);
}

static void end_terminal(struct front_call *c)
{
	struct ot_box *b = ot_find(c);
	if (!read_terminal(c))
		return;
	ot_drop_terminal(b, json_get_text(c->kept, "terminal"));
	front_answer(c, 200, json_pack("{s:s}", "status", "deleted"));
}

void ot_start_terminal_end(struct front_call *c)
{
	ot_enter(c, end_terminal);
}

/* ---- the terminal that the user looks at ---- */

/* Return parameters for the process of the newest terminal of the chat that is connected. Returns:
 * NULL, and the request was answered, if there is none. */
static json_t *connected(struct front_call *c)
{
	const struct ot_box *b = ot_find(c);
	const json_t *found = NULL;
	json_t *one;
	const char *id;
	json_object_foreach(b ? b->terminals : NULL, id, one)
	{
		if (is_of_chat(c, one) && json_get_bool(one, "connected"))
			found = one;
	}
	if (!found) {
		ot_refuse(c, 404, "No connected user shell");
		return NULL;
	}
	json_t *params = ot_params(c);
	json_put_shared(params, "process", json_object_get(found, "process"));
	return params;
}

static void on_output(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *data = json_object_get(result, "data");
	cleanup_buf struct buf raw = BUF_INIT(2 * LAST_BYTES);
	struct err wrong;
	if (!result) {
		front_fail(c, err);
		return;
	}
	if (strcmp(json_get_text(result, "encoding"), "base64") != 0)
		(void)buf_append(&raw, json_string_value(data), json_string_length(data));
	else
		(void)base64_read(&raw, json_string_value(data), json_string_length(data), &wrong);
	front_answer(c, 200, json_pack("{s:o}", "output", json_new_text(buf_str(&raw), raw.bytes)));
}

static void on_size(struct front_call *c, const json_t *about, const struct err *err)
{
	if (!about) {
		front_fail(c, err);
		return;
	}
	int64_t begin = json_get_int(about, "stdout_bytes") - LAST_BYTES;
	json_t *params = ot_params(c);
	json_put_shared(params, "process", json_object_get(about, "process"));
	json_put_int(params, "offset", begin > 0 ? begin : 0);
	json_put_int(params, "limit", LAST_BYTES);
	front_operate(c, "process.read", params, on_output);
}

static void output(struct front_call *c)
{
	json_t *params = connected(c);
	if (params)
		front_operate(c, "process.get", params, on_size);
}

void ot_start_terminal_output(struct front_call *c)
{
	ot_enter(c, output);
}

static void on_typed(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result)
		front_answer(c, 200, json_pack("{s:s}", "status", "ok"));
	else if (err->code == ERR_GONE || err->code == ERR_NOT_FOUND)
		ot_refuse(c, 409, "User shell has disconnected");
	else
		front_fail(c, err);
}

static void input(struct front_call *c)
{
	json_t *params = ot_body_text(c, "input") ? connected(c) : NULL;
	if (!params)
		return;
	json_put_shared(params, "data", json_object_get(c->body, "input"));
	front_operate(c, "process.write", params, on_typed);
}

void ot_start_terminal_input(struct front_call *c)
{
	ot_enter(c, input);
}
