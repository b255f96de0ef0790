/* The command `retort agent`. SPDX-License-Identifier: Apache-2.0 */
#include "api/agent/models.h"
#include "api/service.h"
#include "base/json.h"
#include "cli/host/xdg.h"
#include "cli/agent/agent_context.h"
#include "cli/agent/agent_past.h"
#include "cli/agent/agent_view.h"
#include "cli/approver.h"
#include "cli/box.h"
#include "cli/cmd.h"
#include "cli/host/prices.h"
#include "cli/host/program.h"
#include "cli/session/session.h"
#include "cli/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	TASK_MAX_BYTES = 1 << 20,
	CHECK_MAX_BYTES = 64 << 10,
	ROOM_BYTES = 4 << 20,
	SESSION_ID_BYTES = 80
};

struct agent_args {
	struct box_args box;
	const char *model, *key_file, *query_model, *check, *record, *tools;
	const char *resume, *max_cost, *prices;
	struct opt_list contexts;
	uint64_t max_steps, max_time_ms, max_tokens, max_failures, max_queries;
	uint64_t context_tokens, best_of;
	bool no_grounded, strict, no_images, go_on, list, no_journal, plain, json, jsonl, quiet,
		help;
	int images, color;
};

static const struct opt agent_opts[] = {
#include "cli/agent/agent.def"
#define BOX_ARGS struct agent_args
#include "cli/box.def"
#undef BOX_ARGS
	BOX_PROFILE_OPT(struct agent_args),
	CMD_COMMON_OPTS(struct agent_args),
};

/* ---- reading the task ---- */

/* Return whether stdin contains input for the task: it is a pipe, a regular file or a socket. A
 * terminal is not read. Neither is another device, which the parent process may have left as
 * stdin. */
static bool has_input(void)
{
	struct stat st;
	return fstat(STDIN_FILENO, &st) == 0 &&
		(S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode));
}

static int read_task(const char *operand, struct buf *out, struct err *err)
{
	struct buf piped = BUF_INIT(TASK_MAX_BYTES);
	bool is_all = operand && strcmp(operand, "-") == 0;
	if (!operand || !*operand)
		return err_fail(err, ERR_USAGE,
			"describe the task: retort agent \"TASK\"; or - to read it from standard input",
			"no task");
	int r = is_all || has_input() ? program_read("-", &piped, err) : 0;
	if (r < 0 && err->code == ERR_LIMIT) {
		(void)err_set(
			err, ERR_LIMIT, "standard input is over %d KiB", TASK_MAX_BYTES >> 10);
		r = err_hint(err, "put long text into a file: --context FILE, or -v FILE:FILE");
	}
	if (r == 0 && !utf8_is_valid(buf_str(&piped), piped.bytes))
		r = err_set(err, ERR_USAGE, "standard input is not UTF-8");
	else if (r == 0 && piped.bytes > 0 && memchr(piped.data, '\0', piped.bytes))
		r = err_set(err, ERR_USAGE, "standard input contains a NUL byte: it is not text");
	if (r < 0 && err->code == ERR_USAGE)
		r = err_hint(err, "give data as a file instead: -v FILE:FILE");
	if (r == 0)
		r = is_all ? buf_append(out, buf_str(&piped), piped.bytes) : buf_add(out, operand);
	if (r == 0 && !is_all && piped.bytes > 0)
		r = buf_addf(out, "\n\n<stdin>\n%s\n</stdin>\n", buf_str(&piped));
	if (r < 0 && !err->code)
		(void)err_set(err, ERR_LIMIT, "the task is over %d KiB", TASK_MAX_BYTES >> 10);
	buf_done(&piped);
	return r;
}

/* ---- reading --check, and checking --best-of ---- */

/* Append the value of --check to @out. If it is "schema:FILE", the content of FILE replaces the
 * name. A schema that is written inline, "schema:{…}", is appended as it is. */
static int read_check(const char *check, struct buf *out, struct err *err)
{
	static const char word[] = "schema:";
	const char *schema = check ? check + sizeof word - 1 : NULL;
	if (!check || strncmp(check, word, sizeof word - 1) != 0)
		return check ? buf_add(out, check) : 0;
	schema += strspn(schema, " \t\r\n");
	bool is_inline =
		*schema == '{' || strcmp(schema, "true") == 0 || strcmp(schema, "false") == 0;
	if (buf_add(out, word) < 0 || is_inline || !*schema)
		return buf_add(out, schema);
	if (program_read(schema, out, err) < 0)
		return err_wrap(err, "--check");
	return out->bytes > CHECK_MAX_BYTES || !utf8_is_valid(buf_str(out), out->bytes) ||
			memchr(out->data, '\0', out->bytes)
		? err_set(err, ERR_USAGE, "--check: %.150s is not UTF-8 text of at most %d KiB",
			  schema, CHECK_MAX_BYTES >> 10)
		: 0;
}

/* Refuse --best-of if the session could write to files of the host, because all candidates would
 * write to the same files. */
static int check_shared(const struct agent_args *args, const json_t *create, struct err *err)
{
	size_t i;
	json_t *volume;
	const char *what = json_object_get(create, "workspace") ? "--workspace" : NULL;
	json_array_foreach(json_object_get(create, "volumes"), i, volume)
	{
		if (strcmp(session_text(volume, "mode"), "rw") == 0)
			what = "a volume with :rw";
	}
	if (args->best_of <= 1 || !what)
		return 0;
	return err_fail(err, ERR_USAGE,
		"all candidates would write to it: give the files with -v SRC:DST",
		"--best-of and %s exclude each other", what);
}

/* ---- calling agent.run ---- */

struct agent {
	struct agent_args args;
	struct opt_set set;
	struct agent_view view;
	struct agent_past past;
	json_t *prices;
	double max_cost_usd;
	struct service *service;
	struct approver approver;
	bool can_ask;
	struct buf task, check;
	json_t *inputs; /* the agent's inputs (--context), or NULL */
};

/* Return whether the option @name is passed to agent.run. A new agent gets all options. A
 * resumed agent has saved its settings, so it gets only options on the command line, which
 * override the saved ones. */
static bool is_said(const struct agent *agent, const char *name)
{
	return !agent->past.is_resumed || opt_source(&agent->set, name) == OPT_FROM_ARG;
}

/* Add to @params all options whose value is a number or a time. */
static void put_counts(const struct agent *agent, json_t *params)
{
	for (size_t i = 0; i < ARRAY_LEN(agent_opts); i++) {
		const struct opt *opt = &agent_opts[i];
		bool is_count = opt->type == OPT_COUNT || opt->type == OPT_MS;
		uint64_t value;
		if (!opt->param || !is_count || agent->set.source[i] == OPT_UNSET ||
			!is_said(agent, opt->name))
			continue;
		memcpy(&value, (const char *)&agent->args + opt->offset, sizeof value);
		json_put_int(params, opt->param, (json_int_t)value);
	}
}

static void on_event(void *arg, const json_t *event)
{
	struct agent *agent = arg;
	if (!approver_takes(&agent->approver, event))
		agent_view_event(&agent->view, event);
}

/* Build the parameters of agent.run. @session: the session of the new agent. NULL: the agent is
 * resumed, so the parameter "resume" names the agent instead. */
static json_t *call_params(const struct agent *agent, const char *session)
{
	const struct agent_args *args = &agent->args;
	const struct agent_past *past = &agent->past;
	json_t *params = json_pack("{s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:b, s:b}", "task",
		agent->task.bytes > 0 ? buf_str(&agent->task) : NULL, "session", session, "resume",
		past->is_resumed ? past->id : NULL, "model", args->model, "runtime",
		past->is_resumed ? NULL : args->box.runtime, "query_model", args->query_model,
		"check", args->check ? buf_str(&agent->check) : NULL, "cancel_step", true,
		"approvals", agent->can_ask);
	if (!params)
		return NULL;
	if (args->strict)
		json_put_bool(params, "grounded", true);
	else if (is_said(agent, "no-grounded"))
		json_put_bool(params, "grounded", !args->no_grounded);
	if (is_said(agent, "no-images"))
		json_put_bool(params, "images", !args->no_images);
	if (agent->max_cost_usd > 0 && is_said(agent, "max-cost"))
		json_put_new(params, "max_cost_usd", json_real(agent->max_cost_usd));
	if (agent->inputs)
		json_put_shared(params, "context", agent->inputs);
	put_counts(agent, params);
	return params;
}

static int open_service(struct agent *agent, struct err *err)
{
	const struct agent_past *past = &agent->past;
	const bool is_kept = past->dir[0] != '\0';
	const struct service_config config = {.version = version_text,
		.state_dir = is_kept ? past->state : NULL,
		.layers_dir = xdg_layers_dir(NULL),
		.tools = agent->args.tools,
		.skills = agent->args.box.skills,
		.models = {.key_file = agent->args.key_file,
			.prices = agent->prices,
			.may_name = true},
		.agents = {.dir = is_kept ? past->dir : NULL,
			.id = past->id,
			.directory = past->directory[0] ? past->directory : NULL}};
	return service_open(&agent->service, &config, err);
}

/* If an error message begins with the name of a parameter, replace it by the name of its option:
 * "max_steps: …" becomes "--max-steps: …". */
static int name_option(struct err *err)
{
	const struct err was = *err;
	for (size_t i = 0; i < ARRAY_LEN(agent_opts); i++) {
		const struct opt *opt = &agent_opts[i];
		size_t n = opt->param ? strlen(opt->param) : 0;
		if (n > 0 && strncmp(was.msg, opt->param, n) == 0 &&
			strncmp(was.msg + n, ": ", 2) == 0)
			snprintf(err->msg, sizeof err->msg, "--%s%s", opt->name, was.msg + n);
	}
	return -err_errno(err->code);
}

static int call(struct agent *agent, json_t *create, json_t **result, struct err *err)
{
	const struct operation_listener listener = {.arg = agent, .event = on_event};
	char id[SESSION_ID_BYTES];
	json_t *session = NULL;
	int r = open_service(agent, err);
	if (r == 0 && create)
		r = service_call(
			agent->service, "session.create", json_incref(create), NULL, &session, err);
	if (r < 0)
		return r;
	snprintf(id, sizeof id, "%s", session_text(session, "session"));
	json_decref(session);
	agent->can_ask = !agent->args.json && !agent->args.jsonl &&
		approver_open(&agent->approver, agent->service);
	agent->approver.show = agent_view_event;
	agent->approver.screen = &agent->view;
	return service_call(agent->service, "agent.run", call_params(agent, create ? id : NULL),
		&listener, result, err);
}

/* ---- reporting how the agent ended ---- */

/*
 * Return the exit status for the error in @result:
 * - If the table `rows` contains the error's code, the status in that row: 6 for ERR_DENIED.
 * - Otherwise the status that all commands have for the code: err_exit().
 * - If the code is unknown, 1.
 */
static int exit_of_error(const json_t *result)
{
	static const struct {
		enum err_code code;
		int status;
	} rows[] = {{ERR_DENIED, 6}};
	const char *word = session_text(json_object_get(result, "error"), "code");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(err_word(rows[i].code), word) == 0)
			return rows[i].status;
	for (int i = 0; i < ERR_END_; i++)
		if (strcmp(err_word((enum err_code)i), word) == 0)
			return err_exit((enum err_code)i);
	return 1;
}

/* Texts that explain why an agent ended. They are shown in messages, and in the manual's list of
 * exit statuses. */
#define SAYS_STEPS  "the steps are used up"
#define SAYS_BUDGET "the time, the tokens or the money are used up"
#define SAYS_STUCK  "the model repeats itself, or its steps fail again and again"

static const struct {
	const char *status;
	int exit_status;
	const char *text; /* NULL: no message */
} ends[] = {
	{"ok", 0, NULL},
	{"failed", 1, "the model gave no answer: reword the task"},
	{"check_failed", 1,
		"the answer still fails the check: --jsonl shows the answer and the steps"},
	{"steps", 7, SAYS_STEPS ": allow more with --max-steps"},
	{"budget", 8, SAYS_BUDGET ": allow more with --max-time, --max-tokens or --max-cost"},
	{"stuck", 9, SAYS_STUCK ": describe the task in more detail, or use another model"},
	{"interrupted", 130, "the task was interrupted before it was done"},
};

/* Report on stderr how the agent ended. Returns: the exit status. */
static int tell_end(const json_t *result)
{
	const char *status = session_text(result, "status");
	const json_t *error = json_object_get(result, "error");
	const char *hint = session_text(error, "hint");
	if (error)
		fprintf(stderr, "retort: %s%s%s\n", session_text(error, "message"),
			hint[0] ? ": " : "", hint);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (strcmp(ends[i].status, status) != 0)
			continue;
		if (ends[i].text)
			fprintf(stderr, "retort: %s: %s\n", status, ends[i].text);
		return ends[i].exit_status;
	}
	return exit_of_error(result);
}

static void tell_how_to_go_on(const json_t *result)
{
	const char *id = session_text(result, "agent");
	if (id[0] && strcmp(session_text(result, "status"), "ok") != 0)
		fprintf(stderr, "retort: to resume the task: retort agent --resume %s\n", id);
}

static int finish(struct agent *agent, const json_t *result)
{
	int r = 0;
	if (agent->args.json)
		r = view_json(result) ? -EIO : 0;
	else
		r = agent_view_result(&agent->view, result, agent->args.quiet);
	int exit_status = tell_end(result);
	if (exit_status == 0 && agent->args.strict &&
		!json_is_true(json_object_get(result, "grounded")))
		exit_status = 1;
	if (!agent->args.quiet)
		tell_how_to_go_on(result);
	if (r < 0 && exit_status == 0)
		exit_status = r == -EPIPE ? 141 : 1;
	return exit_status;
}

/* ---- checking the options, and running the agent ---- */

static int open_record(struct agent *agent, struct err *err)
{
	const char *path = agent->args.record;
	if (!path)
		return 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
	agent->view.record = fd >= 0 ? fdopen(fd, "w") : NULL;
	return agent->view.record ? 0 : err_sys(err, ERR_ACCESS, errno, "--record %.150s", path);
}

static int no_model(const struct agent_past *past, struct err *err)
{
	char guess[MODEL_GUESS_BYTES];
	const char *variable = models_guess(guess, sizeof guess);
	(void)err_set(err, ERR_USAGE,
		past->is_resumed ? "the saved task does not name its model" : "no model");
	if (variable)
		return err_hint(err,
			"%s is set, so name a model, as in --model %s, or set RETORT_MODEL",
			variable, guess);
	return err_hint(err,
		"name a model: --model anthropic:NAME, openai:NAME, ollama:NAME, …; "
		"or set RETORT_MODEL");
}

static int check_args(const struct agent *agent, struct err *err)
{
	const struct agent_args *args = &agent->args;
	if (args->json && args->jsonl)
		return err_set(err, ERR_USAGE, "--json and --jsonl exclude each other");
	if (args->strict && args->no_grounded)
		return err_set(err, ERR_USAGE, "--strict and --no-grounded exclude each other");
	if (!args->model && !agent->past.has_model)
		return no_model(&agent->past, err);
	if (agent->past.is_resumed && args->contexts.n > 0)
		return err_set(err, ERR_USAGE, "--context: a resumed task keeps its inputs");
	return agent->past.is_resumed ? agent_past_check(&agent->set, err)
				      : box_check(&args->box, err);
}

/* Choose the directory in which to save a new agent, or find the saved agent to resume. */
static int find_past(struct agent *agent, struct err *err)
{
	const struct agent_args *args = &agent->args;
	struct agent_past *past = &agent->past;
	bool is_resumed = args->go_on || args->resume;
	if (args->go_on && args->resume)
		return err_set(err, ERR_USAGE, "--continue and --resume exclude each other");
	if (is_resumed && args->no_journal)
		return err_set(err, ERR_USAGE, "--no-journal: a resumed task is always saved");
	if (is_resumed)
		return agent_past_find(past, args->resume, err);
	int r = args->no_journal ? 0 : agent_past_new(past, err);
	if (r == 0 && past->why.code && !args->quiet)
		fprintf(stderr, "retort: this task cannot be resumed later: %s\n", past->why.msg);
	return r;
}

/* Build the parameters of session.create in *@create, unless the agent is resumed. A resumed
 * agent has a session already. */
static int prepare_box(struct agent *agent, json_t **create, struct err *err)
{
	const struct agent_args *args = &agent->args;
	if (agent->past.is_resumed)
		return 0;
	*create = box_params(&args->box, &agent->set, err);
	int r = *create ? check_shared(args, *create, err) : -err_errno(err->code);
	picture_ask(args->images, *create);
	return r < 0 ? r : agent_context_add(&args->contexts, *create, &agent->inputs, err);
}

/* Check all options and read all input, before the engine is started. */
static int prepare(struct agent *agent, const char *operand, json_t **create, struct err *err)
{
	const struct agent_args *args = &agent->args;
	int r = find_past(agent, err);
	if (r == 0)
		r = check_args(agent, err);
	if (r == 0)
		r = prices_load(args->prices, &agent->prices, err);
	if (r == 0 && args->max_cost)
		r = prices_read_usd(args->max_cost, &agent->max_cost_usd, err);
	if (r == 0 && (operand || !agent->past.is_resumed))
		r = read_task(operand, &agent->task, err);
	if (r == 0)
		r = open_record(agent, err);
	if (r == 0 && (r = read_check(args->check, &agent->check, err)) < 0 && !err->code)
		(void)err_set(err, ERR_NO_MEMORY, "no memory for a check");
	return r < 0 ? r : prepare_box(agent, create, err);
}

/* Find the task among the operands. Refuse more than one operand: without quotes the shell
 * splits the task into words, and all words but the first would be lost. */
static int find_task(char **operands, const char **out, struct err *err)
{
	*out = operands[0];
	if (!operands[0] || !operands[1])
		return 0;
	return err_fail(err, ERR_USAGE, "put the task in quotes: retort agent \"TASK\"",
		"agent: unexpected \"%.64s\"", operands[1]);
}

static int perform(struct agent *agent, char **operands, struct err *err)
{
	const struct agent_args *args = &agent->args;
	json_t *create = NULL, *result = NULL;
	const char *operand = NULL;
	int r = find_task(operands, &operand, err), status = 0;
	if (r == 0)
		r = prepare(agent, operand, &create, err);
	agent_view_init(&agent->view, args->images);
	agent->view.is_events = args->jsonl;
	agent->view.is_live = isatty(STDERR_FILENO) && !args->plain && !args->json &&
		!args->jsonl && !args->quiet;
	agent->view.tells_waits = !args->json && !args->jsonl && !args->quiet;
	agent->view.has_color = term_has_color(STDERR_FILENO, (enum term_color)args->color);
	if (r == 0 && (r = call(agent, create, &result, err)) < 0)
		r = name_option(err);
	if (r == 0)
		status = finish(agent, result);
	json_decref(create);
	json_decref(agent->inputs);
	json_decref(result);
	return r < 0 ? r : status;
}

static int agent_main(int argc, char **argv)
{
	struct agent *agent = xnew(struct agent);
	struct err err = {0};
	agent->args.box = (struct box_args)BOX_ARGS_INIT;
	agent->approver = APPROVER_NONE;
	agent->task = BUF_INIT(2 * TASK_MAX_BYTES);
	agent->check = BUF_INIT(ROOM_BYTES);
	int status = 0;
	int at = cmd_parse(&cmd_agent, &agent->set, &agent->args, argc, argv, &err);
	if (at > 0) {
		status = cmd_config(&agent->set, agent->args.box.profile, &err);
		if (status == 0)
			status = agent->args.list ? agent_past_list(agent->args.json, &err)
						  : perform(agent, argv + at, &err);
	} else if (at < 0) {
		status = at;
	}
	if (status < 0)
		status = cli_fail(&err, agent->args.json);
	approver_close(&agent->approver);
	service_close(agent->service);
	if (agent->past.dir[0] && !agent->past.is_resumed)
		agent_store_remove(agent->past.dir, agent->past.id);
	agent_view_done(&agent->view);
	if (agent->view.record)
		(void)fclose(agent->view.record);
	buf_done(&agent->task);
	buf_done(&agent->check);
	json_decref(agent->prices);
	free(agent);
	return status;
}

static const char *const usage[] = {"agent [options] TASK", "agent [options] -",
	"agent [options] --continue [TASK]", "agent [options] --resume ID [TASK]", "agent --list",
	NULL};

static const struct cmd_example examples[] = {
	{"ask about a file",
		"retort agent -v ./orders.csv:orders.csv \"What is the average margin?\""},
	{"ask about a text that is too long for the model",
		"retort agent --context novel.txt \"Who are the characters, and who knows whom?\""},
	{"use a model on this host", "retort agent -M ollama:qwen3 \"What is the 1000th prime?\""},
	{"resume a task that was interrupted, or ran out of steps",
		"retort agent --continue --max-steps 40"},
	{"work until the tests pass",
		"retort agent -w . --check 'python3 -m unittest' \"Make the tests pass\""},
	{"take the answer that most of five candidates give",
		"retort agent --best-of 5 --check 'schema:{\"type\": \"number\"}' -v "
		"./orders.csv:orders.csv \"What is the revenue?\""},
};

static const struct cmd_exit exits[] = {
	{"0", "the model has an answer"},
	{"1",
		"the model gave up, the answer fails the check, or, with --strict, the answer "
		"contains a number that no step printed"},
	{"2", "usage error"},
	{"3", "the model's key is missing or wrong"},
	{"4", "the model cannot be reached"},
	{"6", "denied by policy"},
	{"7", SAYS_STEPS},
	{"8", SAYS_BUDGET},
	{"9", SAYS_STUCK},
	{"125", "the box could not be made, or a recording does not fit"},
	{"130", "interrupted"},
};

const struct cmd cmd_agent = {
	.name = "agent",
	.summary = "Have a model do a task by writing and running code",
	.usage = usage,
	.text = "The model writes code in steps. Each step runs in a box, and the model sees the result before "
		"it writes the next step or answers. The answer goes to standard output; on a "
		"terminal, progress is shown on standard error. Piped input is appended to the "
		"task.\n\n"
		"The numbers in the answer must come from the run. An answer with other numbers is sent "
		"back to the model once; if such numbers remain, a warning names them. Ctrl-C stops the "
		"running step, a second Ctrl-C ends the task.\n\n"
		"The task is saved after each turn, without keys. --continue resumes the last task of "
		"this directory in its session, however the task ended; TASK is then your next "
		"message.\n\n"
		"The model's key is read from the environment or a file, and never enters the box.",
	.opts = agent_opts,
	.n_opts = ARRAY_LEN(agent_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.operand = CMD_OPERAND_NAME,
	.run = agent_main,
};
