/* Copying a workspace. SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/copy.h"

#include "sandbox/wire.h"
#include "t.h"
#include "tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

TEST(files_directories_links_and_fifos)
{
	struct err err = {0};
	struct stat st = {0};
	char target[64] = "";
	TREE from = tree_new();
	TREE to = tree_new();
	const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000, .tv_nsec = 5}};
	tree_put(&from, "/d/e/f", "text");
	tree_put(&from, "/empty", "");
	CHECK_INT(fchmodat(from.fd, "d/e/f", 04750, 0), 0);
	CHECK_INT(symlinkat("/etc/passwd", from.fd, "link"), 0);
	CHECK_INT(mkfifoat(from.fd, "fifo", 0600), 0);
	CHECK_INT(utimensat(from.fd, "d/e/f", times, 0), 0);
	CHECK_INT(utimensat(from.fd, "d", times, 0), 0);
	CHECK_INT(fchmod(from.fd, 0511), 0);
	CHECK_INT(copy_tree(from.fd, to.fd, -1, &err), 0);
	CHECK_INT(fstat(to.fd, &st), 0);
	CHECK_INT(st.st_mode & 07777, 0711); /* never closed */
	CHECK_STR(tree_get(&to, "/d/e/f"), "text");
	CHECK_INT(fstatat(to.fd, "d/e/f", &st, 0), 0);
	CHECK_INT(st.st_mode & 07777, 0750); /* without setuid */
	CHECK_INT(st.st_mtim.tv_sec, 2000);
	CHECK_INT(st.st_mtim.tv_nsec, 5);
	CHECK_INT(fstatat(to.fd, "d", &st, 0), 0);
	CHECK_INT(st.st_mtim.tv_sec, 2000);
	CHECK(readlinkat(to.fd, "link", target, sizeof target - 1) > 0);
	CHECK_STR(target, "/etc/passwd");
	CHECK_INT(fstatat(to.fd, "fifo", &st, AT_SYMLINK_NOFOLLOW), 0);
	CHECK(S_ISFIFO(st.st_mode));
	CHECK(tree_has(&to, "/empty"));
}

TEST(a_name_that_is_listed_twice_is_copied_once)
{
	struct err err = {0};
	TREE from = tree_new();
	TREE to = tree_new();
	static const char *const first[] = {"/file", "/d/file", "/link", "/fifo"};
	tree_put(&from, "/file", "second");
	tree_put(&from, "/d/file", "second");
	tree_put(&from, "/other", "text");
	CHECK_INT(symlinkat("file", from.fd, "link"), 0);
	CHECK_INT(mkfifoat(from.fd, "fifo", 0600), 0);
	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		tree_put(&to, first[i], "first");
	CHECK_INT(copy_tree(from.fd, to.fd, -1, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		CHECK_STR(tree_get(&to, first[i]), "first");
	CHECK_STR(tree_get(&to, "/other"), "text");
}

TEST(holes_stay_holes)
{
	struct err err = {0};
	struct stat st = {0};
	char text[8] = "";
	TREE from = tree_new();
	TREE to = tree_new();
	int fd = openat(from.fd, "holes", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK_INT(ftruncate(fd, 64 << 20), 0);
	CHECK_INT(pwrite(fd, "middle", 6, 32 << 20), 6);
	CHECK_INT(copy_tree(from.fd, to.fd, -1, &err), 0);
	CHECK_INT(fstatat(to.fd, "holes", &st, 0), 0);
	CHECK_INT(st.st_size, 64 << 20);
	CHECK(st.st_blocks < 1024);
	(void)close(fd);
	fd = openat(to.fd, "holes", O_RDONLY | O_CLOEXEC);
	CHECK_INT(pread(fd, text, 6, 32 << 20), 6);
	CHECK_STR(text, "middle");
	(void)close(fd);
}

TEST(sockets_are_left_out)
{
	struct err err = {0};
	TREE from = tree_new();
	TREE to = tree_new();
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	snprintf(name.sun_path, sizeof name.sun_path, "%s", tree_path(&from, "/sock"));
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(sock, (struct sockaddr *)&name, sizeof name), 0);
	CHECK_INT(copy_tree(from.fd, to.fd, -1, &err), 0);
	CHECK(!tree_has(&to, "/sock"));
	(void)close(sock);
}

TEST(depth_has_a_limit)
{
	struct err err = {0};
	char path[1024] = "";
	TREE from = tree_new();
	TREE to = tree_new();
	TREE again = tree_new();
	for (int i = 0; i < WIRE_DIRS_MAX; i++)
		strcat(path, "/d");
	(void)strcat(path, "/f");
	tree_put(&from, path, "deep");
	CHECK_INT(copy_tree(from.fd, to.fd, -1, &err), 0);
	CHECK_STR(tree_get(&to, path), "deep");
	path[strlen(path) - 1] = 'd';
	CHECK_INT(mkdirat(from.fd, path + 1, 0700), 0);
	CHECK(copy_tree(from.fd, again.fd, -1, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
}

TEST(what_cannot_be_written_is_said)
{
	struct err err = {0};
	TREE from = tree_new();
	tree_put(&from, "/f", "text");
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(copy_tree(from.fd, null, -1, &err) < 0);
	CHECK_INT(err.code, ERR_IO);
	CHECK_HAS(err.msg, "create f for the branch's workspace");
	(void)close(null);
}

/* ---- the changes of an overlay ---- */

static const char opaque[] = "user.overlay.opaque";

static void put_changes(struct tree *t)
{
	tree_put(t, "/etc/motd", "new");
	tree_put(t, "/hidden/new", "new");
	tree_put(t, "/hidden/below/f", "f");
	CHECK_INT(mknodat(t->fd, "gone", S_IFCHR, 0), 0);
	CHECK_INT(mknodat(t->fd, "hidden/gone", S_IFCHR, 0), 0);
	CHECK_INT(setxattr(tree_path(t, "/hidden"), opaque, "y", 1, 0), 0);
	CHECK_INT(setxattr(tree_path(t, "/etc"), "user.other", "y", 1, 0), 0);
	CHECK_INT(chmod(tree_path(t, "/hidden"), 0510), 0);
}

static bool is_whiteout(const struct tree *t, const char *path)
{
	struct stat st;
	return fstatat(t->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode) &&
		st.st_rdev == 0;
}

static int copy_changes(const struct tree *from, const struct tree *to, struct err *err)
{
	TREE links = tree_new();
	return copy_tree(from->fd, to->fd, links.fd, err);
}

TEST(changes_of_an_overlay_keep_set_id_bits_and_hard_links)
{
	struct err err = {0};
	struct stat one = {0}, two = {0}, gone = {0}, gone_too = {0};
	TREE from = tree_new();
	TREE to = tree_new();
	tree_put(&from, "/bin/one", "one");
	CHECK_INT(mkdirat(from.fd, "sbin", 0755), 0);
	CHECK_INT(linkat(from.fd, "bin/one", from.fd, "sbin/two", 0), 0);
	CHECK_INT(fchmodat(from.fd, "bin/one", 06755, 0), 0);
	CHECK_INT(mknodat(from.fd, "gone", S_IFCHR, 0), 0);
	CHECK_INT(linkat(from.fd, "gone", from.fd, "sbin/gone", 0), 0);
	CHECK_INT(copy_changes(&from, &to, &err), 0);
	CHECK_INT(fstatat(to.fd, "bin/one", &one, 0), 0);
	CHECK_INT(fstatat(to.fd, "sbin/two", &two, 0), 0);
	CHECK_INT(one.st_mode & 07777, 06755);
	CHECK_INT(one.st_ino, two.st_ino);
	CHECK_STR(tree_get(&to, "/sbin/two"), "one");
	CHECK_INT(fstatat(to.fd, "gone", &gone, AT_SYMLINK_NOFOLLOW), 0);
	CHECK_INT(fstatat(to.fd, "sbin/gone", &gone_too, AT_SYMLINK_NOFOLLOW), 0);
	CHECK_INT(gone.st_ino, gone_too.st_ino);
}

TEST(changes_of_an_overlay_keep_their_marks)
{
	struct err err = {0};
	char value[8] = "";
	struct stat st = {0};
	TREE from = tree_new();
	TREE to = tree_new();
	put_changes(&from);
	CHECK_INT(copy_changes(&from, &to, &err), 0);
	CHECK(is_whiteout(&to, "gone"));
	CHECK(is_whiteout(&to, "hidden/gone"));
	CHECK_INT(getxattr(tree_path(&to, "/hidden"), opaque, value, sizeof value), 1);
	CHECK_STR(value, "y");
	CHECK(getxattr(tree_path(&to, "/hidden/below"), opaque, value, sizeof value) < 0);
	CHECK(getxattr(tree_path(&to, "/etc"), opaque, value, sizeof value) < 0);
	CHECK_INT(getxattr(tree_path(&to, "/etc"), "user.other", value, sizeof value), 1);
	CHECK_INT(fstatat(to.fd, "hidden", &st, 0), 0);
	CHECK_INT(st.st_mode & 07777, 0510);
	CHECK_STR(tree_get(&to, "/hidden/new"), "new");
	CHECK_STR(tree_get(&to, "/etc/motd"), "new");
}

TEST(marks_are_left_out_of_a_workspace)
{
	struct err err = {0};
	char value[8];
	TREE from = tree_new();
	TREE to = tree_new();
	put_changes(&from);
	CHECK_INT(copy_tree(from.fd, to.fd, -1, &err), 0);
	CHECK(!tree_has(&to, "/gone"));
	CHECK(!tree_has(&to, "/hidden/gone"));
	CHECK(getxattr(tree_path(&to, "/hidden"), opaque, value, sizeof value) < 0);
	CHECK_STR(tree_get(&to, "/hidden/new"), "new");
}

TEST(other_devices_are_left_out_of_changes)
{
	struct err err = {0};
	TREE from = tree_new();
	TREE to = tree_new();
	tree_put(&from, "/f", "");
	if (mknodat(from.fd, "null", S_IFCHR | 0666, makedev(1, 3)) < 0) {
		t_skip("only root makes devices");
		return;
	}
	CHECK_INT(copy_changes(&from, &to, &err), 0);
	CHECK(tree_has(&to, "/f"));
	CHECK(!tree_has(&to, "/null"));
}

TEST(a_mark_that_is_listed_twice_is_copied_once)
{
	struct err err = {0};
	TREE from = tree_new();
	TREE to = tree_new();
	CHECK_INT(mknodat(from.fd, "gone", S_IFCHR, 0), 0);
	CHECK_INT(mknodat(to.fd, "gone", S_IFCHR, 0), 0);
	CHECK_INT(copy_changes(&from, &to, &err), 0);
	CHECK(is_whiteout(&to, "gone"));
}
