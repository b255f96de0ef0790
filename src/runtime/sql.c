/*
 * The runtime for SQL: SQLite, in a driver of our own. The driver needs libsqlite3 and libc. A box
 * has both from /usr of the host or, with --rootfs, from that root file system.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/attr.h"
#include "runtime/installation.h"
#include "runtime/start.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Check that the root file system has the library. Without it the user would only see a message
 * of the dynamic loader. */
static int check_rootfs(const char *rootfs, struct err *err)
{
	static const char *const places[] = {"usr/lib/libsqlite3.so.0", "usr/lib64/libsqlite3.so.0",
		"usr/lib/*/libsqlite3.so.0", "lib/*/libsqlite3.so.0"};
	char pattern[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		glob_t found = {0};
		snprintf(pattern, sizeof pattern, "%s/%s", rootfs, places[i]);
		bool is_there = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
		globfree(&found);
		if (is_there)
			return 0;
	}
	return err_fail(err, ERR_RUNTIME, "install it there (Debian: libsqlite3-0)",
		"no libsqlite3.so.0 in %s", rootfs);
}

static int sql_start(const struct runtime_request *req, struct runtime_start *out, struct err *err)
{
	if (req->interpreter)
		return err_fail(err, ERR_USAGE, "leave the option out",
			"--python %s: sql has no interpreter to choose", req->interpreter);
	int r = req->rootfs ? check_rootfs(req->rootfs, err) : 0;
	if (r < 0)
		return r;
	r = runtime_bind_driver(req, out, "sql", "/retort/sql", err);
	if (r < 0)
		return r;
	r = runtime_add(out->argv, RUNTIME_ARGS_MAX, err, "/retort/sql/retort-sql");
	return r < 0 ? r : runtime_add_environment(req, NULL, 0, out, err);
}

const struct runtime runtime_sql = {
	.name = "sql",
	.endings = "|sql|",
	.carry = CARRY_FILE,
	.words = "|sqlite3|sqlite|",
	.start = sql_start,
};
