/* A wire format: how a request is written, and how the events of a response are read. Makes no
 * system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/message.h"

#include <jansson.h>

struct reduction;

/* A wire format consists of two functions: one writes a request, the other reads an event. */
struct wire_format {
	const char *name;
	const char *path; /* path of requests, relative to the base URL */
	bool is_lines;	  /* a response is newline-delimited JSON, not server-sent events */
	/* The data of the event that ends the stream, such as "[DONE]"; NULL if that event is
	 * JSON. */
	const char *last;
	/* Write the body of a request. Owns: the caller. Returns: NULL if memory is exhausted. */
	json_t *(*build)(const struct wire_request *q);
	/* Read one event into @r. Returns: 0; 1 if the rest of the response is not needed; -1
	 * after a failure, which is in @r. */
	int (*event)(struct reduction *r, const char *name, const json_t *data);
};

extern const struct wire_format wire_chat, wire_responses, wire_anthropic, wire_ollama;

/* Return the body of the request as text. Owns: the caller frees. Returns: NULL if memory is
 * exhausted. */
char *format_body(const struct wire_format *format, const struct wire_request *q);

/* Make a JSON string from @text, with U+FFFD in place of invalid UTF-8. NULL gives "". */
json_t *format_text(const char *text);

/* Return the tools in the form of Chat Completions, which other formats also use. Owns: the
 * caller. */
json_t *format_tools(const struct wire_request *q);
/* Set the member @name to @text. If @text is NULL or "", do nothing. */
void format_put(json_t *object, const char *name, const char *text);
/* Return the texts of all system messages, separated by empty lines; NULL if there are none. */
json_t *format_system(const struct wire_request *q);
/* Return the arguments of a tool call; {} if they are not an object. */
json_t *format_arguments(const struct part *call);
/* Return the concatenated texts of one message; NULL if it has none. Owns: the caller. */
json_t *format_joined(const struct message *m);
/* Return the array of stop texts, or NULL if the request has none. */
json_t *format_stop(const struct wire_request *q);
/* Return the image as a URL: "data:image/png;base64,…". */
json_t *format_data_url(const struct part *image);
/* Set the sampling parameters that the user chose, under the names that most servers use. */
void format_sampling(json_t *object, const struct wire_options *o);
