/* What the entries of a layer become, by counts, marks, times and links.
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/process/tree.h"

#include "base/digest.h"
#include "base/fd.h"
#include "base/libarchive.h"
#include "image/process/stream.h"
#include "layer/layer_tree.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A directory that is filled, with room for so many entries. */
struct filling {
	char path[64];
	int fd;
	struct tree *tree;
	struct err err;
};

static struct filling begin(uint64_t max_entries)
{
	struct filling f = {.path = "/tmp/retort-unit-XXXXXX"};
	const struct unpack_request request = {.max_bytes = 1 << 20, .max_entries = max_entries};
	CHECK(mkdtemp(f.path) != NULL);
	f.fd = open(f.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(tree_open(&f.tree, f.fd, &request, &f.err), 0);
	return f;
}

static void end(struct filling *f)
{
	struct unpack_counts counts = tree_counts(f->tree);
	tree_close(f->tree);
	CHECK(counts.left_out <= counts.entries);
	CHECK_INT(layer_clear(f->fd), 0);
	fd_close(&f->fd);
	CHECK_INT(rmdir(f->path), 0);
}
#define FILLING cleanup(end) struct filling

static int add(struct filling *f, enum tree_kind kind, const char *path, const char *target)
{
	const struct tree_entry e = {
		.kind = kind, .path = path, .target = target, .mode = 0755, .time = {1000, 0}};
	return tree_add(f->tree, &e, &f->err) < 0 ? (int)f->err.code : 0;
}

static struct stat look(const struct filling *f, const char *path)
{
	struct stat st = {.st_mode = 0};
	(void)fstatat(f->fd, path, &st, AT_SYMLINK_NOFOLLOW);
	return st;
}

static int is_mark(const struct filling *f, const char *path)
{
	struct stat st = look(f, path);
	return S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0);
}

static int has_attribute(const struct filling *f, const char *path, const char *name)
{
	char at[128];
	snprintf(at, sizeof at, "%s/%s", f->path, path);
	return getxattr(at, name, NULL, 0) >= 0;
}

TEST(directories_that_no_entry_describes_are_counted)
{
	FILLING f = begin(10);
	CHECK_INT(add(&f, TREE_LINK, "a/b/c/d/e", "x"), 0);
	CHECK_INT(tree_counts(f.tree).entries, 5);
	CHECK_INT(add(&f, TREE_LINK, "a/b/c/d/f", "x"), 0);
	CHECK_INT(tree_counts(f.tree).entries, 6);
	CHECK_INT(add(&f, TREE_LINK, "a/x/y/z/f", "x"), 0);
	CHECK_INT(tree_counts(f.tree).entries, 10);
	CHECK_INT(add(&f, TREE_LINK, "b/x", "x"), ERR_LIMIT);
	CHECK_HAS(f.err.msg, "more than 10 files");
	CHECK_INT(look(&f, "b").st_mode, 0);
}

TEST(what_is_left_out_hides_the_layers_below)
{
	FILLING f = begin(100);
	CHECK_INT(add(&f, TREE_OTHER, "dev/new", NULL), 0);
	CHECK_INT(add(&f, TREE_FILE, "file", NULL), 0);
	CHECK_INT(add(&f, TREE_OTHER, "file", NULL), 0);
	CHECK_INT(add(&f, TREE_FILE, ".wh.gone", NULL), 0);
	CHECK_INT(add(&f, TREE_OTHER, "gone", NULL), 0);
	CHECK_INT(add(&f, TREE_FILE, "dir/x/y", NULL), 0);
	CHECK_INT(add(&f, TREE_OTHER, "dir", NULL), 0);
	CHECK_INT(tree_counts(f.tree).left_out, 4);
	CHECK(is_mark(&f, "dev/new") && is_mark(&f, "file") && is_mark(&f, "gone") &&
		is_mark(&f, "dir"));
	CHECK(has_attribute(&f, "dev", "user.overlay.origin"));
	/* The next layer's file of that name is new. */
	CHECK_INT(add(&f, TREE_DIR, "dir", NULL), 0);
	CHECK(has_attribute(&f, "dir", "user.overlay.opaque"));
	CHECK_INT(add(&f, TREE_FILE, "gone", NULL), 0);
	CHECK(S_ISREG(look(&f, "gone").st_mode));
}

TEST(modes_and_times)
{
	FILLING f = begin(100);
	CHECK_INT(add(&f, TREE_DIR, "d", NULL), 0);
	CHECK_INT(add(&f, TREE_FIFO, "d/p", NULL), 0);
	CHECK_INT(add(&f, TREE_FILE, "d/f", NULL), 0);
	CHECK_INT(add(&f, TREE_LINK, "d/l", "f"), 0);
	CHECK_INT(tree_finish(f.tree, &f.err), 0);
	CHECK_INT(look(&f, "d").st_mode, S_IFDIR | 0755);
	CHECK_INT(look(&f, "d").st_mtim.tv_sec, 1000);
	CHECK_INT(look(&f, "d/p").st_mtim.tv_sec, 1000);
	CHECK_INT(look(&f, "d/f").st_mtim.tv_sec, 1000);
	CHECK(look(&f, "d/l").st_mtim.tv_sec > 1000);
}

TEST(a_time_through_a_link)
{
	FILLING f = begin(100);
	char out[] = "/tmp/retort-unit-XXXXXX";
	struct stat st;
	CHECK(mkdtemp(out) != NULL);
	CHECK_INT(add(&f, TREE_DIR, "d/e", NULL), 0);
	CHECK_INT(add(&f, TREE_LINK, "d", out), 0);
	CHECK_INT(tree_finish(f.tree, &f.err), 0);
	CHECK(stat(out, &st) == 0 && st.st_mtim.tv_sec > 1000);
	CHECK_INT(rmdir(out), 0);
}

TEST(links_lead_as_in_a_root)
{
	FILLING f = begin(1000);
	CHECK_INT(add(&f, TREE_DIR, "d/e", NULL), 0);
	const struct {
		const char *target, *path;
	} rows[] = {
		{"/d/e", "d/e/0"}, {"d/e", "d/e/1"}, {"../../../d/./e/", "d/e/2"},
		{"/../d//e/../e", "d/e/3"}, {"d/..", "4"}, {"/", "5"}, {".", "6"},
		{"0/../e", "d/e/7"}, /* through another link */
	};
	char link[8], name[16];
	for (int i = 0; i < (int)ARRAY_LEN(rows); i++) {
		snprintf(link, sizeof link, "l%d", i);
		snprintf(name, sizeof name, "l%d/%d", i, i);
		CHECK_INT(add(&f, TREE_LINK, link, i < 7 ? rows[i].target : "l0/../e"), 0);
		CHECK_INT(add(&f, TREE_FILE, name, NULL), 0);
		CHECK(S_ISREG(look(&f, rows[i].path).st_mode));
	}
	CHECK_INT(add(&f, TREE_LINK, "none", "no/where"), 0);
	CHECK_INT(add(&f, TREE_FILE, "none/x", NULL), ERR_USAGE);
	CHECK_HAS(f.err.msg, "below something that is no directory");
	CHECK_INT(add(&f, TREE_FILE, "d/e/0/x", NULL), ERR_USAGE);
	CHECK_HAS(f.err.msg, "below something that is no directory");
	CHECK_INT(add(&f, TREE_LINK, "self", "self"), 0);
	CHECK_INT(add(&f, TREE_FILE, "self/x", NULL), ERR_USAGE);
	CHECK_HAS(f.err.msg, "too many links");
	CHECK_INT(add(&f, TREE_FILE, "d/.", NULL), ERR_USAGE);
	CHECK_HAS(f.err.msg, "names a directory");
}

/* Deeper through a link than any path could be. */
/* As Landlock before its ABI 2, whose kernels have no right for this. */
static int refuse_links_between_directories(void)
{
	const struct landlock_ruleset_attr set = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof set, 0);
	if (fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return -errno;
	return close(fd);
}

TEST(hard_links_that_are_refused_become_copies)
{
	FILLING f = begin(100);
	int status = 0;
	if (syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION) <
		1) {
		t_skip("the kernel has no Landlock");
		return;
	}
	const struct tree_entry file = {
		.kind = TREE_FILE, .path = "a/f", .mode = 0755, .bytes = 4, .time = {1000, 0}};
	CHECK_INT(tree_add(f.tree, &file, &f.err), 0);
	CHECK_INT(tree_write(f.tree, "text", 4, 0, &f.err), 0);
	CHECK_INT(add(&f, TREE_LINK, "a/l", "f"), 0);
	pid_t pid = fork();
	if (pid == 0) {
		bool is_good = refuse_links_between_directories() == 0 &&
			linkat(f.fd, "a/f", f.fd, "x", 0) < 0 && errno == EXDEV &&
			add(&f, TREE_HARD_LINK, "b/f", "a/f") == 0 &&
			add(&f, TREE_HARD_LINK, "b/l", "a/l") == 0 &&
			tree_counts(f.tree).bytes == 9;
		_exit(is_good ? 0 : 1);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	struct stat st = look(&f, "b/f");
	CHECK_INT(st.st_size, 4);
	CHECK_INT(st.st_mode, S_IFREG | 0755);
	CHECK_INT(st.st_mtime, 1000);
	CHECK(st.st_ino != look(&f, "a/f").st_ino);
	CHECK(S_ISLNK(look(&f, "b/l").st_mode));
}

TEST(depth)
{
	FILLING f = begin(1000);
	char deep[2 * LAYER_DEPTH_MAX];
	for (size_t i = 0; i < sizeof deep; i++)
		deep[i] = i % 2 ? '/' : 'd';
	deep[sizeof deep - 3] = '\0'; /* one less */
	CHECK_INT(add(&f, TREE_DIR, deep, NULL), 0);
	CHECK_INT(add(&f, TREE_LINK, "l", deep), 0);
	CHECK_INT(add(&f, TREE_FILE, "l/x", NULL), 0);
	CHECK_INT(add(&f, TREE_FILE, "l/a/x", NULL), ERR_USAGE);
	CHECK_HAS(f.err.msg, "too deep");
	CHECK_INT(add(&f, TREE_DIR, "l/a", NULL), 0);
	CHECK_INT(add(&f, TREE_FILE, "l/a/x", NULL), ERR_USAGE);
	CHECK_HAS(f.err.msg, "too deep");
	CHECK_INT(add(&f, TREE_FILE, "d", NULL), 0); /* removes all that */
	CHECK(S_ISREG(look(&f, "d").st_mode));
}

TEST(links_of_links_cost_no_more_than_their_steps)
{
	FILLING f = begin(100000);
	char link[8], text[4096];
	CHECK_INT(add(&f, TREE_DIR, "d", NULL), 0);
	for (int i = 0; i < 39; i++) {
		size_t n = 0;
		while (n < 3000)
			n += (size_t)snprintf(text + n, sizeof text - n, "d/../");
		snprintf(text + n, sizeof text - n, i < 38 ? "l%d" : "d", i + 1);
		snprintf(link, sizeof link, "l%d", i);
		CHECK_INT(add(&f, TREE_LINK, link, text), 0);
	}
	int r = 0, n = 0;
	for (; n < 1000 && r == 0; n++) {
		r = add(&f, TREE_LINK, "l0/x", "y");
		r = r ? r : add(&f, TREE_LINK, "x", "y");
	}
	CHECK_INT(r, ERR_LIMIT);
	CHECK(n > 10 && n < 50);
	CHECK_HAS(f.err.msg, "too many long paths and links");
}

static void on_report(void *arg, const struct unpack_counts *counts)
{
	(void)arg;
	(void)counts;
}

static enum err_code unpack(struct filling *f, const void *data, size_t bytes, uint64_t max_bytes)
{
	struct libarchive lib;
	struct unpack_reply reply;
	const struct unpack_request request = {.max_bytes = max_bytes, .max_entries = 0};
	CHECK_INT(libarchive_load(&lib, &f->err), 0);
	int pair[2];
	CHECK_INT(pipe2(pair, O_CLOEXEC), 0);
	CHECK_INT(write(pair[1], data, bytes), bytes);
	close(pair[1]);
	const struct stream_order order = {.lib = &lib,
		.fd = pair[0],
		.tree = f->tree,
		.request = &request,
		.report = on_report};
	int r = stream_unpack(&order, &reply, &f->err);
	close(pair[0]);
	return r < 0 ? f->err.code : ERR_NONE;
}

TEST(compressions_that_are_not_supported)
{
	static const struct {
		const char *data, *name;
	} rows[] = {
		{"\xfd"
		 "7zXZ\0\0\4",
			"xz"},
		{"BZh91AY&SY\1\2\3", "bzip2"},
		{"\x04\x22M\x18\x64\x40\xa7\x04", "lz4"},
		{"LZIP\1\x0c\1\2\3\4", "lzip"},
	};
	char data[1024], text[128];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		FILLING f = begin(10);
		memset(data, 'x', sizeof data);
		memcpy(data, rows[i].data, i == 0 ? 8 : strlen(rows[i].data));
		CHECK_INT(unpack(&f, data, sizeof data, 1 << 20), ERR_USAGE);
		snprintf(text, sizeof text,
			"this is compressed with %s; tar archives may be compressed with gzip or zstd",
			rows[i].name);
		CHECK_STR(f.err.msg, text);
	}
	FILLING f = begin(10);
	CHECK_INT(unpack(&f, data + 20, sizeof data - 20, 1 << 20), ERR_USAGE);
	CHECK_HAS(f.err.msg, "this is no tar archive");
}

TEST(limits_that_are_as_large_as_numbers_are)
{
	FILLING f = begin(10);
	static const char zeros[10240];
	CHECK_INT(unpack(&f, zeros, sizeof zeros, UINT64_MAX - (64 << 20) + 1), ERR_NONE);
}

TEST(a_limit_of_bytes_has_no_wrong_hint)
{
	FILLING f = begin(10);
	const struct tree_entry e = {.kind = TREE_FILE, .path = "f", .bytes = 2 << 20};
	CHECK(tree_add(f.tree, &e, &f.err) < 0);
	CHECK_INT(f.err.code, ERR_LIMIT);
	CHECK_STR(f.err.msg, "the archive has more than 1 MiB of files");
	CHECK_STR(f.err.hint, "");
}
