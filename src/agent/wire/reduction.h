/* The bytes of an answer become a reply. No system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/failure.h"
#include "agent/wire/format.h"
#include "agent/wire/reply.h"
#include "net/sse.h"

enum delta_kind { DELTA_TEXT, DELTA_REASONING, DELTA_TOOL /* of arguments, JSON */ };

struct delta {
	enum delta_kind kind;
	const char *text; /* borrowed */
	size_t bytes;
	size_t keep_bytes; /* the callback may lower it when it stops: the rest is dropped */
};

/* Not 0: enough was heard. */
typedef int delta_fn(void *arg, struct delta *d);

struct reduction {
	const struct wire_format *format; /* NULL: the text is the answer, reduction_say() */
	struct reply reply;
	struct failure failure; /* after a -1 */
	const char *secret;	/* what the server may not make us say; or NULL */
	delta_fn *on_delta;	/* or NULL */
	void *arg;
	bool is_over;	 /* the answer said that it is whole */
	bool has_stop;	 /* it said why it ended */
	bool is_stopped; /* on_delta had enough */
	bool has_delta;	 /* on_delta was called */
	struct sse sse;
	struct lines lines;
	int64_t keys[REPLY_PARTS_MAX]; /* the format's own index of each part */
};

/* Owns: reduction_done(). */
void reduction_init(struct reduction *r, const struct wire_format *format, const char *secret,
	delta_fn *on_delta, void *arg);
void reduction_done(struct reduction *r);

/*
 * Take more of the answer.
 * Limits:  REPLY_TEXT_BYTES for one event and for the reply.
 * Returns: 0; 1: no more is wanted; -1: `failure` says why.
 */
int reduction_feed(struct reduction *r, const char *data, size_t bytes);

/*
 * The answer is over, or enough was heard of it. What the server did not count is estimated;
 * @asked_bytes is how long the question was.
 * Returns: 0; -1: it broke off, `failure` says so.
 */
int reduction_finish(struct reduction *r, size_t asked_bytes);

/* For formats. All return 0; 1: no more is wanted; -1: it failed. */

/* The part with this key, made when there is none. Returns: its index, or -1. */
int reduction_part(struct reduction *r, enum part_kind kind, int64_t key);
int reduction_rename(struct reduction *r, int part, const json_t *id, const json_t *name);
/* More of a part: the callback hears it, the reply keeps it. */
int reduction_append(struct reduction *r, int part, const json_t *text);
/* More text of that kind: of the last part, when it is of the kind. */
int reduction_text(struct reduction *r, enum part_kind kind, const json_t *text);
int reduction_say(struct reduction *r, enum part_kind kind, const char *text, size_t bytes);
/* What @text has more than the part. */
int reduction_complete(struct reduction *r, int part, const json_t *text);
/* The server says that it failed. */
int reduction_refuse(struct reduction *r, const json_t *error);
/* "why" by the words of the wire; what is not in the table is REPLY_END. */
struct stop_word {
	const char *word;
	enum reply_stop stop;
};
void reduction_stop(
	struct reduction *r, const json_t *word, const struct stop_word *table, size_t n);
/* A number of tokens; 0 when it is none. */
uint64_t reduction_count(const json_t *object, const char *name);
