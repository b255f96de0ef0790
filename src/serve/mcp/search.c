/* The tool search_tools, which searches the functions that code in boxes can call.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/text/printable.h"
#include "base/attr.h"
#include "serve/mcp/job.h"
#include "serve/mcp/result.h"
#include "serve/mcp/tool_table.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 4 << 20, SHOWN_CHARACTERS = 10000 };

static void add_schema(struct buf *out, const json_t *tool, const char *name)
{
	const json_t *schema = json_object_get(tool, name);
	char *text = schema ? json_dumps(schema, JSON_COMPACT) : NULL;
	if (text)
		buf_addf(out, "%s: %s\n", name, text);
	free(text);
}

static void add_tool(struct buf *out, const json_t *tool, const char *detail)
{
	const char *text = param_text(tool, "description", "");
	bool is_full = strcmp(detail, "full") == 0;
	if (strcmp(detail, "names") == 0) {
		buf_addf(out, "%s\n", param_text(tool, "name", ""));
		return;
	}
	buf_addf(out, "retort.%s\n", param_text(tool, "signature", ""));
	size_t bytes = is_full ? strlen(text) : strcspn(text, "\n");
	if (bytes > 0) {
		buf_add(out, "    ");
		buf_append(out, text, bytes);
		buf_add(out, "\n");
	}
	if (!json_is_true(json_object_get(tool, "read_only")))
		buf_add(out, "    It can change something: a person may be asked.\n");
	if (!is_full)
		return;
	add_schema(out, tool, "input_schema");
	add_schema(out, tool, "output_schema");
}

static void on_found(struct mcp_job *job, const json_t *result, const struct err *err)
{
	cleanup_buf struct buf all = BUF_INIT(TEXT_BYTES), plain = BUF_INIT(TEXT_BYTES),
			       out = BUF_INIT(TEXT_BYTES);
	const json_t *tools = json_object_get(result, "tools"), *one;
	size_t i;
	if (!result) {
		mcp_job_refuse(job, err);
		return;
	}
	json_array_foreach(tools, i, one)
		add_tool(&all, one, param_text(job->arguments, "detail", "signatures"));
	json_array_foreach(json_object_get(result, "servers"), i, one)
	{
		const char *why = param_text(one, "error", NULL);
		if (why)
			buf_addf(&all, "not known: %s\n", why);
	}
	if (json_array_size(tools) == 0)
		buf_add(&all, "nothing found: try other words\n");
	(void)printable_add(&plain, buf_str(&all), all.bytes);
	(void)printable_cut(&out, buf_str(&plain), plain.bytes, SHOWN_CHARACTERS,
		"a smaller limit shows the best");
	mcp_job_give(job, mcp_result_text(buf_str(&out), out.bytes));
}

void mcp_search_tools(struct mcp_call *call)
{
	struct mcp_job *job = mcp_job_of_tool(call);
	if (!job)
		return;
	json_t *params = json_pack("{s:s, s:I}", "query", param_text(job->arguments, "query", ""),
		"limit", (json_int_t)param_count(job->arguments, "limit", MCP_FOUND));
	mcp_job_do(job, "tool.list", params, on_found);
}
