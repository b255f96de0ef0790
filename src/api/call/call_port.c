/* Operations on the ports of a session. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/inside.h"
#include "api/operation/calls.h"
#include "registry/ports.h"

enum { PORT_MAX = 65535, LISTEN_BYTES = 100 };

static const char *session_of(const struct operation_call *call)
{
	return param_text(call->params, "session", "");
}

static uint16_t port_of(const struct operation_call *call)
{
	return (uint16_t)param_count(call->params, "port", 0);
}

static void start_list(struct operation_call *call)
{
	registry_port_list(call->context->registry, session_of(call), call_done, call);
}

static void start_open(struct operation_call *call)
{
	const struct registry_port port = {.session = session_of(call),
		.port = port_of(call),
		.listen = param_text(call->params, "listen", "127.0.0.1:0"),
		.is_early = param_flag(call->params, "early")};
	registry_port_open(call->context->registry, &port, call_done, call);
}

static void start_close(struct operation_call *call)
{
	struct err err = {0};
	call_give(call,
		registry_port_close(call->context->registry, session_of(call), port_of(call), &err),
		&err);
}

/* ---- rows of the table of operations ---- */

#define PORT                                                                                       \
	{                                                                                          \
		.name = "port", .type = PARAM_COUNT, NEEDED, .min = 1, .max = PORT_MAX,            \
		.help = "port in the session's box"                                                \
	}

static const struct param list_rows[] = {SESSION};
static const struct param open_rows[] = {
	SESSION,
	PORT,
	{"listen", PARAM_TEXT, false, 1, LISTEN_BYTES, .fallback = "127.0.0.1:0",
		.help = "where on the host: PORT, HOST:PORT or [HOST]:PORT, where port 0 is any "
			"free one and HOST a number, by default 127.0.0.1; or unix, for a unix "
			"socket of the engine's user; or http, for a path of the engine's HTTP "
			"server, where only the session's owner reaches it"},
	{"early", PARAM_FLAG, .fallback = "false", .help = "open it although nothing listens yet"},
};
static const struct param close_rows[] = {SESSION, PORT};

static const struct param one_port_rows[] = {
	GIVES("port", PARAM_COUNT, "port in the box"),
	GIVES("listening", PARAM_FLAG, "a program of the box accepts connections there"),
	MAY_GIVE("addresses", PARAM_TEXTS, "its addresses in the box"),
	MAY_GIVE("open", PARAM_TEXTS,
		"where the port is open: addresses and paths of the host, and paths of the HTTP server"),
};
static const struct param listed_rows[] = {
	{"ports", PARAM_OBJECTS, NEEDED, FIELDS(one_port_rows), .help = "in ascending order"},
};
static const struct param opened_rows[] = {
	GIVES("port", PARAM_COUNT, "port in the box"),
	MAY_GIVE("address", PARAM_TEXT, "address and port of the host that lead there"),
	MAY_GIVE("path", PARAM_TEXT, "unix socket of the host that leads there"),
	MAY_GIVE("url_path", PARAM_TEXT, "path of the HTTP server that leads there"),
};
static const struct param closed_rows[] = {
	GIVES("closed", PARAM_COUNT, "addresses and paths that were closed"),
};

static const struct operation rows[] = {
	{"port.list", "List the ports on which programs of a session listen", ROWS(list_rows),
		RESULT(listed_rows), .label = OPERATION_PROGRAM,
		.limits = "At most 1000 listeners.", .errors = "not_found|busy|gone|box",
		.example = "{'session': 'demo'}", .answer = "{'ports': []}", .start = start_list},
	{"port.open", "Make a port of a session reachable from the host", ROWS(open_rows),
		RESULT(opened_rows), .label = OPERATION_ENGINE,
		.limits = "At most 16 per session, and 100 connections of each at a time; more "
			  "wait. It ends with the session. Callers with a token need paths=yes.",
		.errors = "not_found|denied|access|limit|busy|gone|box|io",
		.example = "{'session': 'demo', 'port': 8000, 'early': true}",
		.answer = "{'port': 8000, 'address': '127.0.0.1:…'}", .start = start_open},
	{"port.close", "Close a port of a session, with its connections", ROWS(close_rows),
		RESULT(closed_rows), .label = OPERATION_ENGINE, .errors = "not_found",
		.example = "{'session': 'demo', 'port': 8000}", .answer = "{'closed': 1}",
		.start = start_close},
};

const struct operation_family port_family = FAMILY(rows);
