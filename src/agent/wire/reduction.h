/* Reduction of the bytes of a response to a reply. No system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "agent/wire/failure.h"
#include "agent/wire/format.h"
#include "agent/wire/reply.h"
#include "net/sse.h"

enum delta_kind { DELTA_TEXT, DELTA_REASONING, DELTA_TOOL /* JSON of arguments */ };

struct delta {
	enum delta_kind kind;
	const char *text; /* text of the piece, borrowed */
	size_t bytes;
	size_t keep_bytes; /* length of the part that the reply keeps; a callback that stops the
			      reply may lower it */
};

/* Receive a piece of the reply. Returns: 0; not 0: stop, the rest is not needed. */
typedef int delta_fn(void *arg, struct delta *d);

struct reduction {
	const struct wire_format *format; /* NULL: plain text, see reduction_say() */
	struct reply reply;
	struct failure failure; /* the failure, valid after -1 */
	const char *secret;	/* key to hide in messages of the server; or NULL */
	delta_fn *on_delta;	/* receives the pieces of the reply; or NULL */
	void *arg;
	bool is_over;	 /* the response has ended */
	bool has_stop;	 /* the server gave a reason for the end */
	bool is_stopped; /* on_delta stopped it */
	bool has_delta;	 /* on_delta was called */
	struct sse sse;
	struct lines lines;
	int64_t keys[REPLY_PARTS_MAX]; /* the format's own key of each part */
};

/* Start a reduction. Owns: reduction_done(). */
void reduction_init(struct reduction *r, const struct wire_format *format, const char *secret,
	delta_fn *on_delta, void *arg);
void reduction_done(struct reduction *r);

/*
 * Process more bytes of the response.
 * Limits:  REPLY_TEXT_BYTES for one event and for the reply.
 * Returns: 0; 1: the rest is not needed; -1: `failure` says why.
 */
int reduction_feed(struct reduction *r, const char *data, size_t bytes);

/* Conclude a response that ended or was stopped. Token counts that the server did not send are
 * estimated; @asked_bytes is the length of the request. Returns: 0; -1: the response is incomplete,
 * see `failure`. */
int reduction_finish(struct reduction *r, size_t asked_bytes);

/* Functions for formats. All return 0; 1: the rest is not needed; -1: failure. */

/* Find or create the part with this key. Returns: its index, or -1. */
int reduction_part(struct reduction *r, enum part_kind kind, int64_t key);
int reduction_rename(struct reduction *r, int part, const json_t *id, const json_t *name);
/* Append text to a part, and pass it to on_delta. */
int reduction_append(struct reduction *r, int part, const json_t *text);
/* Append text to the last part if that has the kind @kind, otherwise to a new part. */
int reduction_text(struct reduction *r, enum part_kind kind, const json_t *text);
int reduction_say(struct reduction *r, enum part_kind kind, const char *text, size_t bytes);
/* Append the rest of @text, whose beginning the part already has. */
int reduction_complete(struct reduction *r, int part, const json_t *text);
/* Fail with the error that the server reported. */
int reduction_refuse(struct reduction *r, const json_t *error);
/* The words of a wire for the reason of the end; a word that is not in the table is REPLY_END. */
struct stop_word {
	const char *word;
	enum reply_stop stop;
};
void reduction_stop(
	struct reduction *r, const json_t *word, const struct stop_word *table, size_t n);
/* Return a number of tokens; 0 if the member is missing or not a number. */
uint64_t reduction_count(const json_t *object, const char *name);
