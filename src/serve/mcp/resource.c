/* The resources that clients can read: files of sessions, and outputs of runs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/job.h"
#include "serve/mcp/result.h"
#include "serve/mcp/tool_table.h"

#include "base/ascii.h"
#include "base/json.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { OUTPUT_MAX_BYTES = 1 << 20 };

/* Decode percent escapes in place: "a%20b" becomes "a b". Returns: false if an escape is invalid,
 * or if the result contains NUL or is not UTF-8. */
static bool unescape(char *text)
{
	char *to = text;
	for (const char *at = text; *at; at++) {
		int high = *at == '%' ? ascii_hex_value(at[1]) : -1,
		    low = high >= 0 ? ascii_hex_value(at[2]) : -1;
		if (*at == '%' && (low < 0 || (high == 0 && low == 0)))
			return false;
		*to++ = (char)(low >= 0 ? high << 4 | low : *at);
		at += low >= 0 ? 2 : 0;
	}
	*to = '\0';
	return utf8_is_valid(text, (size_t)(to - text));
}

static void give_contents(struct mcp_job *job, const char *mime, const char *kind, json_t *data)
{
	json_t *one = json_pack(
		"{s:s, s:s, s:O*}", "uri", mcp_call_name(job->call), "mimeType", mime, kind, data);
	mcp_job_give(job, json_pack("{s:[o], s:i}", "contents", one, "ttlMs", 0));
}

/* ---- retort://session/{id}/files/{+path} ---- */

static void on_file(struct mcp_job *job, const json_t *file, const struct err *err)
{
	(void)err;
	bool is_text = strcmp(param_text(file, "encoding", ""), "utf-8") == 0;
	if (file)
		give_contents(job, mcp_mime_of(job->text, is_text), is_text ? "text" : "blob",
			json_object_get(file, "content"));
	else
		mcp_job_no_resource(job);
}

void mcp_resource_file(struct mcp_call *call)
{
	static const char between[] = "/files/";
	struct mcp_job *job = mcp_job_new(call, NULL, 0);
	if (!job)
		return;
	char *match = job->text = strdup(mcp_call_match(call));
	char *path = match ? strstr(match, between) : NULL;
	if (!path || path == match || !path[strlen(between)]) {
		mcp_job_no_resource(job);
		return;
	}
	*path = '\0';
	path += strlen(between);
	if (!unescape(path)) {
		mcp_job_no_resource(job);
		return;
	}
	json_t *params = json_pack("{s:s, s:s}", "session", match, "path", path);
	memmove(match, path, strlen(path) + 1);
	mcp_job_do(job, "file.read", params, on_file);
}

/* ---- retort://run/{run_id}/{stream} ---- */

static void on_output(struct mcp_job *job, const json_t *part, const struct err *err)
{
	(void)err;
	if (part)
		give_contents(job, "text/plain", "text", json_object_get(part, "text"));
	else
		mcp_job_no_resource(job);
}

void mcp_resource_run(struct mcp_call *call)
{
	struct mcp_job *job = mcp_job_new(call, NULL, 0);
	if (!job)
		return;
	char *match = job->text = strdup(mcp_call_match(call));
	char *stream = match ? strchr(match, '/') : NULL;
	if (!stream) {
		mcp_job_no_resource(job);
		return;
	}
	*stream++ = '\0';
	mcp_job_do(job, "step.output",
		json_pack("{s:s, s:s, s:i}", "run", match, "stream", stream, "limit",
			OUTPUT_MAX_BYTES),
		on_output);
}

/* ---- resources/list: the files of the session "default" ---- */

static void on_listed(struct mcp_job *job, const json_t *result, const struct err *err)
{
	json_t *list = json_array(), *file;
	size_t i;
	/* If the session does not exist, respond with an empty list. */
	(void)err;
	json_array_foreach(json_object_get(result, "files"), i, file)
	{
		const char *path = param_text(file, "path", "");
		json_add_new(list,
			json_pack("{s:o, s:s, s:O*, s:O*}", "uri", mcp_file_uri("default", path),
				"name", path, "mimeType", json_object_get(file, "mime"), "size",
				json_object_get(file, "size")));
	}
	mcp_job_give(job, json_pack("{s:o, s:i}", "resources", list, "ttlMs", 0));
}

void mcp_resource_list(struct mcp_call *call)
{
	struct mcp_job *job;
	/* Listing files is no reason to start an engine. */
	if (!mcp_tools_is_open(mcp_call_arg(call)))
		mcp_call_give(call, json_pack("{s:[], s:i}", "resources", "ttlMs", 0));
	else if ((job = mcp_job_new(call, NULL, 0)))
		mcp_job_do(job, "file.list", json_pack("{s:s}", "session", "default"), on_listed);
}
