/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/mcp_provider.h"

#include "base/alloc.h"
#include "base/json.h"
#include "tool/catalog.h"
#include "tool/declaration.h"
#include "tool/fit.h"
#include "tool/fixture.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR_BYTES = 64 << 10 };

struct mcp_provider {
	struct mcp_provider_config config;
	struct catalog *catalog;
	json_t *declared; /* the declarations of all tools: {name of the tool: declaration} */
	char *text;	  /* JSON text of {"tools": `declared`} */
	struct fixture *fixture; /* result of parsing `text` */
	struct tool_provider tools;
	size_t n_loading;
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NO_MEMORY, "tools: no memory for them");
}

static bool is_given_up(const struct mcp_provider *p)
{
	return p->config.is_given_up && *p->config.is_given_up;
}

static int interrupted(struct err *err)
{
	return err_set(err, ERR_INTERRUPTED, "tools: nothing is waited for any more");
}

/* ---- starting the servers that are named in a text ---- */

/* Return whether @text contains @word as a whole word. */
static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = text; (at = strstr(at, word)); at++) {
		bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
		if (begins && !(isalnum((unsigned char)at[n]) || at[n] == '_'))
			return true;
	}
	return false;
}

static bool is_named(const struct mcp_provider *p, const struct catalog_server *s)
{
	for (size_t i = 0; i < p->config.n_texts; i++)
		if (p->config.texts[i] && has_word(p->config.texts[i], s->id))
			return true;
	return p->config.n_texts == 0;
}

static void on_loaded(void *arg)
{
	struct mcp_provider *p = arg;
	p->n_loading--;
}

/* Start all servers that are named, and wait until their tools are known. They start at the same
 * time, because each start takes a while. */
static int load(struct mcp_provider *p, struct err *err)
{
	size_t n;
	const struct catalog_server *s = catalog_servers(p->catalog, &n);
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (!is_named(p, &s[i]))
			continue;
		r = catalog_load(p->catalog, s[i].config->name, on_loaded, p, err);
		p->n_loading += r == 0;
	}
	while (r == 0 && p->n_loading > 0 && !is_given_up(p))
		(void)uv_run(p->config.loop, UV_RUN_ONCE);
	if (r == 0 && p->n_loading > 0)
		return interrupted(err);
	for (size_t i = 0; i < n && r == 0; i++)
		if (is_named(p, &s[i]) && s[i].err.code != ERR_NONE) {
			*err = s[i].err;
			r = -err_errno(err->code);
		}
	return r;
}

/* ---- declaring the servers' tools ---- */

static void declare_server(struct mcp_provider *p, const struct catalog_server *s, int *steps)
{
	char name[TOOL_NAME_MAX_BYTES + 1];
	for (size_t i = 0; i < s->n_tools; i++) {
		json_t *one = declaration_name(&s->tool[i], name)
			? declaration_make(&s->tool[i], steps)
			: NULL;
		json_put_new(p->declared, name, one);
	}
}

static int declare(struct mcp_provider *p, struct err *err)
{
	int steps = DECLARATION_STEPS_MAX;
	size_t n;
	const struct catalog_server *s = catalog_servers(p->catalog, &n);
	cleanup_json json_t *root = json_need(json_pack("{s:{}}", "tools"));
	p->declared = json_incref(json_object_get(root, "tools"));
	for (size_t i = 0; i < n; i++)
		if (is_named(p, &s[i]))
			declare_server(p, &s[i], &steps);
	p->text = json_dumps(root, JSON_COMPACT);
	if (!p->text)
		return no_memory(err);
	if (strlen(p->text) > PROVIDER_TEXT_BYTES)
		return err_set(err, ERR_LIMIT, "tools: their declarations are over %d bytes",
			PROVIDER_TEXT_BYTES);
	return fixture_read(p->text, strlen(p->text), "servers", &p->fixture, err);
}

static const struct catalog_tool *find(const struct mcp_provider *p, const char *wanted)
{
	char name[TOOL_NAME_MAX_BYTES + 1];
	size_t n;
	const struct catalog_server *s = catalog_servers(p->catalog, &n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < s[i].n_tools; k++)
			if (declaration_name(&s[i].tool[k], name) && strcmp(name, wanted) == 0)
				return &s[i].tool[k];
	return NULL;
}

/* ---- calling a tool ---- */

struct calling {
	struct mcp_provider *p;
	const struct tool *tool;
	const struct catalog_tool *declared;
	struct catalog_call *under_way;
	struct buf *out;
	struct err *err;
	bool is_done;
	int outcome;
};

static int fail_with(struct buf *out, const char *what, const char *why, struct err *err)
{
	buf_addf(out, "%s%.*s", what, ERROR_BYTES, why);
	return buf_error(out) < 0 ? no_memory(err) : TOOL_ERROR;
}

static int fail(struct buf *out, const char *why, struct err *err)
{
	return fail_with(out, "", why, err);
}

/* Check the result against the server's outputSchema and against the outputSchema of the
 * declaration, because the labels of plans rely on both. */
static int take_value(struct calling *c, const json_t *value)
{
	const json_t *schema =
		json_object_get(json_object_get(c->p->declared, c->tool->name), "outputSchema");
	struct err why = {0};
	bool has_schema = c->declared->output != NULL;
	if (has_schema &&
		(fit_check(c->declared->output, value, &why) < 0 ||
			fit_check(schema, value, &why) < 0))
		return fail_with(
			c->out, "its answer does not match its outputSchema: ", why.msg, c->err);
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	int r = text ? buf_try(c->out, text, strlen(text)) : -1;
	bool is_large = text && r < 0;
	free(text);
	if (is_large)
		return fail(c->out, "its result is too large", c->err);
	return r < 0 ? no_memory(c->err) : TOOL_RESULT;
}

static void on_answer(void *arg, const struct catalog_answer *answer)
{
	struct calling *c = arg;
	const char *said = json_string_value(answer->value);
	c->is_done = true;
	if (answer->end == CATALOG_VALUE) {
		c->outcome = take_value(c, answer->value);
	} else if (answer->end == CATALOG_TOOL_ERROR || answer->result) {
		c->outcome = fail(c->out, said ? said : answer->err.msg, c->err);
	} else {
		*c->err = answer->err;
		c->outcome = answer->is_unsent ? TOOL_UNSENT : TOOL_LOST;
	}
}

static int wait(struct calling *c)
{
	while (!c->is_done && !is_given_up(c->p))
		(void)uv_run(c->p->config.loop, UV_RUN_ONCE);
	if (c->is_done)
		return c->outcome;
	catalog_cancel(c->under_way);
	(void)interrupted(c->err);
	return TOOL_LOST;
}

static int call(
	void *ctx, const struct tool *tool, const char *arguments, struct buf *out, struct err *err)
{
	struct mcp_provider *p = ctx;
	json_error_t wrong;
	if (is_given_up(p)) {
		(void)interrupted(err);
		return TOOL_UNSENT;
	}
	struct calling c = {
		.p = p, .tool = tool, .declared = find(p, tool->name), .out = out, .err = err};
	cleanup_json json_t *given = json_loads(arguments, JSON_REJECT_DUPLICATES, &wrong);
	if (!given)
		return fail_with(out, "its arguments cannot be sent: ", wrong.text, err);
	cleanup_json json_t *named = declaration_arguments(c.declared, given);
	const struct catalog_waiter waiter = {on_answer, &c};
	int r = catalog_call(p->catalog, c.declared, named, &waiter, &c.under_way, err);
	if (r < 0 && err->code == ERR_USAGE)
		return fail(out, err->msg, err);
	return r < 0 ? TOOL_UNSENT : wait(&c);
}

/* ---- opening and closing a provider ---- */

int mcp_provider_open(
	struct mcp_provider **out, const struct mcp_provider_config *config, struct err *err)
{
	struct mcp_provider *p = xnew(struct mcp_provider);
	const struct catalog_config catalog = {.loop = config->loop, .servers = config->servers};
	p->config = *config;
	p->catalog = catalog_new(&catalog);
	int r = load(p, err);
	if (r == 0)
		r = declare(p, err);
	/* The texts in `config` are borrowed only until this function returns. */
	p->config.texts = NULL;
	if (r < 0) {
		mcp_provider_close(p);
		return r;
	}
	p->tools = (struct tool_provider){
		.ctx = p, .tools = fixture_provider(p->fixture)->tools, .call = call};
	*out = p;
	return 0;
}

void mcp_provider_close(struct mcp_provider *p)
{
	if (!p)
		return;
	catalog_close(p->catalog);
	fixture_free(p->fixture);
	json_decref(p->declared);
	free(p->text);
	free(p);
}

const char *mcp_provider_text(const struct mcp_provider *p)
{
	return p->text;
}

const struct tool_provider *mcp_provider_tools(const struct mcp_provider *p)
{
	return &p->tools;
}
