/* Diagnostics of plans. Each has a code, a place in the source, a message and a suggested rewrite.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { DIAG_MAX = 20, DIAG_MSG_BYTES = 256, DIAG_HINT_BYTES = 256 };

/* The codes of diagnostics, see code.def. */
enum diag_code {
#define X(name, number, meaning) name = (number),
#include "plan/syntax/code.def"
#undef X
};

struct diag {
	int code;
	uint32_t start, end;   /* byte offsets in the source */
	uint32_t line, column; /* counted from 1; a column is one character */
	char msg[DIAG_MSG_BYTES];
	char hint[DIAG_HINT_BYTES]; /* how to rewrite the code, or empty */
	/* `msg` may contain data from a tool, so it is shown to people but not to a planner. */
	bool is_private;
};

/* The first DIAG_MAX diagnostics. `n_all` also counts those that were dropped. */
struct diags {
	struct diag item[DIAG_MAX];
	size_t n, n_all;
};

/* The text of a source file and its name. Both are borrowed. */
struct source {
	const char *name;
	const char *text;
	size_t bytes;
};

/* Convert a byte offset to a line and a column, both counted from 1. */
void source_place(const struct source *src, uint32_t offset, uint32_t *line, uint32_t *column);

/* Add a diagnostic. Returns: -1. */
int diag_add(struct diags *all, const struct source *src, const struct diag *one);

/* Append a diagnostic as text for people: the message, the place, the source line with the place
 * underlined, and the suggested rewrite. Control characters are escaped. Returns: 0, -E2BIG,
 * -ENOMEM. */
int diag_text(struct buf *out, const struct source *src, const struct diag *d);

/* Append the source line that contains @start. On a second line, append @mark below each character
 * from @start to @end, without a newline at the end. Returns: as diag_text(). */
int source_show(struct buf *out, const struct source *src, uint32_t start, uint32_t end, char mark);

/*
 * Append all diagnostics. diags_report() appends text, or with @is_json one line of JSON,
 * {"diagnostics": […], "more": 0}. diags_json() appends only the JSON list, whose elements are
 * {"code", "message", "file", "line", "column", "start", "end", "fix"}. Returns: 0, -E2BIG,
 * -ENOMEM.
 */
int diags_report(struct buf *out, const struct source *src, const struct diags *all, bool is_json);
int diags_json(struct buf *out, const struct source *src, const struct diags *all);
