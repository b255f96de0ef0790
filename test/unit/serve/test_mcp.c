/* The Model Context Protocol without a transport: both eras, what they have in common, and what
 * clients get wrong. SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/seal.h"

#include "mcp_bench.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(struct mcp_bench *b, const char *text)
{
	(void)mcp_bench_say(b, text, strlen(text));
}

/* What was said since the last time, as text with sorted keys; one message per line. */
static const char *heard(struct mcp_bench *b)
{
	static char text[256 << 10];
	size_t i, at = 0;
	json_t *message;
	text[0] = '\0';
	json_array_foreach(b->said, i, message)
	{
		char *line = json_dumps(message, JSON_COMPACT | JSON_SORT_KEYS);
		at += (size_t)snprintf(text + at, sizeof text - at, "%s\n", line);
		free(line);
	}
	(void)json_array_clear(b->said);
	return text;
}

static int n_lines(const char *text)
{
	int n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* ---- the handshake ---- */

TEST(a_handshake_takes_the_clients_revision)
{
	static const char *const versions[] = {
		"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		char text[512], want[64];
		MCP_BENCH b;
		mcp_bench_open(&b);
		snprintf(text, sizeof text, INITIALIZE("%s", "{}"), versions[i]);
		snprintf(want, sizeof want, "\"protocolVersion\":\"%s\"", versions[i]);
		say(&b, text);
		const char *got = heard(&b);
		CHECK_HAS(got, want);
		CHECK_HAS(got, "\"id\":0");
		CHECK_HAS(got, "\"instructions\":\"use it\"");
		CHECK_HAS(got, "\"serverInfo\":{\"name\":\"t\",\"version\":\"1\"}");
		CHECK_HAS(got, "\"tools\":{\"listChanged\":true}");
		CHECK(!strstr(got, "resultType"));
	}
}

TEST(an_unknown_revision_is_answered_with_ours)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, INITIALIZE("2099-01-01", "{}"));
	CHECK_HAS(heard(&b), "\"protocolVersion\":\"2025-11-25\"");
	say(&b, INITIALIZE("2026-07-28", "{}"));
	CHECK_HAS(heard(&b), "\"protocolVersion\":\"2025-11-25\"");
	say(&b, REQUEST("1", "initialize", "{}"));
	CHECK_HAS(heard(&b), "\"code\":-32602");
}

TEST(keys_in_any_order_and_ids_of_all_kinds)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, "{\"method\":\"ping\",\"id\":0,\"jsonrpc\":\"2.0\"}");
	CHECK_STR(heard(&b), "{\"id\":0,\"jsonrpc\":\"2.0\",\"result\":{}}\n");
	say(&b, "{\"id\":\"\",\"jsonrpc\":\"2.0\",\"method\":\"ping\"}");
	CHECK_STR(heard(&b), "{\"id\":\"\",\"jsonrpc\":\"2.0\",\"result\":{}}\n");
	say(&b, "{\"id\":null,\"jsonrpc\":\"2.0\",\"method\":\"ping\"}");
	CHECK_HAS(heard(&b), "\"code\":-32600");
}

/* ---- without state ---- */

TEST(discovery_says_what_is_there)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, REQUEST("\"d\"", "server/discover", "{" MODERN "}"));
	const char *got = heard(&b);
	CHECK_HAS(got, "\"supportedVersions\":[\"2026-07-28\"]");
	CHECK_HAS(got, "\"resultType\":\"complete\"");
	CHECK_HAS(got, "\"ttlMs\":1000");
	CHECK_HAS(got, "\"cacheScope\":\"private\"");
	CHECK_HAS(got, "\"" META_KEY "serverInfo\":{\"name\":\"t\",\"version\":\"1\"}");
}

TEST(every_modern_request_says_revision_and_capabilities)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b,
		REQUEST("1", "tools/list",
			"{\"_meta\":{\"" META_KEY "protocolVersion\":\"2026-07-28\"}}"));
	CHECK_HAS(heard(&b), "\"code\":-32602");
	say(&b, REQUEST("1", "tools/list", "{\"_meta\":{\"" META_KEY "clientCapabilities\":{}}}"));
	CHECK_HAS(heard(&b), "\"code\":-32602");
	say(&b, REQUEST("1", "server/discover", "{}"));
	CHECK_HAS(heard(&b), "\"code\":-32602");
	say(&b,
		REQUEST("1", "tools/list",
			"{\"_meta\":{\"" META_KEY "protocolVersion\":\"2099-01-01\",\"" META_KEY
			"clientCapabilities\":{}}}"));
	CHECK_HAS(heard(&b),
		"\"error\":{\"code\":-32022,\"data\":{\"requested\":\"2099-01-01\",\"supported\":["
		"\"2026-07-28\"]}");
}

TEST(what_an_era_lacks_is_no_method)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, REQUEST("1", "ping", "{" MODERN "}"));
	CHECK_HAS(heard(&b), "\"code\":-32601");
	say(&b, REQUEST("2", "no/such", "{" MODERN "}"));
	CHECK_HAS(heard(&b), "\"code\":-32601");
	say(&b, REQUEST("3", "no/such", "{}"));
	CHECK_HAS(heard(&b), "\"code\":-32601");
}

TEST(eras_may_be_mixed)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, INITIALIZE("2025-06-18", "{}"));
	(void)heard(&b);
	say(&b,
		REQUEST("1", "tools/call",
			"{" MODERN ",\"name\":\"echo\",\"arguments\":{\"text\":\"m\"}}"));
	const char *got = heard(&b);
	CHECK_HAS(got, "\"text\":\"m\"");
	CHECK_HAS(got, "\"resultType\":\"complete\"");
	CHECK(!strstr(got, "ttlMs"));
	say(&b, REQUEST("2", "tools/call", "{\"name\":\"echo\",\"arguments\":{\"text\":\"l\"}}"));
	got = heard(&b);
	CHECK_HAS(got, "\"text\":\"l\"");
	CHECK(!strstr(got, "resultType"));
}

/* ---- calls ---- */

TEST(wrong_calls_say_what_is_wrong)
{
	static const struct {
		const char *request, *has;
	} rows[] = {
		{REQUEST("1", "tools/call", "{\"name\":\"nope\"}"), "unknown tool: nope"},
		{REQUEST("1", "tools/call", "{}"), "name: missing"},
		{REQUEST("1", "tools/call", "{\"name\":5}"), "name: missing"},
		{REQUEST("1", "tools/call", "{\"name\":\"echo\",\"arguments\":[]}"),
			"arguments: not an object"},
		{REQUEST("1", "prompts/get", "{\"name\":\"nope\"}"), "unknown prompt: nope"},
		{REQUEST("1", "prompts/get", "{\"name\":\"greet\"}"), "missing argument: who"},
		{REQUEST("1", "resources/read", "{\"uri\":\"t://nope\"}"),
			"resource not found: t://nope"},
		{REQUEST("1", "tools/list", "{\"cursor\":\"x\"}"), "cursor"},
		{REQUEST("1", "logging/setLevel", "{\"level\":\"loud\"}"), "level"},
		{REQUEST("1", "resources/subscribe", "{}"), "uri: missing"},
	};
	MCP_BENCH b;
	mcp_bench_open(&b);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		say(&b, rows[i].request);
		const char *got = heard(&b);
		CHECK_HAS(got, rows[i].has);
		CHECK_HAS(got, "\"error\"");
	}
}

TEST(a_resource_that_is_not_there_has_the_code_of_its_era)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, REQUEST("1", "resources/read", "{\"uri\":\"t://x\"}"));
	CHECK_HAS(heard(&b), "\"code\":-32002,\"data\":{\"uri\":\"t://x\"}");
	say(&b, REQUEST("1", "resources/read", "{" MODERN ",\"uri\":\"t://x\"}"));
	CHECK_HAS(heard(&b), "\"code\":-32602,\"data\":{\"uri\":\"t://x\"}");
}

TEST(templates_match_between_their_ends)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, REQUEST("1", "resources/read", "{\"uri\":\"t://item/a/b/data\"}"));
	CHECK_HAS(heard(&b), "\"text\":\"a/b\"");
	say(&b, REQUEST("1", "resources/read", "{\"uri\":\"t://static\"}"));
	CHECK_HAS(heard(&b), "\"text\":\"static\"");
	say(&b, REQUEST("1", "resources/read", "{\"uri\":\"t://item//data\"}"));
	CHECK_HAS(heard(&b), "not found");
	say(&b, REQUEST("1", "resources/templates/list", "{}"));
	CHECK_HAS(heard(&b), "\"resourceTemplates\":[{\"name\":\"item\"");
}

TEST(bytes_that_are_no_text_are_repaired_in_errors)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, REQUEST("1", "tools/call", "{\"name\":\"fail\"}"));
	CHECK_HAS(heard(&b),
		"\"code\":-32603,\"data\":{\"n\":1},\"message\":\"broken \xef\xbf\xbd\"");
}

TEST(progress_only_rises_and_only_when_asked_for)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b,
		REQUEST("1", "tools/call",
			"{\"name\":\"progress\",\"_meta\":{\"progressToken\":0}}"));
	const char *got = heard(&b);
	CHECK_HAS(got, "\"params\":{\"progress\":0,\"progressToken\":0,\"total\":100}");
	CHECK_HAS(got,
		"\"params\":{\"message\":\"half\",\"progress\":50,\"progressToken\":0,\"total\":100}");
	CHECK(!strstr(got, "again") && !strstr(got, "back"));
	say(&b, REQUEST("2", "tools/call", "{\"name\":\"progress\"}"));
	CHECK(!strstr(heard(&b), "progressToken"));
}

TEST(log_messages_keep_to_the_level)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, REQUEST("1", "logging/setLevel", "{\"level\":\"error\"}"));
	say(&b, REQUEST("2", "tools/call", "{\"name\":\"progress\"}"));
	const char *got = heard(&b);
	CHECK(strstr(got, "\"data\":\"high\"") && !strstr(got, "\"data\":\"low\""));
	/* Without state: nothing but what the request asks for. */
	say(&b, REQUEST("3", "tools/call", "{" MODERN ",\"name\":\"progress\"}"));
	CHECK(!strstr(heard(&b), "notifications/message"));
	say(&b,
		REQUEST("4", "tools/call",
			"{\"_meta\":{\"" META_KEY "protocolVersion\":\"2026-07-28\",\"" META_KEY
			"clientCapabilities\":{},\"" META_KEY
			"logLevel\":\"debug\"},\"name\":\"progress\"}"));
	CHECK_HAS(heard(&b), "\"data\":\"low\"");
}

/* ---- cancellation, ids ---- */

TEST(a_cancelled_call_is_not_answered)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, REQUEST("7", "tools/call", "{\"name\":\"keep\"}"));
	CHECK_INT(mcp_peer_n_calls(b.peer), 1);
	say(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":8}}");
	CHECK_INT(b.n_cancelled, 0);
	for (int i = 0; i < 2; i++)
		say(&b,
			"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
			"\"requestId\":7}}");
	CHECK_INT(b.n_cancelled, 1);
	CHECK_INT(mcp_peer_n_calls(b.peer), 0);
	CHECK_STR(heard(&b), "");
}

TEST(an_id_under_way_is_not_used_again)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, REQUEST("7", "tools/call", "{\"name\":\"keep\"}"));
	say(&b, REQUEST("7", "ping", "{}"));
	CHECK_HAS(heard(&b), "\"code\":-32600");
	say(&b, REQUEST("\"7\"", "ping", "{}"));
	CHECK_HAS(heard(&b), "\"result\":{}");
	mcp_bench_release(&b);
	CHECK_HAS(heard(&b), "\"id\":7");
	say(&b, REQUEST("7", "ping", "{}"));
	CHECK_HAS(heard(&b), "\"result\":{}");
}

TEST(a_flood_is_refused_and_ends)
{
	MCP_BENCH b;
	char text[128];
	mcp_bench_open(&b);
	for (int i = 0; i < MCP_CALLS_MAX + 10; i++) {
		snprintf(text, sizeof text, REQUEST("%d", "tools/call", "{\"name\":\"keep\"}"), i);
		say(&b, text);
	}
	CHECK_INT(b.n_kept, MCP_CALLS_MAX);
	CHECK_INT(n_lines(heard(&b)), 10);
	mcp_bench_release(&b);
	(void)heard(&b);
	say(&b, REQUEST("999", "tools/call", "{\"name\":\"echo\"}"));
	CHECK_HAS(heard(&b), "nothing");
}

TEST(a_peer_that_goes_takes_its_calls_along)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, REQUEST("1", "tools/call", "{\"name\":\"keep\"}"));
	say(&b, REQUEST("2", "tools/call", "{\"name\":\"keep\"}"));
	mcp_peer_free(b.peer);
	b.peer = NULL;
	CHECK_INT(b.n_cancelled, 2);
	CHECK_STR(heard(&b), "");
}

TEST(what_was_forgotten_is_answered_to_nobody)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, REQUEST("1", "tools/call", "{\"name\":\"keep\"}"));
	mcp_peer_forget(b.peer, &b, false);
	CHECK_INT(b.n_cancelled, 0);
	mcp_bench_release(&b);
	CHECK_STR(heard(&b), "");
	say(&b, REQUEST("1", "tools/call", "{\"name\":\"keep\"}"));
	mcp_peer_forget(b.peer, &b, true);
	CHECK_INT(b.n_cancelled, 1);
}

/* ---- what is no message ---- */

TEST(garbage_is_told_and_survived)
{
	static const struct {
		const char *text, *has;
	} rows[] = {
		{"garbage", "{\"error\":{\"code\":-32700,"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1", "-32700"},
		{"5", "-32600"},
		{"{}", "-32600"},
		{"[]", "-32600"},
		{"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "-32600"},
		{"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "\"id\":1"},
		{"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", "-32600"},
	};
	MCP_BENCH b;
	mcp_bench_open(&b);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		say(&b, rows[i].text);
		const char *got = heard(&b);
		CHECK_HAS(got, rows[i].has);
		CHECK_INT(n_lines(got), 1);
	}
	/* What wants no answer gets none. */
	say(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}");
	say(&b, "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}");
	say(&b, "{\"jsonrpc\":\"2.0\",\"id\":99,\"error\":{}}");
	CHECK_STR(heard(&b), "");
}

TEST(batches_are_of_one_revision)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, INITIALIZE("2025-03-26", "{}"));
	(void)heard(&b);
	b.n_last = 0;
	say(&b,
		"[" REQUEST("1", "ping", "{}") "," REQUEST("2", "tools/call",
			"{\"name\":\"keep\"}") ","
					       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}, 5]");
	CHECK_STR(heard(&b), "");
	mcp_bench_release(&b);
	const char *got = heard(&b);
	CHECK_INT(n_lines(got), 1);
	CHECK_HAS(got, "[{\"id\":1,");
	CHECK_HAS(got, "\"code\":-32600");
	CHECK_HAS(got, "\"released\"");
	CHECK_INT(b.n_last, 1);
	say(&b, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]");
	CHECK_STR(heard(&b), "");
	/* One that is cancelled in whole is answered with nothing. */
	say(&b, "[" REQUEST("3", "tools/call", "{\"name\":\"keep\"}") "]");
	say(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}");
	CHECK_STR(heard(&b), "");
}

/* ---- asking ---- */

TEST(a_client_with_a_handshake_is_asked_by_a_request)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, INITIALIZE("2025-06-18", "{\"elicitation\":{}}"));
	(void)heard(&b);
	say(&b, REQUEST("1", "tools/call", "{\"name\":\"ask\"}"));
	const char *got = heard(&b);
	CHECK_INT(n_lines(got), 1);
	CHECK_HAS(got,
		"\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"elicitation/create\",\"params\":{"
		"\"message\":\"Who?\"}");
	say(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\"}}");
	CHECK_HAS(heard(&b), "{\\\"action\\\":\\\"accept\\\"}");
	say(&b, REQUEST("2", "tools/call", "{\"name\":\"ask\"}"));
	say(&b, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,\"message\":\"no\"}}");
	CHECK_HAS(heard(&b), "{\\\"error\\\":");
	/* Cancelled while it is asked. */
	say(&b, REQUEST("3", "tools/call", "{\"name\":\"ask\"}"));
	(void)heard(&b);
	say(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}");
	say(&b, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
	CHECK_STR(heard(&b),
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		"\"requestId\":3}}\n");
}

TEST(who_cannot_be_asked_is_not)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b, INITIALIZE("2025-06-18", "{}"));
	(void)heard(&b);
	say(&b, REQUEST("1", "tools/call", "{\"name\":\"ask\"}"));
	CHECK_HAS(heard(&b), "\"isError\":true");
	say(&b, REQUEST("1", "tools/call", "{" MODERN ",\"name\":\"ask\"}"));
	CHECK_HAS(heard(&b),
		"\"code\":-32021,\"data\":{\"requiredCapabilities\":{\"elicitation\":{}}}");
}

static char *state_of(struct mcp_bench *b)
{
	json_t *result = json_object_get(json_array_get(b->said, 0), "result");
	const char *state = json_string_value(json_object_get(result, "requestState"));
	char *copy = strdup(state ? state : "");
	CHECK_STR(json_string_value(json_object_get(result, "resultType")), "input_required");
	CHECK(json_object_get(json_object_get(result, "inputRequests"), "who") != NULL);
	(void)json_array_clear(b->said);
	return copy;
}

static void answer_with(struct mcp_bench *b, const char *arguments, const char *state)
{
	char text[4096];
	snprintf(text, sizeof text,
		REQUEST("9", "tools/call",
			"{" MODERN_CAN(
				"{\"elicitation\":{}}") ",\"name\":\"ask\",\"arguments\":%s,"
							"\"inputResponses\":{\"who\":{\"action\":\"accept\"}},\"requestState\":\"%s\"}"),
		arguments, state);
	say(b, text);
}

TEST(without_state_a_client_is_asked_by_an_answer)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b,
		REQUEST("1", "tools/call",
			"{" MODERN_CAN(
				"{\"elicitation\":{}}") ",\"name\":\"ask\",\"arguments\":{\"a\":1}}"));
	char *state = state_of(&b);
	CHECK(state[0] != '\0');
	answer_with(&b, "{\"a\":1}", state);
	CHECK_HAS(heard(&b), "{\\\"action\\\":\\\"accept\\\"}");
	/* For other arguments it is not good. */
	answer_with(&b, "{\"a\":2}", state);
	CHECK_HAS(heard(&b), "\"code\":-32602");
	state[5] = state[5] == 'A' ? 'B' : 'A';
	answer_with(&b, "{\"a\":1}", state);
	CHECK_HAS(heard(&b), "\"code\":-32602");
	answer_with(&b, "{\"a\":1}", "");
	CHECK_HAS(heard(&b), "\"code\":-32602");
	free(state);
}

TEST(what_is_sealed_opens_for_its_principal_only)
{
	struct mcp_seal one, two;
	json_t *state = json_pack("{s:s}", "k", "v"), *bound = json_pack("[s]", "x");
	mcp_seal_init(&one);
	mcp_seal_init(&two);
	char *text = mcp_seal_write(&one, state, "a", bound);
	json_t *got = mcp_seal_read(&one, text, "a", bound);
	CHECK(json_equal(got, state));
	json_decref(got);
	CHECK(!mcp_seal_read(&one, text, "b", bound));
	CHECK(!mcp_seal_read(&one, text, NULL, bound));
	CHECK(!mcp_seal_read(&two, text, "a", bound));
	CHECK(!mcp_seal_read(&one, text, "a", state));
	for (size_t i = 0; text[i]; i++) {
		char was = text[i];
		text[i] = was == 'x' ? 'y' : 'x';
		CHECK(!mcp_seal_read(&one, text, "a", bound));
		text[i] = '\0';
		CHECK(!mcp_seal_read(&one, text, "a", bound));
		text[i] = was;
	}
	free(text);
	json_decref(state);
	json_decref(bound);
}

/* ---- changes ---- */

TEST(changes_are_told_to_those_who_listen)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	mcp_changed(b.server, MCP_TOOL);
	CHECK_STR(heard(&b), "");
	say(&b, INITIALIZE("2025-06-18", "{}"));
	say(&b, REQUEST("1", "resources/subscribe", "{\"uri\":\"t://static\"}"));
	(void)heard(&b);
	mcp_changed(b.server, MCP_TOOL);
	CHECK_STR(heard(&b),
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
	mcp_updated(b.server, "t://static");
	mcp_updated(b.server, "t://other");
	CHECK_INT(n_lines(heard(&b)), 1);
	say(&b, REQUEST("1", "resources/unsubscribe", "{\"uri\":\"t://static\"}"));
	(void)heard(&b);
	mcp_updated(b.server, "t://static");
	CHECK_STR(heard(&b), "");
}

TEST(a_subscription_is_acknowledged_first_and_stays)
{
	MCP_BENCH b;
	mcp_bench_open(&b);
	say(&b,
		REQUEST("5", "subscriptions/listen",
			"{" MODERN ",\"notifications\":{\"toolsListChanged\":true,"
			"\"promptsListChanged\":true,\"resourceSubscriptions\":[\"t://static\"]}}"));
	const char *got = heard(&b);
	CHECK_HAS(got, "notifications/subscriptions/acknowledged");
	CHECK_HAS(got, "\"" META_KEY "subscriptionId\":5");
	CHECK_HAS(got,
		"\"notifications\":{\"resourceSubscriptions\":[\"t://static\"],"
		"\"toolsListChanged\":true}");
	CHECK_INT(mcp_peer_n_calls(b.peer), 1);
	mcp_changed(b.server, MCP_TOOL);
	CHECK_HAS(heard(&b), "\"" META_KEY "subscriptionId\":5");
	mcp_changed(b.server, MCP_PROMPT);
	mcp_updated(b.server, "t://other");
	CHECK_STR(heard(&b), "");
	mcp_updated(b.server, "t://static");
	CHECK_HAS(heard(&b), "\"uri\":\"t://static\"");
	say(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}");
	mcp_changed(b.server, MCP_TOOL);
	CHECK_STR(heard(&b), "");
	CHECK_INT(mcp_peer_n_calls(b.peer), 0);
	say(&b, REQUEST("6", "subscriptions/listen", "{" MODERN "}"));
	CHECK_HAS(heard(&b), "\"code\":-32602");
}
