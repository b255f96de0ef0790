/* One fuzz target per wire: an answer of a hostile server, whole and byte by byte.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "fuzz.h"

#include "agent/wire/reduction.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* What the watcher heard is what the reply has. */
static inline int fuzz_on_delta(void *arg, struct delta *d)
{
	size_t *heard = arg;
	MUST(d->bytes > 0 && d->keep_bytes == d->bytes);
	*heard += d->bytes;
	return 0;
}

static inline int fuzz_reduce(struct reduction *r, const char *data, size_t bytes, size_t step)
{
	int n = 0;
	for (size_t at = 0; at < bytes && n == 0; at += step)
		n = reduction_feed(r, data + at, MIN(step, bytes - at));
	n = n < 0 ? -1 : reduction_finish(r, 100);
	MUST(n == 0 || (r->failure.class != FAILURE_NONE && r->failure.err.msg[0]));
	MUST(utf8_is_valid(r->failure.err.msg, strlen(r->failure.err.msg)));
	return n;
}

static inline void fuzz_check_reply(const struct reply *r)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < r->n_parts; i++) {
		MUST(utf8_is_valid(r->parts[i].text, strlen(r->parts[i].text)));
		MUST(strlen(r->parts[i].text) == r->texts[i].bytes);
		bytes += r->texts[i].bytes;
	}
	MUST(r->n_parts <= REPLY_PARTS_MAX && bytes == r->text_bytes && r->stop < REPLY_STOP_END_);
}

/* What was answered can be sent back. */
static inline void fuzz_send_back(const struct reply *reply)
{
	const struct wire_format *const formats[] = {
		&wire_chat, &wire_responses, &wire_anthropic, &wire_ollama};
	const struct message message = {ROLE_ASSISTANT, reply->parts, reply->n_parts};
	const struct wire_request q = {.model = "m", .messages = &message, .n_messages = 1};
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		char *body = format_body(formats[i], &q);
		MUST(body && utf8_is_valid(body, strlen(body)));
		free(body);
	}
}

static inline int fuzz_wire(const struct wire_format *format, const uint8_t *data, size_t bytes)
{
	struct reduction *whole = malloc(sizeof *whole), *parts = malloc(sizeof *parts);
	size_t heard[2] = {0, 0};
	reduction_init(whole, format, "sk-secret", fuzz_on_delta, &heard[0]);
	reduction_init(parts, format, "sk-secret", fuzz_on_delta, &heard[1]);
	int n = fuzz_reduce(whole, (const char *)data, bytes, bytes);
	MUST(fuzz_reduce(parts, (const char *)data, bytes, 1) == n);
	MUST(whole->failure.class == parts->failure.class);
	fuzz_check_reply(&whole->reply);
	fuzz_check_reply(&parts->reply);
	MUST(heard[0] == whole->reply.text_bytes && heard[1] == heard[0]);
	json_t *a = reply_json(&whole->reply), *b = reply_json(&parts->reply);
	MUST(json_equal(a, b));
	fuzz_send_back(&whole->reply);
	reduction_done(whole);
	reduction_done(parts);
	json_decref(a);
	json_decref(b);
	free(whole);
	free(parts);
	return 0;
}
