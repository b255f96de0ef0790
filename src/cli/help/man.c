/* Print manual pages, in the mdoc language of roff, made from the command table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <ctype.h>
#include <string.h>

enum { MAN_COLUMNS = 72, MAN_TEXT_BYTES = 4096 };

/* What "-" becomes: a hyphen in prose, a minus sign in text that users type. */
enum man_dash { MAN_PROSE, MAN_LITERAL };

/* Write text, escaped for roff. Source: mandoc_char(7). */
static void put(FILE *out, const char *text, size_t bytes, enum man_dash dash)
{
	while (bytes > 0) {
		int32_t c;
		size_t n = utf8_decode(text, bytes, &c);
		if (c == '\\')
			fputs("\\e", out);
		else if (c == '-' && dash == MAN_LITERAL)
			fputs("\\-", out);
		else if (c == '"')
			fputs("\\(dq", out);
		else if (c == '\'')
			fputs("\\(aq", out);
		else if (c == '`')
			fputs("\\(ga", out);
		else if (c == '~' || c == '^')
			fputs(c == '~' ? "\\(ti" : "\\(ha", out);
		else if (c >= 0x80 || c < 0)
			fprintf(out, "\\[u%04X]", (unsigned)(c < 0 ? UTF8_REPLACEMENT : c));
		else
			fputc(c, out);
		text += n;
		bytes -= n;
	}
}

/* Write an argument of a macro. "\&" keeps roff from taking the argument for a macro. */
static void put_arg(FILE *out, const char *text)
{
	fputs("\"\\&", out);
	put(out, text, strlen(text), MAN_LITERAL);
	fputc('"', out);
}

static bool ends_sentence(const char *word, size_t bytes)
{
	return bytes > 1 && strchr(".!?", word[bytes - 1]) && word[0] != '#';
}

/* Write text, wrapped to MAN_COLUMNS. Each sentence begins on a new line. A "." at the beginning
 * of a line is escaped, because the line would be a request to roff. */
static void put_text(FILE *out, const char *text, size_t bytes)
{
	const char *end = text + bytes;
	size_t at = 0;
	for (;;) {
		while (text < end && isspace((unsigned char)*text))
			text++;
		size_t n = 0;
		while (text + n < end && !isspace((unsigned char)text[n]))
			n++;
		if (n == 0)
			break;
		if (at > 0 && at + 1 + n > MAN_COLUMNS) {
			fputc('\n', out);
			at = 0;
		}
		if (at > 0)
			fputc(' ', out);
		else if (text[0] == '.')
			fputs("\\&", out);
		put(out, text, n, MAN_PROSE);
		at += 1 + n;
		if (ends_sentence(text, n)) {
			fputc('\n', out);
			at = 0;
		}
		text += n;
	}
	if (at > 0)
		fputc('\n', out);
}

/* Write a phrase as a sentence: with a capital and a full stop. */
static void put_sentence(FILE *out, const char *text)
{
	struct buf b cleanup_buf = BUF_INIT(MAN_TEXT_BYTES);
	if (!*text || buf_addf(&b, "%c%s.", toupper((unsigned char)*text), text + 1) < 0)
		return;
	put_text(out, b.data, b.bytes);
}

static void print_synopsis(FILE *out, const struct cmd *cmd)
{
	fputs(".Sh SYNOPSIS\n", out);
	for (const char *const *u = cmd->usage; *u; u++) {
		fputs(".Nm retort\n", out);
		put(out, *u, strlen(*u), MAN_LITERAL);
		fputc('\n', out);
	}
}

static void print_description(FILE *out, const struct cmd *cmd)
{
	fputs(".Sh DESCRIPTION\n", out);
	const char *text = cmd->text;
	if (!text)
		put_sentence(out, cmd->summary);
	while (text && *text) {
		const char *end = strstr(text, "\n\n");
		put_text(out, text, end ? (size_t)(end - text) : strlen(text));
		text = end ? end + 2 : NULL;
		if (text && *text)
			fputs(".Pp\n", out);
	}
}

static void print_commands(FILE *out, const struct cmd *const *table)
{
	fputs(".Ss Commands\n.Bl -tag -width completion\n", out);
	for (const struct cmd *const *c = table; *c; c++) {
		const char *space = strrchr((*c)->name, ' ');
		if ((*c)->is_hidden)
			continue;
		fputs(".It Cm ", out);
		put_arg(out, space ? space + 1 : (*c)->name);
		fputc('\n', out);
		put_sentence(out, (*c)->summary);
	}
	fputs(".El\n", out);
}

static void print_option(FILE *out, const struct opt *opt)
{
	size_t bytes;
	fputs(".It ", out);
	if (opt->letter)
		fprintf(out, "Fl %c , ", opt->letter);
	fprintf(out, "Fl \\-%s", opt->name);
	if (opt->type != OPT_FLAG) {
		fputs(" Ar ", out);
		put_arg(out, opt->arg ? opt->arg : "VALUE");
	}
	fputc('\n', out);
	put_sentence(out, opt->help ? opt->help : "");
	const char *before = "One of";
	for (const char *w = NULL; opt->choices && (w = opt_choice_next(opt, w, &bytes));) {
		fprintf(out, "%s\n.Cm \"\\&", before);
		put(out, w, bytes, MAN_LITERAL);
		fputs(w[bytes] ? "\" ,\n" : "\" .\n", out);
		before = "\\&";
	}
	if (opt->type == OPT_LIST)
		fputs("May be repeated.\n", out);
	if (opt->fallback) {
		fputs("The default is\n.Cm ", out);
		put_arg(out, opt->fallback);
		fputs(" .\n", out);
	}
}

static void print_options(FILE *out, const struct cmd *cmd)
{
	const char *group = NULL;
	for (size_t i = 0; i < cmd->n_opts; i++) {
		const struct opt *opt = &cmd->opts[i];
		const char *name = opt->group ? opt->group : "Options";
		if (opt->flags & OPT_HIDDEN)
			continue;
		if (!group || strcmp(group, name) != 0) {
			fprintf(out, "%s.Ss ", group ? ".El\n" : "");
			put(out, name, strlen(name), MAN_PROSE);
			fputs("\n.Bl -tag -width Ds\n", out);
		}
		group = name;
		print_option(out, opt);
	}
	if (group)
		fputs(".El\n", out);
}

static void print_environment(FILE *out, const struct cmd *cmd)
{
	fputs(".Sh ENVIRONMENT\nOptions on the command line have priority over these variables, "
	      "which have priority over the\nconfiguration file.\n.Bl -tag -width Ds\n",
		out);
	for (size_t i = 0; i < cmd->n_opts; i++) {
		const struct opt *opt = &cmd->opts[i];
		char name[64];
		if (opt->flags & (OPT_HIDDEN | OPT_NO_ENV))
			continue;
		opt_env_name(opt, name, sizeof name);
		fprintf(out, ".It Ev %s\nThe same as\n.Fl \\-%s .\n", name, opt->name);
	}
	fputs(".It Ev NO_COLOR\nWhen not empty, nothing is coloured unless\n.Fl \\-color\n"
	      "says so.\n.It Ev COLUMNS\nThe width of help texts.\n.El\n"
	      ".Sh FILES\n.Bl -tag -width Ds\n"
	      ".It Pa $XDG_CONFIG_HOME/retort/config.json\n"
	      "Default values of options, under their long names.\n.El\n",
		out);
}

static void print_exits(FILE *out, const struct cmd *cmd)
{
	size_t n;
	const struct cmd_exit *exits = cmd_exits(cmd, &n);
	fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds\n", out);
	for (size_t i = 0; i < n; i++) {
		fputs(".It ", out);
		put_arg(out, exits[i].status);
		fputc('\n', out);
		put_text(out, exits[i].meaning, strlen(exits[i].meaning));
	}
	fputs(".El\n", out);
}

static void print_examples(FILE *out, const struct cmd *cmd)
{
	if (cmd->n_examples > 0)
		fputs(".Sh EXAMPLES\n", out);
	for (size_t i = 0; i < cmd->n_examples; i++) {
		const struct cmd_example *e = &cmd->examples[i];
		fputs(i > 0 ? ".Pp\n" : "", out);
		put_text(out, e->what, strlen(e->what));
		fputs(".Bd -literal -offset indent\n\\&", out);
		put(out, e->line, strlen(e->line), MAN_LITERAL);
		fputs("\n.Ed\n", out);
	}
}

/* Write a command's name with hyphens, as the name of its page: "session-new". @change: converts
 * each character, as toupper() does; NULL: the characters are unchanged. */
static void put_dashed(FILE *out, const char *name, int (*change)(int c))
{
	for (; *name; name++)
		fputc(*name == ' ' ? '-' : change ? change((unsigned char)*name) : *name, out);
}

struct next {
	const char *last, *found;
};

static void find_next(const struct cmd *cmd, void *arg)
{
	struct next *next = arg;
	if (next->last && strcmp(cmd->name, next->last) <= 0)
		return;
	if (!next->found || strcmp(cmd->name, next->found) < 0)
		next->found = cmd->name;
}

/* Return the command name that follows @last in alphabetical order. If @last is NULL, return the
 * first name. mdoc requires this order for references. Returns: NULL after the last name. */
static const char *name_after(const char *last)
{
	struct next next = {.last = last};
	cmd_each(find_next, &next);
	return next.found;
}

static void print_see_also(FILE *out, const struct cmd *cmd)
{
	const char *before = "";
	fputs(".Sh SEE ALSO\n", out);
	if (cmd != &cmd_root && !cmd->subs) {
		fputs(".Xr retort 1\n", out);
		return;
	}
	size_t bytes = cmd->subs ? strlen(cmd->name) : 0;
	if (cmd->subs) {
		fputs(".Xr retort 1", out);
		before = " ,\n";
	}
	for (const char *name = NULL; (name = name_after(name));) {
		if (bytes > 0 && (strncmp(name, cmd->name, bytes) != 0 || name[bytes] != ' '))
			continue;
		fprintf(out, "%s.Xr retort-", before);
		put_dashed(out, name, NULL);
		fputs(" 1", out);
		before = " ,\n";
	}
	fputc('\n', out);
}

static void print_title(FILE *out, const struct cmd *cmd)
{
	bool is_root = cmd == &cmd_root;
	fprintf(out, ".Dd %s\n.Dt RETORT%s", version_date, is_root ? "" : "-");
	put_dashed(out, is_root ? "" : cmd->name, toupper);
	fprintf(out, " 1\n.Os \"retort %s\"\n.Sh NAME\n.Nm retort", version_text);
	for (const char *at = is_root ? "" : cmd->name, *before = "\\-"; *at; before = "") {
		size_t n = strcspn(at, " ");
		fprintf(out, "%s%.*s%s", before, (int)n, at, at[n] ? "\\-" : "");
		at += n + (at[n] == ' ');
	}
	fprintf(out, "\n.Nd %c", tolower((unsigned char)cmd->summary[0]));
	put(out, cmd->summary + 1, strlen(cmd->summary + 1), MAN_PROSE);
	fputc('\n', out);
}

void man_print(FILE *out, const struct cmd *cmd)
{
	print_title(out, cmd);
	print_synopsis(out, cmd);
	print_description(out, cmd);
	if (cmd == &cmd_root)
		print_commands(out, cmd_table);
	if (cmd->subs)
		print_commands(out, cmd->subs);
	print_options(out, cmd);
	print_environment(out, cmd);
	if (cmd != &cmd_root && !cmd->subs)
		print_exits(out, cmd);
	print_examples(out, cmd);
	print_see_also(out, cmd);
}
