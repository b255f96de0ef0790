/* Calls that the gate answers itself. They list, search and describe tools. The descriptions
 * come from servers, so they are cleaned and cut. SPDX-License-Identifier: Apache-2.0 */
#include "api/gate/inside.h"
#include "base/json.h"
#include "api/row/param.h"
#include "api/text/json.h"
#include "api/text/tool_json.h"
#include "tool/catalog_search.h"

#include <string.h>

enum {
	QUERY_BYTES = 1000,
	FOUND = 10,
	/* If a list is longer than this, the descriptions of all further tools are cut to the
	 * first line. */
	WHOLE_BYTES = 4 << 20,
	/* If a list is longer than this, all further tools are left out. */
	ALL_BYTES = 12 << 20,
};

static const struct catalog_server *servers_of(const struct gate *g, size_t *n)
{
	*n = 0;
	return g->catalog ? catalog_servers(g->catalog, n) : NULL;
}

/* ---- the call retort.tools ---- */

struct listing {
	size_t bytes;
	json_int_t n_left_out;
};

static void add_tool(struct listing *l, json_t *tools, const struct catalog_tool *t)
{
	json_t *one = tool_json_short(t, l->bytes < WHOLE_BYTES);
	l->bytes += one ? json_dumpb(one, NULL, 0, JSON_COMPACT) : 0;
	if (l->bytes < ALL_BYTES) {
		(void)json_array_append_new(tools, one);
		return;
	}
	json_decref(one);
	l->n_left_out++;
}

static json_t *list_server(struct listing *l, const struct catalog_server *s)
{
	json_t *tools = json_array();
	json_t *out = json_pack("{s:s, s:s, s:s, s:o}", "name", s->config->name, "id", s->id,
		"js_id", s->js_id, "tools", tools);
	for (size_t k = 0; out && k < s->n_tools; k++)
		add_tool(l, tools, &s->tool[k]);
	if (out && s->err.code != ERR_NONE)
		(void)json_object_set_new(out, "error", json_safe_text(s->err.msg, ERR_MSG_BYTES));
	else if (out && !s->is_known && s->n_tools == 0)
		json_put_text(out, "error", "it has not answered yet");
	return out;
}

static json_t *list(const struct gate *g, const json_t *arguments, struct err *err)
{
	struct listing l = {0};
	size_t n;
	const struct catalog_server *s = servers_of(g, &n);
	json_t *all = json_array(), *out = json_pack("{s:o}", "servers", all);
	(void)arguments;
	(void)err;
	for (size_t i = 0; out && i < n; i++)
		if (gate_is_shown(&s[i]))
			(void)json_array_append_new(all, list_server(&l, &s[i]));
	if (out && l.n_left_out > 0)
		json_put_int(out, "left_out", l.n_left_out);
	return out;
}

int gate_write_servers(const struct gate *g, bool is_javascript, struct buf *out)
{
	size_t n = 0;
	const struct catalog_server *s = servers_of(g, &n);
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		if (gate_is_shown(&s[i]))
			r = buf_addf(out, "%s%s", out->bytes > 0 ? ", " : "",
				is_javascript ? s[i].js_id : s[i].id);
	return r == -E2BIG ? 0 : r;
}

/* ---- the call retort.search ---- */

static const struct param search_rows[] = {
	{"query", PARAM_TEXT, true, 1, QUERY_BYTES},
	{"limit", PARAM_COUNT, false, 1, CATALOG_FOUND_MAX},
};

static json_t *search(const struct gate *g, const json_t *arguments, struct err *err)
{
	const struct catalog_tool *found[CATALOG_FOUND_MAX];
	if (param_check(search_rows, ARRAY_LEN(search_rows), arguments, err) < 0)
		return NULL;
	size_t limit = (size_t)param_count(arguments, "limit", FOUND), n_shown = 0;
	size_t n = g->catalog ? catalog_search(g->catalog, param_text(arguments, "query", ""),
					found, CATALOG_FOUND_MAX)
			      : 0;
	json_t *tools = json_array(), *out = json_pack("{s:o}", "tools", tools);
	for (size_t i = 0; out && i < n && n_shown < limit; i++)
		if (gate_is_shown(found[i]->server)) {
			(void)json_array_append_new(tools, tool_json_short(found[i], false));
			n_shown++;
		}
	if (out && g->config.find_skills)
		(void)json_object_set_new(out, "skills",
			g->config.find_skills(g->config.arg, param_text(arguments, "query", "")));
	return out;
}

/* ---- the call retort.describe ---- */

static const struct param describe_rows[] = {
	{"name", PARAM_TEXT, true, 1, TOOL_NAME_MAX},
};

static json_t *describe(const struct gate *g, const json_t *arguments, struct err *err)
{
	if (param_check(describe_rows, ARRAY_LEN(describe_rows), arguments, err) < 0)
		return NULL;
	const char *name = param_text(arguments, "name", "");
	const struct catalog_tool *t = g->catalog ? catalog_find(g->catalog, name) : NULL;
	if (!t || !gate_is_shown(t->server)) {
		err_fail(err, ERR_NOT_FOUND, "retort.tools.search() finds tools", "no tool %.100s",
			name);
		return NULL;
	}
	json_t *out = tool_json_short(t, true), *rest = tool_json(t);
	if (out)
		(void)json_object_update_missing(out, rest);
	(void)json_object_del(out, "description");
	json_decref(rest);
	return out;
}

/* ---- the call retort.list, for the operation tool.list ---- */

static const struct param list_all_rows[] = {
	{"query", PARAM_TEXT, false, 1, QUERY_BYTES},
	{"limit", PARAM_COUNT, false, 1, GATE_LIST_MAX},
};

static void add_whole(struct listing *l, json_t *tools, const struct catalog_tool *t)
{
	json_t *one = tool_json(t);
	l->bytes += one ? json_dumpb(one, NULL, 0, JSON_COMPACT) : 0;
	if (l->bytes < ALL_BYTES)
		(void)json_array_append(tools, one);
	json_decref(one);
}

/* List tools with all details, and their servers, for tool.list. */
static json_t *list_all(const struct gate *g, const json_t *arguments, struct err *err)
{
	if (param_check(list_all_rows, ARRAY_LEN(list_all_rows), arguments, err) < 0)
		return NULL;
	const struct catalog_tool *found[CATALOG_FOUND_MAX];
	const char *query = param_text(arguments, "query", NULL);
	size_t limit = (size_t)param_count(arguments, "limit", CATALOG_FOUND_MAX), n, n_found = 0;
	const struct catalog_server *s = servers_of(g, &n);
	json_t *tools = json_array(), *servers = json_array();
	struct listing l = {0};
	if (query && g->catalog)
		n_found = catalog_search(g->catalog, query, found, limit);
	for (size_t i = 0; i < n_found; i++)
		add_whole(&l, tools, found[i]);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; !query && k < s[i].n_tools && json_array_size(tools) < limit;
			k++)
			add_whole(&l, tools, &s[i].tool[k]);
		json_t *why = s[i].err.code ? json_safe_text(s[i].err.msg, ERR_MSG_BYTES) : NULL;
		(void)json_array_append_new(servers,
			json_pack("{s:s, s:I, s:o*}", "name", s[i].config->name, "n_tools",
				(json_int_t)s[i].n_tools, "error", why));
	}
	return json_pack("{s:o, s:o}", "tools", tools, "servers", servers);
}

static const struct gate_own rows[] = {
	{"retort.tools", list},
	{"retort.search", search},
	{"retort.describe", describe},
	{GATE_LIST_ALL, list_all},
};

const struct gate_own *gate_own_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}
