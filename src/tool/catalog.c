/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/catalog.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "tool/fit.h"
#include "tool/param_header.h"
#include "tool/result.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	struct catalog *catalog;
	struct mcp_client *client;
	struct tool_shelf shelf;
	json_t *json; /* the list as the server sent it; the schemas of the tools point into it */
	struct loading *loading;
};

/* A catalog_load() that waits for the list of one server. All that wait for the same list are in
 * one queue. */
struct loading {
	struct gathering *gathering;
	struct loading *next; /* next in the queue for the same list */
};

/* A catalog_load() that is not finished. When the last list has arrived, a timer calls done(),
 * so that done() never runs inside another function of the catalog. */
struct gathering {
	struct gathering *next;
	struct catalog *catalog;
	size_t n_waiting;
	void (*done)(void *arg);
	void *arg;
	uv_timer_t timer;
};

struct catalog {
	struct catalog_config config;
	struct catalog_server *server;
	struct entry *entry; /* entry[i] belongs to server[i] */
	size_t n;
	struct gathering *gatherings;
	struct catalog_call *calls; /* calls in progress */
};

struct catalog_call {
	struct catalog_call *next;
	struct catalog *catalog;
	const struct catalog_server *server;
	/* A copy of the tool's name, because the list may be read again during the call. */
	char tool[CATALOG_NAME_BYTES + 1];
	struct mcp_call *call;
	void (*done)(void *arg, const struct catalog_answer *answer);
	void *arg;
};

/* ---- reading a server's list of tools ---- */

static bool is_hidden(int32_t c)
{
	return (c < ' ' && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) ||
		(c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
		(c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xe0000 && c <= 0xe007f);
}

void catalog_clean(struct buf *out, const char *text, size_t bytes)
{
	while (bytes > 0) {
		int32_t c;
		size_t n = utf8_decode(text, bytes, &c);
		if (c >= 0 && !is_hidden(c))
			buf_append(out, text, n);
		text += n;
		bytes -= n;
	}
}

static const char *clean(struct tool_shelf *shelf, const json_t *text)
{
	cleanup_buf struct buf out = BUF_INIT(CATALOG_TEXT_BYTES);
	size_t bytes = json_string_length(text);
	if (bytes > 0)
		catalog_clean(&out, json_string_value(text), bytes);
	return shelf_text(shelf, buf_str(&out));
}

static bool hint(const json_t *tool, const char *name, bool otherwise)
{
	const json_t *value = json_object_get(json_object_get(tool, "annotations"), name);
	return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

static bool is_name(const char *name)
{
	size_t n = name ? strlen(name) : 0;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_.-/", name[i]))
			return false;
	return n > 0 && n <= CATALOG_NAME_BYTES;
}

/* Make an identifier from @name that differs from those of the @n tools in @before. */
static const char *make_id(struct entry *e, const struct catalog_tool *before, size_t n,
	enum identifier_language language, const char *name)
{
	char id[IDENTIFIER_BYTES];
	identifier_make(language, name, id);
	size_t bytes = strlen(id);
	int count = 1;
	for (size_t i = 0; i < n; i++) {
		const char *other = language == IDENTIFIER_PYTHON ? before[i].id : before[i].js_id;
		if (strcmp(other, id) != 0)
			continue;
		snprintf(id + bytes, sizeof id - bytes, "_%d", ++count);
		i = (size_t)-1;
	}
	return shelf_text(&e->shelf, id);
}

/* Return whether the x-mcp-header declarations in @schema are valid. If they are not, the tool
 * is left out, provided that its server uses HTTP. */
static bool has_headers(const json_t *schema)
{
	cleanup_json json_t *headers = param_headers(schema, NULL);
	return headers != NULL;
}

/* Read one tool of the list into all[n]. Returns: 1; 0 if the tool cannot be used; negative
 * errno. */
static int read_tool(const struct catalog_server *s, struct entry *e, const json_t *json,
	struct catalog_tool *all, size_t n)
{
	const char *name = json_string_value(json_object_get(json, "name"));
	const json_t *schema = json_object_get(json, "inputSchema");
	const json_t *output = json_object_get(json, "outputSchema");
	if (!is_name(name) || !json_is_object(schema) || (s->config->url && !has_headers(schema)))
		return 0;
	size_t bytes = strlen(s->config->name) + strlen(name) + 2;
	char *full = shelf_take(&e->shelf, bytes);
	if (!full)
		return -ENOMEM;
	snprintf(full, bytes, "%s.%s", s->config->name, name);
	bool is_trusted = s->config->is_trusted, says = hint(json, "readOnlyHint", false);
	all[n] = (struct catalog_tool){.name = full,
		.tool = full + strlen(s->config->name) + 1,
		.id = make_id(e, all, n, IDENTIFIER_PYTHON, name),
		.js_id = make_id(e, all, n, IDENTIFIER_JAVASCRIPT, name),
		.text = clean(&e->shelf, json_object_get(json, "description")),
		.schema = schema,
		.output = json_is_object(output) ? output : NULL,
		.meta = json_object_get(json, "_meta"),
		.server = s,
		.is_read_only = says,
		.is_destructive = !is_trusted || hint(json, "destructiveHint", !says),
		.is_open_world = !is_trusted || hint(json, "openWorldHint", true)};
	return all[n].id && all[n].js_id && all[n].text ? 1 : -ENOMEM;
}

static int by_name(const void *a, const void *b)
{
	const json_t *const *x = a, *const *y = b;
	return strcmp(json_get_text(*x, "name"), json_get_text(*y, "name"));
}

static void forget_tools(struct catalog_server *s, struct entry *e)
{
	shelf_done(&e->shelf);
	json_decref(e->json);
	e->json = NULL;
	s->tool = NULL;
	s->n_tools = 0;
	s->n_left_out = 0;
	s->is_known = false;
}

static int read_tools(struct catalog_server *s, struct entry *e, const json_t *list)
{
	size_t n_all = json_array_size(list), n = 0, i;
	const json_t *one, *last = NULL;
	forget_tools(s, e);
	struct catalog_tool *all = shelf_take(&e->shelf, (n_all + 1) * sizeof *all);
	const json_t **sorted = shelf_take(&e->shelf, (n_all + 1) * sizeof *sorted);
	if (!all || !sorted)
		return err_set(&s->err, ERR_NO_MEMORY, "no memory for its tools");
	json_array_foreach(list, i, one) sorted[i] = one;
	qsort(sorted, n_all, sizeof *sorted, by_name);
	for (i = 0; i < n_all; i++) {
		const char *name = json_string_value(json_object_get(sorted[i], "name"));
		bool is_twice = last && by_name(&last, &sorted[i]) == 0;
		if (name && !servers_allows(s->config, name))
			continue;
		int r = is_twice ? 0 : read_tool(s, e, sorted[i], all, n);
		if (r < 0)
			return err_set(&s->err, ERR_NO_MEMORY, "no memory for its tools");
		s->n_left_out += r == 0;
		n += (size_t)r;
		last = sorted[i];
	}
	e->json = json_incref(json_unconst(list));
	s->tool = all;
	s->n_tools = n;
	s->is_known = true;
	s->err = (struct err){0};
	return 0;
}

/* ---- loading lists of tools from the servers ---- */

static void on_gathering_closed(uv_handle_t *h)
{
	struct gathering *g = h->data;
	free(g);
}

/* Remove the gathering from the list and close its timer, so that the timer cannot call done() any
 * more. The memory is freed when the timer is closed. */
static void end_gathering(struct gathering *g)
{
	struct gathering **at = &g->catalog->gatherings;
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	uv_close((uv_handle_t *)&g->timer, on_gathering_closed);
}

static void on_gathered(uv_timer_t *t)
{
	struct gathering *g = t->data;
	end_gathering(g);
	g->done(g->arg);
}

static void count_down(struct gathering *g)
{
	if (--g->n_waiting == 0)
		timer_start(&g->timer, on_gathered, 0, 0);
}

static void on_listed(void *arg, const struct mcp_answer *answer)
{
	struct entry *e = arg;
	struct catalog_server *s = &e->catalog->server[e - e->catalog->entry];
	struct loading *all = take_ptr(e->loading);
	if (answer->end == MCP_RESULT)
		(void)read_tools(s, e, answer->result);
	else
		s->err = answer->err;
	while (all) {
		struct loading *l = all;
		all = l->next;
		count_down(l->gathering);
		free(l);
	}
}

/* Make the gathering @g wait for the list of one server. If @g is the first to wait for this
 * list, request the list; otherwise join the queue. */
static int load_one(struct entry *e, struct gathering *g, struct err *err)
{
	struct loading *l = xnew(struct loading), **last = &e->loading;
	bool is_first = !e->loading;
	while (*last)
		last = &(*last)->next;
	l->gathering = g;
	*last = l;
	g->n_waiting++;
	int r = is_first ? mcp_client_list(e->client, on_listed, e, err) : 0;
	if (r < 0) {
		*last = NULL;
		g->n_waiting--;
		free(l);
	}
	return r;
}

static bool has_server(const struct catalog *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(name, r->server[i].config->name) == 0)
			return true;
	return false;
}

int catalog_load(
	struct catalog *r, const char *server, void (*done)(void *arg), void *arg, struct err *err)
{
	if (server && !has_server(r, server))
		return err_set(err, ERR_NOT_FOUND, "tools: no server is called \"%.64s\"", server);
	struct gathering *g = xnew(struct gathering);
	*g = (struct gathering){.next = r->gatherings, .catalog = r, .done = done, .arg = arg};
	(void)uv_timer_init(r->config.loop, &g->timer);
	g->timer.data = g;
	r->gatherings = g;
	g->n_waiting = 1;
	for (size_t i = 0; i < r->n; i++) {
		struct catalog_server *s = &r->server[i];
		if (s->is_known || (server && strcmp(server, s->config->name) != 0))
			continue;
		if (!r->entry[i].loading)
			s->err = (struct err){0};
		(void)load_one(&r->entry[i], g, &s->err);
	}
	count_down(g);
	return 0;
}

/* ---- opening and closing the catalog, and callbacks of its clients ---- */

static void on_changed(void *arg, const struct tool_server *server)
{
	struct catalog *r = arg;
	r->server[server - r->config.servers->server].is_known = false;
}

static json_t *on_ask(void *arg, const struct tool_server *server, const json_t *params)
{
	const struct catalog *r = arg;
	return r->config.ask(r->config.arg, server, params);
}

static void on_progress(void *arg, const struct tool_server *server, const json_t *params)
{
	const struct catalog *r = arg;
	if (r->config.on_progress)
		r->config.on_progress(r->config.arg, server, params);
}

static void make_server_id(
	struct catalog *r, size_t at, enum identifier_language language, char *id)
{
	identifier_make(language, r->server[at].config->name, id);
	size_t bytes = strlen(id);
	int count = 1;
	for (size_t i = 0; i < at; i++) {
		const char *other =
			language == IDENTIFIER_PYTHON ? r->server[i].id : r->server[i].js_id;
		if (strcmp(other, id) != 0)
			continue;
		snprintf(id + bytes, IDENTIFIER_BYTES - bytes, "_%d", ++count);
		i = (size_t)-1;
	}
}

struct catalog *catalog_new(const struct catalog_config *config)
{
	struct catalog *r = xnew(struct catalog);
	size_t n = config->servers->n;
	r->config = *config;
	r->server = xcalloc(n + 1, sizeof *r->server);
	r->entry = xcalloc(n + 1, sizeof *r->entry);
	for (; r->n < n; r->n++) {
		const struct mcp_client_config client = {.server = &config->servers->server[r->n],
			.loop = config->loop,
			.arg = r,
			.ask = config->ask ? on_ask : NULL,
			.on_progress = on_progress,
			.on_tools_changed = on_changed};
		r->server[r->n].config = client.server;
		r->entry[r->n].catalog = r;
		make_server_id(r, r->n, IDENTIFIER_PYTHON, r->server[r->n].id);
		make_server_id(r, r->n, IDENTIFIER_JAVASCRIPT, r->server[r->n].js_id);
		r->entry[r->n].client = mcp_client_new(&client);
	}
	return r;
}

static void free_call(struct catalog_call *call)
{
	struct catalog_call **at = &call->catalog->calls;
	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	free(call);
}

/* The clients are closed first. A closed client calls no callback, so the entries and calls can be
 * freed at once, although they are arguments of callbacks. */
void catalog_close(struct catalog *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		mcp_client_close(r->entry[i].client);
		forget_tools(&r->server[i], &r->entry[i]);
		for (struct loading *l = r->entry[i].loading, *next; l; l = next) {
			next = l->next;
			free(l);
		}
	}
	while (r->gatherings)
		end_gathering(r->gatherings);
	while (r->calls)
		free_call(r->calls);
	free(r->server);
	free(r->entry);
	free(r);
}

const struct catalog_server *catalog_servers(const struct catalog *r, size_t *n)
{
	*n = r->n;
	return r->server;
}

/* ---- finding servers and tools by name ---- */

/* If @name begins with "@server.", return the text after it. Returns: NULL otherwise. */
static const char *behind(const char *name, const char *server)
{
	size_t n = strlen(server);
	return strncmp(name, server, n) == 0 && name[n] == '.' ? name + n + 1 : NULL;
}

const struct catalog_server *catalog_server_of(const struct catalog *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (behind(name, r->server[i].config->name))
			return &r->server[i];
	for (size_t i = 0; i < r->n; i++)
		if (behind(name, r->server[i].id))
			return &r->server[i];
	return NULL;
}

static const struct catalog_tool *find_in(const struct catalog_server *s, const char *name)
{
	char snake[IDENTIFIER_BYTES];
	for (size_t i = 0; i < s->n_tools; i++)
		if (strcmp(s->tool[i].tool, name) == 0)
			return &s->tool[i];
	for (size_t i = 0; i < s->n_tools; i++)
		if (strcmp(s->tool[i].id, name) == 0)
			return &s->tool[i];
	for (size_t i = 0; i < s->n_tools; i++)
		if (identifier_snake(s->tool[i].id, snake) && strcmp(snake, name) == 0)
			return &s->tool[i];
	return NULL;
}

const struct catalog_tool *catalog_find(const struct catalog *r, const char *name)
{
	const struct catalog_tool *found = NULL;
	for (size_t i = 0; !found && i < r->n; i++) {
		const char *rest = behind(name, r->server[i].config->name);
		if (!rest)
			rest = behind(name, r->server[i].id);
		if (rest)
			found = find_in(&r->server[i], rest);
	}
	return found;
}

/* ---- calling a tool ---- */

/* Check structuredContent against the outputSchema of the tool, because the tool's users rely on
 * that schema. */
static int check_output(
	const struct catalog_call *call, const json_t *result, struct catalog_answer *out)
{
	const struct catalog_tool *tool = find_in(call->server, call->tool);
	const json_t *structured = json_object_get(result, "structuredContent");
	if (!tool || !tool->output || !structured ||
		fit_check(tool->output, structured, &out->err) == 0)
		return 0;
	(void)err_wrap(&out->err, "server %.60s: its answer does not match its outputSchema",
		call->server->config->name);
	out->err.code = ERR_PROTOCOL;
	return -1;
}

static void on_answer(void *arg, const struct mcp_answer *answer)
{
	struct catalog_call *call = arg;
	struct catalog_answer out = {
		.result = answer->result, .err = answer->err, .is_unsent = answer->is_unsent};
	json_t *value = NULL;
	bool fails = false;
	if (answer->end != MCP_RESULT)
		out.end = answer->end == MCP_LOST ? CATALOG_LOST : CATALOG_TOOL_ERROR;
	else if (result_read(answer->result, &value, &fails, &out.err) < 0)
		out.end = CATALOG_LOST;
	else if (fails || check_output(call, answer->result, &out) < 0)
		out.end = CATALOG_TOOL_ERROR;
	else
		out.end = CATALOG_VALUE;
	if (fails)
		(void)err_set(&out.err, ERR_PROTOCOL, "%.240s", json_string_value(value));
	out.value = fails || out.end == CATALOG_VALUE ? value : NULL;
	void (*done)(void *, const struct catalog_answer *) = call->done;
	void *done_arg = call->arg;
	free_call(call);
	done(done_arg, &out);
	json_decref(value);
}

int catalog_call(struct catalog *r, const struct catalog_tool *tool, const json_t *arguments,
	const struct catalog_waiter *waiter, struct catalog_call **out, struct err *err)
{
	struct entry *e = &r->entry[tool->server - r->server];
	if (!json_is_object(arguments))
		return err_set(err, ERR_USAGE, "%.150s: arguments are a JSON object", tool->name);
	if (fit_check(tool->schema, arguments, err) < 0)
		return err_wrap(err, "%.100s", tool->name);
	struct catalog_call *call = xnew(struct catalog_call);
	*call = (struct catalog_call){.next = r->calls,
		.catalog = r,
		.server = tool->server,
		.done = waiter->done,
		.arg = waiter->arg};
	snprintf(call->tool, sizeof call->tool, "%s", tool->tool);
	cleanup_json json_t *headers =
		tool->server->config->url ? param_headers(tool->schema, arguments) : NULL;
	int n = mcp_client_call(e->client, tool->tool, arguments,
		&(struct mcp_waiter){on_answer, call, headers}, &call->call, err);
	if (n < 0) {
		free(call);
		return n;
	}
	r->calls = call;
	if (out)
		*out = call;
	return n;
}

void catalog_cancel(struct catalog_call *call)
{
	mcp_client_cancel(call->call);
	free_call(call);
}
