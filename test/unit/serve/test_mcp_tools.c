/* What models are told of the tools: how much it is, and that every host can read it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/tools.h"

#include "api/operation/operation.h"
#include "serve/mcp/tool_table.h"
#include "t.h"

#include <stdlib.h>
#include <string.h>

/* As much as there can be to tell of an engine. */
static char told[2 * MCP_TOLD_MAX];

static struct mcp_tools *open_tools(enum mcp_tier tier, bool is_structured, bool is_destructive)
{
	const struct mcp_tools_config config = {.version = "1",
		.tier = tier,
		.is_structured = is_structured,
		.is_destructive = is_destructive,
		.has_tools = true,
		.has_plans = true,
		.has_commands = true,
		.packages = told,
		.files = told,
		.limits = told};
	for (size_t i = 0; i + 1 < sizeof told; i++)
		told[i] = i % 10 == 9 ? ',' : 'x';
	return mcp_tools_new(&config);
}

static const struct mcp_rows *tool_rows(const struct mcp_tools *t)
{
	return &mcp_tools_served(t)->rows[MCP_TOOL];
}

static const json_t *definition(const struct mcp_tools *t, const char *name)
{
	const struct mcp_rows *rows = tool_rows(t);
	for (size_t i = 0; i < rows->n; i++)
		if (strcmp(json_string_value(json_object_get(rows->row[i].definition, "name")),
			    name) == 0)
			return rows->row[i].definition;
	return NULL;
}

TEST(hosts_are_declared_by_tools_of_boxes)
{
	static const char *const others[] = {"search_tools", "check_plan", "run_plan"};
	json_t *hosts = json_pack("[s, s]", "*.example.org", "api.example");
	struct mcp_tools_config config = {.version = "1",
		.tier = MCP_TIER_ALL,
		.has_tools = true,
		.has_plans = true,
		.has_commands = true};
	for (int has_net = 0; has_net < 2; has_net++) {
		config.hosts = has_net ? hosts : NULL;
		struct mcp_tools *t = mcp_tools_new(&config);
		size_t n = 0;
		for (size_t i = 0; i < tool_rows(t)->n; i++) {
			const json_t *meta =
				json_object_get(tool_rows(t)->row[i].definition, "_meta");
			n += meta != NULL;
			if (meta)
				CHECK_INT(
					json_equal(json_object_get(meta, "retort/net"), hosts), 1);
		}
		CHECK_INT(n, has_net ? tool_rows(t)->n - ARRAY_LEN(others) : 0);
		for (size_t i = 0; i < ARRAY_LEN(others); i++)
			CHECK(!json_object_get(definition(t, others[i]), "_meta"));
		mcp_tools_free(t);
	}
	json_decref(hosts);
}

static size_t tokens(const struct mcp_tools *t, bool is_for_commands)
{
	const struct mcp_rows *rows = tool_rows(t);
	size_t bytes = 0;
	for (size_t i = 0; i < rows->n; i++) {
		const json_t *d = rows->row[i].definition;
		const struct mcp_tool *tool =
			mcp_tool_find(json_string_value(json_object_get(d, "name")));
		if (((tool->traits & MCP_ON_COMMANDS) != 0) != is_for_commands)
			continue;
		char *text = json_dumps(d, JSON_COMPACT);
		bytes += strlen(text);
		free(text);
	}
	return bytes / MCP_TOKEN_BYTES;
}

TEST(all_definitions_together_are_small)
{
	struct mcp_tools *t = open_tools(MCP_TIER_ALL, false, false);
	CHECK_INT(tool_rows(t)->n, mcp_tool_n);
	CHECK(tokens(t, false) <= MCP_TOOLS_TOKENS_MAX);
	CHECK(tokens(t, false) > 500); /* it was counted */
	CHECK(tokens(t, true) <= MCP_COMMANDS_TOKENS_MAX);
	CHECK(tokens(t, true) > 200);
	CHECK(strlen(mcp_tools_served(t)->instructions) <= MCP_INSTRUCTIONS_MAX + 2 * MCP_TOLD_MAX);
	mcp_tools_free(t);
}

TEST(tiers_have_what_they_are_for)
{
	struct mcp_tools *t = open_tools(MCP_TIER_MINIMAL, false, false);
	CHECK_INT(tool_rows(t)->n, 6);
	CHECK(definition(t, "search_tools") != NULL);
	CHECK(definition(t, "run_command") && definition(t, "process_output"));
	CHECK(definition(t, "run_code") && definition(t, "run_wait") &&
		definition(t, "read_output"));
	mcp_tools_free(t);
}

/* Flat, typed, nothing that a host or provider refuses. */
static void check_property(const char *name, const json_t *property)
{
	static const char *const allowed[] = {
		"type", "description", "enum", "minimum", "maximum", "default"};
	const char *type = json_string_value(json_object_get(property, "type")), *key;
	json_t *value;
	CHECK(type != NULL);
	CHECK(json_string_length(json_object_get(property, "description")) > 0);
	CHECK_INT(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(name));
	json_object_foreach((json_t *)(uintptr_t)property, key, value)
	{
		bool is_known = false;
		for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
			is_known = is_known || strcmp(allowed[i], key) == 0;
		CHECK(is_known);
	}
}

TEST(schemas_are_flat_and_names_plain)
{
	struct mcp_tools *t = open_tools(MCP_TIER_ALL, false, false);
	const struct mcp_rows *rows = tool_rows(t);
	for (size_t i = 0; i < rows->n; i++) {
		const json_t *d = rows->row[i].definition, *s = json_object_get(d, "inputSchema");
		const char *name = json_string_value(json_object_get(d, "name")), *key;
		json_t *property;
		CHECK(name && strlen(name) <= 32);
		CHECK_INT(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(name));
		CHECK(json_is_string(json_object_get(d, "description")));
		CHECK_STR(json_string_value(json_object_get(s, "type")), "object");
		CHECK(json_is_false(json_object_get(s, "additionalProperties")));
		json_object_foreach(json_object_get(s, "properties"), key, property)
			check_property(key, property);
		CHECK(json_is_string(json_object_get(json_object_get(d, "annotations"), "title")));
	}
	mcp_tools_free(t);
}

static bool hint(const struct mcp_tools *t, const char *tool, const char *name, bool fallback)
{
	const json_t *value =
		json_object_get(json_object_get(definition(t, tool), "annotations"), name);
	return value ? json_is_true(value) : fallback;
}

TEST(hints_are_true)
{
	struct mcp_tools *t = open_tools(MCP_TIER_ALL, false, false);
	CHECK(!hint(t, "run_code", "readOnlyHint", false));
	CHECK(!hint(t, "run_code", "destructiveHint", true));
	CHECK(!hint(t, "run_command", "readOnlyHint", false));
	CHECK(!hint(t, "run_command", "destructiveHint", true));
	CHECK(!hint(t, "run_code", "idempotentHint", false));
	CHECK(!hint(t, "run_code", "openWorldHint", true));
	CHECK(hint(t, "read_file", "readOnlyHint", false));
	CHECK(hint(t, "write_file", "idempotentHint", false));
	mcp_tools_free(t);
	/* With files of the host to write to, it is another matter. */
	t = open_tools(MCP_TIER_ALL, true, true);
	CHECK(hint(t, "run_code", "destructiveHint", true));
	CHECK(hint(t, "run_command", "destructiveHint", true));
	CHECK(hint(t, "process_output", "destructiveHint", true));
	CHECK(json_object_get(definition(t, "run_code"), "outputSchema") != NULL);
	mcp_tools_free(t);
}

/* What a tool hands on by its name, the operation takes: no value is let in here that is refused
 * there. */
static void check_bounds(const char *tool, const char *operation, const char *name)
{
	const struct mcp_tool *t = mcp_tool_find(tool);
	const struct operation *op = operation_find(operation);
	const struct param *ours = NULL, *theirs = NULL;
	for (size_t i = 0; i < t->n_params; i++)
		ours = strcmp(t->params[i].name, name) == 0 ? &t->params[i] : ours;
	for (size_t i = 0; i < op->n_params; i++)
		theirs = strcmp(op->params[i].name, name) == 0 ? &op->params[i] : theirs;
	if (!CHECK(ours && theirs))
		return;
	(void)t_check(ours->min >= theirs->min, __FILE__, __LINE__, name);
	bool is_within = !theirs->max || (ours->max && ours->max <= theirs->max);
	(void)t_check(is_within, __FILE__, __LINE__, name);
	if (theirs->choices)
		CHECK_STR(ours->choices, theirs->choices);
}

TEST(tools_let_in_what_operations_take)
{
	static const char *const rows[][3] = {
		{"run_code", "step.run", "code"},
		{"run_code", "step.run", "session"},
		{"run_code", "step.run", "timeout_ms"},
		{"run_code", "step.run", "wait_ms"},
		{"run_wait", "step.get", "wait_ms"},
		{"read_output", "step.output", "stream"},
		{"read_output", "step.output", "offset"},
		{"read_output", "step.output", "limit"},
		{"read_output", "step.output", "grep"},
		{"run_command", "process.start", "command"},
		{"run_command", "process.start", "session"},
		{"run_command", "process.start", "cwd"},
		{"run_command", "process.start", "timeout_ms"},
		{"process_output", "process.get", "process"},
		{"process_output", "process.read", "stream"},
		{"process_output", "process.read", "offset"},
		{"search_tools", "tool.list", "query"},
		{"search_tools", "tool.list", "limit"},
		{"read_file", "file.read", "path"},
		{"read_file", "file.read", "limit"},
		{"write_file", "file.write", "path"},
		{"write_file", "file.write", "encoding"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_bounds(rows[i][0], rows[i][1], rows[i][2]);
}
