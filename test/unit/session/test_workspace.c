/* Workspaces as hostile programs leave them. SPDX-License-Identifier: Apache-2.0 */
#include "session/box/workspace.h"

#include "base/buf.h"
#include "base/fd.h"
#include "session/box/copy_out.h"
#include "t.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct workspace scan(const struct tree *t)
{
	struct workspace w = {0};
	struct err err;
	CHECK_INT(workspace_scan(&w, t->fd, &err), 0);
	return w;
}
#define SCANNED cleanup(workspace_done) struct workspace

/* "F a,L b": kind and path of each. */
static const char *listing(const struct workspace *w)
{
	static char text[4096];
	size_t at = 0;
	text[0] = '\0';
	for (size_t i = 0; i < w->n_files && at < sizeof text; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%c %s", i ? "," : "",
			"FLDOM"[w->files[i].kind], w -> files[i].path);
	return text;
}

TEST(empty)
{
	TREE t = tree_new();
	SCANNED w = scan(&t);
	CHECK_INT(w.n_files, 0);
	CHECK(!w.is_cut);
}

TEST(every_kind_of_file_sorted)
{
	TREE t = tree_new();
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	cleanup_fd int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	tree_put(&t, "/b/c.txt", "123");
	tree_put(&t, "/b.txt", "");
	tree_put(&t, "/.hidden", "");
	tree_put(&t, "/new\nline \x1b[31m\xff", "");
	CHECK_INT(symlink("/etc", tree_path(&t, "/a-link")), 0);
	CHECK_INT(symlink("nowhere", tree_path(&t, "/b/dangling")), 0);
	CHECK_INT(mkfifo(tree_path(&t, "/fifo"), 0666), 0);
	CHECK_INT(mkdir(tree_path(&t, "/empty"), 0755), 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s/sock", t.root);
	CHECK_INT(bind(sock, (struct sockaddr *)&address, sizeof address), 0);
	SCANNED w = scan(&t);
	CHECK_STR(listing(&w),
		"F .hidden,L a-link,D b,F b.txt,F b/c.txt,L b/dangling,D empty,O fifo,"
		"F new\nline \x1b[31m\xff,O sock");
	CHECK_INT(w.files[4].size_bytes, 3);
	CHECK(!w.is_cut);
}

/* A directory replaced by a link to the host's /etc: the link is listed, nothing behind it. */
TEST(links_to_directories_are_not_entered)
{
	TREE t = tree_new();
	CHECK_INT(symlink("/", tree_path(&t, "/root")), 0);
	CHECK_INT(symlink(".", tree_path(&t, "/self")), 0);
	CHECK_INT(symlink("..", tree_path(&t, "/up")), 0);
	SCANNED w = scan(&t);
	CHECK_STR(listing(&w), "L root,L self,L up");
}

TEST(unreadable_directory_is_left_out)
{
	TREE t = tree_new();
	if (geteuid() == 0) {
		t_skip("root reads every directory");
		return;
	}
	tree_put(&t, "/locked/x", "");
	tree_put(&t, "/open/x", "");
	CHECK_INT(chmod(tree_path(&t, "/locked"), 0), 0);
	SCANNED w = scan(&t);
	CHECK_STR(listing(&w), "D locked,D open,F open/x");
	CHECK_INT(chmod(tree_path(&t, "/locked"), 0755), 0);
}

static size_t n_of_kind(const struct workspace *w, enum workspace_kind kind)
{
	size_t n = 0;
	for (size_t i = 0; i < w->n_files; i++)
		n += w->files[i].kind == kind;
	return n;
}

/* Make @depth directories below each other with a file in the last, and one before and behind them,
 * and scan. */
static struct workspace scan_deep(int depth, const char *name)
{
	TREE t = tree_new();
	int at = dup(t.fd);
	tree_put(&t, "/a", "");
	for (int i = 0; i < depth; i++) {
		CHECK_INT(mkdirat(at, name, 0755), 0);
		int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(at);
		at = next;
	}
	int file = openat(at, "leaf", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	CHECK(file >= 0);
	(void)close(file);
	(void)close(at);
	tree_put(&t, "/z", "");
	return scan(&t);
}

TEST(deep_trees_are_listed)
{
	const int depths[] = {WORKSPACE_DESCENT_MAX, WORKSPACE_DESCENT_MAX + 1,
		3 * (WORKSPACE_DESCENT_MAX + 1), 1000};
	for (size_t i = 0; i < ARRAY_LEN(depths); i++) {
		SCANNED w = scan_deep(depths[i], "d");
		CHECK(!w.is_cut);
		CHECK_INT(w.n_files, depths[i] + 3);
		CHECK_INT(strlen(w.files[depths[i] + 1].path), 2 * depths[i] + 4);
	}
}

TEST(long_paths_are_cut_not_truncated)
{
	char name[251];
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	SCANNED w = scan_deep(17, name);	     /* over PATH_MAX */
	CHECK_INT(n_of_kind(&w, WORKSPACE_FILE), 2); /* those beside it */
	CHECK(w.is_cut);
	SCANNED fits = scan_deep(16, name);
	CHECK_INT(n_of_kind(&fits, WORKSPACE_FILE), 3);
	CHECK_INT(strlen(fits.files[fits.n_files - 2].path), 16 * 251 + 4);
}

TEST(what_a_copy_would_be)
{
	struct err err;
	struct workspace_size size;
	TREE t = tree_new();
	tree_put(&t, "/one/two/a", "12345");
	tree_put(&t, "/b", "123");
	SCANNED single = scan(&t);
	CHECK_INT(workspace_measure(&single, &size, &err), 0);
	CHECK_INT(size.n_dirs, 2);
	CHECK_INT(size.again_bytes, 0);
	CHECK_INT(linkat(t.fd, "one/two/a", t.fd, "c", 0), 0);
	CHECK_INT(linkat(t.fd, "c", t.fd, "one/d", 0), 0);
	CHECK_INT(linkat(t.fd, "b", t.fd, "e", 0), 0);
	SCANNED linked = scan(&t);
	CHECK_INT(workspace_measure(&linked, &size, &err), 0);
	CHECK_INT(size.again_bytes, 2 * 5 + 3);
}

TEST(number_of_files_is_bounded)
{
	TREE t = tree_new();
	char name[16];
	for (int i = 0; i < WORKSPACE_FILES_MAX; i++) {
		snprintf(name, sizeof name, "f%d", i);
		CHECK_INT(mknodat(t.fd, name, S_IFREG | 0644, 0), 0);
	}
	SCANNED full = scan(&t);
	CHECK_INT(full.n_files, WORKSPACE_FILES_MAX);
	CHECK(!full.is_cut);
	CHECK_INT(mknodat(t.fd, "more", S_IFREG | 0644, 0), 0);
	SCANNED over = scan(&t);
	CHECK_INT(over.n_files, WORKSPACE_FILES_MAX);
	CHECK(over.is_cut);
	for (size_t i = 1; i < over.n_files; i++)
		CHECK(strcmp(over.files[i - 1].path, over.files[i].path) < 0);
}

TEST(bytes_of_paths_are_bounded)
{
	TREE t = tree_new();
	char name[256];
	int n = WORKSPACE_PATHS_BYTES / 251 + 5;
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%0250d", i);
		CHECK_INT(mknodat(t.fd, name, S_IFREG | 0644, 0), 0);
	}
	SCANNED over = scan(&t);
	CHECK_INT(over.n_files, WORKSPACE_PATHS_BYTES / 251);
	CHECK(over.is_cut);
}

static void note_change(void *arg, enum workspace_change change, const struct workspace_file *file)
{
	CHECK_INT(buf_addf(arg, "%c%s ", "+*-"[change], file -> path), 0);
}

static void check_changes(
	const struct workspace *before, const struct workspace *after, const char *want)
{
	cleanup_buf struct buf seen = BUF_INIT(4096);
	workspace_compare(before, after, note_change, &seen);
	CHECK_STR(buf_str(&seen), want);
}

TEST(changes)
{
	TREE t = tree_new();
	const struct workspace none = {0};
	tree_put(&t, "/a", "1");
	tree_put(&t, "/b", "1");
	tree_put(&t, "/c/d", "1");
	SCANNED before = scan(&t);
	check_changes(&before, &before, "");
	check_changes(&none, &before, "+a +b +c +c/d ");
	check_changes(&before, &none, "-a -b -c -c/d ");
	check_changes(&none, &none, "");
	tree_put(&t, "/b", "22");
	CHECK_INT(unlink(tree_path(&t, "/a")), 0);
	tree_put(&t, "/aa", "");
	tree_put(&t, "/z", "");
	SCANNED after = scan(&t);
	check_changes(&before, &after, "-a +aa *b +z ");
	check_changes(&after, &before, "+a -aa *b -z ");
}

/* Each of these is a change that a program can make without touching size or times it may set. */
TEST(changes_that_try_to_hide)
{
	TREE t = tree_new();
	const struct timespec then[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	tree_put(&t, "/same-size", "aaaa");
	tree_put(&t, "/replaced", "aaaa");
	tree_put(&t, "/kind", "aaaa");
	CHECK_INT(utimensat(t.fd, "same-size", then, 0), 0);
	SCANNED before = scan(&t);
	(void)usleep(20000); /* the kernel's clock for files ticks every 4 ms at most */
	tree_put(&t, "/same-size", "bbbb");
	CHECK_INT(utimensat(t.fd, "same-size", then, 0), 0);
	tree_put(&t, "/new", "bbbb");
	CHECK_INT(rename(tree_path(&t, "/new"), tree_path(&t, "/replaced")), 0);
	CHECK_INT(unlink(tree_path(&t, "/kind")), 0);
	CHECK_INT(symlink("aaaa", tree_path(&t, "/kind")), 0);
	SCANNED after = scan(&t);
	check_changes(&before, &after, "*kind *replaced *same-size ");
}

/* What a volume hides or shows is not the program's doing. */
TEST(mount_points_are_no_changes)
{
	struct workspace_file file = {.path = (char[]){"v"}, .kind = WORKSPACE_FILE, .ino = 1};
	struct workspace_file mount = {.path = (char[]){"v"}, .kind = WORKSPACE_MOUNT, .ino = 2};
	const struct workspace has_file = {.files = &file, .n_files = 1};
	const struct workspace has_mount = {.files = &mount, .n_files = 1};
	const struct workspace none = {0};
	check_changes(&has_mount, &has_file, "");
	check_changes(&has_file, &has_mount, "");
	check_changes(&has_mount, &none, "");
	check_changes(&none, &has_mount, "");
	check_changes(&has_mount, &has_mount, "");
	check_changes(&none, &has_file, "+v ");
}

struct pair {
	struct tree from, to;
	struct err err;
};

static struct pair pair_new(void)
{
	return (struct pair){.from = tree_new(), .to = tree_new()};
}

static void pair_done(struct pair *p)
{
	tree_done(&p->from);
	tree_done(&p->to);
}
#define PAIR cleanup(pair_done) struct pair

static int copy_one(int fd, const char *path, int out_fd, struct err *err)
{
	struct copy_out one = {.fd = fd, .out_fd = out_fd};
	int r = copy_out_file(&one, path, err);
	copy_out_done(&one);
	return r;
}

static int copy(struct pair *p, const char *path)
{
	return copy_one(p->from.fd, path, p->to.fd, &p->err);
}

/* Directories are no files. */
static size_t count_files(const struct tree *t)
{
	SCANNED w = scan(t);
	return w.n_files - n_of_kind(&w, WORKSPACE_DIR);
}

TEST(names_of_one_file_are_copied_as_such)
{
	PAIR p = pair_new();
	struct stat st, again;
	struct err err = {0};
	tree_put(&p.from, "/one", "hello");
	CHECK_INT(mkdirat(p.from.fd, "dir", 0700), 0);
	CHECK_INT(linkat(p.from.fd, "one", p.from.fd, "dir/two", 0), 0);
	CHECK_INT(linkat(p.from.fd, "one", p.from.fd, "three", 0), 0);
	tree_put(&p.to, "/three", "what was there");
	struct copy_out all = {.fd = p.from.fd, .out_fd = p.to.fd};
	CHECK_INT(copy_out_file(&all, "one", &err), 0);
	CHECK_INT(copy_out_file(&all, "dir/two", &err), 0);
	CHECK_INT(copy_out_file(&all, "three", &err), 0);
	CHECK_INT(copy_out_file(&all, "three", &err), 0);
	CHECK_INT(fstatat(p.to.fd, "one", &st, 0), 0);
	CHECK_INT(fstatat(p.to.fd, "dir/two", &again, 0), 0);
	CHECK_INT(again.st_ino, st.st_ino);
	CHECK_INT(st.st_nlink, 3);
	CHECK_STR(tree_get(&p.to, "/three"), "hello");
	/* Somebody puts another in its place: what is copied then counts. */
	CHECK_INT(unlinkat(p.to.fd, "one", 0), 0);
	tree_put(&p.to, "/one", "another");
	CHECK_INT(copy_out_file(&all, "three", &err), -err_errno(ERR_LIMIT));
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK_STR(tree_get(&p.to, "/one"), "another");
	all.again_bytes_max = 1 << 20;
	CHECK_INT(copy_out_file(&all, "three", &err), 0);
	CHECK_STR(tree_get(&p.to, "/three"), "hello");
	CHECK(all.again_bytes > 0);
	CHECK_INT(count_files(&p.to), 3);
	copy_out_done(&all);
}

TEST(copies)
{
	PAIR p = pair_new();
	struct stat st;
	tree_put(&p.from, "/a.txt", "hello");
	tree_put(&p.from, "/deep/er/b.txt", "");
	tree_put(&p.from, "/run.sh", "#!/bin/sh\n");
	CHECK_INT(chmod(tree_path(&p.from, "/run.sh"), 06700), 0);
	CHECK_INT(copy(&p, "a.txt"), 0);
	CHECK_INT(copy(&p, "deep/er/b.txt"), 0);
	CHECK_INT(copy(&p, "run.sh"), 0);
	CHECK_STR(tree_get(&p.to, "/a.txt"), "hello");
	CHECK_STR(tree_get(&p.to, "/deep/er/b.txt"), "");
	CHECK_INT(stat(tree_path(&p.to, "/run.sh"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0755); /* may run, but sets no ids */
	tree_put(&p.from, "/a.txt", "bye");
	CHECK_INT(copy(&p, "a.txt"), 0);
	CHECK_STR(tree_get(&p.to, "/a.txt"), "bye");
	CHECK_INT(count_files(&p.to), 3);
}

TEST(only_regular_files_are_copied)
{
	PAIR p = pair_new();
	CHECK_INT(mkfifo(tree_path(&p.from, "/fifo"), 0666), 0);
	CHECK_INT(mkdir(tree_path(&p.from, "/dir"), 0755), 0);
	CHECK_INT(symlink("/etc/passwd", tree_path(&p.from, "/link")), 0);
	CHECK_INT(symlink("/etc", tree_path(&p.from, "/etc")), 0);
	CHECK_INT(symlink("dir", tree_path(&p.from, "/dirlink")), 0);
	tree_put(&p.from, "/dir/x", "");
	static const char *const refused[] = {"fifo", "dir", "link", "etc/passwd", "dirlink/x",
		"missing", "/etc/passwd", "../x", "dir/../../x", "", "."};
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		CHECK(copy(&p, refused[i]) < 0);
		CHECK_INT(p.err.code, ERR_ACCESS);
	}
	CHECK_INT(count_files(&p.to), 0);
}

/* What already stands where files go may be hostile as well: another box may have made it. */
TEST(links_in_the_target_are_not_followed)
{
	PAIR p = pair_new();
	TREE elsewhere = tree_new();
	tree_put(&p.from, "/dir/x", "new");
	tree_put(&p.from, "/y", "new");
	tree_put(&elsewhere, "/victim", "old");
	CHECK_INT(symlink(elsewhere.root, tree_path(&p.to, "/dir")), 0);
	CHECK_INT(symlink(tree_path(&elsewhere, "/victim"), tree_path(&p.to, "/y")), 0);
	CHECK(copy(&p, "dir/x") < 0);
	CHECK(!tree_has(&elsewhere, "/x"));
	CHECK_INT(copy(&p, "y"), 0); /* the link itself is replaced */
	CHECK_STR(tree_get(&elsewhere, "/victim"), "old");
	CHECK_STR(tree_get(&p.to, "/y"), "new");
}

TEST(directory_in_the_way)
{
	PAIR p = pair_new();
	tree_put(&p.from, "/x", "new");
	tree_put(&p.to, "/x/y", "old");
	CHECK(copy(&p, "x") < 0);
	CHECK_INT(p.err.code, ERR_IO);
	CHECK_INT(count_files(&p.to), 1);
}

/* In a child with a mount namespace of its own. Returns: its exit status, -1 when that may not be.
 */
static int on_small_disk(int (*run)(const char *mount_point))
{
	int status = -1;
	(void)fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		char root[] = "/tmp/retort-unit-XXXXXX";
		if (unshare(CLONE_NEWNS) < 0 ||
			mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || !mkdtemp(root) ||
			mount("tmpfs", root, "tmpfs", 0, "size=64k") < 0)
			_exit(99);
		int r = run(root);
		(void)umount2(root, MNT_DETACH);
		(void)rmdir(root);
		(void)fflush(stdout);
		_exit(r);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) != 99 ? WEXITSTATUS(status) : -1;
}

static int fill_disk(const char *mount_point)
{
	struct err err = {0};
	TREE from = tree_new();
	cleanup_fd int to = open(mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	static char big[256 << 10];
	memset(big, 'x', sizeof big);
	tree_put_bytes(&from, "/dir/big", big, sizeof big);
	tree_put(&from, "/small", "s");
	int r = copy_one(from.fd, "dir/big", to, &err);
	if (r != -ENOSPC || err.code != ERR_NO_SPACE)
		return 1;
	struct workspace w;
	if (workspace_scan(&w, to, &err) < 0 || w.n_files != n_of_kind(&w, WORKSPACE_DIR))
		return 2; /* something half-written was left */
	return copy_one(from.fd, "small", to, &err) == 0 ? 0 : 3;
}

TEST(full_disk_leaves_nothing)
{
	int r = on_small_disk(fill_disk);
	if (r < 0)
		t_skip("no mount namespace without privilege");
	else
		CHECK_INT(r, 0);
}

TEST(mimes)
{
	static const struct {
		const char *path, *mime;
	} rows[] = {
		{"a.csv", "text/csv"},
		{"A.CSV", "text/csv"},
		{"dir.png/a", "application/octet-stream"},
		{"dir.png/a.json", "application/json"},
		{"a.tar.gz", "application/gzip"},
		{"a", "application/octet-stream"},
		{"a.", "application/octet-stream"},
		{".png", "image/png"},
		{"", "application/octet-stream"},
		{"a.pngx", "application/octet-stream"},
		{"x/.b/plot.svg", "image/svg+xml"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(workspace_mime(rows[i].path), rows[i].mime);
}
