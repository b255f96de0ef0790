/* The configuration file: precedence, shapes, mistakes. SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/config.h"

#include "t.h"
#include "tree.h"

#include <errno.h>
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

/* Put @text into the file (NULL: no file) and apply it, into @a as it lies. */
static void apply_to(struct applied *a, const char *text)
{
	*a = (struct applied){.tree = tree_new(), .args = {.memory_bytes = 7}};
	a->set = OPT_SET(opts, ARRAY_LEN(opts), &a->args);
	CHECK_INT(setenv("XDG_CONFIG_HOME", a->tree.root, 1), 0);
	if (text)
		tree_put(&a->tree, "/retort/config.json", text);
	a->r = config_apply(&a->set, NULL, &a->err);
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
		"\"python\": \"/opt/py\", \"volume\": [\"a:b\", \"c:d\"], \"unknown\": {\"x\": []}}");
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
	CHECK_INT(config_apply(&a.set, NULL, &a.err), 0);
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
		{"\xff\xfe{}", "config.json:1"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		APPLIED a;
		apply_to(&a, rows[i].text);
		CHECK(a.r < 0);
		CHECK_INT(a.err.code, ERR_USAGE);
		CHECK_HAS(a.err.msg, "/retort/config.json");
		CHECK_HAS(a.err.msg, rows[i].want);
		CHECK(a.err.hint[0] != '\0' || strstr(rows[i].want, "neither"));
	}
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
	CHECK_INT(config_apply(&a.set, NULL, &a.err), 0);
	CHECK_INT(a.args.pids, 99);
	CHECK_INT(unsetenv("HOME"), 0);
	CHECK_INT(config_apply(&a.set, NULL, &a.err), 0);
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
	CHECK_INT(config_apply(&a.set, "big", &a.err), 0);
	CHECK_INT(a.args.memory_bytes, 8192);
	CHECK_INT(a.args.pids, 3);
	CHECK(config_apply(&a.set, "bad", &a.err) < 0);
	CHECK_INT(a.err.code, ERR_USAGE);
	static const char *const missing[] = {"", "none", "huge", "memory", "profiles"};
	for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
		CHECK(config_apply(&a.set, missing[i], &a.err) < 0);
		CHECK_INT(a.err.code, ERR_NOT_FOUND);
		CHECK_HAS(a.err.hint, "profiles");
	}
	APPLIED b;
	apply_to(&b, NULL);
	CHECK(config_apply(&b.set, "big", &b.err) < 0);
	CHECK_INT(b.err.code, ERR_NOT_FOUND);
}
