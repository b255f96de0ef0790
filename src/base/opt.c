/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt.h"

#include "base/num.h"
#include "base/utf8.h"
#include "base/word.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_SHOWN_BYTES = 64, OPT_NAME_BYTES = 64 };

static int shown_bytes(const char *text)
{
	return (int)utf8_cut(text, strlen(text), OPT_SHOWN_BYTES);
}

static int check_table(const struct opt_set *set, struct err *err)
{
	if (set->n_opts > OPT_MAX)
		return err_set(err, ERR_INTERNAL, "%zu options, limit %d", set->n_opts, OPT_MAX);
	return 0;
}

static const struct opt *find_name(const struct opt_set *set, const char *name, size_t bytes)
{
	for (size_t i = 0; i < set->n_opts; i++)
		if (strncmp(set->opts[i].name, name, bytes) == 0 && !set->opts[i].name[bytes])
			return &set->opts[i];
	return NULL;
}

static const struct opt *find_letter(const struct opt_set *set, char letter)
{
	for (size_t i = 0; i < set->n_opts; i++)
		if (set->opts[i].letter == letter)
			return &set->opts[i];
	return NULL;
}

const char *opt_choice_next(const struct opt *opt, const char *last, size_t *bytes)
{
	const char *at = opt->choices;
	if (last) {
		at = last + strcspn(last, "|");
		at = *at ? at + 1 : NULL;
	}
	if (at)
		*bytes = strcspn(at, "|");
	return at;
}

static int fail_choice(const struct opt *opt, const char *value, struct err *err)
{
	char words[ERR_HINT_BYTES] = "choose ", word[OPT_NAME_BYTES], best[OPT_NAME_BYTES];
	struct word_near near = WORD_NEAR(value);
	size_t bytes, used = strlen(words);
	for (const char *w = NULL; (w = opt_choice_next(opt, w, &bytes));) {
		snprintf(word, sizeof word, "%.*s", (int)bytes, w);
		word_near_try(&near, word);
		if (near.best == word)
			near.best = memcpy(best, word, sizeof best);
		const char *comma = w == opt->choices ? "" : w[bytes] ? ", " : " or ";
		int n = snprintf(words + used, sizeof words - used, "%s%s", comma, word);
		used = MIN(used + (size_t)n, sizeof words - 1);
	}
	return err_unknown(
		err, ERR_USAGE, &near, words, "\"%.*s\" is not allowed", shown_bytes(value), value);
}

static int put_choice(const struct opt *opt, const char *value, int *out, struct err *err)
{
	size_t bytes;
	int i = 0;
	for (const char *w = NULL; (w = opt_choice_next(opt, w, &bytes)); i++) {
		if (strlen(value) != bytes || strncmp(w, value, bytes) != 0)
			continue;
		*out = i;
		return 0;
	}
	return fail_choice(opt, value, err);
}

static int put_flag(const char *value, bool *out, struct err *err)
{
	static const char *const words[2][4] = {
		{"false", "0", "no", "off"},
		{"true", "1", "yes", "on"},
	};
	for (size_t i = 0; i < 2 * ARRAY_LEN(words[0]); i++) {
		if (strcmp(value, words[i % 2][i / 2]) != 0)
			continue;
		*out = i % 2;
		return 0;
	}
	return err_fail(err, ERR_USAGE, "write true or false, or nothing for true",
		"\"%.*s\" is neither true nor false", shown_bytes(value), value);
}

static int put_text(const struct opt *opt, const char *value, const char **out, struct err *err)
{
	if (!*value && opt->complete != OPT_COMPLETE_NONE) {
		(void)err_set(err, ERR_USAGE, "the path is empty");
		return err_hint(err, "write %s", opt->arg);
	}
	*out = value;
	return 0;
}

static int put_item(struct opt_list *list, bool is_new, const char *value, struct err *err)
{
	if (is_new)
		list->n = 0;
	if (list->n == OPT_LIST_MAX) {
		(void)err_set(err, ERR_LIMIT, "given more than %d times", OPT_LIST_MAX);
		return err_hint(err, "give it at most %d times", OPT_LIST_MAX);
	}
	list->item[list->n++] = value;
	return 0;
}

static int put(const struct opt *opt, void *field, bool is_new, const char *value, struct err *err)
{
	struct num_range range = {opt->min, opt->max ? opt->max : UINT64_MAX};
	switch (opt->type) {
	case OPT_FLAG:
		return put_flag(value, field, err);
	case OPT_TEXT:
		return put_text(opt, value, field, err);
	case OPT_BYTES:
		return num_parse_bytes(value, range, field, err);
	case OPT_MS:
		return num_parse_ms(value, range, field, err);
	case OPT_COUNT:
		return num_parse_count(value, range, field, err);
	case OPT_CPU_MILLI:
		return num_parse_cpu_milli(value, range, field, err);
	case OPT_CHOICE:
		return put_choice(opt, value, field, err);
	case OPT_LIST:
		return put_item(field, is_new, value, err);
	}
	return err_set(err, ERR_INTERNAL, "option type %d", (int)opt->type);
}

void opt_env_name(const struct opt *opt, char *out, size_t bytes)
{
	snprintf(out, bytes, "RETORT_%s", opt->name);
	for (char *at = out; *at; at++)
		*at = *at == '-' ? '_' : *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
}

static int wrap_place(const struct opt *opt, enum opt_source source, struct err *err)
{
	char name[OPT_NAME_BYTES];
	opt_env_name(opt, name, sizeof name);
	switch (source) {
	case OPT_FROM_ENV:
		return err_wrap(err, "%s", name);
	case OPT_FROM_CONFIG:
		return err_wrap(err, "%s in the configuration", opt->name);
	case OPT_UNSET:
	case OPT_FROM_ARG:
		break;
	}
	return err_wrap(err, "--%s", opt->name);
}

static int apply(struct opt_set *set, const struct opt *opt, const char *value,
	enum opt_source source, struct err *err)
{
	unsigned char *now = &set->source[opt - set->opts];
	if (source < *now)
		return 0;
	int rc = put(opt, (char *)set->target + opt->offset, source > *now, value, err);
	if (rc < 0)
		return wrap_place(opt, source, err);
	*now = (unsigned char)source;
	return 0;
}

int opt_apply(struct opt_set *set, const char *name, const char *value, enum opt_source source,
	struct err *err)
{
	int rc = check_table(set, err);
	if (rc < 0)
		return rc;
	const struct opt *opt = find_name(set, name, strlen(name));
	if (opt && (opt->flags & OPT_NO_ENV) && source != OPT_FROM_ARG) {
		err_fail(err, ERR_USAGE, "leave it out", "only on the command line");
		return wrap_place(opt, source, err);
	}
	if (opt)
		return apply(set, opt, value, source, err);
	struct word_near near = {.word = name, .before = "\"", .after = "\""};
	for (size_t i = 0; i < set->n_opts; i++)
		if (!(set->opts[i].flags & (OPT_HIDDEN | OPT_NO_ENV)))
			word_near_try(&near, set->opts[i].name);
	return err_unknown(err, ERR_USAGE, &near, "see `retort help run` for the names",
		"unknown setting \"%.*s\"", shown_bytes(name), name);
}

int opt_env(struct opt_set *set, struct err *err)
{
	int first = check_table(set, err);
	for (size_t i = 0; i < set->n_opts && set->n_opts <= OPT_MAX; i++) {
		char name[OPT_NAME_BYTES];
		struct err later;
		opt_env_name(&set->opts[i], name, sizeof name);
		const char *value = set->opts[i].flags & OPT_NO_ENV ? NULL : getenv(name);
		if (!value || !*value)
			continue;
		int rc = apply(set, &set->opts[i], value, OPT_FROM_ENV, first ? &later : err);
		first = first ? first : rc;
	}
	return first;
}

enum opt_source opt_source(const struct opt_set *set, const char *name)
{
	const struct opt *opt = find_name(set, name, strlen(name));
	return opt ? (enum opt_source)set->source[opt - set->opts] : OPT_UNSET;
}

/* The state of opt_parse(). */
struct scan {
	struct opt_set *set;
	int argc;
	char **argv;
	int at;
	bool ended; /* all remaining arguments are operands */
};

static int fail_unknown(const struct opt_set *set, const char *name, size_t bytes, struct err *err)
{
	char word[OPT_NAME_BYTES];
	struct word_near near = {.word = word, .before = "--"};
	snprintf(word, sizeof word, "%.*s", (int)MIN(bytes, sizeof word), name);
	for (size_t i = 0; i < set->n_opts; i++)
		if (!(set->opts[i].flags & OPT_HIDDEN))
			word_near_try(&near, set->opts[i].name);
	int shown = (int)utf8_cut(name, bytes, OPT_SHOWN_BYTES);
	return err_unknown(err, ERR_USAGE, &near, "--help lists the options",
		"unknown option --%.*s", shown, name);
}

/* Apply the value of @opt. @glued is the value if the option's own argument contains it
 * ("-m512m", "--memory=512m"). Without @glued, a flag becomes true, and any other option takes
 * the next argument as its value. */
static int take_value(struct scan *scan, const struct opt *opt, const char *glued, struct err *err)
{
	const char *value = glued;
	if (!value && opt->type == OPT_FLAG)
		value = "true";
	if (!value && scan->at < scan->argc)
		value = scan->argv[scan->at++];
	if (!value) {
		(void)err_set(err, ERR_USAGE, "--%s: no value", opt->name);
		return err_hint(err, "write --%s %s", opt->name, opt->arg ? opt->arg : "VALUE");
	}
	scan->ended |= (opt->flags & OPT_ENDS) != 0;
	if ((opt->flags & OPT_ONCE) && scan->set->source[opt - scan->set->opts] == OPT_FROM_ARG)
		return err_fail(err, ERR_USAGE, "give it once", "--%s: given twice", opt->name);
	return apply(scan->set, opt, value, OPT_FROM_ARG, err);
}

static int take_long(struct scan *scan, const char *text, struct err *err)
{
	size_t bytes = strcspn(text, "=");
	const struct opt *opt = find_name(scan->set, text, bytes);
	if (!opt)
		return fail_unknown(scan->set, text, bytes, err);
	return take_value(scan, opt, text[bytes] ? text + bytes + 1 : NULL, err);
}

static int take_letters(struct scan *scan, const char *text, struct err *err)
{
	size_t bytes = strlen(text);
	for (const char *at = text; *at; at++) {
		const struct opt *opt = find_letter(scan->set, *at);
		if (!opt) {
			int32_t c;
			int n = (int)utf8_decode(at, bytes - (size_t)(at - text), &c);
			return err_fail(err, ERR_USAGE, "--help lists the options",
				"unknown option -%.*s", n, at);
		}
		if (opt->type != OPT_FLAG)
			return take_value(scan, opt, at[1] ? at + 1 : NULL, err);
		int rc = take_value(scan, opt, NULL, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int opt_parse(struct opt_set *set, int argc, char **argv, struct err *err)
{
	struct scan scan = {.set = set, .argc = argc, .argv = argv, .at = 1};
	int n_operands = 0;
	int first = check_table(set, err);
	if (first < 0)
		return first;
	while (scan.at < argc) {
		struct err later;
		char *text = argv[scan.at++];
		bool is_operand = scan.ended || text[0] != '-' || !text[1];
		int rc = 0;
		if (is_operand) {
			argv[1 + n_operands++] = text;
			scan.ended |= set->stop_at_operand;
		} else if (strcmp(text, "--") == 0)
			scan.ended = set->is_ended_by_dashes = true;
		else if (text[1] == '-')
			rc = take_long(&scan, text + 2, first ? &later : err);
		else
			rc = take_letters(&scan, text + 1, first ? &later : err);
		first = first ? first : rc;
	}
	if (first < 0)
		return first;
	int start = argc - n_operands;
	if (n_operands > 0)
		memmove(argv + start, argv + 1, (size_t)n_operands * sizeof *argv);
	return start;
}
