/* The configuration file: precedence, shapes, mistakes. SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/config.h"

#include "t.h"
#include "tree.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts live until the process ends: config.h says so. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

struct args {
	uint64_t memory_bytes, cpu_milli, pids;
	const char *python;
	struct opt_list volumes;
	bool quiet;
	int color;
};

static const struct opt opts[] = {
	{.name = "memory", OPT_INTO_BYTES(struct args, memory_bytes), .arg = "SIZE", .min = 1024},
	{.name = "cpus", OPT_INTO_CPU_MILLI(struct args, cpu_milli), .arg = "N"},
	{.name = "pids", OPT_INTO_COUNT(struct args, pids), .arg = "N"},
	{.name = "python", OPT_INTO_TEXT(struct args, python), .arg = "PATH"},
	{.name = "volume", OPT_INTO_LIST(struct args, volumes), .arg = "V"},
	{.name = "quiet", OPT_INTO_FLAG(struct args, quiet)},
	{.name = "color",
		OPT_INTO_CHOICE(struct args, color),
		.arg = "WHEN",
		.choices = "auto|always|never"},
};

/* Options of other commands. */
static const struct opt other_opts[] = {
	{.name = "listen", .type = OPT_LIST, .arg = "ADDRESS"},
	{.name = "standby", .type = OPT_COUNT, .arg = "N"},
	{.name = "quiet", .type = OPT_FLAG, .flags = OPT_NO_ENV},
	{.name = "code", .type = OPT_TEXT, .flags = OPT_NO_ENV},
	{.name = "profile", .type = OPT_TEXT, .flags = OPT_NO_CONFIG},
};

static const struct opt *find_in(
	const struct opt *rows, size_t n, const char *name, struct word_near *near)
{
	const struct opt *found = NULL;
	for (size_t i = 0; i < n; i++) {
		word_near_try(near, rows[i].name);
		if (strcmp(rows[i].name, name) == 0)
			found = &rows[i];
	}
	return found;
}

static const struct opt *find(const char *name, struct word_near *near)
{
	const struct opt *found = find_in(opts, ARRAY_LEN(opts), name, near);
	return found ? found : find_in(other_opts, ARRAY_LEN(other_opts), name, near);
}

struct applied {
	struct tree tree;
	struct args args;
	struct opt_set set;
	struct err err;
	int r;
};

static void applied_done(struct applied *a)
{
	(void)unsetenv("XDG_CONFIG_HOME");
	tree_done(&a->tree);
}
#define APPLIED cleanup(applied_done) struct applied

static int apply(struct applied *a, const char *profile)
{
	return config_apply(&(struct config_use){&a->set, find}, profile, &a->err);
}

/* Put @text into the file (NULL: no file) and apply it, into @a as it lies. */
static void apply_to(struct applied *a, const char *text)
{
	*a = (struct applied){.tree = tree_new(), .args = {.memory_bytes = 7}};
	a->set = OPT_SET(opts, ARRAY_LEN(opts), &a->args);
	CHECK_INT(setenv("XDG_CONFIG_HOME", a->tree.root, 1), 0);
	if (text)
		tree_put(&a->tree, "/retort/config.json", text);
	a->r = apply(a, NULL);
}

TEST(no_file_is_no_mistake)
{
	APPLIED a;
	apply_to(&a, NULL);
	CHECK_INT(a.r, 0);
	CHECK_INT(a.args.memory_bytes, 7);
}

TEST(values_of_every_kind)
{
	APPLIED a;
	apply_to(&a,
		"{\"memory\": \"2k\", \"cpus\": 1.5, \"pids\": 12, \"quiet\": true, \"color\": \"never\","
		"\"python\": \"/opt/py\", \"volume\": [\"a:b\", \"c:d\"], \"prices\": {\"x\": []}}");
	CHECK_INT(a.r, 0);
	CHECK_INT(a.args.memory_bytes, 2048);
	CHECK_INT(a.args.cpu_milli, 1500);
	CHECK_INT(a.args.pids, 12);
	CHECK(a.args.quiet);
	CHECK_INT(a.args.color, 2);
	CHECK_STR(a.args.python, "/opt/py");
	CHECK_INT(a.args.volumes.n, 2);
	CHECK_STR(a.args.volumes.item[0], "a:b");
	CHECK_STR(a.args.volumes.item[1], "c:d");
}

TEST(one_text_for_a_list_and_false_for_a_flag)
{
	APPLIED a;
	apply_to(&a, "{\"volume\": \"a:b\", \"quiet\": false, \"memory\": 4096}");
	CHECK_INT(a.r, 0);
	CHECK_INT(a.args.volumes.n, 1);
	CHECK(!a.args.quiet);
	CHECK_INT(a.args.memory_bytes, 4096);
}

TEST(environment_and_arguments_win)
{
	APPLIED a;
	a.tree = tree_new();
	a.args = (struct args){0};
	a.set = OPT_SET(opts, ARRAY_LEN(opts), &a.args);
	CHECK_INT(setenv("XDG_CONFIG_HOME", a.tree.root, 1), 0);
	tree_put(&a.tree, "/retort/config.json",
		"{\"memory\": \"2k\", \"pids\": 12, \"cpus\": 3, \"volume\": [\"config:1\", \"config:2\"]}");
	CHECK_INT(opt_apply(&a.set, "memory", "4k", OPT_FROM_ENV, &a.err), 0);
	CHECK_INT(opt_apply(&a.set, "pids", "5", OPT_FROM_ARG, &a.err), 0);
	CHECK_INT(opt_apply(&a.set, "volume", "arg:1", OPT_FROM_ARG, &a.err), 0);
	CHECK_INT(apply(&a, NULL), 0);
	CHECK_INT(a.args.memory_bytes, 4096);
	CHECK_INT(a.args.pids, 5);
	CHECK_INT(a.args.cpu_milli, 3000);
	CHECK_INT(a.args.volumes.n, 1);
	CHECK_STR(a.args.volumes.item[0], "arg:1");
	CHECK_INT(opt_source(&a.set, "cpus"), OPT_FROM_CONFIG);
}

TEST(mistakes_name_the_file)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"", "config.json:1"},
		{"{", "config.json:1"},
		{"{\n\"memory\": 1,\n}", "config.json:3"},
		{"[]", "not an object"},
		{"\"memory\"", "expected"},
		{"{\"memory\": 2048, \"memory\": 4096}", "duplicate"},
		{"{\"memory\": null}", "\"memory\" is neither text"},
		{"{\"memory\": {}}", "\"memory\" is neither text"},
		{"{\"volume\": [[\"a:b\"]]}", "\"volume\" is neither text"},
		{"{\"volume\": [\"a:b\", null]}", "\"volume\" is neither text"},
		{"{\"memory\": \"lots\"}", "memory"},
		{"{\"memory\": 1}", "memory"},
		{"{\"memory\": -1}", "memory"},
		{"{\"quiet\": \"perhaps\"}", "quiet"},
		{"{\"color\": \"blue\"}", "color"},
		{"{\"memory\": [4096]}", "\"memory\" has a list"},
		{"{\"memory\": []}", "\"memory\" has a list"},
		{"{\"listen\": {}}", "\"listen\" is neither text"},
		{"{\"standby\": []}", "\"standby\" has a list"},
		{"{\"profiles\": []}", "\"profiles\" is not an object"},
		{"{\"prices\": 4}", "\"prices\" is not an object"},
		{"{\"profile\": \"big\"}", "profile in the configuration: it cannot"},
		{"{\"code\": \"1\"}", "code in the configuration: only on the command line"},
		{"\xff\xfe{}", "config.json:1"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		APPLIED a;
		apply_to(&a, rows[i].text);
		CHECK(a.r < 0);
		CHECK_INT(a.err.code, ERR_USAGE);
		CHECK_HAS(a.err.msg, "/retort/config.json");
		CHECK_HAS(a.err.msg, rows[i].want);
		CHECK(a.err.hint[0] != '\0');
	}
}

TEST(unknown_names)
{
	static const struct {
		const char *text, *msg, *hint;
	} rows[] = {
		{"{\"memroy\": \"2k\"}", "json: unknown setting \"memroy\"",
			"did you mean \"memory\"?"},
		{"{\"lisen\": \"2k\"}", "json: unknown setting \"lisen\"",
			"did you mean \"listen\"?"},
		{"{\"profils\": {}}", "json: unknown setting \"profils\"",
			"did you mean \"profiles\"?"},
		{"{\"colour_of_sky\": 1}", "json: unknown setting \"colour_of_sky\"",
			"retort help"},
		{"{\"\": 1}", "json: unknown setting \"\"", "retort help"},
		{"{\"profiles\": {\"p\": {\"memroy\": 1}}}",
			"json: profile \"p\": unknown setting \"memroy\"",
			"did you mean \"memory\"?"},
		{"{\"profiles\": {\"p\": {\"prices\": {}}}}",
			"json: profile \"p\": unknown setting \"prices\"", "retort help"},
		{"{\"profiles\": {\"p\": []}}", "json: profile \"p\": not an object", "memory"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		APPLIED a;
		apply_to(&a, rows[i].text);
		if (strstr(rows[i].text, "profiles")) {
			CHECK_INT(a.r, 0); /* not asked for: not examined */
			a.r = apply(&a, "p");
		}
		CHECK(a.r < 0);
		CHECK_INT(a.err.code, ERR_USAGE);
		CHECK_HAS(a.err.msg, rows[i].msg);
		CHECK_HAS(a.err.hint, rows[i].hint);
	}
}

TEST(options_of_other_commands)
{
	APPLIED a;
	apply_to(&a,
		"{\"listen\": [\":80\"], \"standby\": 3, \"pids\": 4, "
		"\"profiles\": {\"p\": {\"standby\": \"2\", \"pids\": 5}}}");
	CHECK_INT(a.r, 0);
	CHECK_INT(a.args.pids, 4);
	CHECK_INT(apply(&a, "p"), 0);
	CHECK_INT(a.args.pids, 5);
}

/* Another command may take from the file what this one takes from the command line only. */
TEST(option_of_this_command_that_is_not_for_files)
{
	static const struct opt own[] = {
		{.name = "quiet", OPT_INTO_FLAG(struct args, quiet), .flags = OPT_NO_ENV}};
	APPLIED a;
	apply_to(&a, "{\"quiet\": true}");
	CHECK_INT(a.r, 0);
	CHECK(a.args.quiet);
	a.args.quiet = false;
	a.set = OPT_SET(own, 1, &a.args);
	CHECK_INT(apply(&a, NULL), 0);
	CHECK(!a.args.quiet);
}

TEST(home_is_used_without_xdg)
{
	APPLIED a;
	char *old = getenv("HOME");
	char *home = old ? strdup(old) : NULL;
	apply_to(&a, NULL);
	CHECK_INT(
		setenv("XDG_CONFIG_HOME", "relative", 1), 0); /* the specification: to be ignored */
	CHECK_INT(setenv("HOME", a.tree.root, 1), 0);
	tree_put(&a.tree, "/.config/retort/config.json", "{\"pids\": 99}");
	CHECK_INT(apply(&a, NULL), 0);
	CHECK_INT(a.args.pids, 99);
	CHECK_INT(unsetenv("HOME"), 0);
	CHECK_INT(apply(&a, NULL), 0);
	if (home)
		CHECK_INT(setenv("HOME", home, 1), 0);
	free(home);
}

TEST(profiles)
{
	static const char text[] =
		"{\"memory\": \"2k\", \"pids\": 3, \"profiles\": {\"big\": "
		"{\"memory\": \"8k\"}, \"bad\": {\"memory\": \"x\"}, \"none\": 4}}";
	APPLIED a;
	apply_to(&a, text);
	CHECK_INT(a.r, 0);
	CHECK_INT(a.args.memory_bytes, 2048); /* not asked for: not applied */
	CHECK_INT(apply(&a, "big"), 0);
	CHECK_INT(a.args.memory_bytes, 8192);
	CHECK_INT(a.args.pids, 3);
	CHECK(apply(&a, "bad") < 0);
	CHECK_INT(a.err.code, ERR_USAGE);
	CHECK(apply(&a, "none") < 0);
	CHECK_INT(a.err.code, ERR_USAGE);
	static const char *const missing[] = {"", "huge", "memory", "profiles"};
	for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
		CHECK(apply(&a, missing[i]) < 0);
		CHECK_INT(a.err.code, ERR_NOT_FOUND);
		CHECK_HAS(a.err.msg, "/retort/config.json: no profile");
		CHECK_HAS(a.err.hint, "profiles");
		CHECK_HAS(a.err.hint, " into that file");
	}
	APPLIED b;
	apply_to(&b, NULL);
	CHECK(apply(&b, "big") < 0);
	CHECK_INT(b.err.code, ERR_NOT_FOUND);
	char want[PATH_MAX];
	snprintf(want, sizeof want, " into %s/retort/config.json", b.tree.root);
	CHECK_HAS(b.err.hint, want);
}

TEST(profile_without_a_home)
{
	APPLIED a;
	char *old = getenv("HOME");
	char *home = old ? strdup(old) : NULL;
	apply_to(&a, NULL);
	CHECK_INT(unsetenv("XDG_CONFIG_HOME") | unsetenv("HOME"), 0);
	CHECK(apply(&a, "big") < 0);
	CHECK_INT(a.err.code, ERR_NOT_FOUND);
	CHECK_HAS(a.err.hint, "set HOME");
	if (home)
		CHECK_INT(setenv("HOME", home, 1), 0);
	free(home);
}
