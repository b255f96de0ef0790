/* Reduction: it turns the bytes of a response into a reply. Makes no system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/failure.h"
#include "agent/wire/format.h"
#include "agent/wire/reply.h"
#include "net/sse.h"

/* DELTA_TOOL: a piece of the arguments of a tool call. */
enum delta_kind { DELTA_TEXT, DELTA_REASONING, DELTA_TOOL };

struct delta {
	enum delta_kind kind;
	const char *text; /* text of the piece, borrowed */
	size_t bytes;
	/* How many bytes of the piece are added to the reply. A callback that stops the reply
	 * may lower this. */
	size_t keep_bytes;
};

/* Receive a piece of a reply. Returns: 0; any other value means that the rest is not needed. */
typedef int delta_fn(void *arg, struct delta *d);

struct reduction {
	/* NULL if the response is plain text, which is passed to reduction_say(). */
	const struct wire_format *format;
	struct reply reply;
	struct failure failure; /* the failure; valid after a function has returned -1 */
	const char *secret;	/* key to hide in the server's messages, or NULL */
	delta_fn *on_delta;	/* receives the pieces of the reply; may be NULL */
	void *arg;
	bool is_over;	 /* the last event has arrived */
	bool has_stop;	 /* the server has sent why the reply ends, such as "stop" */
	bool is_stopped; /* on_delta has stopped the reply */
	bool has_delta;	 /* on_delta was called */
	struct sse sse;
	struct lines lines;
	/* keys[i] is a number, such as the "index" of a content block. When a further piece of
	 * reply.parts[i] arrives, the wire format finds the part by this number. */
	int64_t keys[REPLY_PARTS_MAX];
};

/* Start the reduction of one response. Owns: the caller, until reduction_done(). */
void reduction_init(struct reduction *r, const struct wire_format *format, const char *secret,
	delta_fn *on_delta, void *arg);
void reduction_done(struct reduction *r);

/*
 * Process the next bytes of the response.
 * Limits:  REPLY_TEXT_BYTES for one event and for the reply.
 * Returns: 0; 1 if the rest is not needed; -1 after a failure, which is in `failure`.
 */
int reduction_feed(struct reduction *r, const char *data, size_t bytes);

/* Conclude a response that has ended or was stopped. If the server did not count the tokens,
 * estimate them; @asked_bytes is the length of the request. Returns: 0; -1 if the response is
 * incomplete, with the reason in `failure`. */
int reduction_finish(struct reduction *r, size_t asked_bytes);

/* Functions for the wire formats. Unless their comment says otherwise, those that return int
 * return 0; 1 if the rest of the response is not needed; -1 after a failure. */

/* Find the part of the reply with the kind @kind and the key @key. If there is none, append an
 * empty part. Returns: the index of the part, or -1. */
int reduction_part(struct reduction *r, enum part_kind kind, int64_t key);
int reduction_rename(struct reduction *r, int part, const json_t *id, const json_t *name);
/* Append text to a part, and pass the text to on_delta. */
int reduction_append(struct reduction *r, int part, const json_t *text);
/* Append text to the last part if it has the kind @kind, otherwise to a new part. */
int reduction_text(struct reduction *r, enum part_kind kind, const json_t *text);
int reduction_say(struct reduction *r, enum part_kind kind, const char *text, size_t bytes);
/* If @text begins with the text that the part already has, append the rest of @text. Otherwise
 * do nothing. */
int reduction_complete(struct reduction *r, int part, const json_t *text);
/* Record @error, which the server reported in its response, as the member `failure` of @r.
 * Returns: -1, always. */
int reduction_refuse(struct reduction *r, const json_t *error);
/* A server's word for the reason why a reply ended, and what it means. A word that is not in the
 * table of a format means REPLY_END. */
struct stop_word {
	const char *word;
	enum reply_stop stop;
};
void reduction_stop(
	struct reduction *r, const json_t *word, const struct stop_word *table, size_t n);
/* Return a number of tokens; 0 if the member is missing or not a number. */
uint64_t reduction_count(const json_t *object, const char *name);
