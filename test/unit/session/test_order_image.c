/* What an order takes from its image: its configuration, and its user from the files of its layers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "session/start/order_image.h"

#include "base/json.h"
#include "t.h"
#include "tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { LAYERS_MAX = 3 };

static json_t *parse(const char *text)
{
	json_t *out = json_loads(text, JSON_DECODE_ANY, NULL);
	CHECK(out != NULL);
	return out;
}

/* ---- the configuration ---- */

TEST(an_order_keeps_what_a_box_needs)
{
	cleanup_json json_t *record = parse(
		"{\"name\": \"a:1\", \"digest\": \"d\", \"bytes\": 5, \"layers\": [{\"digest\": \"x\", \"bytes\": 1},"
		" {\"digest\": \"y\"}], \"config\": {\"env\": [\"A=b\"], \"cmd\": [], \"entrypoint\": [\"/e\"],"
		" \"workdir\": \"/w\", \"user\": \"\", \"labels\": {\"a\": \"b\"}}}");
	cleanup_json json_t *want = parse(
		"{\"name\": \"a:1\", \"digest\": \"d\", \"layers\": [\"x\", \"y\"],"
		" \"config\": {\"env\": [\"A=b\"], \"entrypoint\": [\"/e\"], \"workdir\": \"/w\"}}");
	cleanup_json json_t *about = order_image_about(record);
	CHECK(json_equal(about, want));
	CHECK(order_image_is_valid(about));
}

TEST(a_record_without_a_configuration)
{
	cleanup_json json_t *record =
		parse("{\"name\": \"a\", \"digest\": \"d\", \"layers\": [{\"digest\": \"x\"}]}");
	cleanup_json json_t *about = order_image_about(record);
	size_t n = 1;
	const struct order_image image = {.about = about};
	const char **env = order_image_env(&image, &n);
	CHECK(order_image_is_valid(about));
	CHECK_INT(n, 0);
	CHECK(order_image_workdir(about) == NULL);
	free(env);
}

TEST(what_is_no_image)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"5",
		"{\"name\": \"a\", \"digest\": \"d\", \"layers\": [\"x\"]}",
		"{\"name\": \"a\", \"digest\": \"d\", \"layers\": [], \"config\": {}}",
		"{\"name\": \"a\", \"digest\": \"d\", \"layers\": \"x\", \"config\": {}}",
		"{\"name\": \"a\", \"digest\": \"d\", \"layers\": [\"x\", 1], \"config\": {}}",
		"{\"name\": \"a\", \"digest\": 1, \"layers\": [\"x\"], \"config\": {}}",
		"{\"digest\": \"d\", \"layers\": [\"x\"], \"config\": {}}",
		"{\"name\": \"a\", \"digest\": \"d\", \"layers\": [\"x\"], \"config\": []}",
		"{\"name\": \"a\", \"digest\": \"d\", \"layers\": [\"x\"], \"config\": {\"user\": 1}}",
		"{\"name\": \"a\", \"digest\": \"d\", \"layers\": [\"x\"], \"config\": {\"workdir\": []}}",
		"{\"name\": \"a\", \"digest\": \"d\", \"layers\": [\"x\"], \"config\": {\"env\": \"A=b\"}}",
		"{\"name\": \"a\", \"digest\": \"d\", \"layers\": [\"x\"], \"config\": {\"env\": [1]}}",
		"{\"name\": \"a\", \"digest\": \"d\", \"layers\": [\"x\"], \"config\": {\"cmd\": [null]}}",
		"{\"name\": \"a\", \"digest\": \"d\", \"layers\": [\"x\"], \"config\": {\"entrypoint\": {}}}",
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup_json json_t *about = parse(texts[i]);
		if (!CHECK(!order_image_is_valid(about)))
			printf("# %s\n", texts[i]);
	}
	CHECK(!order_image_is_valid(NULL));
}

TEST(variables_without_a_name_or_a_value_are_left_out)
{
	cleanup_json json_t *about = parse(
		"{\"config\": {\"env\": [\"A=1\", \"none\", \"=x\", \"\", \"B=\", \"A=2\", \"C==\"]}}");
	const struct order_image image = {.about = about};
	static const char *const want[] = {"A=1", "B=", "A=2", "C=="};
	size_t n = 0;
	const char **env = order_image_env(&image, &n);
	if (CHECK_INT(n, ARRAY_LEN(want)))
		for (size_t i = 0; i < n; i++)
			CHECK_STR(env[i], want[i]);
	free(env);
}

TEST(a_directory_has_no_configuration)
{
	const struct order_image image = {.about = NULL};
	uint32_t uid = 5, gid = 5;
	struct err err = {0};
	size_t n = 1;
	const char **env = order_image_env(&image, &n);
	CHECK_INT(n, 0);
	CHECK(order_image_workdir(NULL) == NULL);
	CHECK_INT(order_image_user(&image, &uid, &gid, &err), 0);
	CHECK_INT(uid, 0);
	CHECK_INT(gid, 0);
	free(env);
}

TEST(the_working_directory)
{
	static const char *const rows[][2] = {
		{"/w", "/w"}, {"//w/", "//w/"}, {"w", "w"}, {"", NULL}, {"/", NULL}, {"//", NULL}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_json json_t *about =
			json_pack("{s:{s:s}}", "config", "workdir", rows[i][0]);
		const char *dir = order_image_workdir(about);
		CHECK((dir != NULL) == (rows[i][1] != NULL));
		if (dir && rows[i][1])
			CHECK_STR(dir, rows[i][1]);
	}
}

/* ---- the user ---- */

struct layers {
	struct tree v[LAYERS_MAX];
	const char *trees[LAYERS_MAX];
	char paths[LAYERS_MAX][64];
};

static struct layers layers_new(void)
{
	struct layers l;
	for (size_t i = 0; i < LAYERS_MAX; i++) {
		l.v[i] = tree_new();
		memcpy(l.paths[i], l.v[i].root, sizeof l.paths[i]);
	}
	return l;
}

static void layers_done(struct layers *l)
{
	for (size_t i = 0; i < LAYERS_MAX; i++)
		tree_done(&l->v[i]);
}
#define LAYERS cleanup(layers_done) struct layers

/* Look up @user. Returns: "UID GID", or the message of the error, which has the code @code. */
static const char *look_up(struct layers *l, const char *user, enum err_code code)
{
	static char text[512];
	struct err err = {0};
	uint32_t uid = 7, gid = 7;
	cleanup_json json_t *about = json_pack("{s:{s:s}}", "config", "user", user);
	for (size_t i = 0; i < LAYERS_MAX; i++)
		l->trees[i] = l->paths[i];
	const struct order_image image = {.about = about, .trees = l->trees, .n_trees = LAYERS_MAX};
	int r = order_image_user(&image, &uid, &gid, &err);
	if (r == 0)
		snprintf(text, sizeof text, "%u %u", uid, gid);
	else
		snprintf(text, sizeof text, "%s", err.msg);
	CHECK_INT(r < 0, code != 0);
	if (r < 0)
		CHECK_INT(err.code, code);
	return text;
}

TEST(users_and_groups_by_name_and_number)
{
	static const char *const rows[][2] = {{"", "0 0"}, {"root", "0 0"}, {"app", "1001 1002"},
		{"app:staff", "1001 50"}, {"app:0", "1001 0"}, {"1001", "1001 1002"},
		{"1001:staff", "1001 50"}, {"5000", "5000 0"}, {"5000:6000", "5000 6000"},
		{"0:staff", "0 50"}, {"app:", "1001 1002"}, {"last", "9 10"}, {"last:end", "9 11"},
		{"2147483647:2147483647", "2147483647 2147483647"}, {"007", "7 0"},
		{":staff", "0 50"}};
	LAYERS l = layers_new();
	tree_put(&l.v[0], "/etc/passwd",
		"root:x:0:0:root:/root:/bin/sh\n\n# comment\napp:x:1001:1002:An app:/srv:/bin/sh\n"
		"apple:x:3:3::/:\nlast:x:9:10");
	tree_put(&l.v[0], "/etc/group", "root:x:0:\nstaff:x:50:app,root\nend:x:11");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK_STR(look_up(&l, rows[i][0], 0), rows[i][1]))
			printf("# %s\n", rows[i][0]);
}

TEST(who_is_not_there_is_named)
{
	LAYERS l = layers_new();
	tree_put(&l.v[0], "/etc/passwd", "root:x:0:0\napp:x:1001:1002::/:\n");
	CHECK_STR(look_up(&l, "nobody", ERR_NOT_FOUND), "the image has no user nobody");
	CHECK_STR(look_up(&l, "ap", ERR_NOT_FOUND), "the image has no user ap");
	CHECK_STR(look_up(&l, "appl", ERR_NOT_FOUND), "the image has no user appl");
	CHECK_STR(look_up(&l, "x", ERR_NOT_FOUND), "the image has no user x");
	CHECK_STR(look_up(&l, "-1", ERR_NOT_FOUND), "the image has no user -1");
	CHECK_STR(look_up(&l, "app:staff", ERR_NOT_FOUND),
		"the image has no /etc/group, so no staff");
	tree_put(&l.v[0], "/etc/group", "");
	CHECK_STR(look_up(&l, "app:staff", ERR_NOT_FOUND), "the image has no group staff");
	CHECK_STR(look_up(&l, "app:staff:x", ERR_NOT_FOUND), "the image has no group staff:x");
}

TEST(without_the_files_only_numbers_are_known)
{
	LAYERS l = layers_new();
	CHECK_STR(look_up(&l, "app", ERR_NOT_FOUND), "the image has no /etc/passwd, so no app");
	CHECK_STR(look_up(&l, "12:13", 0), "12 13");
	CHECK_STR(look_up(&l, "12", 0), "12 0");
	CHECK_STR(look_up(&l, "0", 0), "0 0");
}

TEST(numbers_that_no_box_has)
{
	LAYERS l = layers_new();
	char name[256];
	CHECK_HAS(look_up(&l, "2147483648", ERR_USAGE), "2147483648, is no id");
	CHECK_HAS(look_up(&l, "4294967296", ERR_USAGE), "4294967296, is no id");
	CHECK_HAS(look_up(&l, "1:4294967295", ERR_USAGE), "the group of the image, 4294967295");
	CHECK_HAS(look_up(&l, "99999999999999999999999", ERR_NOT_FOUND), "99999999999999999999999");
	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	CHECK_HAS(look_up(&l, name, ERR_USAGE), "the name of the image's user is too long");
}

TEST(lines_that_are_wrong)
{
	LAYERS l = layers_new();
	tree_put(&l.v[0], "/etc/passwd",
		"short\nno:x\nempty:x::\nword:x:one:2::/:\nbig:x:4294967297:0::/:\nminus:x:-5:0::/:\n"
		"long:x:00000000000000000000005:0::/:\ngroup:x:6:word::/:\nends:x:8");
	CHECK_HAS(look_up(&l, "short", ERR_NOT_FOUND), "no user short");
	CHECK_HAS(look_up(&l, "no", ERR_NOT_FOUND), "no user no");
	CHECK_HAS(look_up(&l, "empty", ERR_NOT_FOUND), "no user empty");
	CHECK_HAS(look_up(&l, "word", ERR_NOT_FOUND), "no user word");
	CHECK_HAS(look_up(&l, "big", ERR_NOT_FOUND), "no user big");
	CHECK_HAS(look_up(&l, "minus", ERR_NOT_FOUND), "no user minus");
	CHECK_HAS(look_up(&l, "long", ERR_NOT_FOUND), "no user long");
	CHECK_STR(look_up(&l, "group", 0), "6 0");
	CHECK_STR(look_up(&l, "ends", 0), "8 0");
}

TEST(the_highest_layer_with_the_file_counts)
{
	LAYERS l = layers_new();
	tree_put(&l.v[0], "/etc/passwd", "app:x:1:1::/:\nold:x:2:2::/:\n");
	tree_put(&l.v[1], "/etc/passwd", "app:x:3:4::/:\n");
	tree_put(&l.v[2], "/etc/motd", "");
	CHECK_STR(look_up(&l, "app", 0), "3 4");
	CHECK_HAS(look_up(&l, "old", ERR_NOT_FOUND), "the image has no user old");
}

TEST(a_file_that_a_layer_deletes_is_not_there)
{
	LAYERS l = layers_new();
	tree_put(&l.v[0], "/etc/passwd", "app:x:1:1::/:\n");
	CHECK_INT(mkdirat(l.v[1].fd, "etc", 0755), 0);
	CHECK_INT(mknodat(l.v[1].fd, "etc/passwd", S_IFCHR, 0), 0);
	CHECK_HAS(look_up(&l, "app", ERR_NOT_FOUND), "no /etc/passwd, so no app");
	tree_put(&l.v[2], "/etc/passwd", "app:x:5:5::/:\n");
	CHECK_STR(look_up(&l, "app", 0), "5 5");
}

TEST(links_are_not_followed)
{
	LAYERS l = layers_new();
	TREE outside = tree_new();
	tree_put(&outside, "/passwd", "app:x:66:66::/:\n");
	tree_put(&l.v[0], "/etc/passwd", "app:x:1:1::/:\n");
	CHECK_INT(mkdirat(l.v[1].fd, "etc", 0755), 0);
	CHECK_INT(symlinkat(tree_path(&outside, "/passwd"), l.v[1].fd, "etc/passwd"), 0);
	CHECK_HAS(look_up(&l, "app", ERR_NOT_FOUND), "no /etc/passwd, so no app");
	CHECK_INT(unlinkat(l.v[1].fd, "etc/passwd", 0), 0);
	CHECK_INT(unlinkat(l.v[1].fd, "etc", AT_REMOVEDIR), 0);
	CHECK_INT(unlinkat(l.v[0].fd, "etc/passwd", 0), 0);
	CHECK_INT(symlinkat(outside.root, l.v[1].fd, "etc"), 0);
	CHECK_HAS(look_up(&l, "app", ERR_NOT_FOUND), "no /etc/passwd, so no app");
}

TEST(what_is_no_file_is_not_read)
{
	LAYERS l = layers_new();
	CHECK_INT(mkdirat(l.v[0].fd, "etc", 0755), 0);
	CHECK_INT(mkfifoat(l.v[0].fd, "etc/passwd", 0644), 0);
	CHECK_HAS(look_up(&l, "app", ERR_NOT_FOUND), "no /etc/passwd, so no app");
	CHECK_INT(mkdirat(l.v[1].fd, "etc", 0755), 0);
	CHECK_INT(mkdirat(l.v[1].fd, "etc/passwd", 0755), 0);
	CHECK_HAS(look_up(&l, "app", ERR_NOT_FOUND), "no /etc/passwd, so no app");
}

TEST(an_etc_that_a_layer_removes_or_replaces_hides_those_below)
{
	LAYERS l = layers_new();
	tree_put(&l.v[0], "/etc/passwd", "app:x:1:1::/:\n");
	CHECK_INT(mknodat(l.v[1].fd, "etc", S_IFCHR, 0), 0);
	CHECK_HAS(look_up(&l, "app", ERR_NOT_FOUND), "no /etc/passwd, so no app");
	CHECK_INT(unlinkat(l.v[1].fd, "etc", 0), 0);
	tree_put(&l.v[1], "/etc", "a file");
	CHECK_HAS(look_up(&l, "app", ERR_NOT_FOUND), "no /etc/passwd, so no app");
	CHECK_INT(unlinkat(l.v[1].fd, "etc", 0), 0);
	CHECK_INT(mkdirat(l.v[1].fd, "etc", 0755), 0);
	CHECK_INT(setxattr(tree_path(&l.v[1], "/etc"), "user.overlay.opaque", "y", 1, 0), 0);
	CHECK_HAS(look_up(&l, "app", ERR_NOT_FOUND), "no /etc/passwd, so no app");
	tree_put(&l.v[1], "/etc/passwd", "app:x:2:2::/:\n");
	CHECK_STR(look_up(&l, "app", 0), "2 2");
}
