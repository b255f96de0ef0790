/* The record of a step as a model reads it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Of one result. */
enum { MCP_LINKS_MAX = 32 };

struct mcp_result_options {
	const char *version; /* of the protocol: links exist since 2025-06-18 */
	bool is_structured;
	bool is_new;	      /* the session was made for this step */
	const char *packages; /* for hints, or NULL */
};

/*
 * The result of a tool: text with the verdict on its first line, images, links to files; the record
 * itself, cut as the text is, in _meta.
 * Owns: the caller decrefs. Returns: NULL without memory.
 */
json_t *mcp_result_make(const json_t *record, const struct mcp_result_options *options);

/* {"content": [text]}. Owns: the caller. */
json_t *mcp_result_text(const char *text, size_t bytes);

/* retort://session/ID/files/PATH, PATH as URIs have it. Owns: the caller. */
json_t *mcp_file_uri(const char *session, const char *path);

/* By the extension of the name. */
const char *mcp_mime_of(const char *path, bool is_text);
