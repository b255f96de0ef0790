/*
 * The front "open-terminal": the wire of Open Terminal, with which Open WebUI gives its users and
 * models files, commands, terminals and ports.
 *
 * Open Terminal runs everything in one place. Here, each user of a client has a box: the client
 * says in the header X-User-Id whom a request is for (box.c). A chat of a user, X-Session-Id, has a
 * working directory, commands and terminals of its own, but no files.
 *
 * Source: open-terminal 0.14.5, main.py; open-webui 0.12.4, routers/terminals.py and
 * utils/terminals.py.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/openterminal/inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- answers ---- */

static void refuse(struct front_call *c, unsigned status, const char *key, const char *text)
{
	front_answer(c, status, json_pack("{s:o}", key, json_new_text(text, strlen(text))));
}

void ot_refuse(struct front_call *c, unsigned status, const char *fmt, ...)
{
	char text[ERR_MSG_BYTES + ERR_HINT_BYTES + 4];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	refuse(c, status, "detail", text);
}

void ot_refuse_terminal(struct front_call *c, unsigned status, const char *message)
{
	refuse(c, status, "error", message);
}

void ot_invalid(struct front_call *c, const char *where, const char *name, const char *message)
{
	bool is_missing = strcmp(message, "Field required") == 0;
	front_answer(c, 422,
		json_pack("{s:[{s:s, s:[s, s], s:s, s:n}]}", "detail", "type",
			is_missing ? "missing" : "value_error", "loc", where, name, "msg", message,
			"input"));
}

static void fail(struct front_call *c, unsigned status, const struct err *err)
{
	ot_refuse(c, status, "%s%s%s", err->msg, err->hint[0] ? ": " : "", err->hint);
}

/* ---- what the server says of itself ---- */

static void start_health(struct front_call *c)
{
	front_answer(c, 200, json_pack("{s:s}", "status", "ok"));
}

static void start_config(struct front_call *c)
{
	front_answer(c, 200,
		json_pack("{s:{s:b, s:b, s:b}}", "features", "terminal", 1, "notebooks", 0,
			"system", 1));
}

static void start_system(struct front_call *c)
{
	front_answer(c, 200,
		json_pack("{s:s}", "prompt",
			"You have a computer with Linux of your own: a box, in which you run commands as "
			"the user \"user\", whose home is " OT_HOME
			". What you change there stays for the next message, until nobody has used the "
			"computer for a while: then an empty one takes its place. Files outside of the home "
			"and of /tmp cannot be changed. Unless you were told otherwise, programs have "
			"no network.\n\nUse your tools to run commands, to read and write files, and to "
			"search. Look at the state of things before you change them, and at the output "
			"of commands to see whether they have worked; a command without output usually "
			"has."));
}

static void nothing(struct front_call *c)
{
	ot_refuse(c, 404, "Not Found");
}

/* ---- the table of routes ---- */

/* The WebSocket of a terminal needs no token at first: it comes in the first message. */
static const struct front_row rows[] = {
	{"GET", "/health", start_health, .is_open = true},
	{"GET", "/api/config", start_config, .is_open = true},
	{"GET", "/openapi.json", ot_start_openapi},
	{"GET", "/system", start_system},
	{"GET", "/files/cwd", ot_start_cwd},
	{"POST", "/files/cwd", ot_start_set_cwd},
	{"GET", "/files/list", ot_start_list},
	{"GET", "/files/read", ot_start_read},
	{"GET", "/files/display", ot_start_display},
	{"GET", "/files/view", ot_start_view},
	{"POST", "/files/write", ot_start_write},
	{"POST", "/files/mkdir", ot_start_mkdir},
	{"DELETE", "/files/delete", ot_start_delete},
	{"POST", "/files/move", ot_start_move},
	{"POST", "/files/replace", ot_start_replace},
	{"POST", "/files/upload", ot_start_upload, .is_form = true},
	{"POST", "/files/archive", ot_start_archive},
	{"GET", "/files/grep", ot_start_grep},
	{"GET", "/files/glob", ot_start_glob},
	{"GET", "/files/search", ot_start_search},
	{"GET", "/files/matches", ot_start_matches},
	{"GET", "/execute", ot_start_processes},
	{"POST", "/execute", ot_start_execute},
	{"GET", "/ports", ot_start_ports},
	{"GET", "/api/terminals", ot_start_terminals},
	{"POST", "/api/terminals", ot_start_new_terminal},
	{"GET", "/api/terminals/user/output", ot_start_terminal_output},
	{"POST", "/api/terminals/user/input", ot_start_terminal_input},
	{"GET", "/files/serve/", ot_start_serve},
	{"GET", "/execute/", ot_start_process},
	{"POST", "/execute/", ot_start_input},
	{"DELETE", "/execute/", ot_start_kill},
	{"GET", "/api/terminals/", ot_start_terminal, .is_open_socket = true},
	{"DELETE", "/api/terminals/", ot_start_terminal_end},
	{NULL, "/proxy/", ot_start_proxy, .is_streamed = true},
	{NULL, "/", nothing},
};

const struct front_wire front_open_terminal = {.name = "open-terminal",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.may_be_empty = true,
	.fail = fail,
	.stop = ot_stop};
