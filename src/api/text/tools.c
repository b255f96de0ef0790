/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text/tools.h"

#include "api/text/tool_json.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/word.h"
#include "tool/approval.h"
#include "tool/catalog_search.h"
#include "tool/form.h"
#include "tool/stub.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 100, FORM_TRIES = 3 };

struct performance {
	const struct tools_request *request;
	struct tools_outcome *out;
	struct tool_servers servers;
	uv_loop_t loop;
	uv_signal_t signals[2];
	struct catalog *catalog;
};

static void wrong(struct tools_outcome *out, enum tools_end end, const struct err *err)
{
	out->end = end;
	out->err = *err;
}

/* Close the catalog and the signal handles. Then the loop has nothing to wait for, and ends. */
static void finish(struct performance *p)
{
	catalog_close(p->catalog);
	p->catalog = NULL;
	for (size_t i = 0; i < ARRAY_LEN(p->signals); i++)
		if (!uv_is_closing((uv_handle_t *)&p->signals[i]))
			uv_close((uv_handle_t *)&p->signals[i], NULL);
}

static void on_signal(uv_signal_t *s, int number)
{
	struct performance *p = s->data;
	struct err err = {0};
	(void)err_set(&err, ERR_INTERRUPTED, "interrupted by signal %d", number);
	wrong(p->out, TOOLS_LOST, &err);
	finish(p);
}

/* ---- showing tools: lists, search results, stubs ---- */

static void show_tool(struct tools_outcome *out, const struct catalog_tool *t)
{
	size_t n = strcspn(t->text, "\n");
	const char *more = n > LINE_BYTES ? "…" : "";
	n = utf8_cut(t->text, n, LINE_BYTES);
	json_add_new(json_object_get(out->json, "tools"), tool_json(t));
	buf_addf(&out->text, "%s%s%.*s%s\n", t->name, n > 0 ? "  " : "", (int)n, t->text, more);
}

/* Report servers that failed, and tools that were left out. */
static void look_at_servers(struct performance *p)
{
	size_t n;
	const struct catalog_server *s = catalog_servers(p->catalog, &n);
	for (size_t i = 0; i < n; i++) {
		struct err err = s[i].err;
		if (err.code != ERR_NONE) {
			wrong(p->out, TOOLS_LOST, &err);
			if (p->request->warn)
				p->request->warn(p->request->arg, &err);
		}
		if (s[i].n_left_out == 0 || !p->request->warn)
			continue;
		(void)err_set(&err, ERR_PROTOCOL,
			"server %s: %d of its tools are left out: they have no name or schema, or "
			"the same name as another",
			s[i].config->name, s[i].n_left_out);
		p->request->warn(p->request->arg, &err);
	}
}

static void list(struct performance *p)
{
	size_t n;
	const struct catalog_server *s = catalog_servers(p->catalog, &n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < s[i].n_tools; k++)
			show_tool(p->out, &s[i].tool[k]);
}

static void search(struct performance *p)
{
	const struct catalog_tool *found[CATALOG_FOUND_MAX];
	size_t n = catalog_search(p->catalog, p->request->what, found, TOOLS_FOUND_MAX);
	for (size_t i = 0; i < n; i++)
		show_tool(p->out, found[i]);
}

static void stub(struct performance *p)
{
	enum identifier_language language =
		p->request->is_javascript ? IDENTIFIER_JAVASCRIPT : IDENTIFIER_PYTHON;
	size_t n;
	const struct catalog_server *s = catalog_servers(p->catalog, &n);
	struct err err = {0};
	int r = language == IDENTIFIER_PYTHON
		? buf_add(&p->out->text,
			  "from __future__ import annotations\n\nfrom typing import "
			  "Any, Literal, Never, NotRequired, TypedDict\n\n\n")
		: 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		if (s[i].n_tools > 0)
			r = stub_write(&p->out->text, language, &s[i], &err);
	json_put_textn(p->out->json, "stub", buf_str(&p->out->text), p->out->text.bytes);
	if (r < 0)
		wrong(p->out, TOOLS_LOST, &err);
}

static void on_loaded(void *arg)
{
	static void (*const shows[])(struct performance * p) = {
		[TOOLS_LIST] = list, [TOOLS_SEARCH] = search, [TOOLS_STUB] = stub};
	struct performance *p = arg;
	look_at_servers(p);
	shows[p->request->verb](p);
	finish(p);
}

/* ---- calling a tool ---- */

static void show_value(struct tools_outcome *out, const json_t *value)
{
	char *text =
		json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_INDENT(2));
	if (json_is_string(value))
		buf_append(&out->text, json_string_value(value), json_string_length(value));
	else
		buf_add(&out->text, text ? text : "");
	free(text);
	if (out->text.bytes > 0 && out->text.data[out->text.bytes - 1] != '\n')
		buf_add(&out->text, "\n");
}

static void on_answer(void *arg, const struct catalog_answer *answer)
{
	struct performance *p = arg;
	struct tools_outcome *out = p->out;
	static const enum tools_end ends[] = {[CATALOG_VALUE] = TOOLS_DONE,
		[CATALOG_TOOL_ERROR] = TOOLS_TOOL_ERROR,
		[CATALOG_LOST] = TOOLS_LOST};
	out->end = ends[answer->end];
	out->err = answer->err;
	if (answer->end != CATALOG_LOST) {
		json_t *is_error = json_boolean(answer->end == CATALOG_TOOL_ERROR);
		json_put_new(out->json, "is_error", is_error);
		if (answer->value)
			json_put_shared(out->json, "value", (json_t *)answer->value);
		if (answer->result)
			json_put_shared(out->json, "result", (json_t *)answer->result);
	}
	if (answer->value)
		show_value(out, answer->value);
	finish(p);
}

static bool is_allowed(struct performance *p, const struct catalog_tool *t, struct err *err)
{
	const struct tools_request *q = p->request;
	cleanup_buf struct buf text = BUF_INIT(APPROVAL_TEXT_BYTES);
	if (q->is_allowed || !approval_is_needed(t, false))
		return true;
	approval_ask(&text, t, q->arguments, false);
	if (q->approve && q->approve(q->arg, buf_str(&text)))
		return true;
	err_fail(err, ERR_DENIED, "allow the call with --yes",
		"%.150s: it is not read-only, and nobody allowed the call", t->name);
	return false;
}

/* Add a hint that says how to list the tools of @server; NULL: of all servers. */
static int hint_list(const struct performance *p, const char *server, struct err *err)
{
	return err_hint(err, "`retort tools list --mcp-config %.200s%s%.64s` lists them",
		p->request->config_path, server ? " " : "", server ? server : "");
}

static int fail_no_tool(
	const struct performance *p, const struct catalog_server *s, struct err *err)
{
	const char *server = s->config->name;
	struct word_near near = WORD_NEAR(p->request->what + strlen(server) + 1);
	for (size_t i = 0; i < s->n_tools; i++)
		word_near_try(&near, s->tool[i].tool);
	(void)err_set(err, ERR_NOT_FOUND, "tools: %.64s has no tool \"%.100s\"", server, near.word);
	return near.best ? err_hint(err, "did you mean %.64s.%.150s?", server, near.best)
			 : hint_list(p, server, err);
}

/* Report that no server has the requested name. The request names "server" or, for a call,
 * "server.tool". */
static int fail_no_server(const struct performance *p, struct err *err)
{
	const char *name = p->request->what;
	char server[WORD_MAX_BYTES];
	size_t bytes = p->request->verb == TOOLS_CALL ? strcspn(name, ".") : strlen(name), n = 0;
	const struct catalog_server *s = catalog_servers(p->catalog, &n);
	snprintf(
		server, sizeof server, "%.*s", (int)utf8_cut(name, bytes, sizeof server - 1), name);
	struct word_near near = WORD_NEAR(server);
	for (size_t i = 0; i < n; i++)
		word_near_try(&near, s[i].config->name);
	(void)err_set(err, ERR_NOT_FOUND, "tools: no server is called \"%s\"", server);
	if (near.best)
		return err_hint(err, "did you mean %.64s%.150s?", near.best, name + bytes);
	return hint_list(p, NULL, err);
}

static void on_known(void *arg)
{
	struct performance *p = arg;
	const char *name = p->request->what;
	const struct catalog_server *s = catalog_server_of(p->catalog, name);
	const struct catalog_tool *t = catalog_find(p->catalog, name);
	struct err err = {0};
	int r = 0;
	enum tools_end end = TOOLS_WRONG;
	if (s->err.code != ERR_NONE) {
		err = s->err;
		end = TOOLS_LOST;
		r = -1;
	} else if (!t) {
		r = fail_no_tool(p, s, &err);
	} else if (!is_allowed(p, t, &err)) {
		end = TOOLS_REFUSED;
		r = -1;
	} else {
		r = catalog_call(p->catalog, t, p->request->arguments,
			&(struct catalog_waiter){on_answer, p}, NULL, &err);
		if (r < 0 && err.code != ERR_USAGE)
			end = TOOLS_LOST;
	}
	if (r == 0)
		return;
	wrong(p->out, end, &err);
	finish(p);
}

/* ---- checking the configuration, and reporting progress ---- */

static const char *variable(const char *name)
{
	return getenv(name);
}

int tools_check(const char *path, struct err *err)
{
	struct tool_servers servers = {0};
	int r = servers_load(&servers, path, variable, err);
	servers_done(&servers);
	return r;
}

static void on_progress(void *arg, const struct tool_server *server, const json_t *params)
{
	struct performance *p = arg;
	cleanup_buf struct buf text = BUF_INIT(4096), shown = BUF_INIT(1 << 14);
	const char *message = json_string_value(json_object_get(params, "message"));
	double done = json_number_value(json_object_get(params, "progress"));
	double total = json_number_value(json_object_get(params, "total"));
	buf_addf(&text, "%s: %g", server->name, done);
	if (total > 0)
		buf_addf(&text, " of %g", total);
	if (message)
		buf_addf(&text, " %.200s", message);
	(void)utf8_escape_terminal(&shown, buf_str(&text), text.bytes, UTF8_ONE_LINE);
	if (p->request->progress)
		p->request->progress(p->request->arg, buf_str(&shown));
}

/* ---- asking a person for input of a server, and performing the request ---- */

/* Ask for the value of one field. Returns: 1 if *@value was set; 0 if the input was empty; -1 if
 * nobody answered. */
static int ask_field(
	const struct tools_request *q, const char *name, const json_t *field, json_t **value)
{
	struct err err = {0};
	int r = -EINVAL;
	for (int i = 0; r == -EINVAL && i < FORM_TRIES; i++) {
		cleanup_buf struct buf prompt = BUF_INIT(16 * FORM_TEXT_BYTES);
		if (i > 0)
			buf_addf(&prompt, "%s\n", err.msg);
		if (form_ask_field(&prompt, name, field) < 0)
			return -1;
		char *line = q->answer(q->arg, buf_str(&prompt));
		r = line ? form_read(field, line, value, &err) : -1;
		free(line);
	}
	return r < 0 ? -1 : r;
}

/* Ask a person whether to fill in the form that a server has sent. If the person agrees, ask for
 * the value of each field. Returns: true if @content has the values that the person gave; false if
 * the person refused, or if nobody answered. */
static bool ask_fields(const struct performance *p, const struct tool_server *server,
	const json_t *params, json_t *content)
{
	const struct tools_request *q = p->request;
	cleanup_buf struct buf prompt = BUF_INIT(16 * FORM_TEXT_BYTES);
	const char *name;
	json_t *field, *value = NULL;
	if (!q->answer || form_ask(&prompt, server->name, params) < 0 ||
		buf_add(&prompt, "\nAnswer? [y/N] ") < 0)
		return false;
	char *line = q->answer(q->arg, buf_str(&prompt));
	bool is_yes = line && (*line == 'y' || *line == 'Y');
	free(line);
	if (!is_yes)
		return false;
	json_object_foreach((json_t *)(uintptr_t)form_fields(params), name, field)
	{
		int r = ask_field(q, name, field, &value);
		if (r < 0)
			return false;
		if (r > 0)
			json_put_new(content, name, value);
	}
	return true;
}

/* Called when a server asks for input during a call. Returns: the answer; NULL: refuse. */
static json_t *on_ask(void *arg, const struct tool_server *server, const json_t *params)
{
	const struct performance *p = arg;
	struct err err = {0};
	json_t *content = json_object();
	bool is_said = form_fields(params) &&
		(p->request->is_allowed || ask_fields(p, server, params, content));
	if (is_said && form_complete(params, content, &err) == 0)
		return json_pack("{s:s, s:o}", "action", "accept", "content", content);
	json_decref(content);
	if (err.code && p->request->warn)
		p->request->warn(p->request->arg, &err);
	return NULL;
}

static int begin(struct performance *p, struct err *err)
{
	const struct tools_request *q = p->request;
	bool is_call = q->verb == TOOLS_CALL;
	const struct catalog_config config = {.loop = &p->loop,
		.servers = &p->servers,
		.arg = p,
		.ask = on_ask,
		.on_progress = on_progress};
	p->catalog = catalog_new(&config);
	const struct catalog_server *s = is_call ? catalog_server_of(p->catalog, q->what) : NULL;
	if (is_call && !s)
		return fail_no_server(p, err);
	const char *server = is_call ? s->config->name : q->verb == TOOLS_SEARCH ? NULL : q->what;
	int r = catalog_load(p->catalog, server, is_call ? on_known : on_loaded, p, err);
	return r == -err_errno(ERR_NOT_FOUND) ? fail_no_server(p, err) : r;
}

static void perform(struct performance *p)
{
	static const int numbers[] = {SIGINT, SIGTERM};
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		(void)uv_signal_init(&p->loop, &p->signals[i]);
		p->signals[i].data = p;
		(void)uv_signal_start(&p->signals[i], on_signal, numbers[i]);
		uv_unref((uv_handle_t *)&p->signals[i]);
	}
	if (begin(p, &err) < 0) {
		wrong(p->out, TOOLS_WRONG, &err);
		finish(p);
	}
	(void)uv_run(&p->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&p->loop);
}

void tools_perform(const struct tools_request *request, struct tools_outcome *out)
{
	struct performance p = {.request = request, .out = out};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	struct err err = {0};
	*out = (struct tools_outcome){.text = BUF_INIT(TOOLS_TEXT_BYTES)};
	out->json = json_pack("{s:i}", "schema", 1);
	if (request->verb == TOOLS_LIST || request->verb == TOOLS_SEARCH)
		json_put_new(out->json, "tools", json_array());
	else if (request->verb == TOOLS_CALL)
		json_put_text(out->json, "tool", request->what);
	/* If a server does not read its input, a write to it must fail, but not end this
	 * process. */
	(void)sigaction(SIGPIPE, &ignore, &before);
	if (servers_load(&p.servers, request->config_path, variable, &err) < 0) {
		wrong(out, TOOLS_WRONG, &err);
	} else if (uv_loop_init(&p.loop) < 0) {
		(void)err_set(&err, ERR_NO_MEMORY, "tools: no memory for a loop");
		wrong(out, TOOLS_WRONG, &err);
	} else {
		perform(&p);
	}
	(void)sigaction(SIGPIPE, &before, NULL);
	servers_done(&p.servers);
}

void tools_done(struct tools_outcome *out)
{
	json_decref(out->json);
	buf_done(&out->text);
}
