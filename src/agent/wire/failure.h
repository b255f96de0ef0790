/* Why a model gave no answer: told apart by what can be done about it. No system call.
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

/* Keys are not longer: see failure_read(). */
enum { FAILURE_BODY_BYTES = 64 << 10, SECRET_BYTES_MAX = 1024, FAILURE_SAID_BYTES = 181 };

struct failure {
	enum failure_class class;
	int status;		/* of HTTP, or 0 */
	int8_t should_retry;	/* what the server said: 1, 0; -1: nothing */
	int64_t wait_ms;	/* what the server said; -1: nothing */
	int64_t context_tokens; /* how much the model can read, where the server said; or 0 */
	char request_id[FAILURE_SAID_BYTES];
	struct err err; /* one sentence, safe to show; without any key */
};

/* What HTTP says besides the body; "" where a header is not there. */
struct failure_headers {
	char should_retry[8], retry_after[64], retry_after_ms[24], request_id[128];
	time_t now; /* for dates */
};

const char *failure_word(enum failure_class class);
/* "the connection failed": nothing of what a server or a path is called. */
const char *failure_what(enum failure_class class);
/* Returns: -1 when it is none. */
int failure_find(const char *word);

/* Is it worth another try? What the server said goes before what the class says. */
bool failure_is_retried(const struct failure *f);

/*
 * Read the error that an answer is. @body may be anything. Where
 * @secret (may be NULL) stands in what the server says, "[key]" is shown.
 * Limits:  FAILURE_BODY_BYTES are looked at: so many secrets that the message is full without the
 *          one that was cut.
 * Shape:   {"error": {"message", "type", "code"}}, {"error": text}, {"message"}, [{"error": …}]
 * Source:  what OpenAI, Anthropic, Ollama, llama.cpp, vLLM and Gemini send.
 */
void failure_read(struct failure *out, int status, const struct failure_headers *headers,
	const char *body, size_t bytes, const char *secret);

/* The same for an error inside a stream, where there is no status. */
void failure_read_json(struct failure *out, const json_t *error, const char *secret);

/* One that we found ourselves: "what it is: ". Returns: the error's negative errno. */
int failure_set(struct failure *out, enum failure_class class, const char *fmt, ...)
	attr_printf(3, 4);

/* Cut and escape what an outsider said, so that it can be part of a message. */
void failure_said(char out[FAILURE_SAID_BYTES], const char *text, size_t bytes, const char *secret);
