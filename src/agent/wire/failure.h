/* Why a model gave no answer. The classes differ in what can be done about it. No system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum failure_class {
#define X(symbol, word, err, is_retried, what) FAILURE_##symbol,
#include "agent/wire/failure.def"
#undef X
	FAILURE_END_
};

/* SECRET_BYTES_MAX: no key is longer; failure_read() relies on it. */
enum { FAILURE_BODY_BYTES = 64 << 10, SECRET_BYTES_MAX = 1024, FAILURE_SAID_BYTES = 181 };

struct failure {
	enum failure_class class;
	int status;		/* of HTTP, or 0 */
	int8_t should_retry;	/* what the server said: 1, 0; -1: it did not say */
	int64_t wait_ms;	/* what the server said; -1: it did not say */
	int64_t context_tokens; /* the length of the model's context, if the server said it; or 0 */
	char request_id[FAILURE_SAID_BYTES];
	struct err err; /* one sentence, safe to show; without any key */
};

/* HTTP headers; "" for one that is missing. */
struct failure_headers {
	char should_retry[8], retry_after[64], retry_after_ms[24], request_id[128];
	time_t now; /* for dates */
};

const char *failure_word(enum failure_class class);
/* "the connection failed": without names of servers or paths. */
const char *failure_what(enum failure_class class);
/* Returns: -1 for an unknown word. */
int failure_find(const char *word);

/* Is another try worthwhile? The server's word outweighs that of the class. */
bool failure_is_retried(const struct failure *f);

/*
 * Read an error response. @body may be anything. @secret (may be NULL) is replaced by "[key]"
 * wherever the server repeats it. Limits:  FAILURE_BODY_BYTES are looked at: enough that a message
 * is full before the place where a secret may have been cut. Shape:   {"error": {"message", "type",
 * "code"}}, {"error": text}, {"message"}, [{"error": …}] Source:  what OpenAI, Anthropic, Ollama,
 * llama.cpp, vLLM and Gemini send.
 */
void failure_read(struct failure *out, int status, const struct failure_headers *headers,
	const char *body, size_t bytes, const char *secret);

/* The same for an error inside a stream, where there is no status. */
void failure_read_json(struct failure *out, const json_t *error, const char *secret);

/* A failure that the server did not report: the message is "what it is: …". Returns: the error's
 * negative errno. */
int failure_set(struct failure *out, enum failure_class class, const char *fmt, ...)
	attr_printf(3, 4);

/* Cut and escape a text from outside, so that it can be part of a message. */
void failure_said(char out[FAILURE_SAID_BYTES], const char *text, size_t bytes, const char *secret);
