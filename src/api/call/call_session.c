/* Operations on sessions. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_order.h"
#include "api/call/inside.h"
#include "api/operation/calls.h"
#include "api/text/event.h"
#include "base/alloc.h"
#include "base/json.h"
#include "registry/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 1000 };

/* Estimates of the sizes of long answers (outstanding.h). EXPORT_BYTES is more than half of
 * OUTSTANDING_BYTES, so a caller gets only one export at a time. */
enum { LIST_BYTES = 64 << 20, EXPORT_BYTES = 128 << 20 };

static const char *session_of(const struct operation_call *call)
{
	return param_text(call->params, "session", "");
}

static void start_create(struct operation_call *call)
{
	struct call_order order;
	struct err err;
	if (call_order_read(&order, call->context->registry, call->params, &err) < 0)
		call_fail(call, &err);
	else
		registry_create(call->context->registry, &order.create, call_done, call);
	call_order_done(&order);
}

static void start_list(struct operation_call *call)
{
	const struct registry_listing which = {.before = param_text(call->params, "before", NULL),
		.limit = param_count(call->params, "limit", LIST_MAX)};
	registry_list(call->context->registry, &which, call_done, call);
}

static void start_get(struct operation_call *call)
{
	struct err err = {0};
	call_give(call, registry_get(call->context->registry, session_of(call), &err), &err);
}

static void start_branch(struct operation_call *call)
{
	if (call_is_behind_reader(call))
		return;
	bool is_forced = param_flag(call->params, "force");
	bool is_kept = param_flag(call->params, "keep_processes");
	if (is_forced && is_kept) {
		struct err err;
		err_fail(&err, ERR_USAGE, "give one of them",
			"force: given together with keep_processes");
		call_fail(call, &err);
		return;
	}
	call->cancel = call_withdraw;
	const struct registry_branch branch = {.name = param_text(call->params, "name", NULL),
		.others = is_forced ? OTHERS_END
			: is_kept   ? OTHERS_KEEP
				    : OTHERS_REFUSE,
		.has_secrets = param_flag(call->params, "secrets")};
	registry_branch(call->context->registry, session_of(call), &branch, call_done, call);
}

static void on_rebuilding(void *arg, size_t at, size_t n)
{
	call_event(arg, event_rebuilding(at, n));
}

static void start_undo(struct operation_call *call)
{
	const char *to = param_text(call->params, "to", NULL);
	struct err err;
	if (to && param_get(call->params, "count")) {
		err_fail(&err, ERR_USAGE, "give one of them", "count: given together with to");
		call_fail(call, &err);
		return;
	}
	if (call_is_behind_reader(call))
		return;
	call->cancel = call_withdraw;
	call->listener_of_steps = (struct step_listener){.arg = call, .rebuilding = on_rebuilding};
	const struct registry_undo undo = {.session = session_of(call),
		.to_step = to,
		.count = to ? 0 : (unsigned)param_count(call->params, "count", 1),
		.listener = &call->listener_of_steps};
	registry_undo(call->context->registry, &undo, call_done, call);
}

/* Read new values of secrets. Owns: the caller ends @out, also after an error. */
static int read_values(struct secrets *out, const json_t *list, struct err *err)
{
	size_t i;
	const json_t *row;
	json_array_foreach(json_unconst(list), i, row)
	{
		const char *name = param_text(row, "name", ""),
			   *value = param_text(row, "value", "");
		struct secret *s = &out->v[out->n++];
		snprintf(s->name, sizeof s->name, "%s", name);
		int r = secret_check_value(s->name, value, strlen(value), err);
		if (r < 0)
			return r;
		secret_set_value(s, value);
	}
	return 0;
}

static void start_net(struct operation_call *call)
{
	const json_t *rules = param_get(call->params, "net");
	size_t n = json_array_size(rules);
	struct secrets secrets = {.n = 0};
	struct err err;
	const char **texts = rules ? xcalloc(n + 1, sizeof *texts) : NULL;
	for (size_t i = 0; texts && i < n; i++)
		texts[i] = json_string_value(json_array_get(rules, i));
	struct package_expansion sets = {.n_net = 0};
	size_t n_texts = texts ? n : 0;
	if ((package_has_set(texts, n_texts) &&
		    registry_check_net(call->context->registry, texts, n_texts, &err) < 0) ||
		package_expand(&sets, texts, n_texts, &err) < 0) {
		call_fail(call, &err);
		free(texts);
		return;
	}
	const struct registry_net net = {.session = session_of(call),
		.rules = sets.has_set ? (const char *const *)sets.net : texts,
		.n = sets.has_set ? sets.n_net : n,
		.is_more = param_flag(call->params, "add"),
		.secrets = &secrets};
	if (read_values(&secrets, param_get(call->params, "secrets"), &err) < 0)
		call_fail(call, &err);
	else
		registry_net(call->context->registry, &net, call_done, call);
	secrets_done(&secrets);
	package_expansion_done(&sets);
	free(texts);
}

static void start_close(struct operation_call *call)
{
	registry_end(call->context->registry, session_of(call), call_done, call);
}

static void start_log(struct operation_call *call)
{
	registry_log(call->context->registry, session_of(call), param_flag(call->params, "all"),
		call_done, call);
}

static void start_graph(struct operation_call *call)
{
	registry_graph(call->context->registry, call_done, call);
}

static void start_export(struct operation_call *call)
{
	registry_export(call->context->registry, session_of(call), call_done, call);
}

static void start_prune(struct operation_call *call)
{
	const json_t *params = call->params;
	struct err err;
	const struct registry_prune which = {.older_ms = param_count(params, "older_ms", 0),
		.keep = param_count(params, "keep", 0),
		.is_dry = param_flag(params, "dry_run")};
	if (!param_get(params, "older_ms") && !param_get(params, "keep") &&
		!param_flag(params, "all")) {
		err_fail(&err, ERR_USAGE, "`all` forgets all closed sessions",
			"which sessions: `older_ms`, `keep` or `all`");
		call_fail(call, &err);
		return;
	}
	registry_prune(call->context->registry, &which, call_done, call);
}

/* ---- rows of the table of operations ---- */

static const struct param create_rows[] = {SESSION_NAME, ORDER_ROWS,
	{"fresh", PARAM_FLAG, .fallback = "false",
		.help = "start a new interpreter, not a copy of a prepared one"},
	{"ttl_ms", PARAM_COUNT, false, 1, TIME_MS,
		.help = "maximum lifetime, even while a step runs (default: the engine's "
			"--session-ttl)"},
	{"idle_ms", PARAM_COUNT, false, 1, TIME_MS,
		.help = "maximum time without use (default: the engine's --session-idle)"}};

static const struct param session_rows[] = {SESSION};
static const struct param log_rows[] = {
	SESSION,
	{"all", PARAM_FLAG, .fallback = "false", .help = HELP_LOG_ALL},
};
static const struct param branch_rows[] = {
	SESSION,
	SESSION_NAME,
	{"force", PARAM_FLAG, .fallback = "false", .help = HELP_FORCE},
	{"keep_processes", PARAM_FLAG, .fallback = "false", .help = HELP_KEEP_PROCESSES},
	{"secrets", PARAM_FLAG, .fallback = "false", .help = HELP_WITH_SECRETS},
};
static const struct param secret_rows[] = {
	{"name", PARAM_TEXT, true, 1, SECRET_NAME_BYTES - 1, .help = "name of the secret"},
	{"value", PARAM_TEXT, true, 0, SECRET_VALUE_MAX + 1, .help = "its value"},
};
static const struct param net_rows[] = {
	SESSION,
	{"net", PARAM_TEXTS, .max = RULES_MAX,
		.help = "the new rules; [] lets programs connect to nothing (default: only tell the "
			"rules)"},
	{"add", PARAM_FLAG, .fallback = "false",
		.help = "add the rules to those that the session has"},
	{"secrets", PARAM_OBJECTS, .max = SECRETS_MAX, FIELDS(secret_rows),
		.help = "new values of secrets that the session has; it has none after a restart of "
			"the engine"},
};
static const struct param net_secret_rows[] = {
	GIVES("name", PARAM_TEXT, "name of the secret, and of its environment variable"),
	GIVES("to", PARAM_TEXT, "where its value goes: HOST:PORT[,query][,body]"),
	GIVES("has_value", PARAM_FLAG,
		"whether the engine knows the value; if not, requests with it are refused"),
};
static const struct param net_result_rows[] = {
	GIVES_SESSION,
	GIVES("net", PARAM_TEXTS, "the rules in force"),
	{"secrets", PARAM_OBJECTS, FIELDS(net_secret_rows),
		.help = "the secrets that the session was made with"},
};
static const struct param undo_rows[] = {
	SESSION,
	{"count", PARAM_COUNT, false, 1, UNDO_MAX, .fallback = "1", .help = "steps to go back"},
	{"to", PARAM_TEXT, false, 1, SESSION_BYTES, .help = HELP_UNDO_TO},
	{"stream", PARAM_FLAG, .fallback = "false",
		.help = "send an event for each step that is run again"},
};

#define ABOUT_SESSION                                                                              \
	GIVES_SESSION, MAY_GIVE("name", PARAM_TEXT, "name of the session, if it has a name"),      \
		MAY_GIVE("owner", PARAM_TEXT,                                                      \
			"owner of the session; only the operator of the engine sees it"),          \
		MAY_GIVE("parent", PARAM_TEXT, "id of the session that was branched"),             \
		GIVES("runtime", PARAM_TEXT, "language"),                                          \
		GIVES("state", PARAM_TEXT,                                                         \
			"opening, idle, working, closing, closed; stored: only in the journal; "   \
			"damaged: the journal cannot be read; in session.graph also: open"),       \
		GIVES("head", PARAM_TEXT,                                                          \
			"id of the current step; empty before the first "                          \
			"step"),                                                                   \
		GIVES("steps", PARAM_COUNT, "number of steps from the beginning to the head"),     \
		GIVES("created_ms", PARAM_COUNT,                                                   \
			"when the session was made: milliseconds since 1970"),                     \
		MAY_GIVE("ttl_ms", PARAM_COUNT, "maximum lifetime"),                               \
		MAY_GIVE("idle_ms", PARAM_COUNT, "maximum time without use"),                      \
		MAY_GIVE("expires_ms", PARAM_COUNT,                                                \
			"when the session ends unless it is used: milliseconds since 1970"),       \
		MAY_GIVE("ended", PARAM_TEXT, "why the engine ended the session"),                 \
		MAY_GIVE("outcome", PARAM_TEXT,                                                    \
			"replayed or diverged, when its state was rebuilt from the journal"),      \
		MAY_GIVE("difference", PARAM_TEXT, "the first difference, if it diverged"),        \
		MAY_GIVE("template", PARAM_TEXT, "template with packages"),                        \
		MAY_GIVE("net", PARAM_TEXTS, "network rules"),                                     \
		MAY_GIVE("untrusted", PARAM_FLAG,                                                  \
			"the session has, or had, a network; or it has read results of an "        \
			"untrusted tool")

static const struct param about_rows[] = {ABOUT_SESSION};
static const struct param branched_rows[] = {
	ABOUT_SESSION,
	MAY_GIVE("runs_again", PARAM_TEXTS, HELP_RUNS_AGAIN "; in both sessions"),
	MAY_GIVE("processes_left", PARAM_COUNT,
		"number of processes that go on in the session and are not in the branch"),
};
static const struct param list_rows[] = {
	{"limit", PARAM_COUNT, false, 1, LIST_MAX, .fallback = "1000", .help = "sessions at most"},
	{"before", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "list only sessions made before this one: the last session of a truncated "
			"list"},
};
static const struct param listed_rows[] = {
	{"sessions", PARAM_OBJECTS, NEEDED, FIELDS(about_rows), .help = "sessions, newest first"},
	MAY_GIVE("truncated", PARAM_FLAG, "the list is incomplete: older entries are missing"),
};
static const struct param prune_rows[] = {
	{"older_ms", PARAM_COUNT, false, 0, TIME_MS, .help = HELP_PRUNE_OLDER},
	{"keep", PARAM_COUNT, false, 0, 1 << 30, .help = HELP_PRUNE_KEEP},
	{"all", PARAM_FLAG, .fallback = "false", .help = "all closed sessions"},
	{"dry_run", PARAM_FLAG, .fallback = "false", .help = HELP_PRUNE_DRY},
};
static const struct param pruned_rows[] = {
	GIVES("sessions", PARAM_COUNT, "sessions that were forgotten; with dry_run, that would be"),
	MAY_GIVE("steps", PARAM_COUNT,
		"deleted steps; steps in the past of other sessions are kept"),
	MAY_GIVE("blobs", PARAM_COUNT, "deleted texts and files, to which no step refers any more"),
	MAY_GIVE("bytes", PARAM_COUNT, "disk space that the journal takes afterwards"),
};
static const struct param undone_rows[] = {
	GIVES_SESSION,
	GIVES("head", PARAM_TEXT, "id of the current step; empty before the first step"),
	{"outcome", PARAM_CHOICE, NEEDED, .choices = "rolled_back|replayed|diverged",
		.help = "how the state was restored: from a checkpoint, or by running the steps "
			"again, with the same or with different results"},
	MAY_GIVE("difference", PARAM_TEXT, "the first difference, if it diverged"),
	MAY_GIVE("files_lost", PARAM_TEXTS, "files that could not be restored"),
	MAY_GIVE("processes", PARAM_OBJECTS,
		"processes of clients that have ended, since only another box has the state"),
	MAY_GIVE("runs_again", PARAM_TEXTS, HELP_RUNS_AGAIN),
};
static const struct param step_rows[] = {
	GIVES_STEP,
	GIVES("parent", PARAM_TEXT, "id of the previous step; empty for the first"),
	GIVES_SESSION,
	GIVES("runtime", PARAM_TEXT, "language"),
	GIVES("status", PARAM_TEXT, "how the step ended: ok, error, timeout, oom, killed, denied"),
	GIVES("outcome", PARAM_TEXT,
		"what happened to the session's state: committed, rolled_back, …"),
	GIVES("code", PARAM_DATA, "the program text"),
	GIVES("created_ms", PARAM_COUNT, "time of the step: milliseconds since 1970"),
	GIVES("seq", PARAM_COUNT, "number of the step in the journal"),
	MAY_GIVE("on_path", PARAM_FLAG, "the step is on the path to the head"),
};
static const struct param logged_rows[] = {
	GIVES_SESSION,
	GIVES("head", PARAM_TEXT, "id of the current step"),
	{"steps", PARAM_OBJECTS, NEEDED, FIELDS(step_rows), .help = "steps, newest first"},
	MAY_GIVE("truncated", PARAM_FLAG, "the list is incomplete: older entries are missing"),
};
static const struct param graph_rows[] = {
	{"steps", PARAM_OBJECTS, NEEDED, FIELDS(step_rows), .help = "steps, newest first"},
	{"heads", PARAM_OBJECTS, NEEDED, FIELDS(about_rows), .help = "the sessions"},
	MAY_GIVE("truncated", PARAM_FLAG, "the list is incomplete"),
};
static const struct param exported_rows[] = {
	GIVES("record", PARAM_DATA, "lines of JSON, for replay.run and `retort replay`"),
};

static const struct operation rows[] = {
	{"session.create", TEXT_CREATE, ROWS(create_rows), RESULT(about_rows),
		.label = OPERATION_CALLER,
		.errors = "not_found|access|runtime|box|limit|quota|gone|no_space",
		.example = "{'name': 'demo', 'runtime': 'python', 'preload': ['json'], "
			   "'limits': {'timeout_ms': 10000}}",
		.answer = "{'session': 's-7k2mq4x5ta', 'name': 'demo', 'runtime': 'python', "
			  "'state': 'idle', 'head': '', 'steps': 0}",
		.start = start_create},
	{"session.list", TEXT_LIST, ROWS(list_rows), RESULT(listed_rows), .label = OPERATION_CALLER,
		.limits = "1000 sessions at a time.", .errors = "not_found|damaged|quota|gone",
		.example = "{}",
		.answer = "{'sessions': [{'session': 's-7k2mq4x5ta', 'state': 'idle'}]}",
		.start = start_list},
	{"session.get", "Describe a session", ROWS(session_rows), RESULT(about_rows),
		.label = OPERATION_CALLER, .errors = "not_found", .example = "{'session': 'demo'}",
		.answer = "{'session': 's-7k2mq4x5ta', 'name': 'demo', 'state': 'idle', "
			  "'steps': 1}",
		.start = start_get},
	{"session.branch", TEXT_BRANCH, ROWS(branch_rows), RESULT(branched_rows),
		.label = OPERATION_CALLER, .limits = "Branches of branches can be 28 levels deep.",
		.errors = "not_found|busy|box|limit|quota|gone|no_space",
		.example = "{'session': 'demo', 'name': 'trial'}",
		.answer = "{'session': 's-q3hdk7wz2e', 'name': 'trial', "
			  "'parent': 's-7k2mq4x5ta', 'steps': 1}",
		.start = start_branch},
	{"session.net", TEXT_NET, ROWS(net_rows), RESULT(net_result_rows),
		.label = OPERATION_CALLER,
		.errors = "not_found|denied|limit|busy|no_space|gone|box",
		.example = "{'session': 'demo', 'net': ['api.example:443']}",
		.answer = "{'session': 's-7k2mq4x5ta', 'net': ['api.example:443']}",
		.start = start_net},
	{"session.undo", TEXT_UNDO, ROWS(undo_rows), RESULT(undone_rows),
		.label = OPERATION_PROGRAM,
		.limits =
			"The last four states are restored at once; earlier states by running the "
			"steps again.",
		.errors = "not_found|busy|gone|box", .has_events = true,
		.example = "{'session': 'demo', 'count': 1}",
		.answer = "{'session': 's-7k2mq4x5ta', 'head': '', 'outcome': 'rolled_back'}",
		.start = start_undo},
	{"session.close", "End a session", ROWS(session_rows), .label = OPERATION_ENGINE,
		.errors = "not_found", .example = "{'session': 'demo'}", .answer = "{}",
		.start = start_close},
	{"session.prune", TEXT_PRUNE, ROWS(prune_rows), RESULT(pruned_rows),
		.label = OPERATION_ENGINE,
		.limits = "Steps in the past of other sessions stay. One prune runs at a time.",
		.errors = "busy|damaged|no_space|gone", .example = "{'older_ms': 604800000}",
		.answer = "{'sessions': 0}", .start = start_prune},
	{"session.log", TEXT_LOG, ROWS(log_rows), RESULT(logged_rows), .label = OPERATION_CALLER,
		.limits = "At most the newest 10000 steps, with 32 MiB of code.",
		.errors = "not_found|damaged|quota|gone", .example = "{'session': 'demo'}",
		.answer = "{'steps': [{'status': 'ok', 'outcome': 'committed', 'code': '6 * 7'}]}",
		.answer_bytes = LIST_BYTES, .start = start_log},
	{"session.graph", "List the steps of all sessions, newest first", RESULT(graph_rows),
		.label = OPERATION_CALLER,
		.limits = "At most 10000 steps, of 10000 sessions, and 32 MiB of code.",
		.errors = "damaged|quota|gone", .example = "{}",
		.answer = "{'steps': [{'status': 'ok', 'code': '6 * 7'}], "
			  "'heads': [{'name': 'demo'}]}",
		.answer_bytes = LIST_BYTES, .start = start_graph},
	{"session.export", TEXT_EXPORT, ROWS(session_rows), RESULT(exported_rows),
		.label = OPERATION_PROGRAM,
		.limits = "At most 256 MiB. One export per caller runs at a time; others wait.",
		.errors = "not_found|damaged|limit|quota|gone", .example = "{'session': 'demo'}",
		.answer = "{'record': '…'}", .answer_bytes = EXPORT_BYTES, .start = start_export},
};

const struct operation_family session_family = FAMILY(rows);
