/* Print completion scripts for bash, zsh and fish, made from the command table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd.h"

#include <string.h>

/* Write @text for use within single quotes in zsh. Write a backslash before each of its
 * characters that is in @escaped. */
static void put_inside(const char *text, const char *escaped)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (strchr(escaped, *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void put_words(const char *choices)
{
	for (; choices && *choices; choices++)
		putchar(*choices == '|' ? ' ' : *choices);
}

static void put_commands(void)
{
	for (const struct cmd *const *c = cmd_table; *c; c++)
		if (!(*c)->is_hidden)
			printf("%s%s", c == cmd_table ? "" : " ", (*c)->name);
}

/* Write the names of the subcommands: "new ls exec". */
static void put_subs(const struct cmd *cmd)
{
	for (const struct cmd *const *sub = cmd->subs; *sub; sub++)
		printf("%s%s", sub == cmd->subs ? "" : " ", strchr((*sub)->name, ' ') + 1);
}

static bool is_shown(const struct opt *opt)
{
	return !(opt->flags & OPT_HIDDEN);
}

/* ---- the script for bash ---- */

/* The bash function that completes names, which the command in its arguments prints. It does not
 * use `compgen -W`, which would expand special characters in the names. */
static const char bash_sessions[] =
	"_retort_listed() {\n"
	"\tlocal name program=${COMP_WORDS[0]/#\\~/$HOME}\n"
	"\twhile IFS= read -r name; do\n"
	"\t\t[[ $name == \"$cur\"* ]] && COMPREPLY+=(\"$(printf %q \"$name\")\")\n"
	"\tdone < <(\"$program\" \"$@\" --quiet 2>/dev/null)\n"
	"}\n\n";

/* The main function for bash. It parses the words before the cursor as retort does, and
 * completes the word at the cursor. */
static const char bash_body[] =
	"_retort() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} cmd=retort operand='' only='' i=1 w kind='' first=''\n"
	"\tCOMPREPLY=()\n"
	"\twhile ((i < COMP_CWORD)); do\n"
	"\t\tw=${COMP_WORDS[i]} kind=''\n"
	"\t\tif [[ $w == -- ]]; then\n"
	"\t\t\tonly=1\n"
	"\t\telif [[ $w == -?* && -z $only ]]; then\n"
	"\t\t\t_retort_kind \"$cmd\" \"$w\"\n"
	"\t\t\tif [[ ${COMP_WORDS[i + 1]-} == = ]]; then\n"
	"\t\t\t\t((i += 2))\n"
	"\t\t\telif [[ -n $kind ]]; then\n"
	"\t\t\t\t((i += 1))\n"
	"\t\t\tfi\n"
	"\t\t\t[[ $kind == end ]] && ((i < COMP_CWORD)) && only=1 operand=1\n"
	"\t\telif [[ $cmd == retort ]]; then\n"
	"\t\t\tcmd=$w\n"
	"\t\telif [[ $_retort_groups == *\"|$cmd|\"* ]]; then\n"
	"\t\t\tcmd=\"$cmd $w\"\n"
	"\t\telse\n"
	"\t\t\toperand=1 first=${first:-$w}\n"
	"\t\t\t[[ $_retort_stops == *\"|$cmd|\"* ]] && only=1\n"
	"\t\tfi\n"
	"\t\twhile [[ ${COMP_WORDS[i + 1]-} == : ]]; do ((i += 2)); done\n"
	"\t\t((i += 1))\n"
	"\tdone\n"
	"\t[[ $cur == = || $cur == : ]] && cur=''\n"
	"\tif ((i <= COMP_CWORD)); then\n"
	"\t\tif [[ $cur == -* && -z $only ]]; then\n"
	"\t\t\t_retort_names \"$cmd\"\n"
	"\t\t\tmapfile -t COMPREPLY < <(compgen -W \"$REPLY\" -- \"$cur\")\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\t\t_retort_operand \"$cmd\"\n"
	"\t\tif [[ $kind == sessions* && -n $operand ]]; then\n"
	"\t\t\tkind=${kind#sessions} kind=${kind# }\n"
	"\t\telif [[ $kind == 'verbs '* ]]; then\n"
	"\t\t\t[[ -n $operand ]] && kind=file || kind=${kind/verbs/words}\n"
	"\t\telif [[ -n $operand && $kind != file ]]; then\n"
	"\t\t\tkind=''\n"
	"\t\tfi\n"
	"\tfi\n"
	"\tcase $kind in\n"
	"\tfile) compopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
	"\tdir) compopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
	"\tsessions*) _retort_listed session ls ;;\n"
	"\tprocesses) _retort_listed ps \"$first\" ;;\n"
	"\t'words '*) mapfile -t COMPREPLY < <(compgen -W \"${kind#words }\" -- \"$cur\") ;;\n"
	"\tesac\n"
	"}\n"
	"complete -F _retort retort\n";

static void bash_kind_row(const struct cmd *cmd, const struct opt *opt)
{
	if (opt->type == OPT_FLAG || !is_shown(opt))
		return;
	printf("\t'%s --%s'", cmd->name, opt->name);
	if (opt->letter)
		printf(" | '%s -%c'", cmd->name, opt->letter);
	printf(") kind='");
	if (opt->flags & OPT_ENDS)
		printf("end");
	else if (opt->choices) {
		printf("words ");
		put_words(opt->choices);
	} else if (opt->complete == OPT_COMPLETE_NONE)
		printf("value");
	else
		printf(opt->complete == OPT_COMPLETE_DIR ? "dir" : "file");
	printf("' ;;\n");
}

static void bash_names_row(const struct cmd *cmd)
{
	printf("\t'%s') REPLY='", cmd->name);
	for (size_t i = 0; i < cmd->n_opts; i++) {
		if (!is_shown(&cmd->opts[i]))
			continue;
		printf("--%s ", cmd->opts[i].name);
		if (cmd->opts[i].letter)
			printf("-%c ", cmd->opts[i].letter);
	}
	printf("' ;;\n");
}

static void bash_operand_row(const struct cmd *cmd)
{
	printf("\t'%s') kind='", cmd->name);
	if (cmd->subs) {
		printf("words ");
		put_subs(cmd);
	}
	switch (cmd->operand) {
	case CMD_OPERAND_NONE:
	case CMD_OPERAND_NAME:
		break;
	case CMD_OPERAND_FILE:
		printf("file");
		break;
	case CMD_OPERAND_CHOICE:
	case CMD_OPERAND_CHOICE_FILE:
		printf(cmd->operand == CMD_OPERAND_CHOICE ? "words " : "verbs ");
		put_words(cmd->operand_choices);
		break;
	case CMD_OPERAND_COMMAND:
		printf("words ");
		put_commands();
		break;
	case CMD_OPERAND_SESSION:
		printf("sessions");
		break;
	case CMD_OPERAND_SESSION_FILE:
		printf("sessions file");
		break;
	case CMD_OPERAND_SESSION_PROCESS:
		printf("sessions processes");
		break;
	case CMD_OPERAND_SESSIONS:
		printf("sessions sessions");
		break;
	}
	printf("' ;;\n");
}

static void call_row(const struct cmd *cmd, void *arg)
{
	void (**row)(const struct cmd *cmd) = arg;
	(*row)(cmd);
}

/* Call @row for `retort` itself and for every command that is not hidden. */
static void each_command(void (*row)(const struct cmd *cmd))
{
	row(&cmd_root);
	cmd_each(call_row, &row);
}

static void bash_kind_rows(const struct cmd *cmd)
{
	for (size_t i = 0; i < cmd->n_opts; i++)
		bash_kind_row(cmd, &cmd->opts[i]);
}

static void bash_stop_word(const struct cmd *cmd)
{
	if (cmd != &cmd_root && cmd->stop_at_operand)
		printf("|%s|", cmd->name);
}

static void bash_group_word(const struct cmd *cmd)
{
	if (cmd->subs)
		printf("|%s|", cmd->name);
}

static void print_bash(void)
{
	printf("# bash completion for retort: source <(retort completion bash)\n");
	printf("_retort_stops='");
	each_command(bash_stop_word);
	printf("'\n_retort_groups='");
	each_command(bash_group_word);
	printf("'\n\n_retort_kind() {\n\tcase \"$1 $2\" in\n");
	each_command(bash_kind_rows);
	printf("\tesac\n}\n\n_retort_names() {\n\tREPLY=''\n\tcase $1 in\n");
	each_command(bash_names_row);
	printf("\tesac\n}\n\n_retort_operand() {\n\tkind=''\n\tcase $1 in\n");
	each_command(bash_operand_row);
	printf("\tesac\n}\n\n%s%s", bash_sessions, bash_body);
}

/* ---- the script for zsh ---- */

static void zsh_action(const struct opt *opt)
{
	printf(":");
	put_inside(opt->arg ? opt->arg : "value", ":\\[]");
	printf(":");
	if (opt->choices) {
		printf("(");
		put_words(opt->choices);
		printf(")");
	} else if (opt->complete == OPT_COMPLETE_FILE)
		printf("_files");
	else if (opt->complete == OPT_COMPLETE_DIR)
		printf("_files -/");
}

static void zsh_option(const struct opt *opt)
{
	const char *value = opt->type == OPT_FLAG ? "" : "=";
	printf(" \\\n\t\t");
	if (opt->type == OPT_LIST)
		printf("'*'");
	else if (opt->letter)
		printf("'(-%c --%s)'", opt->letter, opt->name);
	if (opt->letter)
		printf("{-%c%s,--%s%s}", opt->letter, *value ? "+" : "", opt->name, value);
	else
		printf("--%s%s", opt->name, value);
	printf("'[");
	put_inside(opt->help ? opt->help : "", ":\\[]");
	printf("]");
	if (opt->type != OPT_FLAG)
		zsh_action(opt);
	printf("'");
}

static void zsh_operand(const struct cmd *cmd)
{
	switch (cmd->operand) {
	case CMD_OPERAND_NONE:
	case CMD_OPERAND_NAME:
		break;
	case CMD_OPERAND_FILE:
		printf(" \\\n\t\t'1:file:_files' '*:argument:_files'");
		break;
	case CMD_OPERAND_CHOICE:
	case CMD_OPERAND_CHOICE_FILE:
		printf(" \\\n\t\t'1:word:(");
		put_words(cmd->operand_choices);
		printf(cmd->operand == CMD_OPERAND_CHOICE ? ")'" : ")' '2:file:_files'");
		break;
	case CMD_OPERAND_COMMAND:
		if (cmd == &cmd_root)
			printf(" \\\n\t\t'1:command:_retort_commands' '*::argument:->rest'");
		else
			printf(" \\\n\t\t'1:command:_retort_commands'");
		break;
	case CMD_OPERAND_SESSION:
		printf(" \\\n\t\t'1:session:_retort_sessions'");
		break;
	case CMD_OPERAND_SESSION_FILE:
		printf(" \\\n\t\t'1:session:_retort_sessions' '*:file:_files'");
		break;
	case CMD_OPERAND_SESSION_PROCESS:
		printf(" \\\n\t\t'1:session:_retort_sessions' '2:process:_retort_processes'");
		break;
	case CMD_OPERAND_SESSIONS:
		printf(" \\\n\t\t'*:session:_retort_sessions'");
		break;
	}
}

/* Write a command's name with underscores: "session_new" for "session new". */
static void zsh_name(const struct cmd *cmd)
{
	for (const char *at = cmd->name; *at; at++)
		putchar(*at == ' ' ? '_' : *at);
}

static void zsh_function(const struct cmd *cmd)
{
	const char *stop = cmd->stop_at_operand || cmd->subs ? " -A '-*'" : "";
	if (cmd == &cmd_root)
		printf("_retort() {\n\tlocal context state state_descr line\n"
		       "\ttypeset -A opt_args\n\t_arguments -C -s -S%s",
			stop);
	else {
		printf("_retort_");
		zsh_name(cmd);
		printf("() {\n\t%s_arguments %s-s -S%s",
			cmd->subs
				? "local context state state_descr line\n\ttypeset -A opt_args\n\t"
				: "",
			cmd->subs ? "-C " : "", stop);
	}
	for (size_t i = 0; i < cmd->n_opts; i++)
		if (is_shown(&cmd->opts[i]))
			zsh_option(&cmd->opts[i]);
	zsh_operand(cmd);
	if (cmd->subs) {
		printf(" \\\n\t\t'1:command:(");
		put_subs(cmd);
		printf(")' '*::argument:->rest' && return\n"
		       "\t[[ $state == rest ]] && (( $+functions[_retort_%s_$words[1]] )) && "
		       "_retort_%s_$words[1]",
			cmd->name, cmd->name);
	}
	if (cmd == &cmd_root)
		printf(" && return\n"
		       "\t[[ $state == rest ]] && (( $+functions[_retort_$words[1]] )) && "
		       "_retort_$words[1]");
	printf("\n}\n\n");
}

static void zsh_command(const struct cmd *cmd)
{
	if (cmd == &cmd_root || strchr(cmd->name, ' '))
		return;
	printf("\t\t'%s:", cmd->name);
	put_inside(cmd->summary, ":\\");
	printf("'\n");
}

static void print_zsh(void)
{
	printf("#compdef retort\n# zsh completion for retort: source <(retort completion zsh)\n\n"
	       "_retort_commands() {\n\tlocal -a all=(\n");
	each_command(zsh_command);
	printf("\t)\n\t_describe command all\n}\n\n"
	       "_retort_sessions() {\n"
	       "\tlocal -a all=(${(f)\"$(retort session ls --quiet 2>/dev/null)\"})\n"
	       "\tcompadd -a all\n}\n\n"
	       "_retort_processes() {\n"
	       "\tlocal -a all=(${(f)\"$(retort ps --quiet -- ${words[CURRENT - 1]} 2>/dev/null)\"})\n"
	       "\tcompadd -a all\n}\n\n");
	each_command(zsh_function);
	printf("if [[ $funcstack[1] == _retort ]]; then\n\t_retort \"$@\"\nelse\n"
	       "\tcompdef _retort retort\nfi\n");
}

/* ---- the script for fish ---- */

static bool has_sub(const struct cmd *cmd, const char *name)
{
	for (const struct cmd *const *sub = cmd->subs; sub && *sub; sub++)
		if (strcmp(strchr((*sub)->name, ' ') + 1, name) == 0)
			return true;
	return false;
}

/* Write the beginning of a rule that applies when @cmd is on the command line. */
static void fish_when(const struct cmd *cmd)
{
	const char *space = strchr(cmd->name, ' ');
	if (cmd == &cmd_root)
		printf("complete -c retort -n __fish_use_subcommand");
	else if (space)
		printf("complete -c retort -n '__fish_seen_subcommand_from %.*s; and "
		       "__fish_seen_subcommand_from %s'",
			(int)(space - cmd->name), cmd->name, space + 1);
	else {
		printf("complete -c retort -n '__fish_seen_subcommand_from %s", cmd->name);
		/* `retort exec` is another command than `retort session exec`. */
		for (const struct cmd *const *c = cmd_table; *c; c++)
			if (has_sub(*c, cmd->name))
				printf("; and not __fish_seen_subcommand_from %s", (*c)->name);
		printf("'");
	}
}

/* Write text in single quotes. In them fish knows only the escapes \' and \\. */
static void fish_text(const char *text)
{
	putchar('\'');
	for (; *text; text++)
		printf(strchr("'\\", *text) ? "\\%c" : "%c", *text);
	putchar('\'');
}

static void fish_option(const struct cmd *cmd, const struct opt *opt)
{
	fish_when(cmd);
	if (opt->letter)
		printf(" -s %c", opt->letter);
	printf(" -l %s", opt->name);
	if (opt->choices) {
		printf(" -x -a '");
		put_words(opt->choices);
		printf("'");
	} else if (opt->complete == OPT_COMPLETE_FILE)
		printf(" -r -F");
	else if (opt->complete == OPT_COMPLETE_DIR)
		printf(" -x -a '(__fish_complete_directories)'");
	else if (opt->type != OPT_FLAG)
		printf(" -x");
	printf(" -d ");
	fish_text(opt->help ? opt->help : "");
	printf("\n");
}

static void fish_operand(const struct cmd *cmd)
{
	if (cmd == &cmd_root || cmd->operand <= CMD_OPERAND_NAME)
		return;
	fish_when(cmd);
	if (cmd->operand == CMD_OPERAND_FILE)
		printf(" -F");
	else if (cmd->operand >= CMD_OPERAND_SESSION)
		printf("%s -a '(retort session ls --quiet 2>/dev/null)'",
			cmd->operand == CMD_OPERAND_SESSION_FILE ? " -F" : "");
	else {
		printf(" -a '");
		if (cmd->operand_choices)
			put_words(cmd->operand_choices);
		else
			put_commands();
		printf(cmd->operand == CMD_OPERAND_CHOICE_FILE ? "' -F" : "'");
	}
	printf("\n");
}

/* Write rules that complete the subcommands of @cmd. They apply until the command line contains
 * a subcommand. */
static void fish_subs(const struct cmd *cmd)
{
	for (const struct cmd *const *sub = cmd->subs; sub && *sub; sub++) {
		printf("complete -c retort -n '__fish_seen_subcommand_from %s; and not "
		       "__fish_seen_subcommand_from ",
			cmd->name);
		put_subs(cmd);
		printf("' -a %s -d ", strchr((*sub)->name, ' ') + 1);
		fish_text((*sub)->summary);
		printf("\n");
	}
}

static void fish_rows(const struct cmd *cmd)
{
	const char *space = strchr(cmd->name, ' ');
	if (!space && cmd != &cmd_root) {
		printf("complete -c retort -n __fish_use_subcommand -a %s -d ", cmd->name);
		fish_text(cmd->summary);
		printf("\n");
	}
	fish_subs(cmd);
	for (size_t i = 0; i < cmd->n_opts; i++)
		if (is_shown(&cmd->opts[i]))
			fish_option(cmd, &cmd->opts[i]);
	fish_operand(cmd);
}

static void print_fish(void)
{
	printf("# fish completion for retort: retort completion fish | source\n"
	       "complete -c retort -f\n");
	each_command(fish_rows);
}

/* ---- the command `retort completion` ---- */

struct completion_args {
	bool help;
	int color;
};

static const struct opt completion_opts[] = {
	CMD_COMMON_OPTS(struct completion_args),
};

static const struct {
	const char *shell;
	void (*print)(void);
} shells[] = {
	{"bash", print_bash},
	{"zsh", print_zsh},
	{"fish", print_fish},
};

static int completion_run(int argc, char **argv)
{
	struct completion_args args = {0};
	struct opt_set set;
	struct err err;
	int at = cmd_parse(&cmd_completion, &set, &args, argc, argv, &err);
	if (at < 0)
		return cli_fail(&err, false);
	if (at == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(shells) && at + 1 == argc; i++) {
		if (strcmp(shells[i].shell, argv[at]) != 0)
			continue;
		shells[i].print();
		return 0;
	}
	if (at == argc)
		(void)err_set(&err, ERR_USAGE, "completion: the shell is missing");
	else if (at + 1 == argc)
		(void)err_set(&err, ERR_USAGE, "completion: unknown shell \"%.64s\"", argv[at]);
	else
		(void)err_set(&err, ERR_USAGE, "completion: unexpected \"%.64s\"", argv[at + 1]);
	(void)err_hint(&err, "name one: bash, zsh or fish");
	return cli_fail(&err, false);
}

static const char *const completion_usage[] = {"completion bash|zsh|fish", NULL};

static const struct cmd_example completion_examples[] = {
	{"complete in this bash", "source <(retort completion bash)"},
	{"complete in every zsh", "retort completion zsh >~/.zfunc/_retort"},
	{"complete in every fish",
		"retort completion fish >~/.config/fish/completions/retort.fish"},
};

const struct cmd cmd_completion = {
	.name = "completion",
	.summary = "Print a completion script for a shell",
	.usage = completion_usage,
	.opts = completion_opts,
	.n_opts = ARRAY_LEN(completion_opts),
	.examples = completion_examples,
	.n_examples = ARRAY_LEN(completion_examples),
	.operand = CMD_OPERAND_CHOICE,
	.operand_choices = "bash|zsh|fish",
	.run = completion_run,
};
