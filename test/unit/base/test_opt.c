/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/opt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct args {
	uint64_t memory, timeout, pids, cpus;
	const char *code, *dir, *name;
	int runtime;
	bool json, quiet, fresh, secret;
	struct opt_list env;
};

static const struct opt opts[] = {
	{.name = "runtime",
		.letter = 'r',
		OPT_INTO_CHOICE(struct args, runtime),
		.arg = "R",
		.choices = "python|javascript|sql"},
	{.name = "code",
		.letter = 'c',
		OPT_INTO_TEXT(struct args, code),
		.arg = "CODE",
		.flags = OPT_ENDS | OPT_NO_ENV},
	{.name = "memory",
		.letter = 'm',
		OPT_INTO_BYTES(struct args, memory),
		.arg = "SIZE",
		.min = 1 << 20,
		.max = 1 << 30},
	{.name = "timeout", OPT_INTO_MS(struct args, timeout), .arg = "TIME", .min = 1},
	{.name = "pids", OPT_INTO_COUNT(struct args, pids), .arg = "N", .min = 1, .max = 100},
	{.name = "cpus", OPT_INTO_CPU_MILLI(struct args, cpus), .arg = "N", .min = 10},
	{.name = "env", .letter = 'e', OPT_INTO_LIST(struct args, env), .arg = "K[=V]"},
	{.name = "work-dir",
		.letter = 'w',
		OPT_INTO_TEXT(struct args, dir),
		.arg = "DIR",
		.complete = OPT_COMPLETE_DIR},
	{.name = "name", OPT_INTO_TEXT(struct args, name), .arg = "NAME"},
	{.name = "json", OPT_INTO_FLAG(struct args, json)},
	{.name = "quiet", .letter = 'q', OPT_INTO_FLAG(struct args, quiet)},
	{.name = "fresh", .letter = 'f', OPT_INTO_FLAG(struct args, fresh)},
	{.name = "secret", OPT_INTO_FLAG(struct args, secret), .flags = OPT_HIDDEN},
};

enum { WORDS_MAX = 32, TEXT_BYTES = 256 };

/* One command line, as a shell would write it without quotes; "''" is the empty argument. */
struct line {
	struct args args;
	struct opt_set set;
	struct err err;
	char text[TEXT_BYTES];
	char *argv[WORDS_MAX];
	int argc;
	int rc;
	char operands[TEXT_BYTES];
};

static void line_parse(struct line *l, const char *text, bool stop)
{
	*l = (struct line){.args.runtime = -1};
	l->set = OPT_SET(opts, ARRAY_LEN(opts), &l->args);
	l->set.stop_at_operand = stop;
	snprintf(l->text, sizeof l->text, "cmd %s", text);
	char *save = NULL;
	for (char *w = strtok_r(l->text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		l->argv[l->argc++] = strcmp(w, "''") == 0 ? w + 2 : w;
	l->rc = opt_parse(&l->set, l->argc, l->argv, &l->err);
	for (int i = l->rc; i > 0 && i < l->argc; i++) {
		size_t used = strlen(l->operands);
		snprintf(l->operands + used, sizeof l->operands - used, "[%s]", l->argv[i]);
	}
}

TEST(opt_reads_every_way_to_write_a_value)
{
	static const char *const rows[] = {
		"-m512m",
		"-m 512m",
		"--memory=512m",
		"--memory 512m",
		"-qm512m",
		"-qfm 512m",
		"-m 1m --memory 512m", /* the last wins */
		"x --memory 512m",
		"--memory 512m --",
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct line l;
		line_parse(&l, rows[i], false);
		CHECK(l.rc > 0);
		CHECK_INT(l.args.memory, 512 << 20);
		CHECK_INT(l.args.quiet, strstr(rows[i], "-q") != NULL);
		CHECK_INT(l.args.fresh, strstr(rows[i], "-qf") != NULL);
		CHECK_INT(opt_source(&l.set, "memory"), OPT_FROM_ARG);
		CHECK_INT(opt_source(&l.set, "timeout"), OPT_UNSET);
	}
}

TEST(opt_reads_every_type)
{
	struct line l;
	line_parse(&l,
		"-r sql --timeout 1.5 --pids 7 --cpus .5 -e A=1 -eB --env=C=D=E "
		"-w /tmp --json --fresh=false --name=",
		true);
	CHECK_INT(l.rc, l.argc);
	CHECK_INT(l.args.runtime, 2);
	CHECK_INT(l.args.timeout, 1500);
	CHECK_INT(l.args.pids, 7);
	CHECK_INT(l.args.cpus, 500);
	CHECK_INT(l.args.env.n, 3);
	CHECK_STR(l.args.env.item[0], "A=1");
	CHECK_STR(l.args.env.item[1], "B");
	CHECK_STR(l.args.env.item[2], "C=D=E");
	CHECK_STR(l.args.dir, "/tmp");
	CHECK_STR(l.args.name, "");
	CHECK(l.args.json && !l.args.fresh);
	CHECK_INT(opt_source(&l.set, "fresh"), OPT_FROM_ARG);
}

TEST(opt_finds_the_operands)
{
	static const struct {
		const char *text;
		bool stop;
		const char *operands;
		bool json;
		const char *code;
	} rows[] = {
		{"", true, "", false, NULL},
		{"a b", true, "[a][b]", false, NULL},
		{"a --json b", true, "[a][--json][b]", false, NULL},
		{"a --json b", false, "[a][b]", true, NULL},
		{"--json a", true, "[a]", true, NULL},
		{"- --json", true, "[-][--json]", false, NULL},
		{"-- --json", true, "[--json]", false, NULL},
		{"a -- --json --", false, "[a][--json][--]", false, NULL},
		{"a -- --json", true, "[a][--][--json]", false, NULL},
		{"a --json b -q c", false, "[a][b][c]", true, NULL},
		{"-c pass a --json", true, "[a][--json]", false, "pass"},
		{"-cpass --json -- x", true, "[--json][--][x]", false, "pass"},
		{"--code=pass -q", true, "[-q]", false, "pass"},
		{"--json -c '' x", true, "[x]", true, ""},
		{"-c --json", true, "", false, "--json"},
		{"-qc pass -m", true, "[-m]", false, "pass"},
		{"'' --json", true, "[][--json]", false, NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct line l;
		line_parse(&l, rows[i].text, rows[i].stop);
		CHECK(l.rc > 0);
		CHECK_STR(l.operands, rows[i].operands);
		CHECK_INT(l.args.json, rows[i].json);
		if (rows[i].code)
			CHECK_STR(l.args.code, rows[i].code);
		else
			CHECK(!l.args.code);
	}
}

TEST(opt_says_what_is_wrong)
{
	static const struct {
		const char *text, *msg, *hint;
	} rows[] = {
		{"--memroy=1g", "unknown option --memroy", "did you mean --memory?"},
		{"--mem 1g", "unknown option --mem", "did you mean --memory?"},
		{"--gpu", "unknown option --gpu", "--help lists the options"},
		{"--secre", "unknown option --secre", "--help lists the options"},
		{"---", "unknown option ---", "--help lists the options"},
		{"--=x", "unknown option --", "--help lists the options"},
		{"-x", "unknown option -x", "--help lists the options"},
		{"-qx", "unknown option -x", "--help lists the options"},
		{"-q5", "unknown option -5", "--help lists the options"},
		{"-\xc3\xbc", "unknown option -\xc3\xbc", "--help lists the options"},
		{"--memory", "--memory: no value", "write --memory SIZE"},
		{"-qm", "--memory: no value", "write --memory SIZE"},
		{"-c", "--code: no value", "write --code CODE"},
		{"-m 12q", "--memory: \"12q\" is not a size",
			"write a number with k, m or g: 512m"},
		{"-m=1g", "--memory: \"=1g\" is not a size", "write a number with k, m or g: 512m"},
		{"--memory=", "--memory: \"\" is not a size",
			"write a number with k, m or g: 512m"},
		{"-m 1k", "--memory: \"1k\" is too small", "write at least 1 MiB"},
		{"-m 2g", "--memory: \"2g\" is too large", "write at most 1 GiB"},
		{"--timeout soon", "--timeout: \"soon\" is not a duration",
			"write a number with ms, s, m or h: 30s"},
		{"--timeout 0", "--timeout: \"0\" is too small", "write at least 1 ms"},
		{"--pids 101", "--pids: \"101\" is too large", "write at most 100"},
		{"--pids many", "--pids: \"many\" is not a whole number",
			"write digits only, e.g. 3"},
		{"--cpus 0", "--cpus: \"0\" is too small", "write at least 0.01"},
		{"--cpus all", "--cpus: \"all\" is not a number of CPUs",
			"write a number: 1 or 0.5"},
		{"-r ruby", "--runtime: \"ruby\" is not allowed",
			"choose python, javascript or sql"},
		{"-r pyhton", "--runtime: \"pyhton\" is not allowed", "did you mean python?"},
		{"-r ''", "--runtime: \"\" is not allowed", "choose python, javascript or sql"},
		{"-r python|sql", "--runtime: \"python|sql\" is not allowed",
			"choose python, javascript or sql"},
		{"--json=maybe", "--json: \"maybe\" is neither true nor false",
			"write true or false, or nothing for true"},
		{"--work-dir=", "--work-dir: the path is empty", "write DIR"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct line l;
		line_parse(&l, rows[i].text, true);
		CHECK_INT(l.rc, -EINVAL);
		CHECK_INT(l.err.code, ERR_USAGE);
		CHECK_STR(l.err.msg, rows[i].msg);
		CHECK_STR(l.err.hint, rows[i].hint);
		CHECK_INT(l.args.memory, 0);
		CHECK_INT(l.args.runtime, -1);
	}
}

TEST(opt_goes_on_after_a_mistake_and_tells_the_first)
{
	struct line l;
	line_parse(&l, "--memory 12q --bogus --timeout never --json", true);
	CHECK_INT(l.rc, -EINVAL);
	CHECK_STR(l.err.msg, "--memory: \"12q\" is not a size");
	CHECK(l.args.json);
}

TEST(opt_reads_words_for_flags)
{
	static const struct {
		const char *text;
		bool value;
	} rows[] = {{"true", true}, {"1", true}, {"yes", true}, {"on", true}, {"false", false},
		{"0", false}, {"no", false}, {"off", false}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct args args = {.json = !rows[i].value};
		struct opt_set set = OPT_SET(opts, ARRAY_LEN(opts), &args);
		struct err err;
		CHECK_INT(opt_apply(&set, "json", rows[i].text, OPT_FROM_CONFIG, &err), 0);
		CHECK_INT(args.json, rows[i].value);
	}
}

TEST(opt_has_a_limit_on_lists)
{
	struct args args = {0};
	struct opt_set set = OPT_SET(opts, ARRAY_LEN(opts), &args);
	struct err err = {0};
	for (int i = 0; i < OPT_LIST_MAX; i++)
		CHECK_INT(opt_apply(&set, "env", "A", OPT_FROM_ARG, &err), 0);
	CHECK_INT(opt_apply(&set, "env", "A", OPT_FROM_ARG, &err), -E2BIG);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK_STR(err.msg, "--env: given more than 256 times");
	CHECK_STR(err.hint, "give it at most 256 times");
	CHECK_INT(args.env.n, OPT_LIST_MAX);
}

TEST(opt_has_a_limit_on_tables)
{
	static const struct opt many[OPT_MAX + 1] = {{.name = "a"}};
	struct args args = {0};
	struct opt_set set = OPT_SET(many, OPT_MAX + 1, &args);
	struct err err = {0};
	char name[] = "cmd";
	char *argv[] = {name, NULL};
	CHECK_INT(opt_parse(&set, 1, argv, &err), -EINVAL);
	CHECK_INT(err.code, ERR_INTERNAL);
	CHECK_INT(opt_env(&set, &err), -EINVAL);
	CHECK_INT(opt_apply(&set, "a", "1", OPT_FROM_ARG, &err), -EINVAL);
	CHECK_STR(err.msg, "65 options, limit 64");
}

TEST(opt_lets_the_later_source_win_in_any_order)
{
	static const enum opt_source orders[][3] = {
		{OPT_FROM_CONFIG, OPT_FROM_ENV, OPT_FROM_ARG},
		{OPT_FROM_ARG, OPT_FROM_ENV, OPT_FROM_CONFIG},
		{OPT_FROM_ENV, OPT_FROM_ARG, OPT_FROM_CONFIG},
	};
	static const char *const sizes[] = {"", "1m", "2m", "3m"};
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		struct args args = {0};
		struct opt_set set = OPT_SET(opts, ARRAY_LEN(opts), &args);
		struct err err;
		for (size_t j = 0; j < 3; j++) {
			enum opt_source from = orders[i][j];
			CHECK_INT(opt_apply(&set, "memory", sizes[from], from, &err), 0);
			CHECK_INT(opt_apply(&set, "env", sizes[from], from, &err), 0);
			CHECK_INT(opt_apply(&set, "env", "more", from, &err), 0);
		}
		CHECK_INT(args.memory, 3 << 20);
		CHECK_INT(args.env.n, 2);
		CHECK_STR(args.env.item[0], "3m");
		CHECK_INT(opt_source(&set, "memory"), OPT_FROM_ARG);
		/* What is overruled is not looked at. */
		CHECK_INT(opt_apply(&set, "memory", "12q", OPT_FROM_ENV, &err), 0);
	}
}

TEST(opt_names_the_place_of_a_mistake)
{
	struct args args = {0};
	struct opt_set set = OPT_SET(opts, ARRAY_LEN(opts), &args);
	struct err err;
	CHECK_INT(opt_apply(&set, "memory", "12q", OPT_FROM_CONFIG, &err), -EINVAL);
	CHECK_STR(err.msg, "memory in the configuration: \"12q\" is not a size");
	CHECK_INT(opt_apply(&set, "work-dir", "", OPT_FROM_ENV, &err), -EINVAL);
	CHECK_STR(err.msg, "RETORT_WORK_DIR: the path is empty");
	CHECK_INT(opt_apply(&set, "memroy", "1g", OPT_FROM_CONFIG, &err), -EINVAL);
	CHECK_STR(err.msg, "unknown setting \"memroy\"");
	CHECK_STR(err.hint, "did you mean \"memory\"?");
	CHECK_INT(opt_apply(&set, "gpu", "1", OPT_FROM_CONFIG, &err), -EINVAL);
	CHECK_STR(err.hint, "see `retort help run` for the names");
	CHECK_INT(opt_apply(&set, "code", "x", OPT_FROM_CONFIG, &err), -EINVAL);
	CHECK_STR(err.msg, "code in the configuration: only on the command line");
	CHECK_STR(err.hint, "leave it out");
	CHECK_INT(opt_source(&set, "memory"), OPT_UNSET);
	CHECK_INT(opt_source(&set, "gpu"), OPT_UNSET);
}

TEST(opt_reads_the_environment)
{
	struct line l;
	(void)setenv("RETORT_MEMORY", "2m", 1);
	(void)setenv("RETORT_WORK_DIR", "/srv", 1);
	(void)setenv("RETORT_JSON", "yes", 1);
	(void)setenv("RETORT_ENV", "A=1", 1);
	(void)setenv("RETORT_CODE", "never", 1);
	(void)setenv("RETORT_PIDS", "", 1);
	line_parse(&l, "-m 3m", true);
	CHECK_INT(opt_env(&l.set, &l.err), 0);
	CHECK_INT(l.args.memory, 3 << 20);
	CHECK_STR(l.args.dir, "/srv");
	CHECK(l.args.json);
	CHECK_INT(l.args.env.n, 1);
	CHECK(!l.args.code);
	CHECK_INT(l.args.pids, 0);
	CHECK_INT(opt_source(&l.set, "json"), OPT_FROM_ENV);

	(void)setenv("RETORT_TIMEOUT", "soon", 1);
	(void)setenv("RETORT_CPUS", "all", 1);
	line_parse(&l, "", true);
	CHECK_INT(opt_env(&l.set, &l.err), -EINVAL);
	CHECK_STR(l.err.msg, "RETORT_TIMEOUT: \"soon\" is not a duration");
	CHECK(l.args.json);
	static const char *const names[] = {
		"MEMORY", "WORK_DIR", "JSON", "ENV", "CODE", "PIDS", "TIMEOUT", "CPUS"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char name[64];
		snprintf(name, sizeof name, "RETORT_%s", names[i]);
		(void)unsetenv(name);
	}
}

TEST(opt_steps_through_choices)
{
	char all[64] = "";
	size_t bytes = 0;
	for (const char *w = NULL; (w = opt_choice_next(&opts[0], w, &bytes));) {
		size_t used = strlen(all);
		snprintf(all + used, sizeof all - used, "<%.*s>", (int)bytes, w);
	}
	CHECK_STR(all, "<python><javascript><sql>");
	CHECK(!opt_choice_next(&opts[2], NULL, &bytes));
}

TEST(opt_cuts_what_it_quotes)
{
	struct line l;
	char text[200] = "--";
	memset(text + 2, 'z', 150);
	line_parse(&l, text, true);
	CHECK_INT(l.rc, -EINVAL);
	CHECK_INT(strlen(l.err.msg), strlen("unknown option --") + 64);
}
