/* `retort serve`. SPDX-License-Identifier: Apache-2.0 */
#include "api/service.h"
#include "base/attr.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/config.h"
#include "cli/xdg.h"
#include "serve/socket.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct serve_args {
	const char *socket, *state, *profile;
	bool no_journal, quiet, help;
	uint64_t standby, checkpoints;
	int color;
};

static const struct opt serve_opts[] = {
	{.name = "socket",
		OPT_INTO_TEXT(struct serve_args, socket),
		.arg = "PATH",
		.group = "Options",
		.complete = OPT_COMPLETE_FILE,
		.help = "unix socket to listen at; else retort/retort.sock below XDG_RUNTIME_DIR"},
	{.name = "state",
		OPT_INTO_TEXT(struct serve_args, state),
		.arg = "DIR",
		.group = "Options",
		.complete = OPT_COMPLETE_DIR,
		.help = "where the journal is kept; else retort below XDG_STATE_HOME"},
	{.name = "no-journal",
		OPT_INTO_FLAG(struct serve_args, no_journal),
		.group = "Options",
		.help = "keep history in memory only"},
	{.name = "standby",
		OPT_INTO_COUNT(struct serve_args, standby),
		.arg = "N",
		.group = "Options",
		.fallback = "2",
		.max = 64,
		.help = "boxes kept ready for each template"},
	{.name = "checkpoints",
		OPT_INTO_COUNT(struct serve_args, checkpoints),
		.arg = "N",
		.group = "Options",
		.fallback = "4",
		.min = 1,
		.max = 15,
		.help = "steps of each session that undo goes back to at once"},
	{.name = "quiet",
		.letter = 'q',
		OPT_INTO_FLAG(struct serve_args, quiet),
		.group = "Options",
		.help = "do not say where it listens"},
	{.name = "profile",
		OPT_INTO_TEXT(struct serve_args, profile),
		.arg = "NAME",
		.group = "General options",
		.help = "apply the options that the configuration has under NAME"},
	CMD_COMMON_OPTS(struct serve_args),
};

/* Where it listens and what it keeps. */
struct places {
	char socket[PATH_MAX], state[PATH_MAX];
	bool has_state;
};

static int find_places(const struct serve_args *args, struct places *p, struct err *err)
{
	int r = 0;
	p->has_state = !args->no_journal;
	if (args->no_journal && args->state) {
		(void)err_set(err, ERR_USAGE, "--state and --no-journal exclude each other");
		return err_hint(err, "leave one out");
	}
	if (args->socket)
		(void)snprintf(p->socket, sizeof p->socket, "%s", args->socket);
	else
		r = client_usual_path(p->socket, sizeof p->socket, err);
	if (r < 0 || !p->has_state)
		return r;
	if (!args->state)
		return xdg_state_dir(p->state, err);
	(void)snprintf(p->state, sizeof p->state, "%s", args->state);
	return xdg_make_dir(p->state, err);
}

static void on_closed(void *arg)
{
	bool *is_closed = arg;
	*is_closed = true;
}

static int serve(const struct serve_args *args, const struct places *places, struct err *err)
{
	const struct service_config config = {.state_dir = places->has_state ? places->state : NULL,
		.n_standby = (unsigned)args->standby,
		.n_checkpoints = (unsigned)args->checkpoints,
		.version = version_text};
	struct service *service;
	struct socket_server *server;
	bool is_closed = false;
	int r = service_open(&service, &config, err);
	if (r < 0)
		return r;
	r = socket_open(
		&server, service_loop(service), places->socket, service_context(service), err);
	if (r == 0) {
		if (!args->quiet)
			(void)fprintf(stderr, "retort: listening at %s\n", places->socket);
		r = service_run(service, err);
		socket_close(server, on_closed, &is_closed);
		while (!is_closed)
			service_turn(service);
	}
	service_close(service);
	return MIN(r, 0);
}

static int serve_main(int argc, char **argv)
{
	struct serve_args args = {.standby = 2, .checkpoints = 4};
	struct places places;
	struct opt_set set;
	struct err err = {0};
	int r = cmd_parse(&cmd_serve, &set, &args, argc, argv, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = config_apply(&set, args.profile, &err);
	if (r == 0)
		r = find_places(&args, &places, &err);
	if (r == 0)
		r = serve(&args, &places, &err);
	return r < 0 ? cli_fail(&err, false) : 0;
}

static const char *const usage[] = {"serve [options]", NULL};

static const struct cmd_example examples[] = {
	{"an engine for this user, at the usual place", "retort serve"},
	{"one for a project, without a journal",
		"retort serve --socket ./retort.sock --no-journal"},
};

static const struct cmd_exit exits[] = {
	{"0", "ended by SIGTERM or SIGINT"},
	{"2", "wrong use; or an engine listens there already"},
	{"125", "no box can be made on this host, or the warden was ended"},
};

const struct cmd cmd_serve = {
	.name = "serve",
	.summary = "Run the engine as a server",
	.usage = usage,
	.text = "Listens on a unix socket, for processes of the same user, and speaks JSON-RPC 2.0: one "
		"message per line. `retort session` is a client of it. It stays in the foreground; SIGTERM "
		"and SIGINT end it, and with it all sessions.",
	.opts = serve_opts,
	.n_opts = ARRAY_LEN(serve_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.run = serve_main,
};
