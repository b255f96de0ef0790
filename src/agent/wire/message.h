/* What a model is told and what it answers, the same for every wire. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum part_kind {
	PART_TEXT,
	PART_IMAGE,	  /* to the model: `mime`, and `text` in base64 */
	PART_TOOL_CALL,	  /* by the model: `id`, `name`, and `text`: the arguments, as JSON */
	PART_TOOL_RESULT, /* to the model: `id`, `name` of the call, `text`, `is_error` */
	PART_REASONING,	  /* by the model: `text` to show; `opaque` to send back as it came */
};

/* Texts are UTF-8 and end in NUL; NULL is "". Owned by whoever made the part. */
struct part {
	enum part_kind kind;
	bool is_error;
	const char *text, *id, *name, *mime;
	const json_t *opaque; /* NULL: there is nothing to send back */
	const char *wire;     /* whose `opaque` it is: no other gets it */
};

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT };

/* Results of tools are the user's. */
struct message {
	enum role role;
	const struct part *parts;
	size_t n_parts;
};

struct model_tool {
	const char *name, *description;
	const json_t *schema; /* of its arguments */
};

/* What is 0 or NULL is not sent: the server decides. */
struct wire_options {
	uint64_t max_tokens;	 /* of the answer */
	uint64_t context_tokens; /* ollama only: how much it reads */
	const char *const *stop;
	size_t n_stop;
	const char *effort; /* "low", "medium", "high": how long to reason */
	bool has_seed, has_temperature, has_top_p;
	int64_t seed;
	double temperature, top_p;
	const json_t *schema; /* the answer is JSON of this shape */
};

/* All of one question. Borrowed from the caller while it is asked. */
struct wire_request {
	const char *model; /* set by the wire */
	bool is_classic;   /* set by the wire: the server has "max_tokens" only */
	const struct message *messages;
	size_t n_messages;
	const struct model_tool *tools;
	size_t n_tools;
	struct wire_options options;
};
