/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"
#include "tree.h"

#include "api/skill/skill_store.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char code[] = "def one():\n    return 1\n";

/* A shelf on @t, of "/s". */
static struct skill_store open_shelf(const struct tree *t, const char *mode)
{
	struct skill_store s;
	struct err err;
	char spec[256];
	(void)mkdir(tree_path(t, "/s"), 0755);
	snprintf(spec, sizeof spec, "%s%s", tree_path(t, "/s"), mode);
	CHECK_INT(skill_store_open(&s, spec, &err), 0);
	return s;
}

static int keep(struct skill_store *s, const char *name, struct err *err)
{
	json_t *about = json_pack("{s:s, s:s}", "signature", "one()", "doc", "Gives one.");
	const struct skill_store_row skill = {
		.name = name, .runtime = "python", .code = code, .about = about};
	int r = skill_store_keep(s, &skill, err);
	json_decref(about);
	return r;
}

static int count_files(const struct tree *t)
{
	DIR *dir = opendir(tree_path(t, "/s"));
	int n = -2;
	while (dir && readdir(dir))
		n++;
	if (dir)
		(void)closedir(dir);
	return n;
}

TEST(names)
{
	static const char *const good[] = {"a", "total", "read_file2", "x_"};
	static const char *const bad[] = {"", "A", "_a", "1a", "a-b", "a.b", "../a", "a/b", "/a",
		".", "..", "a b", "a\n", "\xc3\xa9", "class", "import", "save",
		"a123456789012345678901234567890123456789012345678901234567890123"};
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		CHECK_INT(skill_store_check_name(good[i], &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK(skill_store_check_name(bad[i], &err) < 0);
		CHECK_INT(err.code, ERR_USAGE);
	}
}

TEST(places)
{
	TREE t = tree_new();
	struct skill_store s;
	struct err err;
	tree_put(&t, "/file", "x");
	CHECK(skill_store_open(&s, tree_path(&t, "/nothing"), &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	CHECK_HAS(err.msg, "--skills");
	skill_store_close(&s);
	CHECK(skill_store_open(&s, tree_path(&t, "/file"), &err) < 0);
	skill_store_close(&s);
	s = open_shelf(&t, "");
	CHECK(!s.is_writable);
	skill_store_close(&s);
	s = open_shelf(&t, ":rw");
	CHECK(s.is_writable && s.path[0] == '/');
	CHECK(!strchr(s.path, ':'));
	skill_store_close(&s);
}

TEST(a_skill_is_kept_and_listed)
{
	TREE t = tree_new();
	struct err err;
	struct skill_store s = open_shelf(&t, ":rw");
	CHECK_INT(json_array_size(skill_store_list(&s)), 0);
	CHECK(!skill_store_has(&s, "one"));
	CHECK_INT(keep(&s, "one", &err), 0);
	CHECK(skill_store_has(&s, "one"));
	CHECK_STR(tree_get(&t, "/s/one.py"), code);
	CHECK_INT(count_files(&t), 2);
	const json_t *row = json_array_get(skill_store_list(&s), 0);
	CHECK_STR(json_string_value(json_object_get(row, "name")), "skills.one");
	CHECK_STR(json_string_value(json_object_get(row, "signature")), "one()");
	CHECK_STR(json_string_value(json_object_get(row, "doc")), "Gives one.");
	skill_store_close(&s);
}

TEST(what_is_there_is_never_replaced)
{
	TREE t = tree_new();
	struct err err;
	struct skill_store s = open_shelf(&t, ":rw");
	tree_put(&t, "/s/mine.py", "mine");
	tree_put(&t, "/s/script.mjs", "mine");
	tree_put(&t, "/s/about.json", "{}");
	tree_put(&t, "/other", "other");
	CHECK_INT(symlink("../other", tree_path(&t, "/s/link.py")), 0);
	CHECK_INT(symlink("../nothing", tree_path(&t, "/s/loose.py")), 0);
	static const char *const names[] = {"mine", "script", "about", "link", "loose"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CHECK(skill_store_has(&s, names[i]));
		CHECK(keep(&s, names[i], &err) < 0);
		CHECK_INT(err.code, ERR_BUSY);
	}
	CHECK_STR(tree_get(&t, "/s/mine.py"), "mine");
	CHECK_STR(tree_get(&t, "/s/about.json"), "{}");
	CHECK_STR(tree_get(&t, "/other"), "other");
	CHECK(!tree_has(&t, "/nothing"));
	CHECK_INT(count_files(&t), 5);
	skill_store_close(&s);
}

static void keep_two(void *arg)
{
	struct err err;
	CHECK(keep(arg, "two", &err) < 0);
	CHECK_INT(err.code, ERR_IO);
}

TEST(all_of_it_or_nothing)
{
	TREE t = tree_new();
	struct skill_store s = open_shelf(&t, ":rw");
	tree_no_writes(keep_two, &s);
	CHECK_INT(count_files(&t), 0);
	CHECK_INT(json_array_size(skill_store_list(&s)), 0);
	skill_store_close(&s);
}

TEST(files_of_others_are_listed_with_care)
{
	TREE t = tree_new();
	struct skill_store s = open_shelf(&t, "");
	tree_put(&t, "/s/plain.mjs", code);
	tree_put(&t, "/s/evil.py", code);
	tree_put(&t, "/s/evil.json", "{\"doc\": \"a\\u001b[31mb\\u202ec\", \"signature\": 5}");
	tree_put(&t, "/s/broken.py", code);
	tree_put(&t, "/s/broken.json", "{");
	tree_put(&t, "/s/Not.py", code);
	tree_put(&t, "/s/not.txt", code);
	tree_put(&t, "/s/.hidden.py", code);
	CHECK_INT(mkfifo(tree_path(&t, "/s/plain.json"), 0600), 0);
	const json_t *rows = skill_store_list(&s);
	CHECK_INT(json_array_size(rows), 3);
	CHECK_STR(json_string_value(json_object_get(json_array_get(rows, 0), "name")),
		"skills.broken");
	CHECK_STR(json_string_value(json_object_get(json_array_get(rows, 1), "doc")), "a[31mbc");
	CHECK_STR(json_string_value(json_object_get(json_array_get(rows, 1), "signature")),
		"skills.evil");
	CHECK_STR(json_string_value(json_object_get(json_array_get(rows, 2), "name")),
		"skills.plain");
	skill_store_close(&s);
}
