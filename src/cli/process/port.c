/* The command `retort port`: lists, opens and closes ports of a session. SPDX-License-Identifier:
 * Apache-2.0 */
#include "api/once/publish.h"
#include "base/json.h"
#include "base/num.h"
#include "cli/screen/table.h"
#include "cli/screen/term.h"
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

enum { N_COLUMNS = 3, CELL_BYTES = 2048, OUT_MAX_BYTES = 4 << 20 };

struct port_row {
	char cell[N_COLUMNS][CELL_BYTES];
};

/* Write the texts of @list, with commas between them. */
static void write_list(char *out, const json_t *list)
{
	size_t used = 0;
	for (size_t i = 0; i < json_array_size(list) && used < CELL_BYTES; i++) {
		const char *text = json_string_value(json_array_get(list, i));
		int n = snprintf(
			out + used, CELL_BYTES - used, "%s%s", i ? ", " : "", text ? text : "");
		used += (size_t)MAX(n, 0);
	}
}

static int print_table(const json_t *list, struct err *err)
{
	static const char *const heads[N_COLUMNS] = {"PORT", "LISTENS", "OPEN"};
	const json_t *ports = json_object_get(list, "ports");
	size_t n = json_array_size(ports);
	size_t columns = term_is(STDOUT_FILENO) ? (size_t)term_columns(STDOUT_FILENO) : 0;
	cleanup_buf struct buf out = BUF_INIT(OUT_MAX_BYTES);
	struct port_row *rows = xcalloc(n + 1, sizeof *rows);
	const char **cells = xcalloc((n + 1) * N_COLUMNS, sizeof *cells);
	memcpy(cells, heads, sizeof heads);
	for (size_t i = 0; i < n; i++) {
		const json_t *port = json_array_get(ports, i);
		struct port_row *row = &rows[i];
		snprintf(row->cell[0], CELL_BYTES, "%d", (int)json_get_int(port, "port"));
		write_list(row->cell[1], json_object_get(port, "addresses"));
		write_list(row->cell[2], json_object_get(port, "open"));
		for (size_t j = 0; j < N_COLUMNS; j++)
			cells[(i + 1) * N_COLUMNS + j] = row->cell[j];
	}
	int r = table_write(&out, cells, N_COLUMNS, n + 1, columns);
	free(rows);
	free(cells);
	if (r < 0)
		return err_set(err, ERR_NO_MEMORY, "no memory for the table");
	return fwrite(buf_str(&out), 1, out.bytes, stdout) != out.bytes;
}

static int check_operands(int argc, char **argv, int at, struct err *err)
{
	if (at == argc)
		return err_fail(err, ERR_USAGE, "`retort session ls` lists them",
			"port: the session is missing");
	if (at + 1 < argc)
		return err_fail(
			err, ERR_USAGE, "leave it out", "port: unexpected \"%.60s\"", argv[at + 1]);
	return 0;
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
	if (!utf8_is_valid(session, strlen(session)))
		return err_set(err, ERR_USAGE, "session %.100s: not UTF-8", session);
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
	return args->json ? view_json(ports) : print_table(ports, err);
}

static int port_main(int argc, char **argv)
{
	struct port_args args = {0};
	struct opt_set set;
	struct err err = {0};
	int at = cmd_parse(&cmd_port, &set, &args, argc, argv, &err);
	if (at == 0)
		return 0;
	int r = at < 0 ? at : cmd_config(&set, NULL, &err);
	if (r == 0)
		r = check_operands(argc, argv, at, &err);
	if (r == 0)
		r = work(&args, argv[at], &err);
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
