/* The command `retort serve`. SPDX-License-Identifier: Apache-2.0 */
#include "api/agent/models.h"
#include "api/operation/principal.h"
#include "api/service.h"
#include "base/alloc.h"
#include "base/attr.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/box.h"
#include "cli/host/client.h"
#include "cli/cmd.h"
#include "cli/serve_places.h"
#include "cli/host/prices.h"
#include "cli/host/xdg.h"
#include "serve/front/front.h"
#include "serve/http/address.h"
#include "serve/http/health.h"
#include "serve/http/rpc.h"
#include "serve/http/server.h"
#include "serve/mcp/front.h"
#include "serve/notify.h"
#include "serve/rpc.h"
#include "serve/socket.h"
#include "serve/web/port_route.h"
#include "serve/web/terminal.h"

#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* clang-format off */
static const struct opt serve_opts[] = {
	{.name = "socket", OPT_INTO_TEXT(struct serve_args, socket), .arg = "PATH", .group = "Options",
		.complete = OPT_COMPLETE_FILE,
		.help = "unix socket to listen at (default: retort/retort.sock below "
			"XDG_RUNTIME_DIR)"},
	{.name = "no-socket", OPT_INTO_FLAG(struct serve_args, no_socket), .group = "Options",
		.help = "listen for HTTP only"},
	{.name = "state", OPT_INTO_TEXT(struct serve_args, state), .arg = "DIR", .group = "Options",
		.complete = OPT_COMPLETE_DIR,
		.help = "directory of the journal (default: retort below XDG_STATE_HOME)"},
	{.name = "no-journal", OPT_INTO_FLAG(struct serve_args, no_journal), .group = "Options",
		.help = "keep history in memory only"},
	{.name = "standby", OPT_INTO_COUNT(struct serve_args, standby), .arg = "N", .group = "Options",
		.fallback = "2", .max = 16,
		.help = "boxes to keep ready for each template, and for recently branched "
			"sessions"},
	{.name = "checkpoints", OPT_INTO_COUNT(struct serve_args, checkpoints), .arg = "N", .group = "Options",
		.fallback = "4", .min = 1, .max = 15,
		.help = "number of steps per session that undo can restore at once"},
	{.name = "programs", OPT_INTO_COUNT(struct serve_args, programs), .arg = "N", .group = "Options",
		.min = 1, .max = 10000,
		.help = "programs of program.run and of fronts that run at the same time; others wait "
			"(default: twice the number of CPUs, at least 4)"},
	{.name = "session-ttl", OPT_INTO_MS(struct serve_args, session_ttl_ms), .arg = "TIME",
		.group = "Options", .min = 1, .max = INT64_C(1) << 40,
		.help = "end sessions this long after they were made"},
	{.name = "session-idle", OPT_INTO_MS(struct serve_args, session_idle_ms), .arg = "TIME",
		.group = "Options", .min = 1, .max = INT64_C(1) << 40,
		.help = "end sessions that were not used for this long"},
	{.name = "retain", OPT_INTO_MS(struct serve_args, retain_ms), .arg = "TIME", .group = "Options",
		.min = 1000, .max = INT64_C(1) << 40,
		.help = "forget sessions this long after they were closed, as `session prune` "
			"does"},
	{.name = "max-sessions", OPT_INTO_COUNT(struct serve_args, max_sessions), .arg = "N",
		.group = "Options", .min = 1, .max = 1000000,
		.help = "maximum number of live sessions, of all callers together"},
	{.name = "max-memory", OPT_INTO_BYTES(struct serve_args, max_memory_bytes), .arg = "SIZE",
		.group = "Options", .min = 1 << 20, .max = INT64_C(1) << 50,
		.help = "maximum sum of the memory limits of all live sessions"},
	{.name = "quiet", .letter = 'q', OPT_INTO_FLAG(struct serve_args, quiet), .group = "Options",
		.help = "do not print where the engine listens"},
	{.name = "grace", OPT_INTO_MS(struct serve_args, grace_ms), .arg = "TIME", .group = "Options",
		.fallback = "10s", .max = 3600000,
		.help = "time that running steps get to finish after SIGTERM"},
	{.name = "model", OPT_INTO_TEXT(struct serve_args, model), .arg = "MODEL", .flags = OPT_NO_ENV,
		.group = "Options",
		.help = "model for agent.run, as in `retort agent --model`; without a model, "
			"agent.run is refused"},
	{.name = "key-file", OPT_INTO_TEXT(struct serve_args, key_file), .arg = "FILE", .flags = OPT_NO_ENV,
		.group = "Options", .complete = OPT_COMPLETE_FILE,
		.help = "file with the model's key (default: the environment variable of its "
			"provider)"},
	PRICES_OPT(struct serve_args, "Options"),
	TOOLS_OPT(struct serve_args, "Options"),
	COMMANDS_OPT(struct serve_args, "Options"),
	{.name = "skills", OPT_INTO_TEXT(struct serve_args, skills), .arg = "DIR[:rw]", .group = "Options",
		.complete = OPT_COMPLETE_DIR,
		.help = "make DIR visible to all sessions at /skills; with :rw, code can save "
			"skills there"},
#include "cli/serve_http.def"
#include "cli/front.def"
	{.name = "profile", OPT_INTO_TEXT(struct serve_args, profile), .arg = "NAME", .flags = OPT_NO_CONFIG,
		.group = "General options", .help = "apply the options of profile NAME in the "
			"configuration"},
	CMD_COMMON_OPTS(struct serve_args),
};
/* clang-format on */

/* ---- the fronts: unix socket, HTTP, MCP ---- */

enum { INTERRUPTED_MS = 3000, N_OWN_ROUTES = 5, N_FIXED_ROUTES = N_OWN_ROUTES + MCP_HTTP_ROUTES };

struct fronts {
	const struct serve_args *args;
	struct service *service;
	struct socket_server *socket;
	struct http_server *http;
	struct token_list *tokens;
	struct tls_identity *tls; /* NULL: plain HTTP */
	/* The principal (caller) named "anyone". It makes the HTTP requests for which no token is
	 * needed; if the engine has no tokens, these are all HTTP requests. */
	struct principal *anyone;
	/* Context for the operations of HTTP requests that need no token. The caller in it is
	 * `anyone`. */
	struct operation_context context;
	struct http_log log;
	struct health health;
	struct mcp_front mcp;
	struct front_set *foreign; /* those of --front */
	struct http_route *routes;
	size_t n_routes;
	struct port_way *ports;
	struct notify_watchdog watchdog;
	int n_open;
};

static bool is_well(void *arg)
{
	const struct fronts *f = arg;
	return !service_is_over(f->service);
}

static void warn_of_certificate(const struct fronts *f)
{
	char text[TLS_WARNING_BYTES];
	if (tls_identity_warn(f->tls, text))
		fprintf(stderr, "retort: warning: %s\n", text);
}

/* Report whether @path was read again. @kept: what is said if it was not. Returns: @r. */
static int say_reloaded(int r, const struct err *err, const char *path, const char *kept)
{
	if (r < 0)
		(void)cli_fail(err, false);
	if (r < 0)
		fprintf(stderr, "retort: %s\n", kept);
	else
		fprintf(stderr, "retort: %s has been read again\n", path);
	return r;
}

static void on_hangup(void *arg)
{
	struct fronts *f = arg;
	struct err err;
	if (f->tokens)
		(void)say_reloaded(token_list_reload(f->tokens, &err), &err, f->args->token_file,
			"the tokens that were read before stay in use");
	if (f->tls &&
		say_reloaded(tls_identity_reload(f->tls, &err), &err, f->args->tls_cert,
			"the certificate that was read before stays in use") == 0)
		warn_of_certificate(f);
}

/* Create the principal for HTTP requests without a token. It is not the operator, because every
 * user of this host can connect to a loopback address. */
static int open_anyone(struct fronts *f, struct err *err)
{
	const struct principal_limits limits = {
		.may_see_metrics = true, .disk_bytes = PRINCIPAL_ANYONE_DISK};
	f->context = *service_context(f->service);
	int r = principal_new(&f->anyone, PRINCIPAL_ANYONE, &limits, err);
	f->context.principal = f->anyone;
	return r;
}

/* Report the addresses on stderr. Called when the engine listens at all of them. */
static void say_where(const struct fronts *f, const struct places *p)
{
	if (f->args->quiet)
		return;
	if (p->has_socket)
		fprintf(stderr, "retort: listening at %s\n", p->socket);
	for (size_t i = 0; i < p->n_inet; i++)
		fprintf(stderr, "retort: listening at http%s://%s\n", f->tls ? "s" : "",
			p->inet[i].text);
}

static int open_http(struct fronts *f, struct places *p, struct err *err)
{
	const struct serve_args *args = f->args;
	const struct http_config config = {.loop = service_loop(f->service),
		.context = &f->context,
		.tokens = f->tokens,
		.tls = f->tls,
		.hosts = {.hosts = args->allow_host.item,
			.n_hosts = args->allow_host.n,
			.origins = args->allow_origin.item,
			.n_origins = args->allow_origin.n},
		.routes = f->routes,
		.n_routes = f->n_routes,
		.n_connections_max = (unsigned)args->connections,
		.request_ms = args->request_timeout_ms,
		.idle_ms = args->idle_timeout_ms,
		.log = &f->log};
	if (p->n_inet == 0)
		return 0;
	int r = host_rules_check(&config.hosts, err);
	if (r == 0)
		r = http_server_open(&f->http, &config, err);
	for (size_t i = 0; r == 0 && i < p->n_inet; i++)
		r = http_server_listen(f->http, take_fd(p->inet_fd[i]), i < p->n_given, err);
	return r;
}

static int open_socket(struct fronts *f, struct places *p, struct err *err)
{
	uv_loop_t *loop = service_loop(f->service);
	const struct operation_context *context = service_context(f->service);
	if (p->unix_fd >= 0)
		return socket_adopt(&f->socket, loop, take_fd(p->unix_fd), context, err);
	return p->has_socket ? socket_open(&f->socket, loop, p->socket, context, err) : 0;
}

static unsigned n_running(const struct fronts *f)
{
	return (f->socket ? socket_n_running(f->socket) : 0) +
		(f->http ? http_server_n_running(f->http) : 0);
}

static bool is_idle(void *arg)
{
	return n_running(arg) == 0;
}

/* Stop the engine in order. Wait at most --grace until running steps have ended, then interrupt
 * the rest. A further signal ends the engine at once. */
static void drain(struct fronts *f)
{
	notify_send("STOPPING=1");
	if (f->socket)
		socket_drain(f->socket);
	if (f->http)
		http_server_drain(f->http);
	unsigned n = n_running(f);
	if (n > 0 && !f->args->quiet)
		fprintf(stderr, "retort: stopping: %u under way\n", n);
	if (service_drain(f->service, is_idle, f, f->args->grace_ms) == 0)
		return;
	if (f->socket)
		socket_interrupt(f->socket);
	if (f->http)
		http_server_interrupt(f->http);
	(void)service_drain(f->service, is_idle, f, INTERRUPTED_MS);
}

/* Log a tool call in the form of an HTTP request, with the caller, the session, the tool and the
 * outcome. */
static void log_tool(void *arg, const struct gate_line *line)
{
	static const struct {
		const char *end;
		unsigned status;
	} rows[] = {{"ok", 200}, {"ToolArgumentError", 400}, {"ToolDenied", 403},
		{"ToolLimit", 429}, {"ToolError", 500}, {"ToolLost", 502}};
	struct fronts *f = arg;
	struct http_log_line out = {.caller = line->owner,
		.method = "TOOL",
		.path = line->session,
		.what = line->name,
		.ms = line->ms,
		.bytes_in = line->bytes_in,
		.bytes_out = line->bytes_out};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].end, line->end) == 0)
			out.status = rows[i].status;
	http_log_write(&f->log, &out);
}

static void on_closed(void *arg)
{
	struct fronts *f = arg;
	f->n_open--;
}

static void close_fronts(struct fronts *f)
{
	f->n_open = !!f->socket + !!f->http;
	notify_watchdog_stop(&f->watchdog);
	if (f->socket)
		socket_close(f->socket, on_closed, f);
	if (f->http)
		http_server_close(f->http, on_closed, f);
	while (f->n_open > 0 || front_set_stop(f->foreign))
		service_turn(f->service);
	mcp_front_close(&f->mcp);
	if (f->ports)
		port_way_close(f->ports);
}

static void add_routes(struct fronts *f)
{
	f->health = (struct health){.version = version_text, .is_well = is_well, .arg = f};
	f->ports = port_way_open(service_loop(f->service));
	front_set_ports(f->foreign, f->ports);
	const struct http_route routes[N_OWN_ROUTES] = {
		{"POST", RPC_HTTP_PATH, "application/json", RPC_LINE_BYTES, .is_json = true,
			.start = rpc_http_start},
		{"GET", "/healthz", .is_open = true, .arg = &f->health, .start = health_start},
		{"GET", "/metrics", .start = metrics_start},
		{NULL, PORT_PATH, .body_max_bytes = INT64_MAX, .is_streamed = true,
			.is_for_sites = true, .is_for_browsers = true, .arg = f->ports,
			.start = port_route_start},
		{"GET", TERMINAL_PATH, .is_for_browsers = true, .start = terminal_start},
	};
	size_t n;
	const struct http_route *foreign = front_set_routes(f->foreign, &n);
	f->routes = xcalloc(N_FIXED_ROUTES + n, sizeof *f->routes);
	f->n_routes = N_FIXED_ROUTES + n;
	memcpy(f->routes, routes, sizeof routes);
	mcp_http_routes(f->mcp.http, f->routes + N_OWN_ROUTES);
	memcpy(f->routes + N_FIXED_ROUTES, foreign, n * sizeof *foreign);
}

static int open_foreign(struct fronts *f, const struct places *places, struct err *err)
{
	const struct opt_list *front = &f->args->front;
	const struct front_set_config config = {.names = front->item,
		.n_names = front->n,
		.box = places->front_box,
		.idle_ms = f->args->front_idle_ms};
	if (front->n > 0 && places->n_inet == 0)
		return err_fail(
			err, ERR_USAGE, "--listen 127.0.0.1:8765", "--front without --listen");
	return front_set_open(&f->foreign, &config, err);
}

/* Make a box as fronts will have it, so that a wrong --front-preload or --front-python is told at
 * once, and not by the first request. */
static int try_front_box(struct fronts *f, const struct places *places, struct err *err)
{
	const json_t *preload = json_object_get(places->front_box, "preload");
	const json_t *python = json_object_get(places->front_box, "python");
	json_t *made = NULL;
	if (f->args->front.n == 0 || (json_array_size(preload) == 0 && !python))
		return 0;
	json_t *params = json_need(json_pack("{s:O, s:O}", "preload", preload, "limits",
		json_object_get(places->front_box, "limits")));
	json_put_shared(params, "python", python);
	int r = service_call(f->service, "session.create", params, NULL, &made, err);
	if (r < 0)
		return err_wrap(
			err, json_array_size(preload) > 0 ? "--front-preload" : "--front-python");
	params = json_need(json_pack("{s:O}", "session", json_object_get(made, "session")));
	json_decref(made);
	made = NULL;
	r = service_call(f->service, "session.close", params, NULL, &made, err);
	json_decref(made);
	return r;
}

static int open_tokens(struct fronts *f, const struct places *places, struct err *err)
{
	const struct serve_args *args = f->args;
	int r = try_front_box(f, places, err);
	if (r == 0)
		r = open_anyone(f, err);
	if (r == 0 && args->token_file)
		r = token_list_open(&f->tokens, args->token_file, service_context(f->service), err);
	return r;
}

/* Read the certificate and its key. The warden, from which the boxes are made, runs already, so
 * that no box was ever a copy of a process that knew the key. */
static int open_tls(struct fronts *f, const struct places *places, struct err *err)
{
	const struct serve_args *args = f->args;
	if (!args->tls_cert && !args->tls_key)
		return 0;
	if (!args->tls_cert || !args->tls_key)
		return err_fail(err, ERR_USAGE, "--tls-cert FILE --tls-key FILE",
			"--tls-%s without --tls-%s", args->tls_cert ? "cert" : "key",
			args->tls_cert ? "key" : "cert");
	if (places->n_inet == 0)
		return err_fail(err, ERR_USAGE, "--listen 127.0.0.1:8765",
			"--tls-cert without --listen: only HTTP has TLS");
	int r = tls_identity_open(&f->tls, args->tls_cert, args->tls_key, err);
	if (r == 0)
		warn_of_certificate(f);
	return r;
}

/* Read what SIGHUP reads again: the tokens and the certificate. */
static int open_secrets(struct fronts *f, const struct places *places, struct err *err)
{
	int r = open_tokens(f, places, err);
	if (r == 0)
		r = open_tls(f, places, err);
	if (r == 0 && (f->tokens || f->tls))
		r = service_watch(f->service, SIGHUP, on_hangup, f, err);
	return r;
}

static int serve(const struct serve_args *args, struct places *places, struct err *err)
{
	struct fronts f = {
		.args = args, .log = {.kind = (enum http_log_kind)args->log, .fd = STDERR_FILENO}};
	const struct service_config config = {.state_dir = places->has_state ? places->state : NULL,
		.layers_dir = xdg_layers_dir(places->has_state ? places->state : NULL),
		.n_standby = (unsigned)args->standby,
		.n_checkpoints = (unsigned)args->checkpoints,
		.n_programs = (unsigned)args->programs,
		.session_ttl_ms = args->session_ttl_ms,
		.session_idle_ms = args->session_idle_ms,
		.retain_ms = args->retain_ms,
		.max_sessions = args->max_sessions,
		.max_memory_bytes = args->max_memory_bytes,
		.shared_python = json_string_value(json_object_get(places->front_box, "python")),
		.version = version_text,
		.models = {args->model, args->key_file, places->prices, false},
		.tools = args->tools,
		.skills = args->skills,
		.runtime_dir = places->has_runtime ? places->runtime : NULL,
		.socket_dir = places->socket_dir[0] ? places->socket_dir : NULL,
		.log = {&f, log_tool}};
	const struct mcp_tools_config mcp = {.version = version_text,
		.tier = MCP_TIER_ALL,
		.has_tools = args->tools != NULL,
		.has_commands = args->commands};
	int r = open_foreign(&f, places, err);
	if (r == 0)
		r = service_open(&f.service, &config, err);
	if (r < 0) {
		front_set_close(f.foreign);
		return r;
	}
	r = open_secrets(&f, places, err);
	if (r == 0)
		r = open_socket(&f, places, err);
	if (r == 0) {
		mcp_front_open(&f.mcp, service_loop(f.service), &mcp);
		add_routes(&f);
		r = open_http(&f, places, err);
	}
	if (r == 0) {
		say_where(&f, places);
		notify_watchdog_start(&f.watchdog, service_loop(f.service));
		notify_send("READY=1");
		r = service_run(f.service, err);
	}
	if (r > 0)
		drain(&f);
	close_fronts(&f);
	service_close(f.service);
	mcp_front_done(&f.mcp);
	front_set_close(f.foreign);
	free(f.routes);
	token_list_close(f.tokens);
	tls_identity_close(f.tls);
	principal_free(f.anyone);
	return MIN(r, 0);
}

static int serve_main(int argc, char **argv)
{
	struct serve_args args = {.box = BOX_ARGS_INIT,
		.standby = 2,
		.checkpoints = 4,
		.connections = 512,
		.grace_ms = 10000,
		.request_timeout_ms = 10000,
		.idle_timeout_ms = 60000,
		.front_idle_ms = 3600 * 1000,
		.log = HTTP_LOG_TEXT};
	struct places places = {.unix_fd = -1};
	struct opt_set set;
	struct err err = {0};
	int r = cmd_parse(&cmd_serve, &set, &args, argc, argv, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = cmd_config(&set, args.profile, &err);
	if (r == 0)
		r = models_check(args.model, args.key_file, &err);
	if (r == 0 && (r = prices_load(args.prices, &places.prices, &err)) == 0)
		r = places_find(&args, &places, &err);
	if (r == 0)
		r = places_read_box(&args, &set, &places, &err);
	if (r == 0)
		r = serve(&args, &places, &err);
	places_close(&places);
	return r < 0 ? cli_fail(&err, false) : 0;
}

static const char *const usage[] = {"serve [options]", NULL};

static const struct cmd_example examples[] = {
	{"start an engine for this user", "retort serve"},
	{"start an engine for a project, without a journal",
		"retort serve --socket ./retort.sock --no-journal"},
};

static const struct cmd_exit exits[] = {
	{"0", "ended by SIGTERM or SIGINT"},
	{"2", "usage error, or another engine listens there already"},
	{"125", "no box can be made on this host, or the warden was ended"},
};

const struct cmd cmd_serve = {
	.name = "serve",
	.summary = "Run the engine as a server",
	.usage = usage,
	.text = "Listens on a unix socket, for processes of the same user, and speaks JSON-RPC "
		"2.0 with one message per line. `retort session` is a client. The engine stays in "
		"the foreground until SIGTERM or SIGINT. The next engine restores the sessions "
		"from the journal.",
	.opts = serve_opts,
	.n_opts = ARRAY_LEN(serve_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.run = serve_main,
};
