/* What is known of tools and their servers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/identifier.h"
#include "tool/servers.h"

enum { CATALOG_TEXT_BYTES = 2048, CATALOG_NAME_BYTES = 128 };

/* What a server says of a tool, valid until its list is read again. Texts are without control
 * characters, and none is to be believed. */
struct catalog_tool {
	const char *name;	/* "server.tool" */
	const char *tool;	/* as the server knows it */
	const char *id, *js_id; /* as Python and JavaScript do */
	const char *text;	/* or "" */
	const json_t *schema;	/* an object */
	const json_t *output;	/* an object, or NULL */
	const struct catalog_server *server;
	bool is_read_only;		    /* as it says; without a word, it is not */
	bool is_destructive, is_open_world; /* they are, unless a trusted server says otherwise */
};

struct catalog_server {
	const struct tool_server *config;
	char id[IDENTIFIER_BYTES], js_id[IDENTIFIER_BYTES];
	const struct catalog_tool *tool; /* sorted by name */
	size_t n_tools;
	bool is_known;	/* asked, and answered */
	struct err err; /* why it is not known, or what was left out */
	int n_left_out; /* tools that are none */
};
