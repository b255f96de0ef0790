/* Requests to the front "e2b", in the order in which a hostile client sends them, to one engine
 * whose operations succeed, fail, or wait; clients leave, and the engine stops. The first request
 * makes a sandbox, the others may be anything. The input: requests, each of a byte that chooses the
 * route, one of choices, then parts that end in NUL: the rest of the target, headers as JSON, what
 * operations result in as JSON, and the body with "\0" as an escape. "@NAME@" stands for
 * a member of the answers so far, such as "@sandboxID@".
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "rig.h"
#include "serve/e2b/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS_MAX = 8 };

/* ---- requests ---- */

static void leave(struct http_exchange *x)
{
	void (*gone)(void *) = x->gone;
	x->gone = x->stop = x->progress = NULL;
	if (gone)
		gone(x->gone_arg);
	if (rig_is_open(x)) /* it could not know that the client has left */
		rig_drop(x);
}

/* Is the body of the request a stream of messages? */
static bool is_stream(const char *target)
{
	static const char *const names[] = {"/Start", "/StreamInput", "/Connect", "/WatchDir"};
	bool is_one = false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		is_one |= strstr(target, names[i]) != NULL;
	return is_one;
}

/* Add the headers that the client of a sandbox sends, if it does not send others. */
static void add_headers(json_t *headers, bool is_stream)
{
	const struct e2b *e = state.own;
	const struct e2b_sandbox *s = e ? e->sandboxes : NULL;
	json_t *all = json_need(json_object());
	json_put_text(
		all, "Content-Type", is_stream ? "application/connect+json" : "application/json");
	if (s) {
		json_put_text(all, "E2b-Sandbox-Id", s->id);
		json_put_text(all, "E2b-Sandbox-Port", choices & AT_CODE ? "49999" : "49983");
		json_put_text(all, "X-Access-Token", choices & FOREIGN ? s->traffic : s->token);
	}
	(void)json_object_update_missing(headers, all);
	json_decref(all);
}

static void go_on(struct http_exchange *x)
{
	unsigned n = 0;
	while (rig_is_open(x) && x->progress && n++ < 10000 && x->at < x->bytes)
		x->progress(x->progress_arg);
	if (rig_is_open(x) && x->progress)
		x->progress(x->progress_arg);
	if (rig_is_open(x) && x->stop && choices & STOPS) {
		void (*stop)(void *) = x->stop;
		x->stop = NULL;
		stop(x->stop_arg);
	}
	if (rig_is_open(x) && choices & LEAVES)
		leave(x);
}

/* Start a request by @row, to its path and @rest. Owns: takes @headers, an object. */
static void request(
	const struct front_row *row, const char *rest, json_t *headers, char *body, size_t bytes)
{
	struct http_exchange *x = xnew(struct http_exchange);
	struct front_call *c = xnew(struct front_call);
	size_t n = strlen(row->path) + strlen(rest) + 1;
	bool is_json = !row->is_raw && !row->is_streamed;
	json_t *message = is_json ? json_loadb(body, bytes, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (!json_is_object(message)) {
		json_decref(message);
		message = json_need(json_object());
	}
	*x = (struct http_exchange){.next = exchanges,
		.method = row->method ? row->method : "PUT",
		.target = xcalloc(1, n),
		.headers = headers,
		.body = body,
		.bytes = bytes,
		.choices = choices,
		.gone = rig_on_gone,
		.stop = rig_on_stop,
		.gone_arg = c,
		.stop_arg = c};
	snprintf(x->target, n, "%s%s", row->path, rest);
	exchanges = x;
	add_headers(headers, is_stream(x->target));
	*c = (struct front_call){
		.wire = &front_e2b, .state = &state, .context = &context, .x = x, .body = message};
	row->start(c);
	go_on(x);
}

/* Append what "@NAME@" at the beginning of @part stands for. Returns: its length; 0: it is no such
 * thing. */
static size_t add_answer(struct buf *out, const uint8_t *part, size_t bytes)
{
	char name[32] = "";
	size_t n = 1;
	while (part[0] == '@' && n < bytes && n < sizeof name && part[n] != '@')
		n++;
	if (part[0] != '@' || n == bytes || n == sizeof name)
		return 0;
	memcpy(name, part + 1, n - 1);
	const char *value = json_get_text(answers, name);
	return value[0] && buf_append(out, value, strlen(value)) == 0 ? n + 1 : 0;
}

/* Replace what stands for something else: "@NAME@", "\0" and "\\". Owns: the caller frees *@text,
 * which has NUL behind its end. Returns: its length. */
static size_t expand(const uint8_t *part, size_t bytes, char **text)
{
	struct buf out = BUF_INIT(SIZE_MAX);
	for (size_t i = 0, n; i < bytes; i += n) {
		bool is_escape = part[i] == '\\' && i + 1 < bytes && strchr("0\\", part[i + 1]);
		n = add_answer(&out, part + i, bytes - i);
		if (n > 0)
			continue;
		n = is_escape ? 2 : 1;
		char c = (char)(!is_escape ? part[i] : part[i + 1] == '0' ? '\0' : '\\');
		(void)buf_append(&out, &c, 1);
	}
	size_t length = out.bytes;
	(void)buf_append(&out, "", 1);
	*text = buf_take(&out);
	return length;
}

static json_t *read_object(const uint8_t *part, size_t bytes)
{
	char *text;
	size_t n = expand(part, bytes, &text);
	json_t *out = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	if (json_is_object(out))
		return out;
	json_decref(out);
	return json_need(json_object());
}

static void read_request(const uint8_t **data, size_t *bytes)
{
	const uint8_t *part;
	MUST(front_e2b.n_rows > 0);
	const struct front_row *row = &front_e2b.rows[(*data)[0] % front_e2b.n_rows];
	char *rest, *body;
	choices = (*data)[1];
	*data += 2;
	*bytes -= 2;
	size_t n = fuzz_part(data, bytes, &part);
	(void)expand(part, row->path[strlen(row->path) - 1] == '/' ? n : 0, &rest);
	n = fuzz_part(data, bytes, &part);
	json_t *headers = read_object(part, n);
	n = fuzz_part(data, bytes, &part);
	json_t *members = read_object(part, n);
	n = fuzz_part(data, bytes, &part);
	n = expand(part, n, &body);
	result = members;
	request(row, rest, headers, body, n);
	result = NULL;
	json_decref(members);
	free(rest);
}

static void stop(void)
{
	struct http_exchange *next;
	unsigned n = 0;
	choices = 0;
	while (rig_end_a_call(n++ % 2 ? ERR_INTERRUPTED : ERR_NONE))
		;
	for (struct http_exchange *x = exchanges; x; x = next) {
		next = x->next;
		leave(x);
	}
	while (state.own && e2b_stop(&state)) {
		(void)uv_run(context.loop, UV_RUN_NOWAIT);
		MUST(n++ < 100000);
	}
	MUST(!rig_end_a_call(ERR_NONE) && !exchanges);
	(void)uv_run(context.loop, UV_RUN_DEFAULT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const char wanted[] = "{\"templateID\":\"base\",\"timeout\":300}";
	static uv_loop_t loop;
	if (!context.loop)
		(void)uv_loop_init(&loop);
	context.loop = &loop;
	choices = 0;
	answers = json_need(json_object());
	for (size_t i = 0; i < front_e2b.n_rows && !state.own; i++)
		if (front_e2b.rows[i].start == e2b_start_create)
			request(&front_e2b.rows[i], "", json_need(json_object()), xstrdup(wanted),
				sizeof wanted - 1);
	for (unsigned i = 0; i < REQUESTS_MAX && bytes > 2; i++)
		read_request(&data, &bytes);
	stop();
	json_decref(answers);
	return 0;
}
