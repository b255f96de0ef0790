/* A model's reply, which is built piece by piece. Makes no system call. SPDX-License-Identifier:
 * Apache-2.0 */
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
	REPLY_REFUSAL,	/* the model declined to answer, or its server prevented it */
	REPLY_CONTEXT,	/* the model's context is full */
	REPLY_STOPPED,	/* on_delta has stopped the reply */
	REPLY_STOP_END_
};

struct wire_usage {
	/* Numbers of tokens. `input` includes `cached`, and `output` includes `reasoning`. */
	uint64_t input, output;
	uint64_t cached, reasoning;
	bool is_estimated; /* the server sent no counts; one token per four bytes is assumed */
};

struct reply {
	struct part *parts; /* the parts; texts[i] has the text of parts[i] */
	struct buf *texts;
	char **words; /* words[2 * i] is the id of parts[i], words[2 * i + 1] its name */
	size_t n_parts;
	uint64_t text_bytes; /* total length of all texts */
	enum reply_stop stop;
	struct wire_usage usage;
	bool has_usage;	   /* the server counted the tokens */
	bool is_truncated; /* the server seems to have dropped much of the request */
	char request_id[128];
};

void reply_done(struct reply *r);

/* Return the word for the reason why a reply ended, as records have it: "end", "length", … */
const char *reply_stop_word(enum reply_stop stop);
/* Return the reason why a reply ended, given its word: REPLY_LENGTH for "length". Returns: -1 if
 * no reason has the word @word. */
int reply_stop_find(const char *word);

/*
 * Append an empty part. @id and @name may be NULL.
 * Limits:  REPLY_PARTS_MAX.
 * Returns: its index; or negative errno: -E2BIG, -ENOMEM.
 */
int reply_add(struct reply *r, enum part_kind kind, const char *id, const char *name);
/* Set the id and the name of a part. If @id or @name is NULL or "", the old value is kept.
 * Returns: 0, -ENOMEM. */
int reply_rename(struct reply *r, size_t part, const char *id, const char *name);

/*
 * Append text to a part.
 * Limits:  REPLY_TEXT_BYTES in all parts together.
 * Returns: 0, -E2BIG, -ENOMEM; the reply is then unchanged.
 */
int reply_append(struct reply *r, size_t part, const char *text, size_t bytes);

/* Set data that is sent back to the server unchanged. The reply takes the reference
 * @opaque_take. */
void reply_set_opaque(struct reply *r, size_t part, json_t *opaque_take, const char *wire);

/* Return the texts of all PART_TEXT parts, concatenated. Owns: the caller frees; NULL if memory
 * is exhausted. */
char *reply_text(const struct reply *r);

/* Return where the answer begins: after the thoughts that some models leave in the text. */
const char *reply_behind_thoughts(const char *text);

/*
 * Convert the reply to JSON, for records. Opaque data is left out.
 * Shape:   {"text"?, "reasoning"?, "tool_calls"?: [{"id", "name", "arguments"}], "stop", "usage"}
 * Owns:    the caller; NULL if memory is exhausted.
 */
json_t *reply_json(const struct reply *r);
