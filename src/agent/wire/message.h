/* Messages to a model and from it, the same for every wire. SPDX-License-Identifier: Apache-2.0 */
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
	PART_REASONING,	  /* by the model: `text` to show; `opaque`, to be sent back unchanged */
};

/* Texts are UTF-8 and end in NUL; NULL is "". Each part belongs to its maker. */
struct part {
	enum part_kind kind;
	bool is_error;
	const char *text, *id, *name, *mime;
	const json_t *opaque; /* NULL: nothing is sent back */
	const char *wire;     /* the wire that made `opaque`: it is not sent to others */
};

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT };

/* Results of tools are in messages of the user. */
struct message {
	enum role role;
	const struct part *parts;
	size_t n_parts;
};

struct model_tool {
	const char *name, *description;
	const json_t *schema; /* of its arguments */
};

/* Options that are 0 or NULL are not sent: the server decides. */
struct wire_options {
	uint64_t max_tokens;	 /* of the answer */
	uint64_t context_tokens; /* ollama only: the length of the context */
	const char *const *stop;
	size_t n_stop;
	const char *effort; /* "low", "medium", "high": how long to reason */
	bool has_seed, has_temperature, has_top_p;
	int64_t seed;
	double temperature, top_p;
	const json_t *schema; /* the answer is JSON of this shape */
};

/* A whole question. Borrowed from the caller during the call. */
struct wire_request {
	const char *model; /* set by the wire */
	bool is_classic;   /* set by the wire: the server only knows "max_tokens" */
	const struct message *messages;
	size_t n_messages;
	const struct model_tool *tools;
	size_t n_tools;
	struct wire_options options;
};
