/* The command `retort port`: lists, opens and closes ports of a session. SPDX-License-Identifier:
 * Apache-2.0 */
#include "api/once/publish.h"
#include "base/json.h"
#include "base/num.h"
#include "cli/screen/grid.h"
#include "cli/session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct port_args {
	const char *socket;
	struct opt_list publish, unix_sockets, close;
	bool json, help;
	int color;
};

/* clang-format off */
static const struct opt port_opts[] = {
	{.name = "publish", .letter = 'p', OPT_INTO_LIST(struct port_args, publish),
		.arg = "[[HOST:]HP:]BP", .flags = OPT_NO_ENV, .group = "Changes",
		.help = "make port BP of the session reachable at port HP of the host (default: BP; 0: a free "
			"one) on HOST (default: 127.0.0.1)"},
	{.name = "unix", OPT_INTO_LIST(struct port_args, unix_sockets), .arg = "BP", .flags = OPT_NO_ENV,
		.group = "Changes",
		.help = "make port BP reachable at a unix socket, for the engine's user only"},
	{.name = "close", OPT_INTO_LIST(struct port_args, close), .arg = "BP", .flags = OPT_NO_ENV,
		.group = "Changes", .help = "close port BP, wherever it is open, with its connections"},
	{.name = "json", OPT_INTO_FLAG(struct port_args, json), .flags = OPT_NO_ENV, .group = "Output",
		.help = "print one JSON object"},
	SOCKET_OPT(struct port_args, socket),
	CMD_COMMON_OPTS(struct port_args),
};
/* clang-format on */

enum { CELL_BYTES = 4096 };

/* Add the texts of @list as one cell, with commas between them. */
static void add_list(struct grid *c, const json_t *list)
{
	cleanup_buf struct buf text = BUF_INIT(CELL_BYTES);
	for (size_t i = 0; i < json_array_size(list); i++)
		(void)buf_addf(&text, "%s%.*s", i ? ", " : "",
			(int)json_string_length(json_array_get(list, i)),
			json_string_value(json_array_get(list, i)));
	grid_add_bytes(c, buf_str(&text), text.bytes);
}

static int print_table(const json_t *list)
{
	static const char *const heads[] = {"PORT", "LISTENS", "OPEN"};
	const json_t *ports = json_object_get(list, "ports");
	size_t n = json_array_size(ports);
	struct grid c = grid_new(heads, ARRAY_LEN(heads), n);
	for (size_t i = 0; i < n; i++) {
		const json_t *port = json_array_get(ports, i);
		grid_addf(&c, "%d", (int)json_get_int(port, "port"));
		add_list(&c, json_object_get(port, "addresses"));
		add_list(&c, json_object_get(port, "open"));
	}
	return grid_print(&c, stdout, grid_width(stdout));
}

/* An option whose value is a port of the session, and the operation that it stands for. */
struct port_change {
	const char *option, *method, *listen; /* listen: a parameter, or NULL */
};

static int change(struct client *client, const struct port_change *how, const char *session,
	const char *text, struct err *err)
{
	uint64_t port;
	struct err inner;
	cleanup_json json_t *result = NULL;
	if (num_parse_count(text, (struct num_range){1, UINT16_MAX}, &port, &inner) < 0)
		return err_fail(err, ERR_USAGE, "a number from 1 to 65535",
			"--%s %.60s: not a port of the session", how->option, text);
	json_t *params = json_need(json_object());
	json_put_text(params, "session", session);
	json_put_int(params, "port", (int64_t)port);
	if (how->listen) {
		json_put_text(params, "listen", how->listen);
		json_put_bool(params, "early", true);
	}
	return client_call(client, how->method, params, NULL, &result, err);
}

/* Make the changes, in the order close, publish, unix: a port can be moved in one command. */
static int change_all(
	struct client *client, const struct port_args *args, const char *session, struct err *err)
{
	static const struct port_change closing = {"close", "port.close", NULL},
					opening = {"unix", "port.open", "unix"};
	struct publish ports[PUBLISH_MAX];
	int r = publish_parse(ports, args->publish.item, args->publish.n, err);
	for (size_t i = 0; r == 0 && i < args->close.n; i++)
		r = change(client, &closing, session, args->close.item[i], err);
	for (size_t i = 0; r == 0 && i < args->publish.n; i++) {
		cleanup_json json_t *result = NULL;
		r = client_call(client, "port.open", publish_params(&ports[i], session), NULL,
			&result, err);
	}
	for (size_t i = 0; r == 0 && i < args->unix_sockets.n; i++)
		r = change(client, &opening, session, args->unix_sockets.item[i], err);
	return r;
}

static int work(const struct port_args *args, const char *session, struct err *err)
{
	struct client client;
	cleanup_json json_t *ports = NULL;
	int r = client_open(&client, args->socket, err);
	if (r == 0)
		r = change_all(&client, args, session, err);
	json_t *params = r < 0 ? NULL : json_need(json_object());
	json_put_text(params, "session", session);
	if (r == 0)
		r = client_call(&client, "port.list", params, NULL, &ports, err);
	client_done(&client);
	if (r < 0)
		return r;
	return args->json ? view_json(ports) : print_table(ports);
}

static int port_main(int argc, char **argv)
{
	struct port_args args = {0};
	struct err err = {0};
	const char *session = NULL;
	int r = session_operand(&cmd_port, &args, argc, argv, &session, &err);
	if (r == 0 && session)
		r = work(&args, session, &err);
	return r < 0 ? cli_fail(&err, args.json) : r;
}

static const char *const usage[] = {
	"port [-p [[HOST:]HP:]BP]… [--unix BP]… [--close BP]… [--json] SESSION", NULL};

static const struct cmd_example examples[] = {
	{"show on which ports programs of the session listen, and where they are open",
		"retort port work"},
	{"reach port 8000 of the session at a free port of this host",
		"retort port -p 0:8000 work"},
	{"move it to port 9000 of this host", "retort port --close 8000 -p 9000:8000 work"},
};

const struct cmd cmd_port = {
	.name = "port",
	.summary = "List, open and close ports of a session",
	.usage = usage,
	.text = "Makes the changes that options ask for, then lists the ports: on which addresses in the "
		"box programs listen, and where on the host the port is open. A port may be opened "
		"before a program listens there. It stays open until it is closed, or the session "
		"ends.",
	.opts = port_opts,
	.n_opts = ARRAY_LEN(port_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = session_exits,
	.n_exits = SESSION_EXITS,
	.operand = CMD_OPERAND_SESSION,
	.run = port_main,
};
