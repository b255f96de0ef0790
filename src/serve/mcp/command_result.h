/* What a model is told of a process: its state, and its output. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Output of one stream, as far as it is shown. */
struct mcp_command_output {
	struct buf raw;	     /* the bytes that the program wrote */
	uint64_t lost_bytes; /* how many bytes between those in @raw the engine has not kept */
	uint64_t next;	     /* offset of the byte after @raw in the stream */
};

struct mcp_command_report {
	/* The process, as in the answer of process.get. Its member "session" is the id. */
	const json_t *about;
	const struct mcp_command_output *out; /* [2]: stdout and stderr */
	/* Show only one stream, from an offset: "stdout" or "stderr". NULL: show both. */
	const char *stream;
	bool is_new;		 /* the session was created for this process */
	bool has_input;		 /* it is known that its stdin is open */
	bool is_default_session; /* calls need not name the session */
	bool is_structured;	 /* the result also has the member structuredContent */
};

/*
 * Build the result of a tool call. The first line of its text says how the process ended, or that
 * it runs and how to ask for more. Then come stdout and stderr; the middle of long output is left
 * out. The member _meta has @about, with "status", "stdout" and "stderr".
 * Owns:    the caller decrefs.
 */
json_t *mcp_command_result(const struct mcp_command_report *report);

/* Build the result that lists processes. @processes: as in the answer of process.list. Owns: the
 * caller decrefs. */
json_t *mcp_command_list(const json_t *processes, bool is_structured);
