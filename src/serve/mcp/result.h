/* The result of a tool: the record of a step in the form that a model reads.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The maximum number of links in one result. */
enum { MCP_LINKS_MAX = 32 };

struct mcp_result_options {
	const char *version; /* protocol revision: links exist since 2025-06-18 */
	bool is_structured;
	bool is_new;	      /* the session was created for this step */
	const char *packages; /* installed packages for hints, or NULL */
};

/*
 * Build the result of a tool: text with the verdict on its first line, images, links to files; the
 * record itself, cut as the text is, in _meta.
 * Owns:    the caller decrefs.
 * Returns: NULL without memory.
 */
json_t *mcp_result_make(const json_t *record, const struct mcp_result_options *options);

/* Build the result {"content": [text]}. Owns: the caller. */
json_t *mcp_result_text(const char *text, size_t bytes);

/* Build retort://session/ID/files/PATH, with PATH escaped for URIs. Owns: the caller. */
json_t *mcp_file_uri(const char *session, const char *path);

/* Return the MIME type that belongs to the file name's extension. */
const char *mcp_mime_of(const char *path, bool is_text);
