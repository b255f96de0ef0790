/* A model's reply, built piece by piece. No system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/message.h"
#include "base/buf.h"
#include "base/err.h"

enum { REPLY_PARTS_MAX = 512, REPLY_TEXT_BYTES = 16 << 20 };

enum reply_stop {
	REPLY_END,	/* the reply is complete */
	REPLY_LENGTH,	/* the maximum number of tokens is reached */
	REPLY_SEQUENCE, /* one of the stop texts occurred */
	REPLY_TOOL,	/* the model waits for the results of its tool calls */
	REPLY_REFUSAL,	/* the model declined, or was not allowed to answer */
	REPLY_CONTEXT,	/* the model's context is full */
	REPLY_STOPPED,	/* on_delta stopped it */
	REPLY_STOP_END_
};

struct wire_usage {
	uint64_t input, output; /* tokens, including cached tokens and reasoning */
	uint64_t cached, reasoning;
	bool is_estimated; /* the counts are estimates, a token per four bytes, because the server
			      sent none */
};

struct reply {
	struct part *parts; /* the parts; `texts` has the text of each at the same index */
	struct buf *texts;
	char **words; /* id and name of each part, owned */
	size_t n_parts;
	uint64_t text_bytes; /* total length of all texts */
	enum reply_stop stop;
	struct wire_usage usage;
	bool has_usage;	   /* the server sent token counts */
	bool is_truncated; /* the server seems to have dropped much of the request */
	char request_id[128];
};

void reply_done(struct reply *r);

/* Return the word for a stop in records: "end", "length", … */
const char *reply_stop_word(enum reply_stop stop);
/* Find a stop by its word. Returns: -1 for an unknown word. */
int reply_stop_find(const char *word);

/*
 * Append an empty part. @id and @name may be NULL.
 * Limits:  REPLY_PARTS_MAX.
 * Returns: its index; or negative errno: -E2BIG, -ENOMEM.
 */
int reply_add(struct reply *r, enum part_kind kind, const char *id, const char *name);
/* Set the id or name of a part if the server sent it late; NULL or "" changes nothing. Returns: 0,
 * -ENOMEM. */
int reply_rename(struct reply *r, size_t part, const char *id, const char *name);

/*
 * Append text to a part.
 * Limits:  REPLY_TEXT_BYTES in all parts together.
 * Returns: 0, -E2BIG, -ENOMEM; the reply is then unchanged.
 */
int reply_append(struct reply *r, size_t part, const char *text, size_t bytes);

/* Set data to be sent back unchanged. The reply owns @opaque_take, also on failure. */
void reply_set_opaque(struct reply *r, size_t part, json_t *opaque_take, const char *wire);

/* Return all text parts, concatenated. Owns: the caller frees; NULL without memory. */
char *reply_text(const struct reply *r);

/* Find the beginning of the answer, behind thoughts that some models leave in the text. */
const char *reply_behind_thoughts(const char *text);

/*
 * Convert the reply to JSON for records. reply_read() restores the reply from the JSON, without the
 * opaque data.
 * Shape:   {"text"?, "reasoning"?, "tool_calls"?: [{"id", "name", "arguments"}], "stop", "usage"}
 * Owns:    the caller; NULL without memory.
 */
json_t *reply_json(const struct reply *r);
