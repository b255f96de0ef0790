/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_bench.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct mcp_bench *bench_of(const struct mcp_call *call)
{
	return mcp_call_arg(call);
}

static void give_text(struct mcp_call *call, const char *text)
{
	mcp_call_give(call, json_pack("{s:[{s:s, s:s}]}", "content", "type", "text", "text", text));
}

static void start_echo(struct mcp_call *call)
{
	const char *text = json_string_value(json_object_get(mcp_call_arguments(call), "text"));
	give_text(call, text ? text : "nothing");
}

static void on_cancelled(void *arg)
{
	struct mcp_call *call = arg;
	struct mcp_bench *b = bench_of(call);
	b->n_cancelled++;
	for (unsigned i = 0; i < b->n_kept; i++)
		if (b->kept[i] == call)
			b->kept[i] = b->kept[--b->n_kept];
	give_text(call, "to nobody");
}

/* Answers when the test wants it: mcp_bench_release(). */
static void start_keep(struct mcp_call *call)
{
	struct mcp_bench *b = bench_of(call);
	if (b->n_kept == KEPT_MAX) {
		mcp_call_refuse(call, "full");
		return;
	}
	b->kept[b->n_kept++] = call;
	mcp_call_on_cancel(call, on_cancelled, call);
}

static void start_progress(struct mcp_call *call)
{
	mcp_call_progress(call, 0, 100, NULL);
	mcp_call_progress(call, 50, 100, "half");
	mcp_call_progress(call, 50, 100, "again");
	mcp_call_progress(call, 20, 100, "back");
	mcp_call_log(call, "debug", "t", json_string("low"));
	mcp_call_log(call, "error", "t", json_string("high"));
	give_text(call, "done");
}

static void start_ask(struct mcp_call *call)
{
	const json_t *answers = mcp_call_answers(call);
	const json_t *who = json_object_get(answers, "who");
	if (!who) {
		mcp_call_ask(call,
			json_pack("{s:{s:s, s:{s:s}}}", "who", "method", "elicitation/create",
				"params", "message", "Who?"),
			json_pack("{s:i}", "round", 1));
		return;
	}
	bool is_ours = json_integer_value(json_object_get(mcp_call_state(call), "round")) == 1;
	char *text = json_dumps(who, JSON_COMPACT | JSON_SORT_KEYS);
	give_text(call, is_ours ? text : "no state");
	free(text);
}

static void start_fail(struct mcp_call *call)
{
	mcp_call_fail(call, MCP_INTERNAL, "broken \xff", json_pack("{s:i}", "n", 1));
}

static void start_read(struct mcp_call *call)
{
	const char *match = mcp_call_match(call);
	mcp_call_give(call,
		json_pack("{s:[{s:s, s:s}]}", "contents", "uri", mcp_call_name(call), "text",
			match ? match : "static"));
}

static void start_prompt(struct mcp_call *call)
{
	mcp_call_give(call, json_pack("{s:[]}", "messages"));
}

static void start_complete_it(struct mcp_call *call)
{
	mcp_call_give(call, json_pack("{s:{s:[]}}", "completion", "values"));
}

static void hear(void *arg, const json_t *message, bool is_last)
{
	struct mcp_bench *b = arg;
	b->n_last += is_last ? 1 : 0;
	(void)json_array_append(b->said, (json_t *)(uintptr_t)message);
}

void mcp_bench_open(struct mcp_bench *b)
{
	static const struct {
		const char *name;
		mcp_start_fn *start;
	} rows[] = {{"echo", start_echo}, {"keep", start_keep}, {"progress", start_progress},
		{"ask", start_ask}, {"fail", start_fail}};
	*b = (struct mcp_bench){.said = json_array()};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		b->definitions[i] = json_pack(
			"{s:s, s:{s:s}}", "name", rows[i].name, "inputSchema", "type", "object");
		b->tools[i] = (struct mcp_row){b->definitions[i], rows[i].start};
	}
	b->definitions[5] = json_pack("{s:s, s:s}", "uri", "t://static", "name", "static");
	b->definitions[6] =
		json_pack("{s:s, s:s}", "uriTemplate", "t://item/{id}/data", "name", "item");
	b->definitions[7] = json_pack("{s:s, s:[{s:s, s:b}]}", "name", "greet", "arguments", "name",
		"who", "required", 1);
	b->resources[0] = (struct mcp_row){b->definitions[5], start_read};
	b->templates[0] = (struct mcp_row){b->definitions[6], start_read};
	b->prompts[0] = (struct mcp_row){b->definitions[7], start_prompt};
	b->config = (struct mcp_config){.name = "t",
		.version = "1",
		.instructions = "use it",
		.rows = {[MCP_TOOL] = {b->tools, ARRAY_LEN(rows), .has_list_changed = true},
			[MCP_RESOURCE] = {b->resources, 1},
			[MCP_TEMPLATE] = {b->templates, 1},
			[MCP_PROMPT] = {b->prompts, 1}},
		.has_logging = true,
		.has_subscribe = true,
		.complete = start_complete_it,
		.list_ttl_ms = 1000,
		.arg = b};
	b->server = mcp_server_new(&b->config);
	const struct mcp_peer_config peer = {
		.server = b->server, .out = {.arg = b, .send = hear}, .principal = "p"};
	b->peer = mcp_peer_new(&peer);
}

void mcp_bench_done(struct mcp_bench *b)
{
	mcp_peer_free(b->peer);
	mcp_server_free(b->server);
	for (size_t i = 0; i < ARRAY_LEN(b->definitions); i++)
		json_decref(b->definitions[i]);
	json_decref(b->said);
}
unsigned mcp_bench_say(struct mcp_bench *b, const char *text, size_t bytes)
{
	const struct mcp_out out = {.arg = b, .send = hear};
	return mcp_peer_receive(b->peer, text, bytes, &out);
}

void mcp_bench_release(struct mcp_bench *b)
{
	struct mcp_call *call = b->kept[0];
	memmove(b->kept, b->kept + 1, --b->n_kept * sizeof b->kept[0]);
	give_text(call, "released");
}
