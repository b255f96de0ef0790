/* The command `retort tools`. SPDX-License-Identifier: Apache-2.0 */
#include "api/text/tools.h"
#include "base/utf8.h"
#include "cli/cmd.h"
#include "cli/host/program.h"
#include "cli/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_UNREACHABLE = 4, STATUS_TOOL = 5, STATUS_DENIED = 6, SHOWN_BYTES = 1 << 29 };

struct tools_args {
	const char *config;
	int language;
	bool is_json, yes, no_prompt, help;
	int color;
};

#define CONFIG_OPT                                                                                 \
	{                                                                                          \
		.name = "mcp-config", OPT_INTO_TEXT(struct tools_args, config), .arg = "FILE",     \
		.group = "Servers", .complete = OPT_COMPLETE_FILE,                                 \
		.help = "list of servers, in the format of Claude, VS Code or Codex"               \
	}
#define JSON_OPT                                                                                   \
	{                                                                                          \
		.name = "json", OPT_INTO_FLAG(struct tools_args, is_json), .flags = OPT_NO_ENV,    \
		.group = "Output", .help = "print one JSON object"                                 \
	}

static const struct opt plain_opts[] = {
	CONFIG_OPT,
	JSON_OPT,
	CMD_COMMON_OPTS(struct tools_args),
};

/* clang-format off */
static const struct opt stub_opts[] = {
	CONFIG_OPT,
	{.name = "lang", OPT_INTO_CHOICE(struct tools_args, language), .arg = "NAME", .group = "Output",
		.choices = "python|js", .fallback = "python", .help = "declare them in this language"},
	JSON_OPT,
	CMD_COMMON_OPTS(struct tools_args),
};
/* clang-format on */

/* clang-format off */
static const struct opt call_opts[] = {
	CONFIG_OPT,
	{.name = "yes", OPT_INTO_FLAG(struct tools_args, yes), .flags = OPT_NO_ENV, .group = "Approval",
		.help = "allow the call, whatever it may change"},
	{.name = "no-prompt", OPT_INTO_FLAG(struct tools_args, no_prompt), .flags = OPT_NO_ENV,
		.group = "Approval", .help = "do not ask; deny tools that are not read-only"},
	JSON_OPT,
	CMD_COMMON_OPTS(struct tools_args),
};
/* clang-format on */

/* ---- callbacks for tools_perform() ---- */

static char *answer(void *arg, const char *prompt)
{
	const struct tools_args *args = arg;
	char *line = NULL;
	size_t room = 0;
	FILE *terminal = args->no_prompt || args->is_json ? NULL : fopen("/dev/tty", "r+e");
	if (!terminal)
		return NULL;
	fputs(prompt, terminal);
	(void)fflush(terminal);
	ssize_t n = getline(&line, &room, terminal);
	(void)fclose(terminal);
	if (n > 0) {
		line[strcspn(line, "\n")] = '\0';
		return line;
	}
	free(line);
	return NULL;
}

static bool approve(void *arg, const char *text)
{
	cleanup_buf struct buf prompt = BUF_INIT(TOOLS_TEXT_BYTES);
	char *line =
		buf_addf(&prompt, "%s [y/N] ", text) == 0 ? answer(arg, buf_str(&prompt)) : NULL;
	bool is_yes = line && (*line == 'y' || *line == 'Y');
	free(line);
	return is_yes;
}

static void warn(void *arg, const struct err *err)
{
	(void)arg;
	(void)cli_fail(err, false);
}

static void progress(void *arg, const char *text)
{
	(void)arg;
	if (term_is(STDERR_FILENO))
		fprintf(stderr, "retort: %s\n", text);
}

/* ---- showing the outcome of tools_perform() ---- */

/* Print a text of a server to stdout. On a terminal, escape its control characters. */
static int print_text(const struct buf *text)
{
	cleanup_buf struct buf shown = BUF_INIT(SHOWN_BYTES);
	if (!term_is(STDOUT_FILENO))
		return fwrite(buf_str(text), 1, text->bytes, stdout) != text->bytes;
	(void)utf8_escape_terminal(&shown, buf_str(text), text->bytes, UTF8_KEEP_LINES);
	return fwrite(buf_str(&shown), 1, shown.bytes, stdout) != shown.bytes;
}

/* Report the error of @tool. It may have several lines, such as a traceback. Returns: the exit
 * status. */
static int tell_failed(const struct tools_outcome *out, const char *tool)
{
	cleanup_buf struct buf shown = BUF_INIT(SHOWN_BYTES);
	const struct buf *text = &out->text;
	const char *end = text->bytes ? memchr(text->data, '\n', text->bytes) : NULL;
	if (!end || (size_t)(end - text->data) == text->bytes - 1 ||
		utf8_escape_terminal(&shown, buf_str(text), text->bytes, UTF8_KEEP_LINES) < 0)
		return cli_fail(&out->err, false);
	(void)fflush(stdout);
	fprintf(stderr, "retort: %s failed:\n%s", tool, buf_str(&shown));
	return STATUS_TOOL;
}

static int show(const struct tools_args *args, const struct tools_request *q)
{
	static const int statuses[] = {[TOOLS_TOOL_ERROR] = STATUS_TOOL,
		[TOOLS_LOST] = STATUS_UNREACHABLE,
		[TOOLS_REFUSED] = STATUS_DENIED};
	struct tools_outcome out;
	int status = 0;
	tools_perform(q, &out);
	bool is_call = q->verb == TOOLS_CALL;
	bool is_whole = out.end == TOOLS_DONE || (is_call && out.end == TOOLS_TOOL_ERROR) ||
		(!is_call && out.end == TOOLS_LOST && out.err.code != ERR_INTERRUPTED);
	if (is_whole && args->is_json)
		status = view_json(out.json);
	else if (is_whole && out.end != TOOLS_TOOL_ERROR)
		status = print_text(&out.text);
	if (out.end != TOOLS_DONE) {
		/* A verb other than `call`, such as `list`, may ask several servers. If some of
		 * these servers failed, `end` is TOOLS_LOST, but there is a result. The result
		 * was shown above, and warn() has reported the error of each failed server.
		 * is_said is true in this case, so no error is reported a second time. */
		bool is_said = is_whole && !is_call;
		int by_code = is_said ? 0
			: is_whole    ? tell_failed(&out, q->what)
				      : cli_fail(&out.err, args->is_json);
		bool has_own = out.end == TOOLS_WRONG || out.err.code == ERR_AUTH ||
			out.err.code == ERR_INTERRUPTED;
		status = has_own && !is_said ? by_code : statuses[out.end];
	}
	tools_done(&out);
	return status;
}

/* ---- the commands tools list, search, stub and call ---- */

struct tools_call {
	struct tools_args args;
	char **operands;
	int n_operands;
};

/* A command line, and how many operands are allowed. */
struct typed {
	int argc;
	char **argv;
	int min, max;
};

static int begin(
	struct tools_call *c, const struct cmd *cmd, const struct typed *typed, struct err *err)
{
	struct opt_set set;
	*c = (struct tools_call){0};
	int at = cmd_parse(cmd, &set, &c->args, typed->argc, typed->argv, err);
	if (at <= 0)
		return at;
	int r = cmd_config(&set, NULL, err);
	if (r < 0)
		return r;
	c->operands = typed->argv + at;
	c->n_operands = typed->argc - at;
	if (c->n_operands < typed->min || c->n_operands > typed->max) {
		if (c->n_operands < typed->min)
			(void)err_set(err, ERR_USAGE, "%s: an operand is missing", cmd->name);
		else
			(void)err_set(err, ERR_USAGE, "%s: unexpected \"%.64s\"", cmd->name,
				c->operands[typed->max]);
		return err_hint(err, "write: retort %s", cmd->usage[0]);
	}
	for (int i = 0; i < c->n_operands; i++)
		if (!utf8_is_valid(c->operands[i], strlen(c->operands[i])))
			return err_set(err, ERR_USAGE, "%s: not UTF-8", cmd->name);
	if (!c->args.config)
		return err_fail(err, ERR_USAGE,
			"--mcp-config FILE names a list of them, and so do "
			"RETORT_MCP_CONFIG and config.json",
			"%s: no servers are named", cmd->name);
	return 1;
}

static int run_plain(const struct cmd *cmd, enum tools_verb verb, int argc, char **argv, int min)
{
	struct tools_call c;
	struct err err = {0};
	int r = begin(&c, cmd, &(struct typed){argc, argv, min, 1}, &err);
	if (r <= 0)
		return r == 0 ? 0 : cli_fail(&err, c.args.is_json);
	const struct tools_request q = {.verb = verb,
		.config_path = c.args.config,
		.what = c.n_operands > 0 ? c.operands[0] : NULL,
		.is_javascript = c.args.language == 1,
		.arg = &c.args,
		.warn = warn};
	return show(&c.args, &q);
}

extern const struct cmd cmd_tools_list, cmd_tools_search, cmd_tools_stub, cmd_tools_call;

static int list_main(int argc, char **argv)
{
	return run_plain(&cmd_tools_list, TOOLS_LIST, argc, argv, 0);
}

static int search_main(int argc, char **argv)
{
	return run_plain(&cmd_tools_search, TOOLS_SEARCH, argc, argv, 1);
}

static int stub_main(int argc, char **argv)
{
	return run_plain(&cmd_tools_stub, TOOLS_STUB, argc, argv, 0);
}

/* Read the arguments of a call. @text: "{…}", "@FILE", or "-" for stdin. */
static int read_arguments(const char *text, json_t **out, struct err *err)
{
	cleanup_buf struct buf data = BUF_INIT(PROGRAM_MAX_BYTES);
	json_error_t wrong;
	bool is_file = *text == '@' || strcmp(text, "-") == 0;
	int r = is_file ? program_read(*text == '@' ? text + 1 : text, &data, err)
			: buf_add(&data, text);
	if (r < 0)
		return is_file ? r : err_set(err, ERR_LIMIT, "arguments: too long");
	*out = json_loadb(buf_str(&data), data.bytes, JSON_REJECT_DUPLICATES, &wrong);
	if (json_is_object(*out))
		return 0;
	if (*out)
		(void)err_set(err, ERR_USAGE, "arguments: not a JSON object");
	else
		(void)err_set(err, ERR_USAGE, "arguments: line %d, column %d: %.100s", wrong.line,
			wrong.column, wrong.text);
	json_decref(*out);
	*out = NULL;
	return err_hint(
		err, "write them as '{\"name\": \"value\"}', @FILE, or - for standard input");
}

static int call_main(int argc, char **argv)
{
	struct tools_call c;
	struct err err = {0};
	json_t *arguments = NULL;
	int r = begin(&c, &cmd_tools_call, &(struct typed){argc, argv, 1, 2}, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = read_arguments(c.n_operands > 1 ? c.operands[1] : "{}", &arguments, &err);
	if (r < 0)
		return cli_fail(&err, c.args.is_json);
	const struct tools_request q = {.verb = TOOLS_CALL,
		.config_path = c.args.config,
		.what = c.operands[0],
		.arguments = arguments,
		.is_allowed = c.args.yes,
		.arg = &c.args,
		.approve = approve,
		.answer = answer,
		.warn = warn,
		.progress = progress};
	int status = show(&c.args, &q);
	json_decref(arguments);
	return status;
}

static const struct cmd_exit exits[] = {
	{"0", "done"},
	{"2", "wrong options, configuration or arguments"},
	{"3", "a server requires a key"},
	{"4", "a server cannot be reached, or does not answer"},
	{"5", "the tool failed"},
	{"6", "the call was not allowed"},
	{"130", "interrupted"},
};

#define SUB(id, what, rows, use, main_, ...)                                                       \
	static const char *const id##_usage[] = {use, NULL};                                       \
	const struct cmd cmd_tools_##id = {.name = "tools " #id,                                   \
		.summary = what,                                                                   \
		.usage = id##_usage,                                                               \
		.opts = rows,                                                                      \
		.n_opts = ARRAY_LEN(rows),                                                         \
		.exits = exits,                                                                    \
		.n_exits = ARRAY_LEN(exits),                                                       \
		.operand = CMD_OPERAND_NAME,                                                       \
		.run = main_,                                                                      \
		__VA_ARGS__}

SUB(list, "List the tools of servers", plain_opts, "tools list [options] [SERVER]", list_main, );
SUB(search, "Find tools by their names and descriptions", plain_opts,
	"tools search [options] QUERY", search_main,
	.text = "Prints at most twenty tools, best matches first.");
SUB(stub, "Print tools as Python or TypeScript declarations", stub_opts,
	"tools stub [options] [SERVER]", stub_main, );
SUB(call, "Call a tool", call_opts, "tools call [options] SERVER.TOOL [JSON | @FILE | -]",
	call_main,
	.text = "Prints the tool's result: a text unchanged, anything else as JSON. Tools that are not "
		"marked read-only need approval on the terminal; without a terminal they are denied.");

static const struct opt group_opts[] = {
	{.name = "help",
		.letter = 'h',
		.type = OPT_FLAG,
		.offset = 0,
		.flags = OPT_NO_ENV,
		.group = "General options",
		.help = "show this help"},
};

static int tools_main(int argc, char **argv)
{
	return cmd_run_sub(&cmd_tools, argc, argv);
}

static const struct cmd *const subs[] = {
	&cmd_tools_list, &cmd_tools_search, &cmd_tools_stub, &cmd_tools_call, NULL};

static const char *const usage[] = {"tools COMMAND [options] [ARGS...]", NULL};

static const struct cmd_example examples[] = {
	{"list all tools", "retort tools list --mcp-config mcp.json"},
	{"find a tool that reads files", "retort tools search --mcp-config mcp.json 'read file'"},
	{"call a tool",
		"retort tools call --mcp-config mcp.json files.read '{\"path\": \"a.txt\"}'"},
};

const struct cmd cmd_tools = {
	.name = "tools",
	.summary = "Use the tools of configured MCP servers",
	.usage = usage,
	.text = "Only servers of the list that --mcp-config, RETORT_MCP_CONFIG or config.json "
		"names are used. Servers are started when they are needed, and ended afterwards.",
	.opts = group_opts,
	.n_opts = ARRAY_LEN(group_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.operand = CMD_OPERAND_NAME,
	.subs = subs,
	.run = tools_main,
};
