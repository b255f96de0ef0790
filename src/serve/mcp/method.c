/* The table of the protocol's methods, with their eras and handlers. SPDX-License-Identifier:
 * Apache-2.0 */
#include "serve/mcp/inside.h"

#include "base/attr.h"
#include "base/json.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 320, SHOWN_BYTES = 128, SUBSCRIBED_MAX = 256, OLD_NOT_FOUND = -32002 };

static const struct mcp_rows *rows_of(const struct mcp_call *call, enum mcp_kind kind)
{
	return &call->server->config.rows[kind];
}

/* Fail with the message "@what: @name", such as "unknown tool: foo". */
static void fail_named(struct mcp_call *call, int code, const char *what, const char *name)
{
	char text[MESSAGE_BYTES];
	bool is_uri = code == OLD_NOT_FOUND || strstr(what, "resource");
	snprintf(text, sizeof text, "%s: %.*s", what,
		(int)utf8_cut(name, strlen(name), SHOWN_BYTES), name);
	mcp_call_fail(call, code, text, is_uri ? json_pack("{s:s}", "uri", name) : NULL);
}

/* ---- initialize, server/discover, ping, logging/setLevel ---- */

static void add_instructions(const struct mcp_call *call, json_t *result)
{
	const char *text = call->server->config.instructions;
	if (text)
		json_put_text(result, "instructions", text);
}

static void start_initialize(struct mcp_call *call)
{
	const struct mcp_config *config = &call->server->config;
	const char *asked = json_string_value(json_object_get(call->params, "protocolVersion"));
	json_t *capabilities = json_object_get(call->params, "capabilities");
	struct mcp_peer *p = call->peer;
	if (!asked) {
		mcp_call_fail(call, MCP_INVALID_PARAMS, "protocolVersion: missing", NULL);
		return;
	}
	/* Element 0 is a modern protocol revision, which has no handshake. Element 1 is the newest
	 * legacy revision, and the handshake selects it unless the client asks for an older one. */
	const char *ours = mcp_versions[1];
	for (int i = 1; mcp_versions[i]; i++)
		if (strcmp(mcp_versions[i], asked) == 0)
			ours = mcp_versions[i];
	p->version = ours;
	json_decref(p->capabilities);
	p->capabilities = json_is_object(capabilities) ? json_incref(capabilities) : json_object();
	json_t *result = json_pack("{s:s, s:o, s:o}", "protocolVersion", ours, "capabilities",
		mcp_capabilities(config), "serverInfo", mcp_server_info(config));
	add_instructions(call, result);
	mcp_call_give(call, result);
}

static void start_discover(struct mcp_call *call)
{
	json_t *versions = json_array();
	for (int i = 0; mcp_versions[i]; i++)
		if (mcp_version_era(mcp_versions[i]) == MCP_MODERN)
			json_add_text(versions, mcp_versions[i]);
	json_t *result = json_pack("{s:o, s:o}", "supportedVersions", versions, "capabilities",
		mcp_capabilities(&call->server->config));
	add_instructions(call, result);
	mcp_call_give(call, result);
}

static void start_ping(struct mcp_call *call)
{
	mcp_call_give(call, json_object());
}

static void start_set_level(struct mcp_call *call)
{
	int level = mcp_level(json_string_value(json_object_get(call->params, "level")));
	if (level < 0) {
		mcp_call_fail(
			call, MCP_INVALID_PARAMS, "level: not one of debug … emergency", NULL);
		return;
	}
	call->peer->log_level = level;
	mcp_call_give(call, json_object());
}

/* ---- subscribing to resources and lists ---- */

static void start_subscribe(struct mcp_call *call)
{
	const char *uri = mcp_call_name(call);
	struct mcp_peer *p = call->peer;
	if (!p->subscribed)
		p->subscribed = json_object();
	if (!uri[0] || json_object_size(p->subscribed) >= SUBSCRIBED_MAX) {
		mcp_call_fail(call, MCP_INVALID_PARAMS,
			uri[0] ? "too many subscriptions" : "uri: missing", NULL);
		return;
	}
	json_put_bool(p->subscribed, uri, true);
	mcp_call_give(call, json_object());
}

static void start_unsubscribe(struct mcp_call *call)
{
	(void)json_object_del(call->peer->subscribed, mcp_call_name(call));
	mcp_call_give(call, json_object());
}

/* Return the subscriptions in @wish that the server supports. */
static json_t *agreed(const struct mcp_config *config, const json_t *wish)
{
	static const struct {
		const char *filter;
		enum mcp_kind kind;
	} rows[] = {{"toolsListChanged", MCP_TOOL}, {"resourcesListChanged", MCP_RESOURCE},
		{"promptsListChanged", MCP_PROMPT}};
	json_t *out = json_object();
	json_t *uris = json_object_get(wish, "resourceSubscriptions");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (config->rows[rows[i].kind].has_list_changed &&
			json_is_true(json_object_get(wish, rows[i].filter)))
			json_put_bool(out, rows[i].filter, true);
	if (config->has_subscribe && json_is_array(uris))
		json_put_shared(out, "resourceSubscriptions", uris);
	return out;
}

/* Acknowledge the subscriptions. Do not respond: the request stays open until the client cancels
 * it. */
static void start_listen(struct mcp_call *call)
{
	json_t *wish = json_object_get(call->params, "notifications");
	if (!json_is_object(wish) ||
		json_array_size(json_object_get(wish, "resourceSubscriptions")) > SUBSCRIBED_MAX) {
		mcp_call_fail(call, MCP_INVALID_PARAMS,
			wish ? "notifications: not an object, or too many"
			     : "notifications: missing",
			NULL);
		return;
	}
	json_t *kept = agreed(&call->server->config, wish);
	json_t *params = json_pack("{s:{s:O}, s:O}", "_meta", MCP_META "subscriptionId", call->id,
		"notifications", kept);
	/* `call->listens` borrows this object, so store it in `params`, which lives as long as the
	 * call. */
	json_put_new(call->params, "notifications", kept);
	call->listens = json_object_get(call->params, "notifications");
	mcp_out_send(&call->out,
		mcp_notification("notifications/subscriptions/acknowledged", params), false);
}

/* ---- listing tools, resources, templates and prompts ---- */

static void give_list(struct mcp_call *call, enum mcp_kind kind, const char *name)
{
	const struct mcp_rows *rows = rows_of(call, kind);
	const json_t *cursor = json_object_get(call->params, "cursor");
	if (cursor && !json_is_null(cursor)) {
		mcp_call_fail(call, MCP_INVALID_PARAMS, "cursor: lists have one page here", NULL);
		return;
	}
	if (rows->list) {
		rows->list(call);
		return;
	}
	json_t *list = json_array();
	for (size_t i = 0; i < rows->n; i++)
		json_add_shared(list, rows->row[i].definition);
	mcp_call_give(call, json_pack("{s:o}", name, list));
}

static void start_tools_list(struct mcp_call *call)
{
	give_list(call, MCP_TOOL, "tools");
}

static void start_resources_list(struct mcp_call *call)
{
	give_list(call, MCP_RESOURCE, "resources");
}

static void start_templates_list(struct mcp_call *call)
{
	give_list(call, MCP_TEMPLATE, "resourceTemplates");
}

static void start_prompts_list(struct mcp_call *call)
{
	give_list(call, MCP_PROMPT, "prompts");
}

/* ---- requests that name a tool, prompt or resource ---- */

static const struct mcp_row *find_row(
	const struct mcp_rows *rows, const char *key, const char *name)
{
	for (size_t i = 0; i < rows->n; i++) {
		const char *own = json_string_value(json_object_get(rows->row[i].definition, key));
		if (own && strcmp(own, name) == 0)
			return &rows->row[i];
	}
	return NULL;
}

static void start_row(struct mcp_call *call, const struct mcp_row *row)
{
	call->row = row;
	if (mcp_call_take_answers(call))
		row->start(call);
}

static bool take_arguments(struct mcp_call *call)
{
	json_t *given = json_object_get(call->params, "arguments");
	if (given && !json_is_null(given) && !json_is_object(given)) {
		mcp_call_fail(call, MCP_INVALID_PARAMS, "arguments: not an object", NULL);
		return false;
	}
	if (json_is_object(given)) {
		json_decref(call->arguments);
		call->arguments = json_incref(given);
	}
	return true;
}

static void start_tools_call(struct mcp_call *call)
{
	const struct mcp_row *row = find_row(rows_of(call, MCP_TOOL), "name", mcp_call_name(call));
	if (!call->name)
		mcp_call_fail(call, MCP_INVALID_PARAMS, "name: missing", NULL);
	else if (!row)
		fail_named(call, MCP_INVALID_PARAMS, "unknown tool", mcp_call_name(call));
	else if (take_arguments(call))
		start_row(call, row);
}

static const char *missing_argument(const struct mcp_row *row, const json_t *given)
{
	size_t i;
	json_t *one;
	json_array_foreach(json_object_get(row->definition, "arguments"), i, one)
	{
		const char *name = json_string_value(json_object_get(one, "name"));
		if (name && json_is_true(json_object_get(one, "required")) &&
			!json_object_get(given, name))
			return name;
	}
	return NULL;
}

static void start_prompts_get(struct mcp_call *call)
{
	const struct mcp_row *row =
		find_row(rows_of(call, MCP_PROMPT), "name", mcp_call_name(call));
	if (!row) {
		fail_named(call, MCP_INVALID_PARAMS, "unknown prompt", mcp_call_name(call));
		return;
	}
	if (!take_arguments(call))
		return;
	const char *missing = missing_argument(row, call->arguments);
	if (missing)
		fail_named(call, MCP_INVALID_PARAMS, "missing argument", missing);
	else
		start_row(call, row);
}

/* Return whether @uri matches a template "before{…}after". If so, store the text between "before"
 * and "after" in the call. */
static bool matches(struct mcp_call *call, const char *template, const char *uri)
{
	const char *open = strchr(template, '{'), *close = strrchr(template, '}');
	if (!open || !close)
		return false;
	size_t before = (size_t)(open - template), after = strlen(close + 1), bytes = strlen(uri);
	if (bytes <= before + after || strncmp(uri, template, before) != 0 ||
		strcmp(uri + bytes - after, close + 1) != 0)
		return false;
	free(call->match);
	call->match = strndup(uri + before, bytes - before - after);
	return call->match != NULL;
}

static void start_resources_read(struct mcp_call *call)
{
	const char *uri = mcp_call_name(call);
	const struct mcp_rows *templates = rows_of(call, MCP_TEMPLATE);
	const struct mcp_row *row = find_row(rows_of(call, MCP_RESOURCE), "uri", uri);
	for (size_t i = 0; !row && i < templates->n; i++) {
		const char *template = json_string_value(
			json_object_get(templates->row[i].definition, "uriTemplate"));
		if (template && matches(call, template, uri))
			row = &templates->row[i];
	}
	if (!call->name)
		mcp_call_fail(call, MCP_INVALID_PARAMS, "uri: missing", NULL);
	else if (!row)
		mcp_call_no_resource(call);
	else
		start_row(call, row);
}

void mcp_call_no_resource(struct mcp_call *call)
{
	fail_named(call, call->era == MCP_MODERN ? MCP_INVALID_PARAMS : OLD_NOT_FOUND,
		"resource not found", mcp_call_name(call));
}

static void start_complete(struct mcp_call *call)
{
	call->server->config.complete(call);
}

/* ---- the table of methods ---- */

static bool has_logging(const struct mcp_config *c)
{
	return c->has_logging;
}

static bool has_subscribe(const struct mcp_config *c)
{
	return c->has_subscribe;
}

static bool has_complete(const struct mcp_config *c)
{
	return c->complete != NULL;
}

static bool is_any(const struct mcp_config *c, enum mcp_kind kind)
{
	return c->rows[kind].n > 0 || c->rows[kind].list || c->rows[kind].has_list_changed;
}

static bool has_tools(const struct mcp_config *c)
{
	return is_any(c, MCP_TOOL);
}

static bool has_resources(const struct mcp_config *c)
{
	return is_any(c, MCP_RESOURCE) || is_any(c, MCP_TEMPLATE);
}

static bool has_prompts(const struct mcp_config *c)
{
	return is_any(c, MCP_PROMPT);
}

static const struct mcp_method methods[] = {
	{"initialize", METHOD_LEGACY, .start = start_initialize},
	{"ping", METHOD_LEGACY, .start = start_ping},
	{"logging/setLevel", METHOD_LEGACY, .is_there = has_logging, .start = start_set_level},
	{"resources/subscribe", METHOD_LEGACY, "uri", .is_there = has_subscribe,
		.start = start_subscribe},
	{"resources/unsubscribe", METHOD_LEGACY, "uri", .is_there = has_subscribe,
		.start = start_unsubscribe},
	{"server/discover", METHOD_MODERN, .is_cached = true, .start = start_discover},
	{"subscriptions/listen", METHOD_MODERN, .start = start_listen},
	{"tools/list", METHOD_BOTH, NULL, true, has_tools, start_tools_list},
	{"tools/call", METHOD_BOTH, "name", false, has_tools, start_tools_call},
	{"resources/list", METHOD_BOTH, NULL, true, has_resources, start_resources_list},
	{"resources/templates/list", METHOD_BOTH, NULL, true, has_resources, start_templates_list},
	{"resources/read", METHOD_BOTH, "uri", true, has_resources, start_resources_read},
	{"prompts/list", METHOD_BOTH, NULL, true, has_prompts, start_prompts_list},
	{"prompts/get", METHOD_BOTH, "name", false, has_prompts, start_prompts_get},
	{"completion/complete", METHOD_BOTH, NULL, false, has_complete, start_complete},
};

const struct mcp_method *mcp_method_find(const struct mcp_config *config, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (strcmp(methods[i].name, name) == 0 &&
			(!methods[i].is_there || methods[i].is_there(config)))
			return &methods[i];
	return NULL;
}
