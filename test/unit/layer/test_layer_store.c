/* The store of layers: names, owners, users, crashes. SPDX-License-Identifier: Apache-2.0 */
#include "layer/layer_build.h"

#include "base/fd.h"
#include "base/json.h"
#include "tree.h"

#include "t.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_KILLS = 150, N_FILES = 3 };

static struct layer_store *open_in(const struct tree *t)
{
	struct layer_store *s = NULL;
	struct err err = {0};
	CHECK_INT(layer_store_open(&s, t->root, &err), 0);
	return s;
}

static int put(int dir, const char *name, const char *text)
{
	cleanup_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

/* Build a template whose layer has N_FILES files, with @text in the first. Returns: as
 * layer_build_commit(). */
static int build(struct layer_store *s, const char *owner, const char *name, const char *text,
	char digest[DIGEST_BYTES], struct err *err)
{
	struct layer_build b;
	struct layer_sum sum;
	int r = layer_build_begin(&b, s, owner, name, err);
	if (r < 0)
		return r;
	CHECK_INT(put(b.tree_fd, "file", text), 0);
	for (int i = 1; i < N_FILES; i++)
		CHECK_INT(put(b.tree_fd, (char[]){(char)('A' + i), '\0'}, ""), 0);
	CHECK_INT(put(b.dir_fd, "beside", text), 0);
	CHECK_INT(layer_seal(b.tree_fd, 1 << 20, &sum, err), 0);
	cleanup_json json_t *about = json_pack("{s:s}", "name", name);
	r = layer_build_commit(&b, sum.digest, owner, about, err);
	layer_build_end(&b);
	if (digest)
		memcpy(digest, sum.digest, DIGEST_BYTES);
	return r;
}

static void need_build(
	struct layer_store *s, const char *owner, const char *name, const char *text, char *digest)
{
	struct err err = {0};
	if (!CHECK_INT(build(s, owner, name, text, digest, &err), 0))
		t_check_str(err.msg, "", __FILE__, __LINE__, "the error");
}

static size_t count(const struct tree *t, const char *path)
{
	size_t n = 0;
	const struct dirent *entry;
	DIR *dir = opendir(tree_path(t, path));
	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	if (dir)
		(void)closedir(dir);
	return n;
}

static int get(struct layer_store *s, const char *owner, const char *name)
{
	struct err err = {0};
	cleanup_json json_t *about = layer_store_get(s, owner, name, &err);
	CHECK((about == NULL) == (err.code != ERR_NONE));
	return (int)err.code;
}

TEST(names)
{
	static const char *const good[] = {"a", "Z9", "a.b", "a-b_c.d", "0", "a..", "_"};
	static const char *const bad[] = {"", ".", "..", ".a", "-a", "a/b", "a b", "a\n",
		"\xc3\xbc", "../x", "a\\", "a:b", "a*"};
	char text[LAYER_NAME_BYTES + 1];
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		CHECK_INT(layer_check_name(good[i], &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		err = (struct err){0};
		CHECK(layer_check_name(bad[i], &err) < 0);
		CHECK_INT(err.code, ERR_USAGE);
		CHECK(err.hint[0]);
	}
	memset(text, 'a', sizeof text);
	text[LAYER_NAME_BYTES] = '\0';
	CHECK(layer_check_name(text, &err) < 0);
	text[LAYER_NAME_BYTES - 1] = '\0';
	CHECK_INT(layer_check_name(text, &err), 0);
}

TEST(built_found_used_removed)
{
	TREE t = tree_new();
	struct layer_store *s = open_in(&t);
	struct layer_use use;
	struct err err = {0};
	char digest[DIGEST_BYTES], path[PATH_MAX + 8];
	bool is_in_use = true;
	struct stat st;
	CHECK_INT(get(s, "", "words"), ERR_NOT_FOUND);
	need_build(s, "", "words", "text", digest);
	cleanup_json json_t *about = layer_store_get(s, "", "words", &err);
	CHECK_STR(json_get_text(about, "layer"), digest);
	CHECK_INT(layer_use(&use, s, digest, &err), 0);
	snprintf(path, sizeof path, "%s/file", use.tree);
	CHECK_STR(tree_get(&t, path + strlen(t.root)), "text");
	layer_use_end(&use);
	/* nobody else may look into the state directory; what was beside the tree is gone */
	CHECK(stat(tree_path(&t, "/layers"), &st) == 0 && (st.st_mode & 0777) == 0700);
	CHECK(stat(tree_path(&t, "/templates/-"), &st) == 0 && (st.st_mode & 0777) == 0700);
	snprintf(path, sizeof path, "/layers/%s", digest);
	CHECK_INT(count(&t, path), 1);
	CHECK_INT(layer_store_remove(s, "", "words", &is_in_use, &err), 0);
	CHECK(!is_in_use);
	CHECK_INT(count(&t, "/layers"), 0);
	CHECK_INT(layer_store_remove(s, "", "words", &is_in_use, &err), -ENOENT);
	CHECK(layer_use(&use, s, digest, &err) < 0);
	layer_store_close(s);
}

TEST(owners_are_apart)
{
	static const char *const owners[] = {"", "-", "alice", "Alice", "../..", "a/b", "."};
	TREE t = tree_new();
	struct layer_store *s = open_in(&t);
	char digests[ARRAY_LEN(owners)][DIGEST_BYTES];
	for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
		CHECK_INT(get(s, owners[i], "words"), ERR_NOT_FOUND);
		need_build(s, owners[i], "words", i < 3 ? "same" : owners[i], digests[i]);
	}
	CHECK_INT(count(&t, "/templates"), ARRAY_LEN(owners));
	CHECK_INT(count(&t, ""), 2);
	CHECK_STR(digests[0], digests[1]);
	CHECK_INT(count(&t, "/layers"), ARRAY_LEN(owners) - 2);
	/* the layer of three owners goes with the last one */
	for (size_t i = 0; i < 3; i++) {
		struct err err = {0};
		bool is_in_use = true;
		CHECK_INT(layer_store_remove(s, owners[i], "words", &is_in_use, &err), 0);
		CHECK(!is_in_use);
		CHECK_INT(count(&t, "/layers"), ARRAY_LEN(owners) - (i < 2 ? 2 : 3));
	}
	layer_store_close(s);
}

TEST(a_layer_in_use_stays)
{
	TREE t = tree_new();
	struct layer_store *s = open_in(&t);
	struct layer_store *other = open_in(&t);
	struct layer_use use;
	struct err err = {0};
	char digest[DIGEST_BYTES];
	bool is_in_use = false;
	need_build(s, "", "words", "text", digest);
	CHECK_INT(layer_use(&use, s, digest, &err), 0);
	CHECK_INT(layer_store_remove(other, "", "words", &is_in_use, &err), 0);
	CHECK(is_in_use);
	CHECK_INT(get(s, "", "words"), ERR_NOT_FOUND);
	CHECK_INT(access(use.tree, F_OK), 0);
	/* a build removes what nobody has, but not this one */
	need_build(other, "", "more", "other", NULL);
	CHECK_INT(access(use.tree, F_OK), 0);
	layer_use_end(&use);
	need_build(other, "", "third", "third", NULL);
	CHECK_INT(access(use.tree, F_OK), -1);
	CHECK_INT(count(&t, "/layers"), 2);
	layer_store_close(other);
	layer_store_close(s);
}

TEST(the_same_layer_is_kept_once)
{
	TREE t = tree_new();
	struct layer_store *s = open_in(&t);
	need_build(s, "", "one", "text", NULL);
	need_build(s, "", "two", "text", NULL);
	CHECK_INT(count(&t, "/layers"), 1);
	need_build(s, "", "one", "other", NULL);
	CHECK_INT(count(&t, "/layers"), 2);
	need_build(s, "", "two", "other", NULL);
	need_build(s, "", "one", "other", NULL);
	CHECK_INT(count(&t, "/layers"), 1);
	cleanup_json json_t *rows = layer_store_list(s, "");
	CHECK_INT(json_array_size(rows), 2);
	CHECK_STR(json_get_text(json_array_get(rows, 0), "name"), "one");
	layer_store_close(s);
}

/* Lock the layer @digest as another engine does, and let go when @go is closed. */
static pid_t lock_layer(const struct tree *t, const char *digest, int go[2])
{
	char path[128], byte;
	int ready[2];
	snprintf(path, sizeof path, "/layers/%s", digest);
	CHECK_INT(pipe(go) + pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(go[1]);
		int fd = open(tree_path(t, path), O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX) == 0 && write(ready[1], "", 1) == 1)
			(void)!read(go[0], &byte, 1);
		_exit(0);
	}
	(void)close(go[0]);
	(void)close(ready[1]);
	CHECK_INT(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

static void *let_go(void *arg)
{
	(void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	(void)close(*(int *)arg);
	return NULL;
}

TEST(a_layer_that_another_engine_has_locked)
{
	TREE t = tree_new();
	struct layer_store *s = open_in(&t);
	char digest[DIGEST_BYTES];
	pthread_t thread;
	int go[2];
	need_build(s, "", "one", "same", digest);
	pid_t pid = lock_layer(&t, digest, go);
	CHECK_INT(pthread_create(&thread, NULL, let_go, &go[1]), 0);
	need_build(s, "", "two", "same", NULL);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	CHECK_INT(get(s, "", "two"), ERR_NONE);
	CHECK_INT(count(&t, "/layers"), 1);
	layer_store_close(s);
}

TEST(temporary_files_of_killed_engines)
{
	TREE t = tree_new();
	struct layer_store *s = open_in(&t);
	const char *left = "/templates/-/.retort-left";
	need_build(s, "", "one", "text", NULL);
	tree_put(&t, left, "half");
	int busy = open(tree_path(&t, "/templates/-"), O_RDONLY | O_CLOEXEC);
	CHECK_INT(flock(busy, LOCK_SH), 0);
	need_build(s, "", "two", "text", NULL);
	CHECK_INT(access(tree_path(&t, left), F_OK), 0);
	CHECK_INT(close(busy), 0);
	need_build(s, "", "three", "text", NULL);
	CHECK(access(tree_path(&t, left), F_OK) < 0);
	CHECK_INT(count(&t, "/templates/-"), 3);
	layer_store_close(s);
}

TEST(a_description_that_nobody_could_read)
{
	TREE t = tree_new();
	struct layer_store *s = open_in(&t);
	struct layer_build b;
	struct layer_sum sum;
	struct err err = {0};
	CHECK_INT(layer_build_begin(&b, s, "", "one", &err), 0);
	CHECK_INT(layer_seal(b.tree_fd, 1 << 20, &sum, &err), 0);
	char *text = calloc(1, LAYER_ABOUT_BYTES);
	if (!CHECK(text != NULL))
		return;
	memset(text, 'x', LAYER_ABOUT_BYTES - 1);
	cleanup_json json_t *about = json_pack("{s:s, s:s}", "name", "one", "lock", text);
	free(text);
	CHECK(layer_build_commit(&b, sum.digest, "", about, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	layer_build_end(&b);
	CHECK_INT(get(s, "", "one"), ERR_NOT_FOUND);
	CHECK_INT(count(&t, "/layers"), 0);
	layer_store_close(s);
}

TEST(templates_of_an_owner_are_limited)
{
	TREE t = tree_new();
	struct layer_store *s = open_in(&t);
	struct err err = {0};
	char name[16];
	for (int i = 0; i < LAYER_OWNER_MAX; i++) {
		snprintf(name, sizeof name, "t%d", i);
		need_build(s, "alice", name, "text", NULL);
	}
	CHECK_INT(build(s, "alice", "more", "text", NULL, &err), -err_errno(ERR_QUOTA));
	CHECK_INT(err.code, ERR_QUOTA);
	need_build(s, "alice", "t3", "again", NULL);
	need_build(s, "bob", "more", "text", NULL);
	layer_store_close(s);
}

TEST(damaged_templates)
{
	static const char *const rows[] = {"", "{", "[]", "{}", "{\"layer\": 7}",
		"{\"layer\": \"\"}", "{\"layer\": \"../../etc\"}",
		"{\"layer\": \"../0123456789abcdef0123456789abcdef0123456789abcdef0123456789a\"}",
		"{\"layer\": \"G123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}"};
	TREE t = tree_new();
	struct layer_store *s = open_in(&t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool is_in_use;
		struct err err = {0};
		tree_put(&t, "/templates/-/words.json", rows[i]);
		CHECK_INT(get(s, "", "words"), ERR_DAMAGED);
		cleanup_json json_t *all = layer_store_list(s, "");
		CHECK_INT(json_array_size(all), 0);
		/* it can be removed, and built again */
		CHECK_INT(layer_store_remove(s, "", "words", &is_in_use, &err), 0);
		CHECK_INT(get(s, "", "words"), ERR_NOT_FOUND);
	}
	CHECK_INT(mkfifo(tree_path(&t, "/templates/-/words.json"), 0600), 0);
	CHECK_INT(get(s, "", "words"), ERR_DAMAGED);
	CHECK_INT(unlink(tree_path(&t, "/templates/-/words.json")), 0);
	CHECK_INT(symlink("/etc/passwd", tree_path(&t, "/templates/-/words.json")), 0);
	CHECK_INT(get(s, "", "words"), ERR_DAMAGED);
	need_build(s, "", "words", "text", NULL);
	CHECK_INT(get(s, "", "words"), ERR_NONE);
	layer_store_close(s);
}

/* Check that what was removed from a directory did not have the name of a complete layer then: the
 * removal could have stopped halfway. */
static void check_removals(int watch)
{
	_Alignas(struct inotify_event) char events[4096];
	ssize_t n = read(watch, events, sizeof events), at = 0;
	CHECK(n > 0);
	while (at < n) {
		const struct inotify_event *event = (const void *)(events + at);
		CHECK(strncmp(event->name, "building-", 9) == 0);
		at += (ssize_t)(sizeof *event + event->len);
	}
}

TEST(a_commit_that_fails)
{
	TREE t = tree_new();
	struct layer_store *s = open_in(&t);
	struct err err = {0};
	bool is_in_use;
	cleanup_fd int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	need_build(s, "", "words", "text", NULL);
	CHECK(inotify_add_watch(watch, tree_path(&t, "/layers"), IN_DELETE) >= 0);
	tree_put(&t, "/templates/-/bad.json/x", "a directory");
	CHECK(build(s, "", "bad", "other", NULL, &err) < 0);
	CHECK_INT(count(&t, "/layers"), 1);
	check_removals(watch);
	CHECK_INT(layer_store_remove(s, "", "words", &is_in_use, &err), 0);
	check_removals(watch);
	layer_store_close(s);
}

TEST(a_build_that_is_given_up)
{
	TREE t = tree_new();
	struct layer_store *s = open_in(&t);
	struct layer_build b, second;
	struct err err = {0};
	CHECK_INT(layer_build_begin(&b, s, "", "words", &err), 0);
	CHECK_INT(put(b.tree_fd, "file", "text"), 0);
	/* another one does not take it for abandoned */
	CHECK_INT(layer_build_begin(&second, s, "", "words", &err), 0);
	CHECK_INT(count(&t, "/layers"), 2);
	layer_build_end(&second);
	layer_build_end(&b);
	CHECK_INT(count(&t, "/layers"), 0);
	CHECK_INT(get(s, "", "words"), ERR_NOT_FOUND);
	layer_store_close(s);
}

/* Build and remove templates until killed. One of them cannot be written. */
static void work(const struct tree *t)
{
	struct layer_store *s = open_in(t);
	for (int i = 0;; i++) {
		char name[8], text[2] = {(char)('a' + i % 3)};
		struct err err = {0};
		bool is_in_use;
		snprintf(name, sizeof name, "t%d", i % 4);
		(void)build(s, "", name, text, NULL, &err);
		(void)build(s, "", "bad", "bad", NULL, &err);
		if (i % 3 == 2)
			(void)layer_store_remove(s, "", name, &is_in_use, &err);
	}
}

/* Return whether the layer of each template is whole, and each layer with a digest as its name. */
static bool is_whole(const struct tree *t, struct layer_store *s)
{
	size_t i;
	const json_t *row;
	bool is_good = true;
	cleanup_json json_t *rows = layer_store_list(s, "");
	json_array_foreach(rows, i, row)
	{
		struct layer_use use;
		struct err err = {0};
		is_good = is_good && layer_use(&use, s, json_get_text(row, "layer"), &err) == 0;
		layer_use_end(&use);
	}
	DIR *dir = opendir(tree_path(t, "/layers"));
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		char file[400];
		snprintf(file, sizeof file, "/layers/%s/tree", entry->d_name);
		if (entry->d_name[0] != '.' && strncmp(entry->d_name, "building-", 9) != 0)
			is_good = is_good && count(t, file) == N_FILES;
	}
	if (dir)
		(void)closedir(dir);
	return is_good;
}

TEST(killed_at_any_moment)
{
	TREE t = tree_new();
	struct layer_store *s = open_in(&t);
	tree_put(&t, "/templates/-/bad.json/x", "a directory");
	for (int i = 0; i < N_KILLS; i++) {
		pid_t pid = fork();
		if (pid == 0)
			work(&t);
		(void)nanosleep(&(struct timespec){.tv_nsec = 300000 + i * 37000}, NULL);
		(void)kill(pid, SIGKILL);
		CHECK_INT(waitpid(pid, NULL, 0), pid);
		if (!CHECK(is_whole(&t, s)))
			break;
	}
	need_build(s, "", "t0", "a", NULL);
	DIR *dir = opendir(tree_path(&t, "/layers"));
	const struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		CHECK(strncmp(entry->d_name, "building-", 9) != 0);
	if (dir)
		(void)closedir(dir);
	layer_store_close(s);
}
