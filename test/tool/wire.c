/*
 * A model wire by itself, for tests: questions in, what became of them out.
 *
 *   tool-wire SPEC [key_file=F] [connect_ms=N] [idle_ms=N] [whole_ms=N] [tries=N] [random=N]
 *             [fence=1] [restart=1] [cancel_after=N]
 *
 * Each line of stdin is a question as agent/wire/question.h writes it; they are asked one after the
 * other. Each line of stdout is an event: {"delta", "text"}, {"wait", "class"}, {"restart"},
 * {"done"} with the reply, {"failed"} with the failure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/answer/extract.h"
#include "agent/wire/wire.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 64 << 20, MESSAGES_MAX = 256, PARTS_MAX = 1024, TOOLS_MAX = 16, STOPS_MAX = 4 };

struct question {
	json_t *root;
	struct message messages[MESSAGES_MAX];
	struct part parts[PARTS_MAX];
	struct model_tool tools[TOOLS_MAX];
	const char *stop[STOPS_MAX];
	size_t n_parts;
	struct wire_request request;
};

static uv_loop_t *loop;
static struct wire *wire;
static struct wire_call *call;
static struct buf heard = {.max_bytes = REPLY_TEXT_BYTES};
static bool has_fence, may_restart, is_failed;
static long cancel_after = -1;
static struct question question;

static void print(json_t *event)
{
	char *text = json_dumps(event, JSON_COMPACT | JSON_ENSURE_ASCII);
	printf("%s\n", text ? text : "{\"broken\": true}");
	(void)fflush(stdout);
	free(text);
	json_decref(event);
}

static json_t *word(const json_t *object, const char *name)
{
	return json_object_get(object, name);
}

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(word(object, name));
}

static void read_part(struct part *p, const json_t *json)
{
	static const char *const kinds[] = {
		"text", "image", "tool_call", "tool_result", "reasoning"};
	const char *type = text_of(json, "type");
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (type && strcmp(type, kinds[i]) == 0)
			p->kind = (enum part_kind)i;
	p->text = text_of(json, "text");
	if (p->kind == PART_IMAGE)
		p->text = text_of(json, "data");
	if (p->kind == PART_TOOL_CALL)
		p->text = text_of(json, "arguments");
	p->id = text_of(json, "id");
	p->name = text_of(json, "name");
	p->mime = text_of(json, "mime");
	p->is_error = json_is_true(word(json, "is_error"));
	p->opaque = word(json, "opaque");
	if (p->opaque)
		p->wire = strcmp(text_of(json, "wire"), "anthropic") == 0 ? wire_anthropic.name
									  : wire_responses.name;
}

static void read_message(struct message *m, const json_t *json)
{
	const char *role = text_of(json, "role");
	const json_t *content = word(json, "content");
	m->role = strcmp(role, "system") == 0 ? ROLE_SYSTEM
		: strcmp(role, "user") == 0   ? ROLE_USER
					      : ROLE_ASSISTANT;
	m->parts = question.parts + question.n_parts;
	m->n_parts = json_array_size(content);
	for (size_t i = 0; i < m->n_parts && question.n_parts < PARTS_MAX; i++)
		read_part(&question.parts[question.n_parts++], json_array_get(content, i));
}

static void read_options(struct wire_options *o, const json_t *json)
{
	o->max_tokens = (uint64_t)json_integer_value(word(json, "max_tokens"));
	o->context_tokens = (uint64_t)json_integer_value(word(json, "context_tokens"));
	o->effort = text_of(json, "effort");
	o->schema = word(json, "schema");
	o->has_seed = word(json, "seed") != NULL;
	o->seed = json_integer_value(word(json, "seed"));
	o->has_temperature = word(json, "temperature") != NULL;
	o->temperature = json_number_value(word(json, "temperature"));
	o->n_stop = json_array_size(word(json, "stop"));
	o->stop = question.stop;
	for (size_t i = 0; i < o->n_stop && i < STOPS_MAX; i++)
		question.stop[i] = json_string_value(json_array_get(word(json, "stop"), i));
}

static bool read_question(void)
{
	static char line[LINE_BYTES];
	if (!fgets(line, sizeof line, stdin))
		return false;
	json_decref(question.root);
	question = (struct question){.root = json_loads(line, 0, NULL)};
	const json_t *messages = word(question.root, "messages"),
		     *tools = word(question.root, "tools");
	struct wire_request *q = &question.request;
	q->messages = question.messages;
	q->n_messages = json_array_size(messages);
	for (size_t i = 0; i < q->n_messages && i < MESSAGES_MAX; i++)
		read_message(&question.messages[i], json_array_get(messages, i));
	q->tools = question.tools;
	q->n_tools = json_array_size(tools);
	for (size_t i = 0; i < q->n_tools && i < TOOLS_MAX; i++) {
		const json_t *t = json_array_get(tools, i);
		question.tools[i] = (struct model_tool){
			text_of(t, "name"), text_of(t, "description"), word(t, "schema")};
	}
	read_options(&q->options, word(question.root, "options"));
	return true;
}

static void ask_next(void);

static int on_delta(void *arg, struct delta *d)
{
	static const char *const kinds[] = {"text", "reasoning", "tool"};
	(void)arg;
	print(json_pack("{s:s, s:s%}", "delta", kinds[d->kind], "text", d->text, d->bytes));
	if (cancel_after >= 0 && cancel_after-- == 0) {
		print(json_pack("{s:b}", "cancelled", 1));
		wire_cancel(call);
		wire_close(wire);
		return 0;
	}
	size_t before = heard.bytes;
	struct extract code;
	if (!has_fence || d->kind != DELTA_TEXT || buf_append(&heard, d->text, d->bytes) < 0 ||
		!extract_is_whole(heard.data, heard.bytes))
		return 0;
	extract_code(heard.data, heard.bytes, &code);
	d->keep_bytes = code.end > before ? code.end - before : 0;
	return 1;
}

static int on_restart(void *arg, const struct failure *why)
{
	(void)arg;
	print(json_pack("{s:s}", "restart", failure_word(why->class)));
	buf_clear(&heard);
	return 0;
}

static void on_wait(void *arg, const struct failure *why, int64_t ms)
{
	(void)arg;
	print(json_pack("{s:I, s:s, s:s}", "wait", (json_int_t)ms, "class",
		failure_word(why->class), "message", why->err.msg));
}

static void done(void *arg, struct reply *reply, const struct failure *why)
{
	(void)arg;
	if (why) {
		is_failed = true;
		print(json_pack("{s:s, s:s, s:s, s:s, s:i, s:I, s:s, s:o}", "failed",
			failure_word(why->class), "code", err_word(why->err.code), "message",
			why->err.msg, "hint", why->err.hint, "status", why->status,
			"context_tokens", (json_int_t)why->context_tokens, "request_id",
			why->request_id, "reply", reply_json(reply)));
	} else {
		json_t *opaque = json_array();
		for (size_t i = 0; i < reply->n_parts; i++)
			if (reply->parts[i].opaque)
				json_array_append(
					opaque, (json_t *)(uintptr_t)reply->parts[i].opaque);
		print(json_pack("{s:o, s:s, s:o, s:b}", "done", reply_json(reply), "request_id",
			reply->request_id, "opaque", opaque, "truncated", reply->is_truncated));
	}
	ask_next();
}

static void ask_next(void)
{
	static const struct wire_watch watch = {
		.on_delta = on_delta, .on_wait = on_wait, .done = done};
	struct wire_watch w = watch;
	struct err err = {0};
	w.on_restart = may_restart ? on_restart : NULL;
	buf_clear(&heard);
	if (read_question() && wire_ask(wire, &question.request, &w, &call, &err) == 0)
		return;
	if (err.msg[0])
		fprintf(stderr, "%s\n", err.msg);
	wire_close(wire);
}

static void read_option(struct wire_config *c, const char *text)
{
	const char *value = strchr(text, '=') + 1;
	long n = strtol(value, NULL, 10);
	const struct {
		const char *name;
		uint64_t *where;
	} numbers[] = {{"connect_ms=", &c->connect_ms}, {"idle_ms=", &c->idle_ms},
		{"whole_ms=", &c->whole_ms}, {"random=", &c->random}};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (strncmp(text, numbers[i].name, strlen(numbers[i].name)) == 0)
			*numbers[i].where = (uint64_t)n;
	if (strncmp(text, "key_file=", 9) == 0)
		c->key_file = value;
	if (strncmp(text, "tries=", 6) == 0)
		c->tries_max = n > 0 ? (int)n : -1;
	if (strncmp(text, "cancel_after=", 13) == 0)
		cancel_after = n;
	has_fence |= strncmp(text, "fence=", 6) == 0;
	may_restart |= strncmp(text, "restart=", 8) == 0;
}

int main(int argc, char **argv)
{
	struct err err = {0};
	struct wire_config config = {.spec = argc > 1 ? argv[1] : ""};
	(void)signal(SIGPIPE, SIG_IGN);
	for (int i = 2; i < argc; i++)
		if (strchr(argv[i], '='))
			read_option(&config, argv[i]);
	loop = uv_default_loop();
	if (wire_open(&wire, loop, &config, &err) < 0) {
		fprintf(stderr, "%s: %s\n%s\n", err_word(err.code), err.msg, err.hint);
		(void)uv_run(loop, UV_RUN_DEFAULT);
		return err_exit(err.code);
	}
	ask_next();
	(void)uv_run(loop, UV_RUN_DEFAULT);
	json_decref(question.root);
	buf_done(&heard);
	/* Nothing of ours may keep a loop alive. */
	return uv_loop_close(loop) == 0 ? is_failed : 99;
}
