/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd.h"

#include "api/operation/schema.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"

#include <string.h>
#include <unistd.h>

enum { HELP_LEFT_MAX = 28, HELP_COLUMNS_MAX = 100, HELP_TEXT_MIN = 20, HELP_TEXT_BYTES = 4096 };

/* Where help is written, and how wide. */
struct page {
	FILE *out;
	size_t columns;
	bool color;
};

static size_t width(const char *text)
{
	return utf8_count(text, strlen(text));
}

static void pad(const struct page *p, size_t n)
{
	fprintf(p->out, "%*s", (int)n, "");
}

static void heading(const struct page *p, const char *text)
{
	fprintf(p->out, p->color ? "\n\033[1m%s:\033[0m\n" : "\n%s:\n", text);
}

/* Write the words of @text from column @at on. When the text reaches the right margin, it
 * continues on a new line, indented by @indent. */
static void wrap(const struct page *p, const char *text, size_t at, size_t indent)
{
	bool is_first = true;
	for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
		size_t bytes = strcspn(text, " \n");
		size_t n = utf8_count(text, bytes);
		if (!is_first && at + 1 + n > p->columns) {
			fputc('\n', p->out);
			pad(p, indent);
			at = indent;
		} else if (!is_first) {
			fputc(' ', p->out);
			at++;
		}
		(void)fwrite(text, 1, bytes, p->out);
		at += n;
		text += bytes;
		is_first = false;
	}
	fputc('\n', p->out);
}

/* Write a row of two columns. If @left is too long for the left column, @text begins on the next
 * line. */
static void row(const struct page *p, const char *left, const char *text, size_t column)
{
	size_t n = 2 + width(left);
	fprintf(p->out, "  %s", left);
	if (n + 2 > column) {
		fputc('\n', p->out);
		n = 0;
	}
	pad(p, column - n);
	wrap(p, text, column, column);
}

static size_t column_of(const struct page *p, size_t widest)
{
	size_t column = 2 + MIN(widest, (size_t)HELP_LEFT_MAX) + 2;
	bool is_narrow = column + HELP_TEXT_MIN > p->columns;
	return is_narrow ? 8 : column;
}

/* Append the names of an option: "-m, --memory SIZE". */
static void add_names(struct buf *b, const struct opt *opt)
{
	if (opt->letter)
		buf_addf(b, "-%c, ", opt->letter);
	else
		buf_add(b, "    ");
	buf_addf(b, "--%s", opt->name);
	if (opt->type != OPT_FLAG)
		buf_addf(b, " %s", opt->arg ? opt->arg : "VALUE");
}

static void add_help(struct buf *b, const struct opt *opt)
{
	size_t bytes;
	buf_add(b, opt->help ? opt->help : "");
	const char *before = ": ";
	for (const char *w = NULL; opt->choices && (w = opt_choice_next(opt, w, &bytes));) {
		buf_addf(b, "%s%.*s", before, (int)bytes, w);
		before = ", ";
	}
	if (opt->type == OPT_LIST)
		buf_add(b, " (may be repeated)");
	if (opt->fallback)
		buf_addf(b, " (default: %s)", opt->fallback);
}

static void print_options(const struct page *p, const struct cmd *cmd)
{
	struct buf left cleanup_buf = BUF_INIT(HELP_TEXT_BYTES);
	struct buf text cleanup_buf = BUF_INIT(HELP_TEXT_BYTES);
	const char *group = NULL;
	size_t widest = 0;
	for (size_t i = 0; i < cmd->n_opts; i++) {
		buf_clear(&left);
		add_names(&left, &cmd->opts[i]);
		bool is_counted = !(cmd->opts[i].flags & OPT_HIDDEN);
		widest = is_counted ? MAX(widest, width(buf_str(&left))) : widest;
	}
	for (size_t i = 0; i < cmd->n_opts; i++) {
		const struct opt *opt = &cmd->opts[i];
		const char *name = opt->group ? opt->group : "Options";
		if (opt->flags & OPT_HIDDEN)
			continue;
		if (!group || strcmp(group, name) != 0)
			heading(p, name);
		group = name;
		buf_clear(&left);
		buf_clear(&text);
		add_names(&left, opt);
		add_help(&text, opt);
		row(p, buf_str(&left), buf_str(&text), column_of(p, widest));
	}
}

static void print_text(const struct page *p, const char *text)
{
	while (text && *text) {
		struct buf part cleanup_buf = BUF_INIT(HELP_TEXT_BYTES);
		const char *end = strstr(text, "\n\n");
		buf_append(&part, text, end ? (size_t)(end - text) : strlen(text));
		fputc('\n', p->out);
		wrap(p, buf_str(&part), 0, 0);
		text = end ? end + 2 : NULL;
	}
}

/* Return the last word of the command's name: "new" of "session new". */
static const char *last_word(const struct cmd *cmd)
{
	const char *space = strrchr(cmd->name, ' ');
	return space ? space + 1 : cmd->name;
}

static void print_commands(const struct page *p, const struct cmd *const *table)
{
	size_t widest = 0;
	heading(p, "Commands");
	for (const struct cmd *const *c = table; *c; c++)
		widest = (*c)->is_hidden ? widest : MAX(widest, strlen(last_word(*c)));
	for (const struct cmd *const *c = table; *c; c++)
		if (!(*c)->is_hidden)
			row(p, last_word(*c), (*c)->summary, column_of(p, widest));
}

static void print_examples(const struct page *p, const struct cmd *cmd)
{
	if (cmd->n_examples > 0)
		heading(p, "Examples");
	for (size_t i = 0; i < cmd->n_examples; i++) {
		fprintf(p->out, "%s  # ", i > 0 ? "\n" : "");
		wrap(p, cmd->examples[i].what, 4, 4);
		fprintf(p->out, "  %s\n", cmd->examples[i].line);
	}
}

static void print_exits(const struct page *p, const struct cmd *cmd)
{
	size_t n, widest = 0;
	const struct cmd_exit *exits = cmd_exits(cmd, &n);
	heading(p, "Exit status");
	for (size_t i = 0; i < n; i++)
		widest = MAX(widest, width(exits[i].status));
	for (size_t i = 0; i < n; i++)
		row(p, exits[i].status, exits[i].meaning, column_of(p, widest));
}

void help_print(FILE *out, const struct cmd *cmd, int columns, bool color)
{
	struct page page = {out, (size_t)MIN(columns, (int)HELP_COLUMNS_MAX), color};
	const struct page *p = &page;
	fprintf(out, "%s.\n", cmd->summary);
	heading(p, "Usage");
	for (const char *const *u = cmd->usage; *u; u++) {
		fprintf(out, "  retort ");
		wrap(p, *u, 9, 9);
	}
	print_text(p, cmd->text);
	if (cmd == &cmd_root)
		print_commands(p, cmd_table);
	if (cmd->subs)
		print_commands(p, cmd->subs);
	print_options(p, cmd);
	print_examples(p, cmd);
	if (cmd == &cmd_root)
		fprintf(out, "\n`retort help COMMAND` tells more about a command.\n");
	else if (cmd->subs)
		fprintf(out, "\n`retort help %s COMMAND` tells more about a command.\n", cmd->name);
	else
		print_exits(p, cmd);
}

struct help_args {
	bool man, api, help;
	int color;
};

/* clang-format off */
static const struct opt help_opts[] = {
	{.name = "man", OPT_INTO_FLAG(struct help_args, man), .flags = OPT_HIDDEN | OPT_NO_ENV,
		.group = "Options", .help = "print the manual page in roff"},
	{.name = "api", OPT_INTO_FLAG(struct help_args, api), .flags = OPT_HIDDEN | OPT_NO_ENV,
		.group = "Options", .help = "print the table of operations as JSON"},
	CMD_COMMON_OPTS(struct help_args),
};
/* clang-format on */

/* Return whether @word is one of @choices: "run" is one of "run|check". */
static bool is_choice(const char *choices, const char *word)
{
	size_t bytes = strlen(word);
	for (const char *at = choices; at; at = strchr(at, '|')) {
		at += *at == '|';
		if (bytes > 0 && strncmp(at, word, bytes) == 0 && (!at[bytes] || at[bytes] == '|'))
			return true;
	}
	return false;
}

static int print_api(void)
{
	cleanup_json json_t *all = schema_operations();
	int r = json_dumpf(all, stdout, JSON_INDENT(1));
	return r < 0 || puts("") < 0;
}

static int help_run(int argc, char **argv)
{
	struct help_args args = {0};
	struct opt_set set;
	struct err err;
	int at = cmd_parse(&cmd_help, &set, &args, argc, argv, &err);
	if (at < 0)
		return cli_fail(&err, false);
	if (at == 0)
		return 0;
	if (args.api)
		return print_api();
	const struct cmd *cmd = at < argc ? cmd_find(argv[at]) : &cmd_root;
	char name[64];
	if (cmd && cmd->subs && at + 1 < argc) {
		snprintf(name, sizeof name, "%s %s", cmd->name, argv[++at]);
		cmd = cmd_find(name);
		argv[at] = name;
	}
	if (!cmd) {
		(void)cmd_unknown(argv[at], &err);
		return cli_fail(&err, false);
	}
	/* `help plan check` shows the page of `plan`, which explains its verbs. */
	bool is_verb = cmd->operand_choices && at + 2 == argc &&
		is_choice(cmd->operand_choices, argv[at + 1]);
	if (at + 1 < argc && !is_verb) {
		err_fail(&err, ERR_USAGE, "name one command", "help: unexpected \"%.64s\"",
			argv[at + 1]);
		return cli_fail(&err, false);
	}
	if (args.man)
		man_print(stdout, cmd);
	else
		help_print(stdout, cmd, term_columns(STDOUT_FILENO),
			term_has_color(STDOUT_FILENO, (enum term_color)args.color));
	return 0;
}

static const char *const help_usage[] = {"help [COMMAND [COMMAND]]", NULL};

const struct cmd cmd_help = {
	.name = "help",
	.summary = "Explain retort or one of its commands",
	.usage = help_usage,
	.opts = help_opts,
	.n_opts = ARRAY_LEN(help_opts),
	.operand = CMD_OPERAND_COMMAND,
	.run = help_run,
};
