/* Headers of the Model Context Protocol against bodies. SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/head.h"

#include "t.h"

#define META(version)                                                                              \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version                        \
	"\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define CALL                                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" META(               \
		"2026-07-28") ",\"name\":\"run\\u00e9\"}}"

static bool is_modern(struct mcp_head head, const char *body)
{
	json_t *json = json_loads(body, 0, NULL);
	bool is = mcp_head_is_modern(&head, json);
	CHECK(json != NULL);
	json_decref(json);
	return is;
}

TEST(the_era_is_told_by_body_and_headers)
{
	static const char list[] = "{\"id\":1,\"method\":\"tools/list\"}";
	static const char init[] = "{\"id\":1,\"method\":\"initialize\",\"params\":{}}";
	CHECK(is_modern((struct mcp_head){0}, CALL));
	CHECK(is_modern((struct mcp_head){.version = "2026-07-28"}, list));
	CHECK(is_modern((struct mcp_head){.version = "2026-07-28", .session = "x"}, list));
	CHECK(is_modern((struct mcp_head){.version = "2099-01-01"}, list));
	CHECK(is_modern((struct mcp_head){.method = "tools/list"}, list));
	CHECK(!is_modern((struct mcp_head){0}, list));
	CHECK(!is_modern((struct mcp_head){.version = "2025-06-18"}, list));
	CHECK(!is_modern((struct mcp_head){.session = "x"}, list));
	CHECK(!is_modern((struct mcp_head){.version = "2099-01-01"}, init));
	CHECK(!is_modern((struct mcp_head){0}, "[]"));
}

TEST(headers_repeat_what_the_body_says)
{
	const struct mcp_head good = {
		.version = "2026-07-28", .method = "tools/call", .name = "=?base64?cnVuw6k=?="};
	struct mcp_head bad[6];
	static const char *const has[] = {"MCP-Protocol-Version is missing",
		"MCP-Protocol-Version differs", "Mcp-Method is missing", "Mcp-Method differs",
		"Mcp-Name is missing", "Mcp-Name differs"};
	json_t *body = json_loads(CALL, 0, NULL);
	struct err err;
	CHECK_INT(mcp_head_check(&good, body, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		bad[i] = good;
	bad[0].version = NULL;
	bad[1].version = "2025-11-25";
	bad[2].method = NULL;
	bad[3].method = "TOOLS/CALL";
	bad[4].name = NULL;
	bad[5].name = "run";
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK_INT(mcp_head_check(&bad[i], body, &err), -1);
		CHECK_HAS(err.msg, has[i]);
	}
	json_decref(body);
}

TEST(values_may_be_written_as_base64)
{
	CHECK(mcp_head_is("plain", "plain"));
	CHECK(!mcp_head_is("plain", "Plain"));
	CHECK(mcp_head_is("=?base64?YWI=?=", "ab"));
	CHECK(mcp_head_is("=?BASE64?YWI=?=", "ab"));
	CHECK(!mcp_head_is("=?base64?YWI=?=", "a"));
	CHECK(!mcp_head_is("=?base64?!!?=", "ab"));
	CHECK(mcp_head_is(" \tplain \t", "plain"));
	CHECK(mcp_head_is(" =?base64?YWI=?= ", "ab"));
	CHECK(!mcp_head_is("  ", "x") && mcp_head_is(" ", "") && !mcp_head_is("pl ain", "plain"));
	CHECK(mcp_head_is("=?base64?", "=?base64?"));
	CHECK(mcp_head_is("=?base64?=", "=?base64?="));
	CHECK(!mcp_head_is("=?base64?YQBi?=", "a"));
}
