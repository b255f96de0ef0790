/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/head.h"

#include "base/attr.h"
#include "base/base64.h"
#include "base/buf.h"
#include "serve/mcp/server.h"

#include <string.h>
#include <strings.h>

enum { VALUE_MAX_BYTES = 64 << 10 };

static const char version_key[] = "io.modelcontextprotocol/protocolVersion";

static const json_t *params_of(const json_t *body)
{
	return json_object_get(body, "params");
}

static const char *body_version(const json_t *body)
{
	const json_t *meta = json_object_get(params_of(body), "_meta");
	return json_string_value(json_object_get(meta, version_key));
}

static bool is_old(const char *version)
{
	return mcp_version_era(version) == MCP_LEGACY;
}

bool mcp_head_is_modern(const struct mcp_head *head, const json_t *body)
{
	const char *said = body_version(body);
	const char *method = json_string_value(json_object_get(body, "method"));
	if (said)
		return true;
	if (method && strcmp(method, "initialize") == 0)
		return false;
	return head->version ? !is_old(head->version) : head->method && !head->session;
}

bool mcp_head_is(const char *text, const char *value)
{
	static const char begin[] = "=?base64?", end[] = "?=", blank[] = " \t";
	size_t n_begin = strlen(begin), n_end = strlen(end);
	text += strspn(text, blank);
	size_t bytes = strlen(text);
	while (bytes > 0 && strchr(blank, text[bytes - 1]))
		bytes--;
	cleanup_buf struct buf raw = BUF_INIT(VALUE_MAX_BYTES);
	struct err err;
	if (bytes < n_begin + n_end || strncasecmp(text, begin, n_begin) != 0 ||
		strncmp(text + bytes - n_end, end, n_end) != 0)
		return strlen(value) == bytes && strncmp(text, value, bytes) == 0;
	return base64_read(&raw, text + n_begin, bytes - n_begin - n_end, &err) == 0 &&
		raw.bytes == strlen(value) && memcmp(buf_str(&raw), value, raw.bytes) == 0;
}

static int check(const char *header, const char *text, const char *value, struct err *err)
{
	if (!text)
		(void)err_set(err, ERR_USAGE, "the header %s is missing", header);
	else if (!mcp_head_is(text, value))
		(void)err_set(err, ERR_USAGE, "the header %s differs from the body", header);
	else
		return 0;
	return -1;
}

/* Return the name of the member of params that the header Mcp-Name repeats. Returns: NULL if the
 * method has no such member. */
static const char *named_by(const char *method)
{
	static const struct {
		const char *method, *member;
	} rows[] = {{"tools/call", "name"}, {"prompts/get", "name"}, {"resources/read", "uri"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].method, method) == 0)
			return rows[i].member;
	return NULL;
}

int mcp_head_check(const struct mcp_head *head, const json_t *body, struct err *err)
{
	const char *method = json_string_value(json_object_get(body, "method"));
	const char *version = body_version(body);
	const char *member = method ? named_by(method) : NULL;
	const char *name =
		member ? json_string_value(json_object_get(params_of(body), member)) : NULL;
	if (version && check("MCP-Protocol-Version", head->version, version, err) < 0)
		return -1;
	if (method && check("Mcp-Method", head->method, method, err) < 0)
		return -1;
	return name ? check("Mcp-Name", head->name, name, err) : 0;
}
