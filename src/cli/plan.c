/* The command `retort plan`. SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "base/word.h"
#include "cli/cmd.h"
#include "planner/plan_check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct plan_args {
	int dialect;
	bool has_while, has_recursion, help;
	uint64_t fuel, memory_bytes;
	const char *policy, *tools, *request, *record, *resume;
	const char *model, *key_file;
	bool is_json, yes, no_prompt, again;
	int color;
};

/* clang-format off */
static const struct opt plan_opts[] = {
	{.name = "dialect", OPT_INTO_CHOICE(struct plan_args, dialect), .arg = "NAME", .group = "Language",
		.choices = "plan|starlark", .fallback = "plan",
		.help = "language of the file: restricted Python, or Starlark"},
	{.name = "while", OPT_INTO_FLAG(struct plan_args, has_while), .group = "Language",
		.help = "allow while loops"},
	{.name = "recursion", OPT_INTO_FLAG(struct plan_args, has_recursion), .group = "Language",
		.help = "allow functions that call themselves"},
	{.name = "policy", OPT_INTO_TEXT(struct plan_args, policy), .arg = "FILE", .group = "Flows",
		.help = "file of the policy; without it, the annotations of the tools decide"},
	{.name = "tools", OPT_INTO_TEXT(struct plan_args, tools), .arg = "FILE", .group = "Flows",
		.help = "file of the tools: a list of MCP servers, or tools with prepared answers; with it, "
			"every flow is checked"},
	{.name = "request", OPT_INTO_TEXT(struct plan_args, request), .arg = "TEXT", .group = "Flows",
		.help = "the user's request: literals that occur in it count as the user's"},
	{.name = "json", OPT_INTO_FLAG(struct plan_args, is_json), .group = "Flows",
		.help = "write the findings as JSON to stdout"},
	{.name = "record", OPT_INTO_TEXT(struct plan_args, record), .arg = "FILE", .group = "Runs",
		.help = "record each call and its result in FILE, which must not exist"},
	{.name = "resume", OPT_INTO_TEXT(struct plan_args, resume), .arg = "FILE", .group = "Runs",
		.help = "resume the incomplete run that FILE records"},
	{.name = "again", OPT_INTO_FLAG(struct plan_args, again), .flags = OPT_NO_ENV, .group = "Runs",
		.help = "with --resume: repeat the last call, even if it may have been made already"},
	{.name = "model", OPT_INTO_TEXT(struct plan_args, model), .arg = "MODEL", .group = "Runs",
		.help = "the model that answers ask(), as in `retort agent --model`; it gets no tools"},
	{.name = "key-file", OPT_INTO_TEXT(struct plan_args, key_file), .arg = "FILE", .group = "Runs",
		.complete = OPT_COMPLETE_FILE, .help = "file with the model's key (default: the environment variable of its "
			"provider)"},
	{.name = "yes", OPT_INTO_FLAG(struct plan_args, yes), .flags = OPT_NO_ENV, .group = "Runs",
		.help = "approve everything that needs approval"},
	{.name = "no-prompt", OPT_INTO_FLAG(struct plan_args, no_prompt), .flags = OPT_NO_ENV, .group = "Runs",
		.help = "never ask: refuse what needs approval"},
	{.name = "fuel", OPT_INTO_COUNT(struct plan_args, fuel), .arg = "STEPS", .group = "Limits of a plan",
		.help = "stop the plan after this many steps (default: 2^40)"},
	{.name = "plan-memory", OPT_INTO_BYTES(struct plan_args, memory_bytes), .arg = "SIZE",
		.group = "Limits of a plan", .min = 1 << 16, .max = UINT64_C(1) << 40,
		.help = "memory for the values of the plan (default: 1g)"},
	CMD_COMMON_OPTS(struct plan_args),
};
/* clang-format on */

/* Write output of the plan to stdout. It may contain results of tools, so on a terminal its
 * control characters are escaped. */
static int print_out(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	if (!isatty(STDOUT_FILENO))
		return fwrite(text, 1, bytes, stdout) == bytes ? 0 : -1;
	cleanup_buf struct buf shown = BUF_INIT(SIZE_MAX);
	return utf8_escape_terminal(&shown, text, bytes, UTF8_KEEP_LINES) < 0 ||
			fwrite(buf_str(&shown), 1, shown.bytes, stdout) != shown.bytes
		? -1
		: 0;
}

/* Ask the user for approval. Open the terminal for that, because stdin may be the plan. */
static int approve(void *arg, const char *text)
{
	const struct plan_args *args = arg;
	char answer[16] = "";
	FILE *terminal = args->yes || args->no_prompt ? NULL : fopen("/dev/tty", "r+e");
	if (!terminal)
		return args->yes ? 1 : -1;
	cleanup_buf struct buf shown = BUF_INIT(1 << 20);
	(void)utf8_escape_terminal(&shown, text, strlen(text), UTF8_KEEP_LINES);
	fprintf(terminal, "%s\nIs that right? [y/N] ", buf_str(&shown));
	(void)fflush(terminal);
	bool is_read = fgets(answer, sizeof answer, terminal);
	(void)fclose(terminal);
	return !is_read				   ? -1
		: *answer == 'y' || *answer == 'Y' ? 1
		: *answer == 's' || *answer == 'S' ? 2
						   : 0;
}

enum verb { VERB_RUN, VERB_CHECK, VERB_EXPLAIN, VERB_TEST, VERB_POLICY, VERB_END_ };

/* The verbs with what each takes: what its operand is, and how it is written. */
static const struct {
	const char *name, *operand, *usage;
} verbs[VERB_END_] = {
	[VERB_RUN] = {"run", "FILE, the plan,", "run FILE"},
	[VERB_CHECK] = {"check", "FILE, the plan,", "check FILE"},
	[VERB_EXPLAIN] = {"explain", "FILE, the plan,", "explain FILE"},
	[VERB_TEST] = {"test", "POLICY, the file of the policy,", "test POLICY"},
	[VERB_POLICY] = {"policy", "FILE, the list of tools,", "policy --tools FILE"},
};

static enum verb find_verb(const char *word)
{
	enum verb verb = 0;
	while (verb < VERB_END_ && strcmp(verbs[verb].name, word) != 0)
		verb++;
	return verb;
}

static int no_verb(const char *word)
{
	static const char usage[] = "write retort plan run FILE, check FILE, explain FILE, test "
				    "POLICY, or policy --tools FILE";
	struct err err;
	struct word_near near = WORD_NEAR(word ? word : "");
	WORD_NEAR_ROWS(&near, verbs, VERB_END_, name);
	if (word)
		err_unknown(&err, ERR_USAGE, &near, usage, "plan: unknown verb \"%.64s\"", word);
	else
		err_fail(&err, ERR_USAGE, usage, "plan: the verb is missing");
	return cli_fail(&err, false);
}

/* @unexpected: the first operand that is too many; NULL: an operand is missing. */
static int wrong_operands(enum verb verb, const char *unexpected)
{
	struct err err;
	if (unexpected)
		(void)err_set(&err, ERR_USAGE, "plan %s: unexpected \"%.64s\"", verbs[verb].name,
			unexpected);
	else
		(void)err_set(&err, ERR_USAGE, "plan %s: %s is missing", verbs[verb].name,
			verbs[verb].operand);
	(void)err_hint(&err, "write retort plan %s", verbs[verb].usage);
	return cli_fail(&err, false);
}

static struct plan_request request_of(const struct plan_args *args, const char *path)
{
	return (struct plan_request){.path = path,
		.dialect = args->dialect == 1 ? PLAN_DIALECT_STARLARK : PLAN_DIALECT_PLAN,
		.has_while = args->has_while,
		.has_recursion = args->has_recursion,
		.fuel = args->fuel,
		.memory_bytes = args->memory_bytes,
		.tools_path = args->tools,
		.policy_path = args->policy,
		.request = args->request,
		.has_signals = true,
		.is_json = args->is_json};
}

static int run_plan(const struct plan_args *args, const char *path)
{
	struct err err = {0};
	cleanup_buf struct buf report = BUF_INIT(1);
	struct plan_request req = request_of(args, path);
	req.arg = (void *)args;
	req.print = print_out;
	req.record_path = args->record;
	req.resume_path = args->resume;
	req.model = args->model;
	req.key_file = args->key_file;
	req.is_again = args->again;
	req.approve = approve;
	req.can_see_each = !args->yes && !args->no_prompt;
	int r = plan_perform(&req, &report, &err);
	/* Flush the plan's output before our messages follow on stderr. */
	(void)fflush(stdout);
	fputs(buf_str(&report), stderr);
	return r < 0 ? cli_fail(&err, false) : r;
}

/* Check a plan. The report goes to stdout for `explain` and with --json, otherwise to stderr. */
static int judge_plan(const struct plan_args *args, const char *path, bool is_explained)
{
	struct err err = {0};
	cleanup_buf struct buf report = BUF_INIT(1);
	struct plan_request req = request_of(args, path);
	req.is_explained = is_explained;
	int r = plan_check(&req, &report, &err);
	fputs(buf_str(&report), args->is_json || is_explained ? stdout : stderr);
	return r < 0 ? cli_fail(&err, false) : r;
}

/* Write the draft of a policy to stdout. @path: the file of tools, as in `retort plan policy
 * tools.json`; NULL: the file that --tools names. */
static int write_policy(const struct plan_args *args, const char *path)
{
	struct err err = {0};
	cleanup_buf struct buf text = BUF_INIT(1);
	const struct plan_request req = {
		.tools_path = path ? path : args->tools, .has_signals = true};
	int r = plan_skeleton(&req, &text, &err);
	if (r < 0)
		return cli_fail(&err, false);
	fputs(buf_str(&text), stdout);
	return r;
}

static int test_policy(const struct plan_args *args, const char *path)
{
	struct err err = {0};
	cleanup_buf struct buf report = BUF_INIT(1);
	const struct plan_request req = {.policy_path = path,
		.tools_path = args->tools,
		.has_signals = true,
		.is_json = args->is_json};
	int r = plan_test(&req, &report, &err);
	fputs(buf_str(&report), r == PLAN_INVALID && !args->is_json ? stderr : stdout);
	return r < 0 ? cli_fail(&err, false) : r;
}

static int plan_main(int argc, char **argv)
{
	struct plan_args args = {0};
	struct opt_set set;
	struct err err = {0};
	int at = cmd_parse(&cmd_plan, &set, &args, argc, argv, &err);
	if (at == 0)
		return 0;
	if (at < 0 || cmd_config(&set, NULL, &err) < 0)
		return cli_fail(&err, false);
	if (at == argc)
		return no_verb(NULL);
	enum verb verb = find_verb(argv[at]);
	if (verb == VERB_END_)
		return no_verb(argv[at]);
	/* The tools of the environment and of the configuration are for those who name none. */
	int n_operands = argc - at - 1;
	bool is_said = opt_source(&set, "tools") == OPT_FROM_ARG;
	bool is_complete = verb == VERB_POLICY && args.tools && (is_said || n_operands == 0);
	int n_needed = is_complete ? 0 : 1;
	const char *path = argv[at + 1];
	if (n_operands != n_needed)
		return wrong_operands(verb, n_operands > n_needed ? argv[at + 1 + n_needed] : NULL);
	if (verb == VERB_POLICY)
		return write_policy(&args, path);
	if (verb == VERB_TEST)
		return test_policy(&args, path);
	return verb == VERB_RUN ? run_plan(&args, path)
				: judge_plan(&args, path, verb == VERB_EXPLAIN);
}

static const char *const usage[] = {"plan run [options] FILE", "plan check [options] FILE",
	"plan explain [options] FILE", "plan test [options] POLICY", "plan policy --tools FILE",
	NULL};

static const struct cmd_example examples[] = {
	{"run a plan", "retort plan run plan.star"},
	{"run a plan with tools, and record each call",
		"retort plan run --tools tools.json --policy mail.policy.star --record r.jsonl plan.star"},
	{"run a plan with the tools of MCP servers, and a model that answers ask()",
		"retort plan run --tools mcp.json --model ollama:qwen3 --policy mail.policy.star plan.star"},
	{"check a plan for mistakes without running it", "retort plan check plan.star"},
	{"check every flow against a policy",
		"retort plan check plan.star --policy mail.policy.star --tools tools.json"},
	{"show the labels, calls and approvals of a plan",
		"retort plan explain plan.star --tools tools.json"},
	{"draft a policy: each tool and parameter, with ? where you must decide",
		"retort plan policy --tools tools.json"},
	{"run the tests of a policy", "retort plan test mail.policy.star --tools tools.json"},
	{"run a Starlark file", "retort plan run --dialect starlark build.star"},
};

static const struct cmd_exit exits[] = {
	{"0", "done"},
	{"1", "the plan stopped with an error, or a test of a policy fails"},
	{"2", "usage error, the file is not a plan or a policy, or the plan cannot be checked"},
	{"3", "the key of a server or of the model is missing or wrong"},
	{"4", "a server or the model gave no answer; a recorded run can be resumed"},
	{"6", "the policy denies a call, or a person said no"},
	{"130", "interrupted; a recorded run can be resumed"},
};

const struct cmd cmd_plan = {
	.name = "plan",
	.summary = "Check and run plans, programs without side effects of their own",
	.usage = usage,
	.text = "A plan is a program in restricted Python. Its print() writes to stdout; errors go to stderr "
		"with their line and, if possible, a correction. A plan has no access to files, network or "
		"clock: it acts only by calling tools. With --tools, `retort plan check` reports for each "
		"tool call whether the policy allows the data that can reach the call. It shows the path of "
		"data that the policy does not allow.",
	.opts = plan_opts,
	.n_opts = ARRAY_LEN(plan_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.operand = CMD_OPERAND_CHOICE_FILE,
	.operand_choices = "check|run|explain|test|policy",
	.run = plan_main,
};
