/* Messages to and from a model, in one form for all wires. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum part_kind {
	PART_TEXT,
	PART_IMAGE,	  /* to the model: `mime`; `text` is the image in base64 */
	PART_TOOL_CALL,	  /* by the model: `id`, `name`; `text` has the arguments as JSON */
	PART_TOOL_RESULT, /* to the model: `id` and `name` of the call, `text`, `is_error` */
	PART_REASONING,	  /* by the model: `text` to show; `opaque` is sent back unchanged */
};

/* Texts are UTF-8 and end in NUL; NULL is "". The creator of a part owns it. */
struct part {
	enum part_kind kind;
	bool is_error;
	const char *text, *id, *name, *mime;
	const json_t *opaque; /* data to send back to the model; NULL: no data */
	const char *wire; /* name of the wire that created `opaque`; other wires do not send it */
};

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT };

/* Results of tools are parts of user messages. */
struct message {
	enum role role;
	const struct part *parts;
	size_t n_parts;
};

struct model_tool {
	const char *name, *description;
	const json_t *schema; /* schema of the tool's arguments */
};

/* Options that are 0 or NULL are not sent: the server decides. */
struct wire_options {
	uint64_t max_tokens;	 /* maximum length of the response */
	uint64_t context_tokens; /* context length to use; ollama only */
	const char *const *stop;
	size_t n_stop;
	const char *effort; /* reasoning effort: "low", "medium", "high" */
	bool has_seed, has_temperature, has_top_p;
	int64_t seed;
	double temperature, top_p;
	const json_t *schema; /* the response must be JSON that fits this schema */
};

/* A complete request. Borrowed from the caller during the call. */
struct wire_request {
	const char *model; /* name of the model; set by the wire */
	bool is_classic;   /* set by the wire: the server knows "max_tokens" only */
	const struct message *messages;
	size_t n_messages;
	const struct model_tool *tools;
	size_t n_tools;
	struct wire_options options;
};
