/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd.h"

#include "api/text/wording.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/word.h"
#include "cli/host/config.h"
#include "cli/screen/json_print.h"

#include <jansson.h>
#include <string.h>
#include <unistd.h>

enum { FAIL_LINE_BYTES = 8 * (ERR_MSG_BYTES + ERR_HINT_BYTES) };

struct search {
	const char *name;
	const struct cmd *found;
};

static void match(const struct cmd *cmd, void *arg)
{
	struct search *search = arg;
	if (strcmp(cmd->name, search->name) == 0)
		search->found = cmd;
}

void cmd_each(void (*row)(const struct cmd *cmd, void *arg), void *arg)
{
	for (const struct cmd *const *c = cmd_table; *c; c++) {
		if (!(*c)->is_hidden)
			row(*c, arg);
		for (const struct cmd *const *sub = (*c)->subs; sub && *sub; sub++)
			row(*sub, arg);
	}
}

const struct cmd *cmd_find(const char *name)
{
	struct search search = {.name = name};
	cmd_each(match, &search);
	return search.found;
}

static bool has_word(const char *words, const char *word)
{
	size_t bytes = strlen(word);
	for (const char *at = words; at && *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");
		if (n == bytes && strncmp(at, word, n) == 0)
			return true;
		at += n;
	}
	return false;
}

/* A search for the only subcommand that a word means. */
struct alike_search {
	const char *word;
	const struct cmd *found;
	unsigned n;
};

static void match_alike(const struct cmd *cmd, void *arg)
{
	struct alike_search *search = arg;
	const char *own = strchr(cmd->name, ' ');
	if (own && (strcmp(own + 1, search->word) == 0 || has_word(cmd->alike, search->word))) {
		search->found = cmd;
		search->n++;
	}
}

const struct cmd *cmd_alike(const char *word)
{
	struct alike_search search = {.word = word};
	cmd_each(match_alike, &search);
	return search.n == 1 ? search.found : NULL;
}

int cmd_run_sub(const struct cmd *cmd, int argc, char **argv)
{
	struct {
		bool help;
		int color;
	} args = {0};
	struct opt_set set;
	struct err err;
	char name[64];
	struct word_near near = WORD_NEAR(argc > 1 ? argv[1] : "");
	if (argc > 1 && argv[1][0] != '-') {
		snprintf(name, sizeof name, "%s %s", cmd->name, argv[1]);
		const struct cmd *sub = cmd_find(name);
		if (sub)
			return sub->run(argc - 1, argv + 1);
		for (const struct cmd *const *c = cmd->subs; *c; c++)
			word_near_try(&near, strchr((*c)->name, ' ') + 1);
		for (const struct cmd *const *c = cmd->subs; *c; c++)
			if (has_word((*c)->alike, argv[1]))
				near.best = strchr((*c)->name, ' ') + 1;
		snprintf(name, sizeof name, "`retort help %s` lists them", cmd->name);
		err_unknown(&err, ERR_USAGE, &near, name, "unknown command \"%s %.64s\"", cmd->name,
			argv[1]);
		return cli_fail(&err, false);
	}
	int at = cmd_parse(cmd, &set, &args, argc, argv, &err);
	if (at == 0)
		return 0;
	if (at > 0) {
		(void)err_set(&err, ERR_USAGE, "%s: nothing to do", cmd->name);
		(void)err_hint(&err, "`retort help %s` lists what it does", cmd->name);
	}
	return cli_fail(&err, false);
}

const struct cmd_exit *cmd_exits(const struct cmd *cmd, size_t *n)
{
	static const struct cmd_exit usual[] = {
		{"0", "done"},
		{"1", "failed"},
		{"2", "usage error: a wrong option, value or name"},
	};
	*n = cmd->n_exits ? cmd->n_exits : ARRAY_LEN(usual);
	return cmd->n_exits ? cmd->exits : usual;
}

static const void *field_of(const struct opt_set *set, const char *name, enum opt_type type)
{
	for (size_t i = 0; i < set->n_opts; i++)
		if (set->opts[i].type == type && strcmp(set->opts[i].name, name) == 0)
			return (const char *)set->target + set->opts[i].offset;
	return NULL;
}

int cmd_parse(const struct cmd *cmd, struct opt_set *set, void *target, int argc, char **argv,
	struct err *err)
{
	*set = OPT_SET(cmd->opts, cmd->n_opts, target);
	set->stop_at_operand = cmd->stop_at_operand;
	struct err env_err;
	int at = opt_parse(set, argc, argv, err);
	int rc = opt_env(set, at < 0 ? &env_err : err);
	if (at < 0)
		return at;
	const bool *help = field_of(set, "help", OPT_FLAG);
	if (help && *help) {
		const int *color = field_of(set, "color", OPT_CHOICE);
		enum term_color when = color ? (enum term_color) * color : TERM_COLOR_AUTO;
		help_print(stdout, cmd, term_columns(STDOUT_FILENO),
			term_has_color(STDOUT_FILENO, when));
		return 0;
	}
	if (rc < 0)
		return rc;
	if (cmd->operand == CMD_OPERAND_NONE && at < argc)
		return err_fail(err, ERR_USAGE, cmd->instead ? cmd->instead : "leave it out",
			"%s: unexpected \"%.64s\"", cmd->name, argv[at]);
	return at;
}

/* A search for an option in the tables of all commands. */
struct option_search {
	const char *name;
	const struct opt *found;
	struct word_near *near;
};

static void match_option(const struct cmd *cmd, void *arg)
{
	struct option_search *search = arg;
	for (size_t i = 0; i < cmd->n_opts; i++) {
		const struct opt *opt = &cmd->opts[i];
		bool is_settable = !(opt->flags & OPT_NO_ENV);
		if (is_settable)
			word_near_try(search->near, opt->name);
		if (strcmp(opt->name, search->name) == 0 && (is_settable || !search->found))
			search->found = opt;
	}
}

static const struct opt *find_option(const char *name, struct word_near *near)
{
	struct option_search search = {.name = name, .near = near};
	cmd_each(match_option, &search);
	return search.found;
}

int cmd_config(struct opt_set *set, const char *profile, struct err *err)
{
	return config_apply(&(struct config_use){set, find_option}, profile, err);
}

int cmd_begin(const struct cmd *cmd, void *target, int argc, char **argv, struct err *err)
{
	struct opt_set set;
	int at = cmd_parse(cmd, &set, target, argc, argv, err);
	int r = at > 0 ? cmd_config(&set, NULL, err) : 0;
	return r < 0 ? r : at;
}

/* Convert a text that may not be valid UTF-8: err_set() may cut a message within a character,
 * and file names may contain any bytes. */
static json_t *json_text(const char *text)
{
	struct buf b cleanup_buf = BUF_INIT(FAIL_LINE_BYTES);
	if (utf8_repair(&b, text, strlen(text), NULL) < 0)
		return json_string("");
	return json_stringn(buf_str(&b), b.bytes);
}

static void print_json(const struct err *err)
{
	const char *msg = err->msg[0] ? err->msg : err_meaning(err->code);
	json_t *inner = json_object();
	cleanup_json json_t *root = json_pack("{s:o}", "error", inner);
	json_put_text(inner, "code", err_word(err->code));
	json_put_new(inner, "message", json_text(msg));
	if (err->hint[0])
		json_put_new(inner, "hint", json_text(err->hint));
	(void)json_print(stdout, root, JSON_COMPACT);
	(void)fflush(stdout);
}

/* Print @err as one line, `retort: message: hint`, with terminal control characters escaped. */
static void print_line(const struct err *err)
{
	struct buf line cleanup_buf = BUF_INIT(FAIL_LINE_BYTES);
	const char *msg = err->msg[0] ? err->msg : err_meaning(err->code);
	(void)utf8_escape_terminal(&line, msg, strlen(msg), UTF8_ONE_LINE);
	if (err->hint[0]) {
		buf_add(&line, ": ");
		(void)utf8_escape_terminal(&line, err->hint, strlen(err->hint), UTF8_ONE_LINE);
	}
	(void)fflush(stdout);
	fprintf(stderr, "retort: %s\n", buf_str(&line));
}

int cli_fail(const struct err *failed, bool json)
{
	struct err err = *failed;
	wording_apply(&err, WORDING_COMMANDS);
	print_line(&err);
	if (json)
		print_json(&err);
	int status = err_exit(err.code);
	return status ? status : err_exit(ERR_INTERNAL);
}

/* Variables that are read, but not as options. */
static bool is_variable(const char *name)
{
	static const char *const names[] = {"RETORT_SESSION", "RETORT_MODEL_KEY", "RETORT_CGROUP"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Write the name of the option that the variable @name would set: "file-size" for
 * "RETORT_FILE_SIZE". */
static void option_name(const char *name, char out[WORD_MAX_BYTES])
{
	snprintf(out, WORD_MAX_BYTES, "%s", name + strlen("RETORT_"));
	for (char *at = out; *at; at++)
		*at = *at == '_' ? '-' : *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
}

static void check_variable(const char *name)
{
	char option[WORD_MAX_BYTES], nearest[2 * WORD_MAX_BYTES] = "";
	struct word_near near = WORD_NEAR(option);
	struct err err = {0};
	option_name(name, option);
	(void)find_option(option, &near);
	if (near.best)
		opt_env_name(&(struct opt){.name = near.best}, nearest, sizeof nearest);
	if (!near.best || strcmp(nearest, name) == 0 || is_variable(name))
		return;
	(void)err_set(&err, ERR_USAGE, "%s is not read", name);
	(void)err_hint(&err, "did you mean %s?", nearest);
	print_line(&err);
}

void cmd_check_environment(void)
{
	char name[WORD_MAX_BYTES];
	for (char **at = environ; at && *at; at++) {
		size_t bytes = strcspn(*at, "=");
		bool is_long = bytes >= sizeof name, is_empty = strlen(*at) <= bytes + 1;
		if (is_long || is_empty || strncmp(*at, "RETORT_", strlen("RETORT_")) != 0)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)bytes, *at);
		check_variable(name);
	}
}
