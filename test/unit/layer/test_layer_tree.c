/* Trees of a hostile program: sealed, named, counted, removed. SPDX-License-Identifier: Apache-2.0
 */
#include "layer/layer_tree.h"

#include "base/fd.h"
#include "tree.h"

#include "t.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const uint64_t plenty = UINT64_C(1) << 30;

/* What stands in a tree: a file with `text`, a directory, or a link to `text`. */
struct entry {
	const char *path;
	char kind; /* f, d or l; 0 after the last one */
	const char *text;
	mode_t mode;
};

static void make(struct tree *t, const struct entry *rows, size_t n)
{
	for (size_t i = 0; i < n && rows[i].kind; i++) {
		const char *path = tree_path(t, rows[i].path);
		if (rows[i].kind == 'f')
			tree_put(t, rows[i].path, rows[i].text);
		else
			CHECK_INT(rows[i].kind == 'd' ? mkdir(path, 0755)
						      : symlink(rows[i].text, path),
				0);
		if (rows[i].mode)
			CHECK_INT(chmod(path, rows[i].mode), 0);
	}
}

/* Seal the tree. Returns: its digest; one of four texts. */
static const char *seal(struct tree *t)
{
	static char digests[4][DIGEST_BYTES];
	static unsigned n;
	char *digest = digests[n++ % 4];
	struct layer_sum sum;
	struct err err = {0};
	if (!CHECK_INT(layer_seal(t->fd, plenty, &sum, &err), 0))
		t_check_str(err.msg, "", __FILE__, __LINE__, "the error");
	snprintf(digest, DIGEST_BYTES, "%s", sum.digest);
	return digest;
}

static mode_t mode_of(const struct tree *t, const char *path)
{
	struct stat st = {0};
	CHECK_INT(lstat(tree_path(t, path), &st), 0);
	return st.st_mode & 07777;
}

TEST(modes_are_normal)
{
	static const struct {
		mode_t is, becomes;
		char kind;
	} rows[] = {{0644, 0644, 'f'}, {0600, 0644, 'f'}, {0400, 0644, 'f'}, {0666, 0644, 'f'},
		{0755, 0755, 'f'}, {0700, 0755, 'f'}, {0645, 0755, 'f'}, {04755, 0755, 'f'},
		{02755, 0755, 'f'}, {06777, 0755, 'f'}, {01644, 0644, 'f'}, {0, 0644, 'f'},
		{0755, 0755, 'd'}, {0700, 0755, 'd'}, {01777, 0755, 'd'}, {02775, 0755, 'd'},
		{0, 0755, 'd'}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		TREE t = tree_new();
		const struct entry entry = {"/x", rows[i].kind, "text", 0};
		make(&t, &entry, 1);
		CHECK_INT(chmod(tree_path(&t, "/x"), rows[i].is), 0);
		(void)seal(&t);
		CHECK_INT(mode_of(&t, "/x"), rows[i].becomes);
	}
}

TEST(the_top_is_normal_as_well)
{
	TREE t = tree_new();
	tree_put(&t, "/x", "text");
	CHECK_INT(fchmod(t.fd, 0), 0);
	(void)fsetxattr(t.fd, "user.overlay.opaque", "y", 1, 0);
	(void)seal(&t);
	CHECK_INT(mode_of(&t, ""), 0755);
	CHECK_INT(fgetxattr(t.fd, "user.overlay.opaque", NULL, 0), -1);
}

/* Files without content have the same digest, whatever else is different. */
TEST(same_content_same_digest)
{
	static const struct entry one[] = {{"/d", 'd', NULL, 0}, {"/d/b", 'f', "b", 0},
		{"/a", 'f', "a", 0755}, {"/l", 'l', "a", 0}};
	static const struct entry two[] = {{"/l", 'l', "a", 0}, {"/a", 'f', "a", 04710},
		{"/d", 'd', NULL, 0700}, {"/d/b", 'f', "b", 0600}};
	TREE first = tree_new();
	TREE second = tree_new();
	make(&first, one, ARRAY_LEN(one));
	make(&second, two, ARRAY_LEN(two));
	static const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	CHECK_INT(utimensat(AT_FDCWD, tree_path(&second, "/d/b"), times, 0), 0);
	CHECK_STR(seal(&first), seal(&second));
	CHECK_STR(seal(&first), seal(&first));
}

/* The order of a directory is that of its file system, the digest is the same everywhere. */
TEST(digest_of_a_tree)
{
	TREE t = tree_new();
	for (char c = 'z'; c >= 'a'; c--)
		tree_put(&t, (char[]){'/', c, '/', c, '\0'}, "text");
	CHECK_INT(chmod(tree_path(&t, "/a/a"), 0700), 0);
	CHECK_INT(symlink("a", tree_path(&t, "/link")), 0);
	CHECK_STR(seal(&t), "ee79b1c620e678f869c1e1363b7f890578a2d815d508f44ac063d3d9f4ce1cf9");
}

TEST(other_content_other_digest)
{
	static const struct entry rows[][4] = {
		{{"", 0, NULL, 0}},
		{{"/a", 'f', "", 0}},
		{{"/b", 'f', "", 0}},
		{{"/a", 'f', "b", 0}},
		{{"/a", 'f', "c", 0}},
		{{"/a", 'f', "b", 0755}},
		{{"/a", 'l', "b", 0}},
		{{"/a", 'd', NULL, 0}},
		{{"/a", 'f', "", 0}, {"/b", 'f', "", 0}},
		{{"/a", 'd', NULL, 0}, {"/b", 'f', "", 0}},
		{{"/a", 'd', NULL, 0}, {"/a/b", 'f', "", 0}},
		{{"/a", 'd', NULL, 0}, {"/a/b", 'd', NULL, 0}},
		{{"/a", 'd', NULL, 0}, {"/b", 'd', NULL, 0}},
		{{"/a", 'd', NULL, 0}, {"/a/b", 'd', NULL, 0}, {"/a/c", 'f', "x", 0}},
		{{"/a", 'd', NULL, 0}, {"/a/b", 'd', NULL, 0}, {"/a/b/c", 'f', "x", 0}},
		{{"/a", 'd', NULL, 0}, {"/a/b", 'd', NULL, 0}, {"/c", 'f', "x", 0}},
	};
	char digests[ARRAY_LEN(rows)][DIGEST_BYTES];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		TREE t = tree_new();
		make(&t, rows[i], ARRAY_LEN(rows[i]));
		snprintf(digests[i], DIGEST_BYTES, "%s", seal(&t));
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(digests[i], digests[j]) != 0);
	}
}

/* A file whose content looks like the entry that follows another file. */
TEST(content_is_not_taken_for_an_entry)
{
	TREE one = tree_new();
	TREE two = tree_new();
	tree_put_bytes(&one, "/a", "xf\0b\0y", 7);
	tree_put(&two, "/a", "x");
	tree_put(&two, "/b", "y");
	CHECK(strcmp(seal(&one), seal(&two)) != 0);
}

TEST(names_of_any_bytes)
{
	TREE t = tree_new();
	tree_put(&t, "/\n\t\x1b[31m", "x");
	tree_put(&t, "/\xff\xfe", "x");
	tree_put(&t, "/-rf", "x");
	tree_put(&t, "/...", "x");
	tree_put(&t, "/.wh.x", "x");
	(void)seal(&t);
	CHECK(tree_has(&t, "/\xff\xfe"));
	CHECK_INT(layer_clear(t.fd), 0);
	CHECK(!tree_has(&t, "/..."));
}

TEST(what_is_no_file_goes)
{
	TREE t = tree_new();
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	tree_put(&t, "/d/file", "x");
	CHECK_INT(mkfifo(tree_path(&t, "/d/fifo"), 0666), 0);
	cleanup_fd int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(at.sun_path, sizeof at.sun_path, "%s/d/sock", t.root);
	CHECK_INT(bind(sock, (struct sockaddr *)&at, sizeof at), 0);
	/* a whiteout of an overlay, and the disk */
	bool has_devices = mknod(tree_path(&t, "/d/gone"), S_IFCHR | 0666, makedev(0, 0)) == 0 &&
		mknod(tree_path(&t, "/d/disk"), S_IFBLK | 0666, makedev(8, 0)) == 0;
	const char *digest = seal(&t);
	CHECK(tree_has(&t, "/d/file"));
	CHECK(!tree_has(&t, "/d/fifo") && !tree_has(&t, "/d/sock"));
	CHECK(!tree_has(&t, "/d/gone") && !tree_has(&t, "/d/disk"));
	CHECK_STR(seal(&t), digest);
	if (!has_devices)
		t_skip("this user may make no devices");
}

TEST(attributes_go)
{
	static const char *const names[] = {"user.overlay.opaque", "user.overlay.redirect",
		"user.overlay.whiteout", "user.overlay.metacopy", "user.overlay.origin", "user.x",
		"trusted.overlay.opaque"};
	static const char *const paths[] = {"/d", "/d/file"};
	TREE t = tree_new();
	tree_put(&t, "/d/file", "x");
	if (lsetxattr(tree_path(&t, "/d"), "user.x", "y", 1, 0) < 0) {
		t_skip("no extended attributes here");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (size_t p = 0; p < 2; p++)
			CHECK(setxattr(tree_path(&t, paths[p]), names[i], "y", 1, 0) == 0 ||
				names[i][0] == 't');
	(void)seal(&t);
	for (size_t p = 0; p < 2; p++)
		CHECK_INT(listxattr(tree_path(&t, paths[p]), NULL, 0), 0);
}

/* Links lead out of the tree: nothing there is read, changed or removed. */
TEST(links_are_not_followed)
{
	TREE outside = tree_new();
	TREE t = tree_new();
	tree_put(&outside, "/secret", "secret");
	tree_put(&outside, "/dir/file", "file");
	CHECK_INT(chmod(tree_path(&outside, "/secret"), 0600), 0);
	CHECK_INT(chmod(tree_path(&outside, "/dir"), 0700), 0);
	CHECK_INT(symlink(tree_path(&outside, "/secret"), tree_path(&t, "/file")), 0);
	CHECK_INT(symlink(tree_path(&outside, "/dir"), tree_path(&t, "/dir")), 0);
	CHECK_INT(symlink("/", tree_path(&t, "/usr")), 0);
	CHECK_INT(symlink("loop", tree_path(&t, "/loop")), 0);
	CHECK_INT(symlink("/proc/self/root/etc/passwd", tree_path(&t, "/magic")), 0);
	const char *digest = seal(&t);
	tree_put(&outside, "/secret", "other");
	CHECK_STR(seal(&t), digest);
	CHECK_INT(mode_of(&outside, "/secret"), 0600);
	CHECK_INT(mode_of(&outside, "/dir"), 0700);
	CHECK_INT(layer_clear(t.fd), 0);
	CHECK_STR(tree_get(&outside, "/secret"), "other");
	CHECK_STR(tree_get(&outside, "/dir/file"), "file");
}

TEST(hard_links_stay)
{
	TREE t = tree_new();
	struct stat a, b;
	tree_put(&t, "/a", "text");
	CHECK_INT(link(tree_path(&t, "/a"), tree_path(&t, "/b")), 0);
	(void)seal(&t);
	CHECK_INT(stat(tree_path(&t, "/a"), &a), 0);
	CHECK_INT(stat(tree_path(&t, "/b"), &b), 0);
	CHECK_INT(a.st_ino, b.st_ino);
}

/* In namespaces of its own: a mount in the tree. */
static void mount_inside(struct tree *t)
{
	struct layer_sum sum;
	struct err err = {0};
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("tmpfs", tree_path(t, "/d"), "tmpfs", 0, NULL) < 0)
		_exit(77);
	tree_put(t, "/d/file", "x");
	/* the descriptor of before leads to the mounts of before */
	cleanup_fd int fd = open(t->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = layer_seal(fd, plenty, &sum, &err);
	int cleared = layer_clear(fd);
	_exit(r < 0 && strstr(err.msg, "another file system") && cleared < 0 &&
				tree_has(t, "/d/file")
			? 0
			: 1);
}

TEST(mounts_are_not_entered)
{
	TREE t = tree_new();
	int status = 0;
	tree_put(&t, "/d/below", "x");
	pid_t pid = fork();
	if (pid == 0)
		mount_inside(&t);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) == 77)
		t_skip("this user may mount nothing");
	else
		CHECK_INT(status, 0);
}

static int measure(struct tree *t, uint64_t max_bytes, struct layer_sum *sum, struct err *err)
{
	*sum = (struct layer_sum){.bytes = 0};
	int r = layer_measure(t->fd, max_bytes, sum, err);
	struct layer_sum sealed;
	struct err same = {0};
	CHECK_INT(layer_seal(t->fd, max_bytes, &sealed, &same), r);
	CHECK_INT(same.code, err->code);
	CHECK(r < 0 || (sealed.bytes == sum->bytes && sealed.files == sum->files));
	return r;
}

TEST(size_is_limited)
{
	TREE t = tree_new();
	struct layer_sum sum;
	struct err err = {0};
	tree_put(&t, "/d/a", "0123456789");
	tree_put(&t, "/b", "");
	CHECK_INT(symlink("a", tree_path(&t, "/l")), 0);
	CHECK_INT(measure(&t, plenty, &sum, &err), 0);
	CHECK_INT(sum.files, 3);
	CHECK(sum.bytes >= 10);
	/* blocks count, and holes as well */
	CHECK(measure(&t, 9, &sum, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK_INT(truncate(tree_path(&t, "/b"), INT64_C(3) << 30), 0);
	err = (struct err){0};
	CHECK(measure(&t, plenty, &sum, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK_HAS(err.msg, "1024 MiB");
	CHECK_HAS(err.hint, "--disk");
}

/* Make directories in directories, @n deep. Returns: a descriptor of the last one. */
static int make_deep(const struct tree *t, int n)
{
	int dir = dup(t->fd);
	for (int i = 0; i < n; i++) {
		CHECK_INT(mkdirat(dir, "d", 0755), 0);
		int next = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(dir);
		dir = next;
	}
	return dir;
}

TEST(depth_is_limited)
{
	TREE t = tree_new();
	struct layer_sum sum;
	struct err err = {0};
	cleanup_fd int last = make_deep(&t, LAYER_DEPTH_MAX);
	CHECK_INT(measure(&t, plenty, &sum, &err), 0);
	CHECK_INT(mkdirat(last, "d", 0755), 0);
	CHECK(measure(&t, plenty, &sum, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK_HAS(err.msg, "100 directories deep");
	CHECK_INT(layer_clear(t.fd), 0);
}

static bool is_empty(const struct tree *t)
{
	return rmdir(t->root) == 0;
}

TEST(clear_removes_all)
{
	TREE t = tree_new();
	/* too deep for a path, and for descriptors */
	cleanup_fd int last = make_deep(&t, 5000);
	CHECK_INT(mkfifoat(last, "fifo", 0600), 0);
	tree_put(&t, "/a/b/c", "x");
	CHECK_INT(layer_clear(t.fd), 0);
	CHECK(is_empty(&t));
}

/* As a user who is not root: a program has taken the right to write from its directories. */
static void clear_locked(void)
{
	if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		_exit(2);
	TREE t = tree_new();
	struct layer_sum sum;
	struct err err;
	tree_put(&t, "/a/b/c", "x");
	tree_put(&t, "/e/f", "x");
	bool is_made = chmod(tree_path(&t, "/e/f"), 0) == 0 &&
		chmod(tree_path(&t, "/a/b"), 0) == 0 && chmod(tree_path(&t, "/a"), 0555) == 0 &&
		chmod(tree_path(&t, "/e"), 0) == 0;
	int sealed = layer_seal(t.fd, plenty, &sum, &err);
	bool is_right = is_made && sealed == 0 && sum.files == 2;
	is_made = chmod(tree_path(&t, "/a/b"), 0) == 0 && chmod(tree_path(&t, "/a"), 0) == 0;
	_exit(is_right && is_made && layer_clear(t.fd) == 0 && is_empty(&t) ? 0 : 1);
}

/* A program takes its own rights from its directories, and a build goes on meanwhile. */
static void measure_locked(void)
{
	if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		_exit(2);
	TREE t = tree_new();
	struct layer_sum sum = {.bytes = 0};
	struct err err;
	struct stat st;
	tree_put(&t, "/none/list/f", "x");
	tree_put(&t, "/search/f", "x");
	bool is_made = chmod(tree_path(&t, "/none/list"), 0400) == 0 &&
		chmod(tree_path(&t, "/none"), 0) == 0 &&
		chmod(tree_path(&t, "/search"), 0311) == 0 && chmod(t.root, 0) == 0;
	int measured = layer_measure(t.fd, plenty, &sum, &err);
	bool is_right = measured == 0 && sum.files == 2 &&
		stat(tree_path(&t, "/search"), &st) == 0 && (st.st_mode & 07777) == 0711;
	(void)chmod(t.root, 0700);
	_exit(is_made && is_right && layer_clear(t.fd) == 0 && is_empty(&t) ? 0 : 1);
}

TEST(directories_without_rights)
{
	void (*const each[])(void) = {clear_locked, measure_locked};
	for (size_t i = 0; i < ARRAY_LEN(each); i++) {
		int status = 0;
		pid_t pid = fork();
		if (pid == 0)
			each[i]();
		CHECK_INT(waitpid(pid, &status, 0), pid);
		CHECK_INT(status, 0);
	}
}
