/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/inside.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { N_MODERN = 1 };

/* The supported revisions of the protocol, newest first. The first N_MODERN belong to the modern
 * era. */
const char *const mcp_versions[] = {
	"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", NULL};

const char *const mcp_levels[] = {
	"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", NULL};

int mcp_version_era(const char *version)
{
	for (int i = 0; mcp_versions[i]; i++)
		if (strcmp(mcp_versions[i], version) == 0)
			return i < N_MODERN ? MCP_MODERN : MCP_LEGACY;
	return -1;
}

int mcp_level(const char *name)
{
	for (int i = 0; name && mcp_levels[i]; i++)
		if (strcmp(mcp_levels[i], name) == 0)
			return i;
	return -1;
}

struct mcp_server *mcp_server_new(const struct mcp_config *config)
{
	struct mcp_server *s = xnew(struct mcp_server);
	mcp_seal_init(&s->seal);
	s->config = *config;
	return s;
}

void mcp_server_free(struct mcp_server *s)
{
	free(s);
}

/* ---- what the server supports; building messages ---- */

static bool is_served(const struct mcp_rows *rows)
{
	return rows->n > 0 || rows->list || rows->has_list_changed;
}

static void add_capability(
	json_t *all, const char *name, bool is_there, bool has_list_changed, bool has_subscribe)
{
	if (!is_there)
		return;
	json_t *one = json_object();
	if (has_list_changed)
		json_put_bool(one, "listChanged", true);
	if (has_subscribe)
		json_put_bool(one, "subscribe", true);
	json_put_new(all, name, one);
}

json_t *mcp_capabilities(const struct mcp_config *config)
{
	const struct mcp_rows *rows = config->rows;
	bool has_resources = is_served(&rows[MCP_RESOURCE]) || is_served(&rows[MCP_TEMPLATE]);
	json_t *all = json_object();
	add_capability(
		all, "tools", is_served(&rows[MCP_TOOL]), rows[MCP_TOOL].has_list_changed, false);
	add_capability(all, "resources", has_resources, rows[MCP_RESOURCE].has_list_changed,
		config->has_subscribe);
	add_capability(all, "prompts", is_served(&rows[MCP_PROMPT]),
		rows[MCP_PROMPT].has_list_changed, false);
	add_capability(all, "completions", config->complete != NULL, false, false);
	add_capability(all, "logging", config->has_logging, false, false);
	return all;
}

json_t *mcp_server_info(const struct mcp_config *config)
{
	return json_pack("{s:s, s:s*, s:s}", "name", config->name, "title", config->title,
		"version", config->version);
}

json_t *mcp_text(const char *text, size_t bytes)
{
	if (utf8_is_valid(text, bytes))
		return json_stringn(text, bytes);
	struct buf b = BUF_INIT(3 * bytes + 1);
	json_t *json = utf8_repair(&b, text, bytes, NULL) < 0 ? json_string("")
							      : json_stringn(buf_str(&b), b.bytes);
	buf_done(&b);
	return json;
}

json_t *mcp_error(const json_t *id, int code, const char *message, json_t *data)
{
	json_t *error = json_pack("{s:i, s:o, s:o*}", "code", code, "message",
		mcp_text(message, strlen(message)), "data", data);
	return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id",
		id ? json_incref(json_unconst(id)) : json_null(), "error", error);
}

json_t *mcp_notification(const char *method, json_t *params)
{
	return json_pack("{s:s, s:s, s:o*}", "jsonrpc", "2.0", "method", method, "params", params);
}

/* ---- sending messages and batches ---- */

void mcp_out_send(const struct mcp_out *out, json_t *message, bool is_last)
{
	if (out->send && message)
		out->send(out->arg, message, is_last);
	json_decref(message);
}

void mcp_answer(const struct mcp_out *out, struct mcp_batch *batch, json_t *message)
{
	if (!batch) {
		mcp_out_send(out, message, true);
		return;
	}
	if (message)
		json_add_new(batch->answers, message);
	if (--batch->n_open > 0)
		return;
	/* If all requests of the batch were cancelled, send nothing: an empty array would be
	 * invalid. */
	bool is_empty = json_array_size(batch->answers) == 0;
	mcp_out_send(&batch->out, is_empty ? NULL : json_incref(batch->answers), true);
	json_decref(batch->answers);
	free(batch);
}

/* ---- notifying clients of changes ---- */

static bool listens_to(const struct mcp_call *call, const char *filter, const char *uri)
{
	const json_t *wish = json_object_get(call->listens, filter);
	size_t i;
	json_t *one;
	if (!uri)
		return json_is_true(wish);
	json_array_foreach(wish, i, one) if (json_is_string(one) &&
		strcmp(json_string_value(one), uri) == 0) return true;
	return false;
}

static json_t *change_params(const char *uri, const json_t *subscription)
{
	json_t *params = uri || subscription ? json_object() : NULL;
	if (uri)
		json_put_new(params, "uri", mcp_text(uri, strlen(uri)));
	if (subscription)
		json_put_new(params, "_meta",
			json_pack("{s:O}", MCP_META "subscriptionId", json_unconst(subscription)));
	return params;
}

static void tell(struct mcp_server *s, const char *method, const char *filter, const char *uri)
{
	for (struct mcp_peer *p = s->peers, *next; p; p = next) {
		next = p->next;
		if (p->version && (!uri || json_object_get(p->subscribed, uri)))
			mcp_out_send(&p->config.out,
				mcp_notification(method, change_params(uri, NULL)), false);
		for (struct mcp_call *call = p->calls; call; call = call->next)
			if (call->listens && listens_to(call, filter, uri))
				mcp_out_send(&call->out,
					mcp_notification(method, change_params(uri, call->id)),
					false);
	}
}

void mcp_changed(struct mcp_server *s, enum mcp_kind kind)
{
	static const struct {
		const char *method, *filter;
	} rows[MCP_KIND_END_] = {
		[MCP_TOOL] = {"notifications/tools/list_changed", "toolsListChanged"},
		[MCP_RESOURCE] = {"notifications/resources/list_changed", "resourcesListChanged"},
		[MCP_TEMPLATE] = {"notifications/resources/list_changed", "resourcesListChanged"},
		[MCP_PROMPT] = {"notifications/prompts/list_changed", "promptsListChanged"},
	};
	tell(s, rows[kind].method, rows[kind].filter, NULL);
}

void mcp_updated(struct mcp_server *s, const char *uri)
{
	tell(s, "notifications/resources/updated", "resourceSubscriptions", uri);
}
