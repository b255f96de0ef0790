/* Messages to and from a model, in one form for all kinds of wires. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of parts. Each comment says which members of struct part a part of this kind has. */
enum part_kind {
	/* A text. `text` is the text. */
	PART_TEXT,
	/* An image that is sent to the model. `mime` is its type; `text` is its data in base64. */
	PART_IMAGE,
	/* A tool call that the model makes. `id` identifies the call; `name` is the name of the
	 * tool; `text` is the JSON text of the arguments. */
	PART_TOOL_CALL,
	/* The result of a tool call, which is sent to the model. `text` is the result; `is_error`
	 * says whether the tool failed; `id` and `name` are the same as in the tool call. */
	PART_TOOL_RESULT,
	/* Reasoning of the model. `text` can be shown to the user; `opaque` is sent back to the
	 * server, if the server uses the wire format `wire`. */
	PART_REASONING,
};

/* A part of a message. Texts are UTF-8 and end in NUL; NULL means "". They belong to whoever
 * made the part. */
struct part {
	enum part_kind kind;
	bool is_error;
	const char *text, *id, *name, *mime;
	const json_t *opaque; /* data that the server wants back unchanged, or NULL */
	/* Name of the wire format that `opaque` belongs to. Other formats do not send `opaque`. */
	const char *wire;
};

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT };

/* A message. The results of tools are parts of a user message. */
struct message {
	enum role role;
	const struct part *parts;
	size_t n_parts;
};

struct model_tool {
	const char *name, *description;
	const json_t *schema; /* JSON Schema of the tool's arguments */
};

/* Options that are 0 or NULL are not sent, so the server uses its defaults. */
struct wire_options {
	uint64_t max_tokens;	 /* maximum length of the reply */
	uint64_t context_tokens; /* context length that ollama is to use */
	const char *const *stop;
	size_t n_stop;
	const char *effort; /* effort of reasoning: "low", "medium", "high" */
	bool has_seed, has_temperature, has_top_p;
	int64_t seed;
	double temperature, top_p;
	const json_t *schema; /* JSON Schema that the reply must fit */
};

/* A complete request. wire_ask() borrows it only until it returns. */
struct wire_request {
	const char *model; /* name of the model; set by wire_ask() */
	bool is_classic;   /* the server does not know "max_completion_tokens"; set by wire_ask() */
	const struct message *messages;
	size_t n_messages;
	const struct model_tool *tools;
	size_t n_tools;
	struct wire_options options;
};
