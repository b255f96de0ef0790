/*
 * The tools of a plan in the planner process: this process implements planner/plan_tools.h.
 * The text of tools declares the tools. The results of calls come from one of two places: from the
 * answers in the same text or, if engine.has_calls is set, from the engine, which makes the calls
 * for this process. This process itself starts no server and opens no file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan_tools.h"

#include "base/fd.h"
#include "planner/process/tools.h"
#include "tool/fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct plan_tools {
	struct fixture *fixture;
	struct tool_provider provider;
	const char *text;
	json_t *tokens; /* usage of the model's last response, or NULL */
};

static struct planner_engine engine;

void planner_engine_set(const struct planner_engine *which)
{
	engine = *which;
}

static int read_all(void *out, size_t bytes)
{
	for (size_t n = 0; n < bytes;) {
		ssize_t r = read(PLANNER_FD, (char *)out + n, bytes - n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -EPIPE;
		n += (size_t)r;
	}
	return 0;
}

json_t *planner_receive(enum planner_kind kind)
{
	struct planner_head head;
	if (read_all(&head, sizeof head) < 0 ||
		!planner_head_is_valid(&head, PLANNER_TAKES_BYTES) || head.kind != kind)
		return NULL;
	char *text = malloc(head.bytes);
	json_t *body =
		text && read_all(text, head.bytes) == 0 ? planner_body(text, head.bytes) : NULL;
	free(text);
	return body;
}

/* Wait for an ANSWER of the engine. Returns: enum tool_outcome; negative errno. */
static int await(struct plan_tools *t, struct buf *out, struct err *err)
{
	json_t *body = planner_receive(PLANNER_ANSWER);
	const json_t *text = json_object_get(body, "text");
	/* The engine has ended, so this process is not needed any more. */
	if (!body)
		_exit(1);
	int rc = (int)json_integer_value(json_object_get(body, "outcome"));
	json_decref(t->tokens);
	t->tokens = json_incref(json_object_get(body, "tokens"));
	bool has_error = planner_get_error(body, err);
	if (rc < 0)
		rc = has_error ? -err_errno(err->code)
			       : err_set(err, ERR_INTERNAL, "plan: the engine gave no answer");
	else if (buf_append(out, json_string_value(text), json_string_length(text)) < 0)
		rc = err_set(err, ERR_LIMIT, "plan: a result has %zu bytes, which is too long",
			json_string_length(text));
	json_decref(body);
	return rc;
}

static int send_off(struct plan_tools *t, enum planner_kind kind, json_t *body, struct buf *out,
	struct err *err)
{
	int r = planner_send(PLANNER_FD, kind, body, PLANNER_GIVES_BYTES);
	if (r == -E2BIG || r == -ENOMEM) {
		(void)err_set(err, ERR_LIMIT, "plan: the request is larger than %d bytes",
			PLANNER_GIVES_BYTES);
		return TOOL_UNSENT;
	}
	if (r < 0)
		_exit(1);
	return await(t, out, err);
}

static int call(
	void *ctx, const struct tool *tool, const char *arguments, struct buf *out, struct err *err)
{
	struct plan_tools *t = ctx;
	const struct tool_provider *own = fixture_provider(t->fixture);
	if (!engine.has_calls)
		return own->call(own->ctx, tool, arguments, out, err);
	return send_off(t, PLANNER_CALL,
		json_pack("{s:s, s:s}", "tool", tool->name, "arguments", arguments), out, err);
}

static int ask(void *ctx, const struct tool_question *q, struct buf *out, struct err *err)
{
	struct plan_tools *t = ctx;
	const struct tool_provider *own = fixture_provider(t->fixture);
	if (!engine.has_calls)
		return own->ask(own->ctx, q, out, err);
	return send_off(t, PLANNER_ASK,
		json_pack("{s:s, s:s, s:s, s:s*}", "question", q->question, "data", q->data,
			"schema", q->schema, "wrong", q->wrong),
		out, err);
}

int plan_tools_open(
	struct plan_tools **out, const struct plan_tools_config *config, struct err *err)
{
	struct plan_tools *t = calloc(1, sizeof *t);
	if (!t)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for tools");
	int r = plan_tools_lists_servers(config->text)
		? plan_tools_refuse_servers(config->name, err)
		: plan_tools_read(config->text, config->name, &t->fixture, err);
	if (r < 0) {
		plan_tools_close(t);
		return r;
	}
	t->text = config->text;
	t->provider = (struct tool_provider){
		.ctx = t, .tools = fixture_provider(t->fixture)->tools, .call = call, .ask = ask};
	*out = t;
	return 0;
}

void plan_tools_close(struct plan_tools *t)
{
	if (!t)
		return;
	fixture_free(t->fixture);
	json_decref(t->tokens);
	free(t);
}

const struct tool_provider *plan_tools_provider(const struct plan_tools *t)
{
	return &t->provider;
}

const char *plan_tools_text(const struct plan_tools *t)
{
	return t->text;
}

bool plan_tools_has_model(const struct plan_tools *t attr_unused)
{
	return engine.has_model;
}

json_t *plan_tools_tokens(const struct plan_tools *t)
{
	return t->tokens ? json_copy(t->tokens) : json_object();
}
