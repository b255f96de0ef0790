/*
 * The front "librechat": the code API of LibreChat, which the npm package @librechat/agents calls.
 * Source: github.com/danny-avila/agents, src/tools; github.com/ClickHouse/code-interpreter,
 * service/src.
 *
 * Programs run in boxes of their own, with the files that the request refers to in /mnt/data. What
 * they leave there is stored by id (librechat_store.c) and can be given to later programs. A file
 * belongs to the caller whose token has stored it; the `kind` and `id` with which the original
 * tells users of one caller apart are not looked at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/front/librechat.h"

#include "serve/front/inside.h"

#include <string.h>

enum { RETRY_S = 5 };

void libre_refuse(struct front_call *c, unsigned status, const char *message)
{
	front_answer(
		c, status, json_pack("{s:o}", "error", json_new_text(message, strlen(message))));
}

static void fail(struct front_call *c, unsigned status, const struct err *err)
{
	if (status == 429)
		front_answer(c, 429,
			json_pack("{s:s, s:o, s:i}", "error", "rate_limited", "message",
				json_new_text(err->msg, strlen(err->msg)), "retry_after_seconds",
				RETRY_S));
	else
		libre_refuse(c, status, status == 404 ? "Not Found" : err->msg);
}

static void start_health(struct front_call *c)
{
	front_answer(c, 200, json_pack("{s:s}", "status", "ok"));
}

/* Programs that call the client's tools are not run. By this word clients know that it is of no use
 * to try again. */
static void start_programmatic(struct front_call *c)
{
	front_answer(c, 501,
		json_pack("{s:s, s:s}", "error", "unsupported_capability", "message",
			"programmatic tool calling is not supported"));
}

static const struct front_row rows[] = {
	{"POST", "/v1/exec", libre_start_exec},
	{"POST", "/v1/exec/programmatic", start_programmatic},
	{"POST", "/v1/upload", libre_start_upload, .is_form = true},
	{"POST", "/v1/upload/batch", libre_start_batch, .is_form = true},
	{"GET", "/v1/health", start_health, .is_open = true},
	{"GET", "/v1/download/", libre_start_download},
	{"GET", "/v1/sessions/", libre_start_object},
	{"GET", "/v1/files/", libre_start_list},
	{"DELETE", "/v1/files/", libre_start_delete},
	{NULL, "/", front_nothing},
};

const struct front_wire front_librechat = {
	.name = "librechat", .rows = rows, .n_rows = ARRAY_LEN(rows), .fail = fail};
