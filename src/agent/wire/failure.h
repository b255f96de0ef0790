/* Failures of requests to models, in classes that differ in what can be done about them. No system
 * call. SPDX-License-Identifier: Apache-2.0 */
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

/* SECRET_BYTES_MAX: the maximum length of a key, on which failure_read() relies. */
enum { FAILURE_BODY_BYTES = 64 << 10, SECRET_BYTES_MAX = 1024, FAILURE_SAID_BYTES = 181 };

struct failure {
	enum failure_class class;
	int status;		/* HTTP status, or 0 */
	int8_t should_retry;	/* the server's advice: 1: retry, 0: do not; -1: no advice */
	int64_t wait_ms;	/* the wait that the server asked for; -1: none given */
	int64_t context_tokens; /* the context length that the server reported; or 0 */
	char request_id[FAILURE_SAID_BYTES];
	struct err err; /* error in one sentence, safe to show: it contains no key */
};

/* The headers of an error response; "" for one that is missing. */
struct failure_headers {
	char should_retry[8], retry_after[64], retry_after_ms[24], request_id[128];
	time_t now; /* the current time, to interpret dates */
};

const char *failure_word(enum failure_class class);
/* Return the description of a class, without names of servers or paths: "the connection failed". */
const char *failure_what(enum failure_class class);
/* Find a class by its word. Returns: -1 for an unknown word. */
int failure_find(const char *word);

/* Should the request be retried? The server's advice outweighs the class. */
bool failure_is_retried(const struct failure *f);

/*
 * Read an error response. @body may have any content. @secret (may be NULL) is replaced by "[key]"
 * wherever the server repeats it.
 * Limits:  only FAILURE_BODY_BYTES are read: enough to fill the message before the place where a
 *          secret may have been cut.
 * Shape:   {"error": {"message", "type", "code"}}, {"error": text}, {"message"}, [{"error": …}]
 * Source:  error responses of OpenAI, Anthropic, Ollama, llama.cpp, vLLM and Gemini.
 */
void failure_read(struct failure *out, int status, const struct failure_headers *headers,
	const char *body, size_t bytes, const char *secret);

/* Read an error inside a stream, which has no status. */
void failure_read_json(struct failure *out, const json_t *error, const char *secret);

/* Set a failure that the server did not report: the message is "DESCRIPTION OF THE CLASS: …".
 * Returns: the error's negative errno. */
int failure_set(struct failure *out, enum failure_class class, const char *fmt, ...)
	attr_printf(3, 4);

/* Shorten and escape a text from outside for use in a message. */
void failure_said(char out[FAILURE_SAID_BYTES], const char *text, size_t bytes, const char *secret);
