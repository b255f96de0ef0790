/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/start.h"
#include "runtime/still.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "/retort/still/still.so"

static const char preload[] = "LD_PRELOAD=";

/* Return the caller's own LD_PRELOAD, or "". Our library is loaded before it. If the caller sets
 * the variable twice, the last value counts. */
static const char *their_preload(const struct runtime_request *req)
{
	for (size_t i = req->n_env; i > 0; i--)
		if (strncmp(req->env[i - 1], preload, sizeof preload - 1) == 0)
			return req->env[i - 1] + sizeof preload - 1;
	return "";
}

/* Check that the library exists. Programs start even without a preloaded library, but they would
 * get real times and random numbers. */
static int check_library(const char *dir, struct err *err)
{
	char path[PATH_MAX + sizeof "/still.so"];
	snprintf(path, sizeof path, "%s/still.so", dir);
	return access(path, R_OK) == 0 ? 0 : err_sys(err, ERR_BOX, errno, "%s", path);
}

static int add_orders(const struct runtime_request *req, struct runtime_start *out, struct err *err)
{
	int64_t start_ns = req->has_time ? req->time_ns : STILL_START_NS;
	char key[17] = "-";
	if (req->has_seed)
		snprintf(key, sizeof key, "%016" PRIx64, req->seed);
	return runtime_add(
		out->envp, RUNTIME_ENV_MAX, err, "RETORT_STILL=%s:%" PRId64 ":0", key, start_ns);
}

int still_add(const struct runtime_request *req, struct runtime_start *out, struct err *err)
{
	char path[PATH_MAX];
	const char *theirs = their_preload(req);
	if (!req->has_seed && !req->has_time)
		return 0;
	int n = snprintf(path, sizeof path, "%s/still", req->drivers_dir);
	if (n < 0 || n >= PATH_MAX)
		return err_set(err, ERR_LIMIT, "path is too long: %.100s…", req->drivers_dir);
	int r = check_library(path, err);
	if (r == 0)
		r = runtime_bind(out, path, "/retort/still", err);
	if (r < 0)
		return err_hint(err, "install retort again: its parts must stay together"), r;
	r = runtime_add(out->envp, RUNTIME_ENV_MAX, err, "%s" LIBRARY "%s%s", preload,
		theirs[0] ? ":" : "", theirs);
	out->is_fixed = req->has_seed;
	return r < 0 ? r : add_orders(req, out, err);
}

void still_session(const struct runtime_request *req, char out[STILL_SESSION_BYTES])
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	enum { N_DIGITS = 10 };
	if (!req->has_seed) {
		snprintf(out, STILL_SESSION_BYTES, "%s", req->session);
		return;
	}
	strcpy(out, "s-");
	for (int i = 0; i < N_DIGITS; i++)
		out[2 + i] = digits[req->seed >> (5 * (N_DIGITS - 1 - i)) & 31];
	out[2 + N_DIGITS] = '\0';
}
