/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/tools.h"

#include "api/operation/schema.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "serve/mcp/call.h"
#include "serve/mcp/tool_table.h"

#include <stdlib.h>
#include <string.h>

enum { TOOLS_MAX = 16, N_TEMPLATES = 2, LIST_TTL_MS = 300000 };

#define INSTRUCTIONS                                                                               \
	"retort runs code in a sandbox without network and keeps its state. Use run_code for "     \
	"calculations, data analysis, plots and for trying code out. Variables and files stay "    \
	"in "                                                                                      \
	"the session \"default\" from call to call; use another session for separate work. "       \
	"Changes that a step made before an exception are kept. Results longer than 10,000 "       \
	"characters "                                                                              \
	"are cut; read_output has the rest."
static const char instructions[] = INSTRUCTIONS;
static const char instructions_tools[] =
	INSTRUCTIONS " Code can call tools of other servers; you see only what the code prints.";

/* In the description of a tool, describe() replaces these words by the installed packages. */
static const char packages_unknown[] = "numpy, pandas, matplotlib where installed";

struct mcp_tools {
	struct mcp_tools_config config;
	struct mcp_config served;
	json_t *definitions[TOOLS_MAX];
	struct mcp_row rows[TOOLS_MAX];
	size_t n_rows;
	char *instructions;
	json_t *templates[N_TEMPLATES];
	struct mcp_row template_rows[N_TEMPLATES];
};

/* ---- building the definitions of tools ---- */

/* Return whether what the tool returns may come from a host of the network. This concerns each tool
 * of sessions: a file may have what a program has downloaded. */
static bool has_hosts(const struct mcp_tools_config *config, const struct mcp_tool *tool)
{
	return config->hosts && !(tool->traits & (MCP_ON_TOOLS | MCP_ON_PLANS));
}

/* Return the annotations of a tool. Omit an annotation that equals its default. By default, clients
 * assume the worst: that a tool changes and destroys things. */
static json_t *annotations(const struct mcp_tools_config *config, const struct mcp_tool *tool)
{
	json_t *out = json_pack("{s:s}", "title", tool->title);
	/* With a network, code can change what hosts have. */
	bool is_destructive =
		(tool->traits & MCP_RUNS_CODE) && (config->is_destructive || config->hosts);
	if (tool->traits & MCP_READ_ONLY)
		json_put_bool(out, "readOnlyHint", true);
	else if (!is_destructive && !(tool->traits & MCP_WORLD))
		json_put_bool(out, "destructiveHint", false);
	if ((tool->traits & MCP_IDEMPOTENT) && !(tool->traits & MCP_READ_ONLY))
		json_put_bool(out, "idempotentHint", true);
	if (!(tool->traits & MCP_WORLD) && !has_hosts(config, tool))
		json_put_bool(out, "openWorldHint", false);
	return out;
}

/* Return the schema of the arguments. Omit "minimum: 0", which would cost tokens in every
 * request. */
static json_t *input_schema(const struct mcp_tool *tool)
{
	json_t *out = schema_rows(tool->params, tool->n_params), *property;
	const char *name;
	json_object_foreach(json_object_get(out, "properties"), name, property)
	{
		const json_t *min = json_object_get(property, "minimum");
		if (min && json_integer_value(min) == 0)
			(void)json_object_del(property, "minimum");
	}
	return out;
}

/* Append @before, the list @text and @after. A list of more than @max_bytes is cut at a separator.
 * If the list is empty, append nothing. */
static void add_told(
	struct buf *out, const char *before, const char *text, const char *after, size_t max_bytes)
{
	size_t bytes = text ? strlen(text) : 0;
	if (bytes == 0)
		return;
	size_t shown = utf8_cut(text, bytes, max_bytes);
	while (shown < bytes && shown > 0 && text[shown] != ',' && text[shown] != ';')
		shown--;
	buf_addf(out, "%s%.*s%s%s", before, (int)shown, text, shown < bytes ? ", …" : "", after);
}

/* Append @text. If the boxes have a network, replace its words @without by @before, the network
 * rules and @after. */
static void add_with_net(struct buf *out, const char *text, const char *without, const char *before,
	const char *after, const struct mcp_tools_config *config)
{
	const char *mark = config->net && config->net[0] ? strstr(text, without) : NULL;
	if (mark) {
		buf_append(out, text, (size_t)(mark - text));
		add_told(out, before, config->net, after, MCP_TOLD_SHORT_MAX);
		text = mark + strlen(without);
	}
	buf_add(out, text);
}

/* Return the description of a tool, with the packages and files of this engine inserted. */
static json_t *describe(const struct mcp_tools_config *config, const struct mcp_tool *tool)
{
	cleanup_buf struct buf out = BUF_INIT(8 * MCP_TOLD_MAX);
	const char *text = tool->description, *mark = strstr(text, packages_unknown);
	bool is_known = mark && config->packages && config->packages[0];
	if (is_known) {
		buf_append(&out, text, (size_t)(mark - text));
		add_told(&out, "", config->packages, "", MCP_TOLD_SHORT_MAX);
		text = mark + strlen(packages_unknown);
	}
	add_with_net(&out, text, "No network.", "Network: only ", ".", config);
	if (mark)
		add_told(&out, " Files given: ", config->files, ".", MCP_TOLD_SHORT_MAX);
	return mcp_text(buf_str(&out), out.bytes);
}

static char *instruct(const struct mcp_tools_config *config)
{
	struct buf out = BUF_INIT(8 * MCP_TOLD_MAX);
	add_with_net(&out, config->has_tools ? instructions_tools : instructions, "without network",
		"that can connect only to ", "", config);
	add_told(&out, " Files given: ", config->files, ".", MCP_TOLD_MAX / 2);
	add_told(&out, " Python has ", config->packages, ".", MCP_TOLD_MAX / 2);
	add_told(&out, " Limits: ", config->limits, ".", MCP_TOLD_MAX / 4);
	return buf_take(&out);
}

/* Declare to clients that label what a tool returns (tool/hosts.h) which hosts it may come from. */
static void put_hosts(
	json_t *out, const struct mcp_tools_config *config, const struct mcp_tool *tool)
{
	if (has_hosts(config, tool))
		json_put_new(out, "_meta",
			json_pack("{s:O}", "retort/net", json_unconst(config->hosts)));
}

static json_t *define(const struct mcp_tools_config *config, const struct mcp_tool *tool)
{
	json_t *out = json_pack("{s:s, s:o, s:o, s:o}", "name", tool->name, "description",
		describe(config, tool), "inputSchema", input_schema(tool), "annotations",
		annotations(config, tool));
	if (config->is_structured && (tool->traits & MCP_RUNS_CODE))
		json_put_new(out, "outputSchema",
			json_pack("{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s}}, s:[s]}", "type", "object",
				"properties", "status", "type", "string", "stdout", "type",
				"string", "stderr", "type", "string", "required", "status"));
	put_hosts(out, config, tool);
	return out;
}

/* ---- the resource templates ---- */

static const struct {
	const char *uri, *name, *description;
	mcp_start_fn *start;
} templates[N_TEMPLATES] = {
	{"retort://session/{id}/files/{+path}", "file", "A file of a session", mcp_resource_file},
	{"retort://run/{run_id}/{stream}", "output",
		"stdout, stderr, value or code of a run, in whole", mcp_resource_run},
};

/* ---- creating and freeing the tools ---- */

struct mcp_tools *mcp_tools_new(const struct mcp_tools_config *config)
{
	struct mcp_tools *t = xnew(struct mcp_tools);
	t->config = *config;
	for (size_t i = 0; i < mcp_tool_n && t->n_rows < TOOLS_MAX; i++) {
		const struct mcp_tool *tool = &mcp_tool_table[i];
		bool is_off = ((tool->traits & MCP_ON_PLANS) && !config->has_plans) ||
			((tool->traits & MCP_ON_TOOLS) && !config->has_tools) ||
			((tool->traits & MCP_ON_COMMANDS) && !config->has_commands);
		if (tool->tier > config->tier || is_off)
			continue;
		t->definitions[t->n_rows] = define(config, tool);
		t->rows[t->n_rows] = (struct mcp_row){
			.definition = t->definitions[t->n_rows], .start = tool->start};
		t->n_rows++;
	}
	for (size_t i = 0; i < N_TEMPLATES; i++) {
		t->templates[i] = json_pack("{s:s, s:s, s:s}", "uriTemplate", templates[i].uri,
			"name", templates[i].name, "description", templates[i].description);
		t->template_rows[i] = (struct mcp_row){
			.definition = t->templates[i], .start = templates[i].start};
	}
	t->instructions = instruct(config);
	t->served = (struct mcp_config){.name = "retort",
		.title = "retort",
		.version = config->version,
		.instructions = t->instructions ? t->instructions : instructions,
		.rows = {[MCP_TOOL] = {.row = t->rows, .n = t->n_rows},
			[MCP_RESOURCE] = {.list = mcp_resource_list},
			[MCP_TEMPLATE] = {.row = t->template_rows, .n = N_TEMPLATES}},
		.list_ttl_ms = LIST_TTL_MS,
		.arg = t};
	return t;
}

void mcp_tools_free(struct mcp_tools *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_rows; i++)
		json_decref(t->definitions[i]);
	for (size_t i = 0; i < N_TEMPLATES; i++)
		json_decref(t->templates[i]);
	free(t->instructions);
	free(t);
}

const struct mcp_config *mcp_tools_served(const struct mcp_tools *t)
{
	return &t->served;
}

const struct mcp_tools_config *mcp_tools_config(const struct mcp_tools *t)
{
	return &t->config;
}

bool mcp_tools_has_files(const struct mcp_tools *t)
{
	return t->config.create &&
		(json_array_size(json_object_get(t->config.create, "volumes")) > 0 ||
			json_object_get(t->config.create, "workspace"));
}

bool mcp_tools_is_open(const struct mcp_tools *t)
{
	return !t->config.is_open || t->config.is_open(t->config.arg);
}
