/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/fd.h"
#include "base/file.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_root(const struct tree *t)
{
	return open(t->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

TEST(files_are_read_up_to_a_maximum)
{
	TREE t = tree_new();
	tree_put(&t, "/five", "12345");
	cleanup_buf struct buf all = BUF_INIT(5), more = BUF_INIT(6), less = BUF_INIT(4);
	CHECK_INT(file_read(&all, tree_path(&t, "/five")), 0);
	CHECK_STR(buf_str(&all), "12345");
	CHECK_INT(file_read(&more, tree_path(&t, "/five")), 0);
	CHECK_STR(buf_str(&more), "12345");
	CHECK_INT(file_read(&less, tree_path(&t, "/five")), -E2BIG);
	/* Behind what is there. */
	tree_put(&t, "/one", "6");
	CHECK_INT(file_read(&more, tree_path(&t, "/one")), 0);
	CHECK_STR(buf_str(&more), "123456");
	CHECK_INT(file_read(&more, tree_path(&t, "/one")), -E2BIG);
	tree_put(&t, "/empty", "");
	CHECK_INT(file_read(&more, tree_path(&t, "/empty")), 0);
}

TEST(long_files_are_read_whole)
{
	enum { BYTES = 300001 };
	TREE t = tree_new();
	char *text = malloc(BYTES);
	memset(text, 'x', BYTES);
	tree_put_bytes(&t, "/long", text, BYTES);
	cleanup_buf struct buf all = BUF_INIT(BYTES), less = BUF_INIT(BYTES - 1);
	CHECK_INT(file_read(&all, tree_path(&t, "/long")), 0);
	CHECK(all.bytes == BYTES && memcmp(all.data, text, BYTES) == 0);
	CHECK_INT(file_read(&less, tree_path(&t, "/long")), -E2BIG);
	free(text);
}

TEST(pipes_are_read_by_descriptor_only)
{
	TREE t = tree_new();
	int ends[2];
	cleanup_buf struct buf all = BUF_INIT(100);
	CHECK_INT(mkfifo(tree_path(&t, "/fifo"), 0600), 0);
	CHECK_INT(file_read(&all, tree_path(&t, "/fifo")), -EINVAL);
	CHECK_INT(file_read(&all, t.root), -EINVAL);
	CHECK_INT(file_read(&all, tree_path(&t, "/gone")), -ENOENT);
	CHECK_INT(pipe(ends), 0);
	CHECK_INT(write(ends[1], "ab\0c", 4), 4);
	(void)close(ends[1]);
	CHECK_INT(file_read_fd(&all, ends[0]), 0);
	(void)close(ends[0]);
	CHECK_INT(all.bytes, 4);
}

TEST(reading_says_why_not)
{
	TREE t = tree_new();
	struct err err = {0};
	cleanup_buf struct buf out = BUF_INIT(2048);
	char *text = calloc(1, 4096);
	tree_put_bytes(&t, "/long", text, 4096);
	free(text);
	CHECK_INT(file_load(&out, t.root, "plan:", &err), -EINVAL);
	CHECK_INT(err.code, ERR_USAGE);
	CHECK_HAS(err.msg, "plan: /");
	CHECK_HAS(err.msg, ": not a regular file");
	CHECK(file_load(&out, tree_path(&t, "/gone"), "plan:", &err) == -ENOENT);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	CHECK_HAS(err.msg, "No such file");
	CHECK(file_load(&out, tree_path(&t, "/long"), "plan:", &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK_HAS(err.msg, "/long: over 2 KiB");
}

TEST(directories_are_made_with_what_is_above)
{
	TREE t = tree_new();
	struct stat st;
	mode_t mask = umask(0);
	CHECK_INT(file_make_dirs(tree_path(&t, "/a/b/c"), 0700, 0755), 0);
	(void)umask(mask);
	CHECK(stat(tree_path(&t, "/a/b/c"), &st) == 0 && (st.st_mode & 07777) == 0700);
	CHECK(stat(tree_path(&t, "/a/b"), &st) == 0 && (st.st_mode & 07777) == 0755);
	CHECK_INT(file_make_dirs(tree_path(&t, "/a/b/c"), 0700, 0700), 0);
	CHECK_INT(file_make_dirs(tree_path(&t, "/a/b/c/"), 0700, 0700), 0);
	tree_put(&t, "/file", "");
	CHECK_INT(file_make_dirs(tree_path(&t, "/file/x/y"), 0700, 0700), -ENOTDIR);
	CHECK_INT(file_make_dirs("", 0700, 0700), -ENOENT);
	char *endless = calloc(1, 5000);
	memset(endless, 'a', 4999);
	CHECK_INT(file_make_dirs(endless, 0700, 0700), -ENAMETOOLONG);
	free(endless);
}

TEST(files_are_replaced_whole)
{
	TREE t = tree_new();
	struct stat st;
	cleanup_fd int dir = open_root(&t);
	mode_t mask = umask(0177);
	CHECK_INT(file_put(dir, "a", "old", 3, 0640, 0), 0);
	(void)umask(mask);
	CHECK_STR(tree_get(&t, "/a"), "old");
	CHECK(stat(tree_path(&t, "/a"), &st) == 0 && (st.st_mode & 07777) == 0640);
	CHECK_INT(file_put(dir, "a", "new", 3, 0600, FILE_PUT_SYNC), 0);
	CHECK_STR(tree_get(&t, "/a"), "new");
	CHECK_INT(file_put(dir, "a", "", 0, 0600, FILE_PUT_NEW), -EEXIST);
	CHECK_STR(tree_get(&t, "/a"), "new");
	CHECK_INT(file_put(dir, "b", "b", 1, 0600, FILE_PUT_NEW | FILE_PUT_SYNC), 0);
	CHECK_STR(tree_get(&t, "/b"), "b");
	CHECK(stat(tree_path(&t, "/b"), &st) == 0 && st.st_nlink == 1);
}

/* How many names there are in the directory. */
static int count_names(const struct tree *t)
{
	char command[200];
	snprintf(command, sizeof command, "ls -A '%s' | wc -l", t->root);
	FILE *f = popen(command, "r"); /* NOLINT(cert-env33-c): of a test's own directory */
	int n = -1;
	CHECK_INT(fscanf(f, "%d", &n), 1);
	(void)pclose(f);
	return n;
}

struct attempt {
	struct tree *tree;
	int dir;
};

static void put_without_room(void *arg)
{
	const struct attempt *a = arg;
	CHECK(file_put(a->dir, "a", "new", 3, 0600, FILE_PUT_SYNC) < 0);
}

TEST(a_file_that_cannot_be_written_leaves_nothing)
{
	TREE t = tree_new();
	cleanup_fd int dir = open_root(&t);
	struct attempt a = {&t, dir};
	CHECK_INT(file_put(dir, "a", "old", 3, 0600, 0), 0);
	tree_no_writes(put_without_room, &a);
	CHECK_STR(tree_get(&t, "/a"), "old");
	CHECK_INT(count_names(&t), 1);
	CHECK_INT(file_put(dir, "a", "more", 4, 0600, FILE_PUT_NEW), -EEXIST);
	CHECK_INT(mkdir(tree_path(&t, "/dir"), 0700), 0);
	CHECK(file_put(dir, "dir", "x", 1, 0600, 0) < 0);
	CHECK_INT(count_names(&t), 2);
}

TEST(errnos_have_codes)
{
	static const struct {
		int sys;
		enum err_code code;
	} rows[] = {{ENOENT, ERR_NOT_FOUND}, {EACCES, ERR_ACCESS}, {ELOOP, ERR_ACCESS},
		{EROFS, ERR_ACCESS}, {EDQUOT, ERR_NO_SPACE}, {ENOMEM, ERR_NO_MEMORY},
		{EIO, ERR_IO}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_INT(file_code(rows[i].sys), rows[i].code);
}
