/*
 * The front "e2b": the wire of E2B, which has three parts.
 *
 *     control API       sandboxes are made, listed, paused, ended            control.c
 *     envd              processes and files of one sandbox                   process.c, files.c,
 * transfer.c code interpreter  cells of one sandbox                                 code.c
 *
 * A sandbox is a session. Requests to the control API have the token of a principal; requests to a
 * sandbox have only the sandbox's own token, which whoever made it got.
 *
 * Source: e2b-dev/infra, spec/openapi.yml and packages/envd/spec; e2b-dev/code-interpreter,
 * template/server.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/id.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- requests and answers ---- */

void e2b_refuse(struct front_call *c, unsigned status, const char *fmt, ...)
{
	char text[ERR_MSG_BYTES + ERR_HINT_BYTES + 4];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	front_answer(c, status,
		json_pack("{s:i, s:o}", "code", (int)status, "message",
			json_new_text(text, strlen(text))));
}

/* Is the request one of Connect? */
static bool is_rpc(const struct front_call *c)
{
	const char *target = c->x ? http_target(c->x) : "";
	return strstr(target, "/process.Process/") || strstr(target, "/filesystem.Filesystem/");
}

static void fail(struct front_call *c, unsigned status, const struct err *err)
{
	if (is_rpc(c))
		e2b_rpc_fail(c, err);
	else
		e2b_refuse(c, status, "%s%s%s", err->msg, err->hint[0] ? ": " : "", err->hint);
}

bool e2b_read_path(const struct front_call *c, const char *dir, char out[E2B_PATH_BYTES])
{
	const char *target = c->x ? http_target(c->x) : "";
	const char *end = strchr(target, '?'), *at = strstr(target, dir);
	size_t n = 0;
	if (!at || (end && at > end))
		at = "";
	else
		at += strlen(dir);
	while (*at && *at != '?' && n + 1 < E2B_PATH_BYTES) {
		int high = at[0] == '%' ? ascii_hex_value(at[1]) : -1;
		int low = high >= 0 ? ascii_hex_value(at[2]) : -1;
		out[n++] = low >= 0 ? (char)(high * 16 + low) : *at;
		at += low >= 0 ? 3 : 1;
	}
	out[n] = '\0';
	return n + 2 < E2B_PATH_BYTES && strlen(out) == n && utf8_is_valid(out, n);
}

void e2b_make_id(char *out, size_t bytes, const char *prefix)
{
	id_make(out, bytes, prefix);
}

uint64_t e2b_now(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void e2b_date(char out[E2B_DATE_BYTES], uint64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm at;
	char text[E2B_DATE_BYTES - 8];
	(void)gmtime_r(&seconds, &at);
	(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &at);
	snprintf(out, E2B_DATE_BYTES, "%s.%03uZ", text, (unsigned)(ms % 1000));
}

bool e2b_is_secret(const char *right, const char *given)
{
	unsigned char a[DIGEST_RAW_BYTES], b[DIGEST_RAW_BYTES];
	if (!given || !right[0])
		return false;
	digest_raw(a, right, strlen(right));
	digest_raw(b, given, strlen(given));
	return memcmp(a, b, sizeof a) == 0;
}

/* ---- the table of routes ---- */

static void start_health(struct front_call *c)
{
	if (e2b_enter(c, E2B_ENVD_PORT))
		front_answer_empty(c);
}

static void nothing(struct front_call *c)
{
	if (is_rpc(c))
		e2b_rpc_refuse(c, "unimplemented", "there is no such procedure");
	else
		e2b_refuse(c, 404, "there is no such route");
}

/* Those that are open check the token of a sandbox, in e2b_enter(). */
static const struct front_row rows[] = {
	{"POST", "/sandboxes", e2b_start_create},
	{"POST", "/v2/sandboxes", e2b_start_create},
	{"GET", "/sandboxes", e2b_start_list},
	{"GET", "/v2/sandboxes", e2b_start_list},
	{"GET", "/health", start_health, .is_open = true},
	{"GET", "/files", e2b_start_download, .is_open = true, .is_raw = true},
	{"POST", "/files", e2b_start_upload, .is_open = true, .is_raw = true, .is_streamed = true},
	{"GET", "/envs", e2b_start_envs, .is_open = true},
	{"POST", "/execute", e2b_start_execute, .is_open = true},
	{"GET", "/contexts", e2b_start_contexts, .is_open = true},
	{"POST", "/contexts", e2b_start_new_context, .is_open = true},
	{"POST", "/contexts/", e2b_start_context_restart, .is_open = true},
	{"DELETE", "/contexts/", e2b_start_context_end, .is_open = true},
	{"POST", "/process.Process/", e2b_start_process, .is_open = true, .is_raw = true},
	{"POST", "/filesystem.Filesystem/", e2b_start_filesystem, .is_open = true, .is_raw = true},
	{"GET", "/sandboxes/", e2b_start_sandbox},
	{"POST", "/sandboxes/", e2b_start_sandbox_action},
	{"POST", "/v2/sandboxes/", e2b_start_sandbox_action},
	{"PUT", "/sandboxes/", e2b_start_sandbox_put},
	{"DELETE", "/sandboxes/", e2b_start_sandbox_end},
	{NULL, "/", nothing},
};

const struct front_wire front_e2b = {.name = "e2b",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.is_any_type = true,
	.may_be_empty = true,
	.fail = fail,
	.stop = e2b_stop};
