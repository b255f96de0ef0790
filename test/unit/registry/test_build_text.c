/* What a build is told to install, and what it says that it has installed. The latter is written by
 * packages, which nobody trusts. SPDX-License-Identifier: Apache-2.0 */
#include "registry/build/build_text.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "tree.h"

#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROW "pip\tone\t1.0\tsha256:ab\n"

/* Whether the file has exactly this text; NULL: whether it does not exist. */
static bool has(const struct tree *t, const char *path, const char *want)
{
	cleanup_buf struct buf text = BUF_INIT(1 << 20);
	int r = file_read(&text, tree_path(t, path));
	return want ? r == 0 && strcmp(buf_str(&text), want) == 0 : r == -ENOENT;
}

static int tell(
	const struct tree *t, const char *spec, const char *lock, bool is_upgrade, struct err *err)
{
	cleanup_json json_t *asked = json_loads(spec, 0, NULL);
	cleanup_json json_t *locked = lock ? json_loads(lock, 0, NULL) : NULL;
	CHECK(asked && (locked || !lock));
	*err = (struct err){0};
	return build_text_write(t->fd, asked, locked, is_upgrade, err);
}

TEST(what_to_install)
{
	TREE t = tree_new();
	struct err err;
	CHECK_INT(tell(&t, "{\"pip\": [\"b>=1\", \"a\"], \"apt\": [\"jq\"], \"npm\": []}", NULL,
			  false, &err),
		0);
	CHECK(has(&t, "/pip", "b>=1\na\n"));
	CHECK(has(&t, "/apt", "jq\n"));
	CHECK(has(&t, "/npm", NULL));
	CHECK(has(&t, "/upgrade", NULL));
	CHECK(has(&t, "/pip.lock", NULL));
	CHECK_INT(tell(&t, "{\"npm\": [\"@x/y@1\"]}",
			  "{\"pip.lock\": \"a\", \"package.json\": \"{}\", \"package-lock.json\": "
			  "\"\", \"apt.lock\": \"c\\n\"}",
			  true, &err),
		0);
	CHECK(has(&t, "/npm", "@x/y@1\n"));
	CHECK(has(&t, "/upgrade", ""));
	CHECK(has(&t, "/pip.lock", "a"));
	CHECK(has(&t, "/package.json", "{}"));
	CHECK(has(&t, "/package-lock.json", ""));
	CHECK(has(&t, "/apt.lock", "c\n"));
}

TEST(locks_with_other_files)
{
	static const char *const bad[] = {"{\"../x\": \"y\"}", "{\"packages\": \"y\"}",
		"{\"upgrade\": \"\"}", "{\"pip.lock\\n\": \"\"}", "{\"\": \"\"}", "{\".\": \"\"}",
		"{\"/tmp/x\": \"\"}", "{\"pip.lock\": \"good\", \"pip\": \"-r x\"}"};
	TREE t = tree_new();
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK(tell(&t, "{\"pip\": [\"x\"]}", bad[i], false, &err) < 0);
		CHECK_INT(err.code, ERR_USAGE);
		CHECK(err.hint[0]);
	}
	CHECK(has(&t, "/pip", "x\n"));
}

TEST(lists_that_are_too_long)
{
	TREE t = tree_new();
	struct err err = {0};
	char word[1025];
	memset(word, 'x', sizeof word);
	word[sizeof word - 1] = '\0';
	cleanup_json json_t *spec = json_pack("{s:[]}", "pip");
	for (size_t i = 0; i < 1024; i++)
		json_add_text(json_object_get(spec, "pip"), word);
	CHECK(build_text_write(t.fd, spec, NULL, false, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK(has(&t, "/pip", NULL));
}

/* ---- what was installed ---- */

static int take(const struct tree *t, json_t **packages, json_t **lock)
{
	struct err err = {0};
	int r = build_text_read(t->fd, packages, lock, &err);
	CHECK((r == 0) == (err.code == ERR_NONE));
	CHECK(r == 0 || err.code == ERR_BUILD);
	CHECK(r == 0 || (!*packages && !*lock));
	return r;
}

/* Whether the content of the directory is refused. */
static bool is_refused(const struct tree *t)
{
	json_t *packages, *lock;
	int r = take(t, &packages, &lock);
	if (r < 0)
		return true;
	json_decref(packages);
	json_decref(lock);
	return false;
}

static void need_put(const struct tree *t, const char *name, const void *data, size_t bytes)
{
	CHECK_INT(file_put(t->fd, name, data, bytes, 0644, 0), 0);
}

TEST(what_was_installed)
{
	TREE t = tree_new();
	json_t *packages = NULL, *lock = NULL;
	CHECK_INT(take(&t, &packages, &lock), 0);
	CHECK_INT(json_array_size(packages), 0);
	CHECK_INT(json_object_size(lock), 0);
	json_decref(packages);
	json_decref(lock);
	tree_put(&t, "/packages", ROW "npm\t@x/y\t2\tsha512:q==\napt\tjq\t1:1~b+c\tsha256:0");
	tree_put(&t, "/pip.lock", "one==1.0\n");
	tree_put(&t, "/package.json", "");
	tree_put(&t, "/other", "x");
	CHECK_INT(take(&t, &packages, &lock), 0);
	CHECK_INT(json_array_size(packages), 3);
	const json_t *row = json_array_get(packages, 2);
	CHECK_STR(json_get_text(row, "kind"), "apt");
	CHECK_STR(json_get_text(row, "name"), "jq");
	CHECK_STR(json_get_text(row, "version"), "1:1~b+c");
	CHECK_STR(json_get_text(row, "hash"), "sha256:0");
	CHECK_INT(json_object_size(lock), 1);
	CHECK_STR(json_get_text(lock, "pip.lock"), "one==1.0\n");
	json_decref(packages);
	json_decref(lock);
}

TEST(lines_that_are_no_packages)
{
	static const char *const bad[] = {"\n", "pip\n", "pip\tx\t1\n", "pip\tx\t1\th\tmore\n",
		"pip\t\t1\th\n", "\tx\t1\th\n", "pip\tx\t\th\n", "pip\tx\t1\t\n", "gem\tx\t1\th\n",
		"Pip\tx\t1\th\n", "pi\tx\t1\th\n", "pip \tx\t1\th\n", ROW "\n", ROW ROW "x",
		"pip\tx\r\t1\th\n", "pip\tx\t1\th\r\n", "pip\t\x1b]0;x\a\t1\th\n",
		"pip\tx y\t1\th\n", "pip\tx\t\x7f\th\n", "pip\tx\t1\t\xc2\x9b\n",
		"pip\t\xe2\x80\xae\t1\th\n", "pip\tx\t1\t\xff\n", "pip\tx\t1\t\xc3\n"};
	TREE t = tree_new();
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		need_put(&t, "packages", bad[i], strlen(bad[i]));
		if (!CHECK(is_refused(&t)))
			t_check_str(bad[i], "", __FILE__, __LINE__, "the line");
	}
	need_put(&t, "packages", "pip\tx\0y\t1\th\n", 12);
	CHECK(is_refused(&t));
	need_put(&t, "packages", ROW, strlen(ROW));
	CHECK(!is_refused(&t));
}

static void put_lines(const struct tree *t, size_t n)
{
	cleanup_buf struct buf text = BUF_INIT(BUILD_LOCK_BYTES);
	for (size_t i = 0; i < n; i++)
		CHECK_INT(buf_add(&text, ROW), 0);
	need_put(t, "packages", buf_str(&text), text.bytes);
}

TEST(lists_without_an_end)
{
	TREE t = tree_new();
	put_lines(&t, BUILD_LINES_MAX);
	CHECK(!is_refused(&t));
	put_lines(&t, BUILD_LINES_MAX + 1);
	CHECK(is_refused(&t));
	CHECK_INT(unlinkat(t.fd, "packages", 0), 0);
	char *text = malloc(BUILD_LOCK_BYTES + 1);
	if (!CHECK(text != NULL))
		return;
	memset(text, 'x', BUILD_LOCK_BYTES + 1);
	need_put(&t, "apt.lock", text, BUILD_LOCK_BYTES - 1);
	CHECK(!is_refused(&t));
	need_put(&t, "apt.lock", text, BUILD_LOCK_BYTES + 1);
	CHECK(is_refused(&t));
	free(text);
	CHECK_INT(truncate(tree_path(&t, "/apt.lock"), INT64_C(1) << 40), 0);
	CHECK(is_refused(&t));
}

TEST(contents_that_are_no_text)
{
	static const char *const names[] = {
		"packages", "pip.lock", "package.json", "package-lock.json", "apt.lock"};
	TREE t = tree_new();
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		need_put(&t, names[i], "a\0b", 3);
		CHECK(is_refused(&t));
		need_put(&t, names[i], "\xff\xfe", 2);
		CHECK(is_refused(&t));
		CHECK_INT(unlinkat(t.fd, names[i], 0), 0);
		CHECK(!is_refused(&t));
	}
}

TEST(what_is_no_file)
{
	static const char *const names[] = {
		"packages", "pip.lock", "package.json", "package-lock.json", "apt.lock"};
	TREE t = tree_new();
	tree_put(&t, "/good", ROW);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CHECK_INT(symlinkat("good", t.fd, names[i]), 0);
		CHECK(is_refused(&t));
		CHECK_INT(unlinkat(t.fd, names[i], 0), 0);
		CHECK_INT(symlinkat("/nowhere", t.fd, names[i]), 0);
		CHECK(is_refused(&t));
		CHECK_INT(unlinkat(t.fd, names[i], 0), 0);
		CHECK_INT(mkfifoat(t.fd, names[i], 0644), 0);
		CHECK(is_refused(&t));
		CHECK_INT(unlinkat(t.fd, names[i], 0), 0);
		CHECK_INT(mkdirat(t.fd, names[i], 0755), 0);
		CHECK(is_refused(&t));
		CHECK_INT(unlinkat(t.fd, names[i], AT_REMOVEDIR), 0);
	}
}

/* ---- the command ---- */

TEST(words_reach_the_command_as_they_are)
{
	static const char *const words[] = {"it's", "$HOME `id` $(id)", "", "a\nb", "\\", "''", "*",
		"-n", "\"", "; exit 9", "\xc3\xbc", "&& false", "!"};
	TREE t = tree_new();
	cleanup_buf struct buf code = BUF_INIT(1 << 16), want = BUF_INIT(1 << 16);
	cleanup_json json_t *all = json_pack("[s, s]", "/usr/bin/printf", "%s|");
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		json_add_text(all, words[i]);
		CHECK_INT(buf_addf(&want, "%s|", words[i]), 0);
	}
	CHECK_INT(mkdirat(t.fd, "it's -a dir", 0755), 0);
	CHECK_INT(build_text_command(&code, tree_path(&t, "/it's -a dir"), all), 0);
	CHECK_INT(buf_add(&code, " >out"), 0);
	pid_t pid = fork();
	int status = -1;
	if (pid == 0) {
		(void)execl("/bin/sh", "sh", "-c", buf_str(&code), (char *)NULL);
		_exit(99);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	CHECK(has(&t, "/it's -a dir/out", buf_str(&want)));
}

TEST(a_command_that_is_too_long)
{
	cleanup_buf struct buf code = BUF_INIT(20);
	cleanup_json json_t *words = json_pack("[s]", "0123456789");
	CHECK(build_text_command(&code, "/opt/x", words) < 0);
}
