/* The command `retort mcp`. SPDX-License-Identifier: Apache-2.0 */
#include "api/agent/models.h"
#include "api/once/once.h"
#include "api/row/box_summary.h"
#include "api/service.h"
#include "api/text/tools.h"
#include "base/alloc.h"
#include "base/attr.h"
#include "base/json.h"
#include "cli/box.h"
#include "cli/cmd.h"
#include "cli/host/xdg.h"
#include "cli/secret.h"
#include "planner/plan.h"
#include "planner/plan_check.h"
#include "planner/plan_tools.h"
#include "serve/mcp/stdio.h"
#include "serve/mcp/tools.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* PLAN_TEXT_BYTES: limit on the texts of a policy and of the plans' tools, as in plan.check.
 * TOLD_BYTES: limit on each text that tells the model about packages, files or limits. */
enum { PLAN_TEXT_BYTES = 4 << 20, TOLD_BYTES = 16 << 10 };

struct mcp_args {
	struct box_args box;
	const char *state, *tools, *policy, *plan_tools, *model, *key_file;
	bool structured, commands, plans, help;
	int offer, color;
};

/* clang-format off */
static const struct opt mcp_opts[] = {
#define BOX_ARGS struct mcp_args
#include "cli/box.def"
#undef BOX_ARGS
	TOOLS_OPT(struct mcp_args, "Server"),
	{.name = "offer", OPT_INTO_CHOICE(struct mcp_args, offer), .arg = "SET", .group = "Server",
		.choices = MCP_TIER_CHOICES, .fallback = "standard",
		.help = "how many tools to show the model"},
	{.name = "structured", OPT_INTO_FLAG(struct mcp_args, structured), .group = "Server",
		.help = "return results also as structured content, for programs; some clients "
			"then drop text and images"},
	{.name = "state", OPT_INTO_TEXT(struct mcp_args, state), .arg = "DIR", .group = "Server",
		.complete = OPT_COMPLETE_DIR,
		.help = "keep sessions in DIR until the next start; by default they end with the "
			"client"},
	COMMANDS_OPT(struct mcp_args, "Server"),
	{.name = "plans", OPT_INTO_FLAG(struct mcp_args, plans), .group = "Server",
		.help = "also offer the tools check_plan and run_plan"},
	{.name = "policy", OPT_INTO_TEXT(struct mcp_args, policy), .arg = "FILE", .group = "Server",
		.complete = OPT_COMPLETE_FILE,
		.help = "policy for plans (default: the annotations of the tools decide)"},
	{.name = "plan-tools", OPT_INTO_TEXT(struct mcp_args, plan_tools), .arg = "FILE", .group = "Server",
		.complete = OPT_COMPLETE_FILE,
		.help = "tools that plans may call, as for `retort plan --tools` (default: those "
			"of --tools)"},
	{.name = "model", OPT_INTO_TEXT(struct mcp_args, model), .arg = "MODEL", .flags = OPT_NO_ENV,
		.group = "Server", .help = "model that answers ask() in plans, as in `retort "
			"agent --model`"},
	{.name = "key-file", OPT_INTO_TEXT(struct mcp_args, key_file), .arg = "FILE", .flags = OPT_NO_ENV,
		.group = "Server", .complete = OPT_COMPLETE_FILE,
		.help = "file with the model's key (default: the environment variable of its "
			"provider)"},
	BOX_PROFILE_OPT(struct mcp_args),
	CMD_COMMON_OPTS(struct mcp_args),
};
/* clang-format on */

struct mcp {
	struct mcp_args args;
	struct opt_set set;
	char state[PATH_MAX];
	struct buf policy; /* text of the file --policy */
	json_t *create;	   /* parameters of session.create for each new session */
	/* The engine. It is NULL until the first call that needs the engine has started it. */
	struct service *service;
};

/* ---- the engine, started on demand ---- */

/* Give the values of the options to the sessions of earlier runs that were made with the same
 * secrets. A branch may have been made to be without. */
static void give_session(struct mcp *m, const json_t *session)
{
	size_t i, k;
	const json_t *had, *ours;
	json_t *about = NULL, *done = NULL;
	struct err err;
	json_t *id = json_object_get(session, "session");
	if (json_object_get(session, "parent") ||
		service_call(m->service, "session.net", json_pack("{s:O}", "session", id), NULL,
			&about, &err) < 0)
		return;
	json_t *values = json_need(json_array());
	json_array_foreach(json_object_get(about, "secrets"), i, had) json_array_foreach(
		json_object_get(m->create, "secrets"), k, ours) if (secret_is_same(ours, had))
		json_add_new(values,
			json_pack("{s:O, s:O}", "name", json_object_get(ours, "name"), "value",
				json_object_get(ours, "value")));
	if (service_call(m->service, "session.net",
		    json_pack("{s:O, s:o}", "session", id, "secrets", values), NULL, &done,
		    &err) < 0)
		fprintf(stderr, "retort: %s\n", err.msg);
	json_decref(about);
	json_decref(done);
}

static void give_secrets(struct mcp *m)
{
	size_t i;
	const json_t *session;
	json_t *list = NULL;
	struct err err;
	if (!m->args.state || !json_object_get(m->create, "secrets") ||
		service_call(m->service, "session.list", json_object(), NULL, &list, &err) < 0)
		return;
	json_array_foreach(json_object_get(list, "sessions"), i, session) give_session(m, session);
	json_decref(list);
}

static const struct operation_context *open_engine(void *arg, struct err *err)
{
	struct mcp *m = arg;
	const struct service_config config = {.state_dir = m->args.state ? m->state : NULL,
		.layers_dir = xdg_layers_dir(m->args.state ? m->state : NULL),
		.tools = m->args.tools,
		.plan_tools = m->args.plan_tools,
		.models = {.fallback = m->args.model, .key_file = m->args.key_file},
		.skills = m->args.box.skills,
		.version = version_text};
	if (!m->service) {
		if (service_open(&m->service, &config, err) < 0)
			return NULL;
		give_secrets(m);
	}
	return service_context(m->service);
}

static uv_loop_t *engine_loop(void *arg)
{
	struct mcp *m = arg;
	return m->service ? service_loop(m->service) : NULL;
}

static bool is_open(void *arg)
{
	const struct mcp *m = arg;
	return m->service != NULL;
}

static bool is_ended(void *arg)
{
	struct mcp *m = arg;
	return m->service && service_is_ended(m->service);
}

/* ---- checking the options, and serving ---- */

static bool has_writable_volume(const struct mcp_args *args)
{
	bool is_writable = args->box.workspace != NULL;
	for (size_t i = 0; i < args->box.volumes.n; i++) {
		size_t bytes = strlen(args->box.volumes.item[i]);
		is_writable = is_writable ||
			(bytes > 3 && strcmp(args->box.volumes.item[i] + bytes - 3, ":rw") == 0);
	}
	return is_writable;
}

static void serve(struct mcp *m)
{
	json_t *create = m->create;
	cleanup_buf struct buf packages = BUF_INIT(TOLD_BYTES), files = BUF_INIT(TOLD_BYTES),
			       limits = BUF_INIT(TOLD_BYTES), net = BUF_INIT(TOLD_BYTES);
	box_summary_packages(&packages, create);
	box_summary_files(&files, create);
	box_summary_limits(&limits, create);
	box_summary_net(&net, create);
	cleanup_json json_t *hosts = box_summary_hosts(create);
	const struct mcp_tools_config config = {.version = version_text,
		.tier = (enum mcp_tier)m->args.offer,
		.has_tools = m->args.tools != NULL,
		.is_structured = m->args.structured,
		.is_destructive = has_writable_volume(&m->args),
		.has_commands = m->args.commands,
		.has_plans = m->args.plans || m->args.policy || m->args.plan_tools,
		.policy = m->args.policy ? buf_str(&m->policy) : NULL,
		.packages = buf_str(&packages),
		.files = buf_str(&files),
		.limits = buf_str(&limits),
		.net = buf_str(&net),
		.hosts = hosts,
		.create = create,
		.arg = m,
		.is_open = is_open};
	struct mcp_tools *tools = mcp_tools_new(&config);
	struct mcp_server *server = mcp_server_new(mcp_tools_served(tools));
	const struct mcp_stdio_config stdio = {.server = server,
		.in_fd = STDIN_FILENO,
		.out_fd = STDOUT_FILENO,
		.arg = m,
		.open = open_engine,
		.loop = engine_loop,
		.is_ended = is_ended};
	mcp_stdio_run(&stdio);
	/* Closing the engine ends running calls. Nobody gets their responses any more. */
	service_close(take_ptr(m->service));
	mcp_server_free(server);
	mcp_tools_free(tools);
}

/* Check the options of the box at the start. The user should see mistakes now, not the model
 * later. */
static int check_box(struct mcp *m, struct err *err)
{
	struct order order;
	struct box_pieces *p = xnew(struct box_pieces);
	int r = box_order(&m->args.box, &m->set, p, &order, err);
	order.is_session = true;
	order.filename = "<mcp>";
	order.code = "";
	if (r == 0)
		r = package_list_extend(&p->packages, &order, err);
	if (r == 0)
		r = once_check(&order, xdg_layers_dir(m->args.state ? m->state : NULL), err);
	box_pieces_done(p);
	free(p);
	if (r == 0 && !(m->create = box_params(&m->args.box, &m->set, err)))
		r = -err_errno(err->code);
	return r;
}

/* Test whether a box works: create a session and close it. Skip the test if the files on the
 * host show that a box will work (box_summary_is_complete()). */
static int try_box(struct mcp *m, struct err *err)
{
	json_t *made = NULL, *closed = NULL;
	if (box_summary_is_complete(m->create))
		return 0;
	if (!open_engine(m, err))
		return -err_errno(err->code);
	int r = service_call(
		m->service, "session.create", json_incref(m->create), NULL, &made, err);
	if (r == 0)
		r = service_call(m->service, "session.close",
			json_pack("{s:O}", "session", json_object_get(made, "session")), NULL,
			&closed, err);
	json_decref(made);
	json_decref(closed);
	return r;
}

static int check_plans(struct mcp *m, struct err *err)
{
	int r = 0;
	if (m->args.policy && (r = plan_read(m->args.policy, &m->policy, err)) < 0)
		(void)err_wrap(err, "--policy");
	if (r == 0 && m->args.policy)
		r = plan_policy_check(m->args.policy, &m->policy, err);
	/* Check the file of tools now, so that mistakes are reported at the start. The file is
	 * read again for each plan. */
	cleanup_buf struct buf tools = BUF_INIT(PLAN_TEXT_BYTES);
	if (r == 0 && m->args.plan_tools && (r = plan_read(m->args.plan_tools, &tools, err)) < 0)
		(void)err_wrap(err, "--plan-tools");
	if (r == 0 && m->args.plan_tools)
		r = plan_tools_check(buf_str(&tools), m->args.plan_tools, err);
	return r < 0 ? r : models_check(m->args.model, m->args.key_file, err);
}

static int prepare(struct mcp *m, struct err *err)
{
	int r = cmd_config(&m->set, m->args.box.profile, err);
	if (r == 0)
		r = box_check(&m->args.box, err);
	if (r == 0)
		r = check_box(m, err);
	if (r == 0 && m->args.tools)
		r = tools_check(m->args.tools, err);
	if (r == 0)
		r = check_plans(m, err);
	if (r == 0 && m->args.state &&
		snprintf(m->state, sizeof m->state, "%s", m->args.state) >= (int)sizeof m->state)
		r = err_set(err, ERR_USAGE, "--state: the path is too long");
	if (r == 0 && m->args.state)
		r = xdg_make_dir(m->state, err);
	return r < 0 ? r : try_box(m, err);
}

static int mcp_main(int argc, char **argv)
{
	struct err err = {0};
	struct mcp *m = xnew(struct mcp);
	m->args.box = (struct box_args)BOX_ARGS_INIT;
	m->args.offer = MCP_TIER_STANDARD;
	m->policy = BUF_INIT(PLAN_TEXT_BYTES);
	bool is_wrong = false;
	int r = cmd_parse(&cmd_mcp, &m->set, &m->args, argc, argv, &err);
	if (r > 0) {
		r = prepare(m, &err);
		is_wrong = r < 0;
		if (r == 0 && isatty(STDIN_FILENO))
			fprintf(stderr,
				"retort: agents start `retort mcp` themselves: claude mcp add "
				"retort -- retort mcp; Ctrl-D ends it\n");
		if (r == 0)
			serve(m);
	}
	service_close(m->service);
	json_decref(m->create);
	buf_done(&m->policy);
	free(m);
	int status = r < 0 ? cli_fail(&err, false) : 0;
	return is_wrong ? err_exit(ERR_USAGE) : status;
}

static const char *const usage[] = {"mcp [options]", NULL};

static const struct cmd_example examples[] = {
	{"add retort to Claude Code", "claude mcp add retort -- retort mcp"},
	{"offer data to read, and libraries already imported",
		"retort mcp -v ./data:data --preload numpy,pandas"},
};

static const struct cmd_exit exits[] = {
	{"0", "the client has closed the connection"},
	{"2", "usage error, or an option names something that does not exist"},
};

const struct cmd cmd_mcp = {
	.name = "mcp",
	.summary = "Give an agent a box, as a server of the Model Context Protocol",
	.usage = usage,
	.text = "Speaks the Model Context Protocol on standard input and output, in the revisions "
		"from 2024-11-05 to 2026-07-28. Agents start it themselves. The server offers "
		"run_code and related tools. Sessions and files stay until the client ends. The "
		"first call that needs the engine starts it.",
	.opts = mcp_opts,
	.n_opts = ARRAY_LEN(mcp_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.run = mcp_main,
};
