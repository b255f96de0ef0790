/*
 * The runtime for SQL: SQLite, in a driver of our own. The driver is static and needs nothing of
 * the box, if the build has found a static SQLite. If not, it needs libsqlite3 and libc from /usr
 * of the host or from the image.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/installation.h"
#include "runtime/start.h"

static int sql_start(const struct runtime_request *req, struct runtime_start *out, struct err *err)
{
	if (req->interpreter)
		return err_fail(err, ERR_USAGE, "leave the option out",
			"--python %s: sql has no interpreter to choose", req->interpreter);
	int r = runtime_bind_driver(req, out, "sql", "/retort/sql", err);
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
