/* One wire format: how a question is written, and what the events of an answer mean. No system
 * call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/message.h"

#include <jansson.h>

struct reduction;

/* Pure: a builder and a reducer. */
struct wire_format {
	const char *name;
	const char *path; /* behind the base */
	bool is_lines;	  /* newline-delimited JSON; else server-sent events */
	const char *last; /* data of the event that ends the stream, if that is not JSON */
	/* Owns: the caller. Returns: NULL without memory. */
	json_t *(*build)(const struct wire_request *q);
	/* One event. Returns: 0; 1: the rest is not needed; -1: it failed, and the reduction knows
	 * why. */
	int (*event)(struct reduction *r, const char *name, const json_t *data);
};

extern const struct wire_format wire_chat, wire_responses, wire_anthropic, wire_ollama;

/* The body of the request as text. Owns: the caller frees. Returns: NULL without memory. */
char *format_body(const struct wire_format *format, const struct wire_request *q);

/* Text as JSON, repaired where it is no UTF-8; NULL is "". */
json_t *format_text(const char *text);

/* The tools in the form of Chat Completions, which other formats have adopted. Owns: the caller. */
json_t *format_tools(const struct wire_request *q);
/* Set the member, unless the text is NULL or "". */
void format_put(json_t *object, const char *name, const char *text);
/* The text of all system messages, with an empty line between; NULL without any. */
json_t *format_system(const struct wire_request *q);
/* The arguments of a call as an object; {} if they are not one. */
json_t *format_arguments(const struct part *call);
/* The texts of one message, joined. Owns: the caller; NULL without texts. */
json_t *format_joined(const struct message *m);
/* The stop texts; NULL without any. */
json_t *format_stop(const struct wire_request *q);
/* "data:image/png;base64,…" */
json_t *format_data_url(const struct part *image);
/* The sampling parameters that the user set, under the names that most servers know. */
void format_sampling(json_t *object, const struct wire_options *o);
