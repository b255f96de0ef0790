/* Diagnostics of plans: a code, a place, a sentence, a rewrite. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { DIAG_MAX = 20, DIAG_MSG_BYTES = 256, DIAG_HINT_BYTES = 256 };

/* The codes, see code.def. */
enum diag_code {
#define X(name, number, meaning) name = (number),
#include "plan/syntax/code.def"
#undef X
};

struct diag {
	int code;
	uint32_t start, end;   /* offsets in the source */
	uint32_t line, column; /* from 1; a column is a character */
	char msg[DIAG_MSG_BYTES];
	char hint[DIAG_HINT_BYTES]; /* the rewrite, or empty */
	bool is_private; /* `msg` may contain data of a tool: for people, not for a planner */
};

/* The first DIAG_MAX; `n_all` counts on. */
struct diags {
	struct diag item[DIAG_MAX];
	size_t n, n_all;
};

/* A source and its name, borrowed. */
struct source {
	const char *name;
	const char *text;
	size_t bytes;
};

/* Line and column of an offset, both from 1. */
void source_place(const struct source *src, uint32_t offset, uint32_t *line, uint32_t *column);

/* Add one. Returns: -1. */
int diag_add(struct diags *all, const struct source *src, const struct diag *one);

/*
 * Append one as text for people: message, place, the line with the place underlined, the rewrite.
 * Control characters are escaped. Returns: 0, -E2BIG, -ENOMEM.
 */
int diag_text(struct buf *out, const struct source *src, const struct diag *d);

/* Append the line of a place, and below it @mark under what is between @start and @end; no newline
 * behind. Returns: as diag_text(). */
int source_show(struct buf *out, const struct source *src, uint32_t start, uint32_t end, char mark);

/*
 * Append all: as text, or with @is_json as one line of JSON, {"diagnostics": […], "more": 0}; or
 * only the list, of {"code", "message", "file", "line", "column", "start", "end", "fix"}.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int diags_report(struct buf *out, const struct source *src, const struct diags *all, bool is_json);
int diags_json(struct buf *out, const struct source *src, const struct diags *all);
