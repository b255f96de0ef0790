/* Files that come out of a box, and directories of our own. SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/outdir.h"

#include "base/fd.h"
#include "cli/host/xdg.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void make_dir(char out[64])
{
	strcpy(out, "/tmp/retort-test-XXXXXX");
	CHECK(mkdtemp(out) != NULL);
}

static void remove_dir(const char *dir)
{
	char line[128];
	snprintf(line, sizeof line, "rm -rf %s", dir);
	CHECK_INT(system(line), 0);
}

TEST(files_are_written_below)
{
	char dir[64], path[128], got[16] = "";
	struct err err;
	make_dir(dir);
	int fd = outdir_open(dir, &err);
	CHECK(fd >= 0);
	CHECK_INT(outdir_put(fd, "a/b/c.txt", "one", 3, NULL, &err), 0);
	CHECK_INT(outdir_put(fd, "a/b/c.txt", "two!", 4, NULL, &err), 0);
	snprintf(path, sizeof path, "%s/a/b/c.txt", dir);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_INT(read(file, got, sizeof got - 1), 4);
	CHECK_STR(got, "two!");
	fd_close(&file);
	fd_close(&fd);
	remove_dir(dir);
}

static struct stat stat_below(int fd, const char *path)
{
	struct stat st = {0};
	CHECK_INT(fstatat(fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

TEST(a_second_name_is_a_link_of_what_was_written)
{
	char dir[64];
	struct err err;
	struct outdir_file file;
	make_dir(dir);
	int fd = outdir_open(dir, &err);
	CHECK_INT(outdir_put(fd, "a/one", "1", 1, &file, &err), 0);
	CHECK_INT(outdir_put(fd, "b/two", "2", 1, NULL, &err), 0);
	for (int i = 0; i < 2; i++)
		CHECK_INT(outdir_link(fd, "a/one", &file, "b/two"), 0);
	CHECK_INT(stat_below(fd, "b/two").st_ino, file.ino);
	CHECK_INT(stat_below(fd, "a/one").st_nlink, 2);
	/* Of a file that somebody has replaced it is none, and what stands there stays. */
	CHECK_INT(outdir_put(fd, "a/one", "3", 1, NULL, &err), 0);
	CHECK_INT(outdir_link(fd, "a/one", &file, "b/two"), -ESTALE);
	CHECK_INT(stat_below(fd, "b/two").st_ino, file.ino);
	CHECK_INT(outdir_link(fd, "a/none", &file, "b/two"), -ENOENT);
	CHECK_INT(outdir_link(fd, "a/one", &file, "../two"), -EXDEV);
	CHECK_INT(outdir_link(fd, "../one", &file, "b/two"), -EXDEV);
	fd_close(&fd);
	remove_dir(dir);
}

TEST(zeros_are_holes)
{
	enum { BYTES = (1 << 20) + 7 };
	static char data[BYTES], got[BYTES];
	char dir[64];
	struct err err;
	make_dir(dir);
	int fd = outdir_open(dir, &err);
	CHECK_INT(outdir_put(fd, "zeros", data, BYTES, NULL, &err), 0);
	CHECK_INT(stat_below(fd, "zeros").st_size, BYTES);
	CHECK_INT(stat_below(fd, "zeros").st_blocks, 0);
	data[0] = data[5000] = data[500000] = data[BYTES - 1] = 'x';
	CHECK_INT(outdir_put(fd, "some", data, BYTES, NULL, &err), 0);
	CHECK(stat_below(fd, "some").st_blocks < 200);
	int file = openat(fd, "some", O_RDONLY | O_CLOEXEC);
	CHECK_INT(read(file, got, BYTES), BYTES);
	CHECK(memcmp(got, data, BYTES) == 0);
	fd_close(&file);
	fd_close(&fd);
	remove_dir(dir);
}

TEST(no_path_leads_out)
{
	static const char *const paths[] = {
		"../x", "a/../../x", "/x", "", "..", ".", "a/", "link/x", "a//x"};
	char dir[64], link[128], outside[64];
	struct err err;
	make_dir(dir);
	make_dir(outside);
	snprintf(link, sizeof link, "%s/link", dir);
	CHECK_INT(symlink(outside, link), 0);
	int fd = outdir_open(dir, &err);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		CHECK(outdir_put(fd, paths[i], "x", 1, NULL, &err) < 0);
	CHECK_INT(rmdir(outside), 0);
	/* A link that stands where a file goes is replaced, not followed. */
	CHECK_INT(outdir_put(fd, "link", "x", 1, NULL, &err), 0);
	struct stat st;
	CHECK_INT(lstat(link, &st), 0);
	CHECK(S_ISREG(st.st_mode));
	fd_close(&fd);
	remove_dir(dir);
	CHECK(outdir_open("/proc/nonexistent/x", &err) < 0);
	CHECK_INT(err.code, ERR_ACCESS);
}

TEST(our_directories_are_ours_alone)
{
	char dir[64], path[PATH_MAX], want[PATH_MAX];
	struct err err;
	struct stat st;
	make_dir(dir);
	CHECK_INT(setenv("XDG_STATE_HOME", dir, 1), 0);
	CHECK_INT(xdg_state_dir(path, &err), 0);
	snprintf(want, sizeof want, "%s/retort", dir);
	CHECK_STR(path, want);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_mode & 07777, 0700);
	CHECK_INT(xdg_state_dir(path, &err), 0);
	CHECK_INT(chmod(path, 0750), 0);
	CHECK(xdg_state_dir(path, &err) < 0);
	CHECK_INT(err.code, ERR_ACCESS);
	CHECK_HAS(err.msg, "0750");
	CHECK_INT(rmdir(path), 0);
	CHECK_INT(symlink("/tmp", want), 0);
	CHECK(xdg_state_dir(path, &err) < 0);
	CHECK_INT(err.code, ERR_ACCESS);
	CHECK_INT(unlink(want), 0);
	/* A relative path does not count. */
	CHECK_INT(setenv("XDG_STATE_HOME", "relative", 1), 0);
	CHECK_INT(setenv("HOME", dir, 1), 0);
	CHECK_INT(xdg_state_dir(path, &err), 0);
	CHECK_HAS(path, "/.local/state/retort");
	CHECK_INT(unsetenv("XDG_STATE_HOME"), 0);
	CHECK_INT(unsetenv("HOME"), 0);
	CHECK(xdg_state_dir(path, &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	CHECK_INT(setenv("XDG_RUNTIME_DIR", dir, 1), 0);
	CHECK_INT(xdg_runtime_dir(path, &err), 0);
	CHECK_STR(path, want);
	if (geteuid() == 0) {
		CHECK_INT(chown(path, 65534, 65534), 0);
		CHECK(xdg_runtime_dir(path, &err) < 0);
		CHECK_HAS(err.msg, "65534");
	}
	remove_dir(dir);
}
