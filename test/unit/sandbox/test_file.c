/* What init changes in the workspace, and where no path leads. SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/init/file.h"

#include "base/fd.h"
#include "t.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct init_request *request(enum init_file_act act, const char *text, size_t bytes)
{
	static struct init_request req;
	req = (struct init_request){
		.version = WIRE_VERSION, .op = INIT_FILE, .act = act, .mode = 0640};
	req.text_bytes = (uint32_t)bytes;
	memcpy(req.text, text, bytes);
	return &req;
}

/* @text holds two strings. */
#define CHANGE(t, act, text) file_change_below((t)->root, request((act), (text), sizeof(text)), -1)

static int put_as(const struct tree *t, enum init_file_act act, const char *path, const char *data)
{
	char text[PATH_MAX + 2] = "";
	cleanup_fd int fd = memfd_create("test", MFD_CLOEXEC);
	CHECK(fd >= 0 && fd_write_all(fd, data, strlen(data)) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	snprintf(text, sizeof text, "%s", path);
	return file_change_below(t->root, request(act, text, strlen(path) + 2), fd);
}

static int put(const struct tree *t, const char *path, const char *data)
{
	return put_as(t, INIT_FILE_WRITE, path, data);
}

static mode_t mode_of(const struct tree *t, const char *path)
{
	struct stat st = {0};
	CHECK_INT(lstat(tree_path(t, path), &st), 0);
	return st.st_mode;
}

TEST(a_file_is_written_with_its_parents)
{
	TREE t = tree_new();
	CHECK_INT(put(&t, "a/b/c", "one"), 0);
	CHECK_STR(tree_get(&t, "/a/b/c"), "one");
	CHECK_INT(mode_of(&t, "/a/b/c"), S_IFREG | 0640);
	CHECK_INT(put(&t, "empty", ""), 0);
	CHECK_STR(tree_get(&t, "/empty"), "");
}

TEST(a_file_is_written_in_place)
{
	TREE t = tree_new();
	char text[16] = "";
	tree_put(&t, "/f", "something long");
	cleanup_fd int fd = open(tree_path(&t, "/f"), O_RDONLY | O_CLOEXEC);
	CHECK_INT(put(&t, "f", "short"), 0);
	CHECK_INT(pread(fd, text, sizeof text, 0), 5);
	CHECK_STR(text, "short");
	CHECK_INT(mode_of(&t, "/f"), S_IFREG | 0640);
}

TEST(a_new_file_leaves_others_alone)
{
	TREE t = tree_new();
	tree_put(&t, "/a", "kept");
	CHECK_INT(linkat(t.fd, "a", t.fd, "b", 0), 0);
	CHECK_INT(put_as(&t, INIT_FILE_ANEW, "b", "new"), 0);
	CHECK_STR(tree_get(&t, "/a"), "kept");
	CHECK_STR(tree_get(&t, "/b"), "new");
	CHECK_INT(symlink("a", tree_path(&t, "/l")), 0);
	CHECK_INT(put_as(&t, INIT_FILE_ANEW, "l", "new"), 0);
	CHECK_STR(tree_get(&t, "/a"), "kept");
	CHECK_INT(put_as(&t, INIT_FILE_ANEW, "none", "new"), 0);
	CHECK_STR(tree_get(&t, "/none"), "new");
	CHECK_INT(CHANGE(&t, INIT_FILE_ANEW, "a\0"), -EINVAL); /* no descriptor */
}

TEST(names_are_given_back)
{
	TREE t = tree_new();
	tree_put(&t, "/a", "a");
	tree_put(&t, "/d/f", "f");
	CHECK_INT(symlink("d", tree_path(&t, "/l")), 0);
	CHECK_INT(CHANGE(&t, INIT_FILE_MOVE, "new/a\0a"), 0);
	CHECK_STR(tree_get(&t, "/new/a"), "a");
	CHECK_INT(CHANGE(&t, INIT_FILE_MOVE, "new/a\0d"), 0); /* the two change places */
	CHECK_STR(tree_get(&t, "/new/a/f"), "f");
	CHECK_STR(tree_get(&t, "/d"), "a");
	CHECK_INT(CHANGE(&t, INIT_FILE_MOVE, "x\0none"), -ENOENT);
	CHECK(CHANGE(&t, INIT_FILE_MOVE, "x\0l/f") < 0);
	CHECK_INT(CHANGE(&t, INIT_FILE_MOVE, "x\0"), -EINVAL);
	CHECK_INT(CHANGE(&t, INIT_FILE_MOVE, "x\0../d"), -EINVAL);
	CHECK_INT(CHANGE(&t, INIT_FILE_MOVE, "x\0/d"), -EINVAL);
}

TEST(no_link_is_followed)
{
	TREE t = tree_new();
	tree_put(&t, "/out/kept", "kept");
	tree_put(&t, "/in/x", "");
	CHECK_INT(symlink("../out", tree_path(&t, "/in/dir")), 0);
	CHECK_INT(symlink("../out/kept", tree_path(&t, "/in/file")), 0);
	CHECK(put(&t, "in/dir/kept", "changed") < 0);
	CHECK(CHANGE(&t, INIT_FILE_REMOVE, "in/dir/kept\0") < 0);
	CHECK(CHANGE(&t, INIT_FILE_DIR, "in/dir/new\0") < 0);
	CHECK(CHANGE(&t, INIT_FILE_MODE, "in/dir\0") < 0);
	CHECK_INT(put(&t, "in/file", "changed"), 0); /* instead of the link */
	CHECK_STR(tree_get(&t, "/in/file"), "changed");
	CHECK_INT(CHANGE(&t, INIT_FILE_REMOVE, "in/dir\0"), 0);
	CHECK_STR(tree_get(&t, "/out/kept"), "kept");
	CHECK(!tree_has(&t, "/out/new"));
}

TEST(hostile_paths)
{
	static const char *const paths[] = {"/etc", "..", "../x", "a/../../x", "a/..", ".", "a/./b",
		"a//b", "a/", "/", "./a", "a/../b"};
	TREE t = tree_new();
	tree_put(&t, "/a/b", "b");
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		CHECK_INT(put(&t, paths[i], "x"), -EINVAL);
	CHECK_INT(put(&t, "", "x"), -EINVAL);
	char name[NAME_MAX + 2];
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	CHECK_INT(put(&t, name, "x"), -EINVAL);
	name[NAME_MAX] = '\0';
	CHECK_INT(put(&t, name, "x"), 0);
	CHECK_STR(tree_get(&t, "/a/b"), "b");
}

TEST(hostile_requests)
{
	TREE t = tree_new();
	cleanup_fd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK_INT(file_change_below(t.root, request(INIT_FILE_DIR, "", 0), -1), -EINVAL);
	CHECK_INT(file_change_below(t.root, request(INIT_FILE_DIR, "abc", 3), -1), -EINVAL);
	CHECK_INT(file_change_below(t.root, request(INIT_FILE_DIR, "a\0b", 3), -1), -EINVAL);
	CHECK_INT(CHANGE(&t, INIT_FILE_WRITE, "a\0"), -EINVAL); /* no descriptor */
	CHECK_INT(file_change_below(t.root, request(INIT_FILE_DIR, "a\0", 3), fd), -EINVAL);
	CHECK_INT(CHANGE(&t, 0, "a\0"), -EINVAL);
	CHECK_INT(CHANGE(&t, 99, "a\0"), -EINVAL);
	struct init_request *req = request(INIT_FILE_REMOVE, "a\0", 3);
	req->root = INIT_FILE_ROOT_END_;
	CHECK_INT(file_change(req, -1), -EINVAL);
	req->root = UINT32_MAX;
	CHECK_INT(file_change(req, -1), -EINVAL);
	CHECK(!tree_has(&t, "/a"));
}

TEST(only_permissions_are_set)
{
	TREE t = tree_new();
	struct init_request *req = request(INIT_FILE_DIR, "d\0", 3);
	req->mode = 07777;
	CHECK_INT(file_change_below(t.root, req, -1), 0);
	req = request(INIT_FILE_MODE, "d\0", 3);
	req->mode = 07705;
	CHECK_INT(file_change_below(t.root, req, -1), 0);
	CHECK_INT(mode_of(&t, "/d"), S_IFDIR | 01705);
	CHECK_INT(CHANGE(&t, INIT_FILE_MODE, "none\0"), -ENOENT);
}

TEST(modes_of_what_is_no_file)
{
	TREE t = tree_new();
	tree_put(&t, "/f", "");
	CHECK_INT(symlink("f", tree_path(&t, "/l")), 0);
	CHECK_INT(mkfifo(tree_path(&t, "/fifo"), 0600), 0);
	CHECK_INT(CHANGE(&t, INIT_FILE_MODE, "fifo\0"), 0);
	CHECK_INT(mode_of(&t, "/fifo"), S_IFIFO | 0640);
	CHECK_INT(CHANGE(&t, INIT_FILE_MODE, "f\0"), -EINVAL);
	CHECK_INT(CHANGE(&t, INIT_FILE_MODE, "l\0"), -EINVAL);
	CHECK_INT(mkdir(tree_path(&t, "/d"), 0700), 0);
	CHECK_INT(chmod(tree_path(&t, "/d"), 02640), 0);
	CHECK_INT(CHANGE(&t, INIT_FILE_MODE, "d\0"), 0);
	CHECK_INT(mode_of(&t, "/d"), S_IFDIR | 02640); /* there was nothing to be done */
}

TEST(a_name_more)
{
	TREE t = tree_new();
	struct stat a = {0}, b = {0};
	tree_put(&t, "/d/a", "a");
	tree_put(&t, "/b", "b");
	CHECK_INT(CHANGE(&t, INIT_FILE_NAME, "b\0none"), -ENOENT);
	CHECK_STR(tree_get(&t, "/b"), "b");
	for (int i = 0; i < 2; i++) {
		CHECK_INT(CHANGE(&t, INIT_FILE_NAME, "b\0d/a"), 0);
		CHECK_INT(stat(tree_path(&t, "/d/a"), &a), 0);
		CHECK_INT(stat(tree_path(&t, "/b"), &b), 0);
		CHECK_INT(a.st_ino, b.st_ino);
		CHECK_INT(a.st_nlink, 2);
	}
	CHECK_INT(CHANGE(&t, INIT_FILE_NAME, "b\0../b"), -EINVAL);
}

TEST(times)
{
	TREE t = tree_new();
	struct stat st = {0};
	tree_put(&t, "/d/f", "f");
	CHECK_INT(symlink("f", tree_path(&t, "/d/l")), 0);
	static const char *const paths[] = {"d/l", "d/f", "d"};
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		char text[8] = "";
		snprintf(text, sizeof text, "%s", paths[i]);
		struct init_request *req = request(INIT_FILE_TIME, text, strlen(text) + 2);
		req->is_timed = 1;
		req->modified_s = -5;
		req->modified_ns = 7;
		CHECK_INT(file_change_below(t.root, req, -1), 0);
		CHECK_INT(fstatat(t.fd, paths[i], &st, AT_SYMLINK_NOFOLLOW), 0);
		CHECK_INT(st.st_mtim.tv_sec, -5);
		CHECK_INT(st.st_mtim.tv_nsec, 7);
	}
}

TEST(a_root_has_but_a_mode)
{
	TREE t = tree_new();
	CHECK_INT(chmod(t.root, 0), 0);
	CHECK_INT(CHANGE(&t, INIT_FILE_MODE, ".\0"), 0);
	CHECK_INT(mode_of(&t, ""), S_IFDIR | 0640);
	CHECK_INT(CHANGE(&t, INIT_FILE_REMOVE, ".\0"), -EINVAL);
	CHECK_INT(CHANGE(&t, INIT_FILE_DIR, ".\0"), -EINVAL);
	CHECK_INT(CHANGE(&t, INIT_FILE_MODE, "..\0"), -EINVAL);
	CHECK_INT(CHANGE(&t, INIT_FILE_MODE, "./.\0"), -EINVAL);
	CHECK_INT(chmod(t.root, 0700), 0);
}

TEST(links)
{
	TREE t = tree_new();
	char target[16] = "";
	CHECK_INT(CHANGE(&t, INIT_FILE_LINK, "a/l\0/etc/passwd"), 0);
	CHECK_INT(readlink(tree_path(&t, "/a/l"), target, sizeof target - 1), 11);
	CHECK_STR(target, "/etc/passwd");
	CHECK_INT(CHANGE(&t, INIT_FILE_LINK, "a/l\0x"), -EEXIST);
}

TEST(a_directory_goes_with_what_is_in_it)
{
	TREE t = tree_new();
	tree_put(&t, "/d/a/b/c", "");
	tree_put(&t, "/d/x", "");
	tree_put(&t, "/out", "kept");
	CHECK_INT(symlink("../out", tree_path(&t, "/d/link")), 0);
	CHECK_INT(chmod(tree_path(&t, "/d/a/b"), 0), 0);
	CHECK_INT(chmod(tree_path(&t, "/d/a"), 0), 0);
	CHECK_INT(CHANGE(&t, INIT_FILE_REMOVE, "d\0"), 0);
	CHECK(!tree_has(&t, "/d"));
	CHECK_STR(tree_get(&t, "/out"), "kept");
	CHECK_INT(CHANGE(&t, INIT_FILE_REMOVE, "d\0"), -ENOENT);
	CHECK_INT(CHANGE(&t, INIT_FILE_REMOVE, "no/such\0"), -ENOENT);
	CHECK(!tree_has(&t, "/no"));
}

TEST(a_directory_stays_when_a_file_is_asked_for)
{
	TREE t = tree_new();
	tree_put(&t, "/d/a", "kept");
	CHECK_INT(symlink("d", tree_path(&t, "/link")), 0);
	CHECK_INT(CHANGE(&t, INIT_FILE_UNLINK, "d\0"), -EISDIR);
	CHECK_STR(tree_get(&t, "/d/a"), "kept");
	CHECK_INT(CHANGE(&t, INIT_FILE_UNLINK, "link\0"), 0);
	CHECK_INT(CHANGE(&t, INIT_FILE_UNLINK, "d/a\0"), 0);
	CHECK(!tree_has(&t, "/d/a"));
	CHECK_INT(CHANGE(&t, INIT_FILE_UNLINK, "d\0"), -EISDIR);
	CHECK_INT(CHANGE(&t, INIT_FILE_UNLINK, "no/such\0"), -ENOENT);
	CHECK(!tree_has(&t, "/no"));
}

TEST(a_tree_too_deep_stays_and_says_so)
{
	TREE t = tree_new();
	cleanup_fd int at = open(t.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 120; i++) {
		CHECK_INT(mkdirat(at, "d", 0755), 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd_close(&at);
		at = next;
	}
	CHECK_INT(CHANGE(&t, INIT_FILE_REMOVE, "d\0"), -ENOTEMPTY);
}

TEST(what_is_no_file_is_replaced_or_refused)
{
	TREE t = tree_new();
	CHECK_INT(mkfifo(tree_path(&t, "/fifo"), 0600), 0);
	CHECK_INT(
		put(&t, "fifo", "x"), 0); /* nobody reads it: it cannot be opened, and makes room */
	CHECK_STR(tree_get(&t, "/fifo"), "x");
	CHECK_INT(mkfifo(tree_path(&t, "/read"), 0600), 0);
	cleanup_fd int fd = open(tree_path(&t, "/read"), O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(put(&t, "read", "x"), -EINVAL);
	tree_put(&t, "/dir/f", "f");
	CHECK(put(&t, "dir", "x") < 0);
	CHECK_STR(tree_get(&t, "/dir/f"), "f");
}
