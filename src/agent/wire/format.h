/* A wire format: how a request is written, and how the events of a response are read. No system
 * call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/message.h"

#include <jansson.h>

struct reduction;

/* A wire format as two pure functions: a builder of requests and a reader of events. */
struct wire_format {
	const char *name;
	const char *path; /* path behind the base URL */
	bool is_lines;	  /* the stream is newline-delimited JSON; otherwise server-sent events */
	const char *last; /* data of the event that ends the stream, if that data is not JSON */
	/* Build the body of a request. Owns: the caller. Returns: NULL without memory. */
	json_t *(*build)(const struct wire_request *q);
	/* Read one event. Returns: 0; 1: the rest is not needed; -1: failure, whose reason is in
	 * the reduction. */
	int (*event)(struct reduction *r, const char *name, const json_t *data);
};

extern const struct wire_format wire_chat, wire_responses, wire_anthropic, wire_ollama;

/* Write the body of the request as text. Owns: the caller frees. Returns: NULL without memory. */
char *format_body(const struct wire_format *format, const struct wire_request *q);

/* Convert text to JSON, with invalid UTF-8 repaired; NULL is "". */
json_t *format_text(const char *text);

/* Return the tools in the form of Chat Completions, which other formats have adopted. Owns: the
 * caller. */
json_t *format_tools(const struct wire_request *q);
/* Set the member @name, unless the text is NULL or "". */
void format_put(json_t *object, const char *name, const char *text);
/* Return the text of all system messages, with an empty line between; NULL without system messages.
 */
json_t *format_system(const struct wire_request *q);
/* Return the arguments of a call as an object; {} if the arguments are not an object. */
json_t *format_arguments(const struct part *call);
/* Return the texts of one message, joined. Owns: the caller; NULL without texts. */
json_t *format_joined(const struct message *m);
/* Return the stop texts; NULL without stop texts. */
json_t *format_stop(const struct wire_request *q);
/* Return the image as a URL: "data:image/png;base64,…" */
json_t *format_data_url(const struct part *image);
/* Set the sampling parameters that the user chose, under the names that most servers know. */
void format_sampling(json_t *object, const struct wire_options *o);
