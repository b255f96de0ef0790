/* Failures of requests to models, in classes that need different actions. Makes no system call.
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

/* SECRET_BYTES_MAX: maximum length of a key. failure_read() needs it to be much smaller than
 * FAILURE_BODY_BYTES. */
enum { FAILURE_BODY_BYTES = 64 << 10, SECRET_BYTES_MAX = 1024, FAILURE_SAID_BYTES = 181 };

struct failure {
	enum failure_class class;
	int status;		/* HTTP status, or 0 if there was no response */
	int8_t should_retry;	/* advice of the server: 1: retry; 0: do not; -1: no advice */
	int64_t wait_ms;	/* wait that the server asked for; -1 if it asked for none */
	int64_t context_tokens; /* context length that the server reported, or 0 */
	char request_id[FAILURE_SAID_BYTES];
	struct err err; /* the error as a sentence, without the key, so it can be shown */
};

/* The headers of an error response. A header that is missing is "". */
struct failure_headers {
	char should_retry[8], retry_after[64], retry_after_ms[24], request_id[128];
	time_t now; /* the current time; dates in headers are relative to it */
};

const char *failure_word(enum failure_class class);
/* Return the description of a class, such as "the connection failed". The description names no
 * server and no path. */
const char *failure_what(enum failure_class class);
/* Return the class of failures with the name @word: FAILURE_RATE for "rate". Returns: -1 if no
 * class has this name. */
int failure_find(const char *word);

/* Return whether the request should be retried. The server's advice decides; if the server gave
 * none, the class of the failure does. */
bool failure_is_retried(const struct failure *f);

/*
 * Read an error response of a server into @out. @body is the body of the response, and may contain
 * any bytes. @secret is the API key, or NULL. In the texts of @out, "[key]" stands in place of the
 * API key. A key shorter than SECRET_BYTES_MIN (failure.c) is only a placeholder, and is not
 * replaced.
 *
 * Limits:  only the first FAILURE_BODY_BYTES of @body are read. If the end of this part cuts an API
 * key in two, the first half of the key is not recognized, and so not replaced. Nevertheless this
 * half is not shown, because it is too far from the beginning of the text:
 * - Of the text, at most the first FAILURE_SAID_BYTES bytes are shown, after keys are replaced.
 * - The text in front of the half key is longer than FAILURE_SAID_BYTES. This is true even if this
 *   text consists only of API keys, each of which is replaced by "[key]".
 *
 * Shape:   {"error": {"message", "type", "code"}}, {"error": text}, {"message"}, [{"error": …}]
 * Source:  error responses of OpenAI, Anthropic, Ollama, llama.cpp, vLLM and Gemini.
 */
void failure_read(struct failure *out, int status, const struct failure_headers *headers,
	const char *body, size_t bytes, const char *secret);

/* Read an error that the server sent within a stream, and which has no HTTP status. */
void failure_read_json(struct failure *out, const json_t *error, const char *secret);

/*
 * Set a failure that the server did not report. Its message is the description of the class, then
 * ": " and the formatted text.
 * Returns: the negative errno of the error.
 */
int failure_set(struct failure *out, enum failure_class class, const char *fmt, ...)
	attr_printf(3, 4);

/* Make a text that comes from outside suitable for a message: hide @secret, shorten the text,
 * and escape what a terminal would interpret. */
void failure_said(char out[FAILURE_SAID_BYTES], const char *text, size_t bytes, const char *secret);
