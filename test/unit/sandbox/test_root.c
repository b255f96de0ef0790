/* Where a volume may go. SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/root.h"

#include "t.h"

#include <errno.h>
#include <string.h>

static void check_each(const char *const *paths, size_t n, int want, const char *why)
{
	for (size_t i = 0; i < n; i++) {
		struct err err = {0};
		if (!CHECK_INT(root_check_dst(paths[i], &err), want))
			t_check_str(paths[i], "(the path)", __FILE__, __LINE__, "of");
		CHECK_INT(err.code, want < 0 ? ERR_USAGE : ERR_NONE);
		if (want < 0) {
			CHECK_HAS(err.msg, why);
			CHECK_HAS(err.hint, "/data");
		}
	}
}

TEST(places_for_volumes)
{
	static const char *const rows[] = {"/data", "/a", "/data/deep/er", "/.hidden", "/...",
		"/..a", "/a..", "/home/user/data", "/home/user/.config", "/home/other", "/tmp/x",
		"/var/lib/x", "/etc/app.conf", "/usr/local/x", "/srv", "/opt", "/mnt", "/root",
		"/devices", "/procs", "/proc2/x", "/system", "/etcetera", "/binary", "/libs",
		"/data\n", "/d\xff"};
	check_each(rows, ARRAY_LEN(rows), 0, NULL);
}

TEST(places_of_the_box)
{
	static const char *const rows[] = {"/proc", "/proc/self", "/proc/sys/kernel", "/dev",
		"/dev/shm", "/dev/shm/x", "/dev/null", "/sys", "/sys/fs/cgroup", "/etc", "/usr",
		"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/home", "/home/user",
		"/tmp", "/var", "/retort", "/retort/python"};
	check_each(rows, ARRAY_LEN(rows), -EINVAL, "belongs to the box");
}

TEST(no_plain_paths)
{
	static const char *const rows[] = {"/", "//", "//data", "/data/", "/data//x", "/.", "/..",
		"/./data", "/data/.", "/data/..", "/data/../etc", "/../etc", "/a/./b",
		"/proc/../data", "/data/x/../../../etc"};
	check_each(rows, ARRAY_LEN(rows), -EINVAL, "not a plain path");
}

TEST(not_absolute)
{
	static const char *const rows[] = {"", "data", ".", "..", "../x", "~/x", " /data"};
	check_each(rows, ARRAY_LEN(rows), -EINVAL, "not absolute");
}

TEST(lengths)
{
	char path[WIRE_PATH_BYTES];
	struct err err;
	memset(path, 'a', sizeof path);
	path[0] = '/';
	path[256] = '\0';
	CHECK_INT(root_check_dst(path, &err), 0);
	path[256] = 'a';
	path[257] = '\0';
	CHECK_INT(root_check_dst(path, &err), -EINVAL);
	for (size_t i = 0; i < sizeof path; i++)
		path[i] = i % 2 ? 'a' : '/';
	path[sizeof path - 1] = '\0';
	path[sizeof path - 2] = 'b';
	CHECK_INT(root_check_dst(path, &err), 0);
}
