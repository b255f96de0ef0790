/* The result of a tool call: the record of a step in the form that a model reads.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The maximum number of links to files in one result. */
enum { MCP_LINKS_MAX = 32 };

struct mcp_result_options {
	const char *version; /* revision of the protocol; links to files exist since 2025-06-18 */
	bool is_structured;
	bool is_new;	      /* the session was created for this step */
	const char *packages; /* installed packages, for hints about missing ones; or NULL */
};

/*
 * Build the result of a tool call from the record of a step. Its content is a text, whose first
 * line says how the step ended, then images, then links to files. The member _meta contains the
 * record itself; its stdout and stderr are cut as in the text.
 * Owns:    the caller decrefs.
 * Returns: NULL if memory is exhausted.
 */
json_t *mcp_result_make(const json_t *record, const struct mcp_result_options *options);

/* Build a result with one text: {"content": [text]}. Owns: the caller decrefs. */
json_t *mcp_result_text(const char *text, size_t bytes);

/* Build the URI of a file, retort://session/ID/files/PATH, with percent escapes in PATH. Owns: the
 * caller decrefs. */
json_t *mcp_file_uri(const char *session, const char *path);

/* Return the MIME type for the extension of a file name. Without a known extension it is text/plain
 * or, if @is_text is false, application/octet-stream. */
const char *mcp_mime_of(const char *path, bool is_text);
