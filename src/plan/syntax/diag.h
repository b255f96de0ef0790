/* Diagnostics of plans: each has a code, a place, a message and a rewrite. SPDX-License-Identifier:
 * Apache-2.0 */
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
	uint32_t start, end;   /* offsets in the source */
	uint32_t line, column; /* from 1; a column is a character */
	char msg[DIAG_MSG_BYTES];
	char hint[DIAG_HINT_BYTES]; /* the rewrite that fixes the mistake, or empty */
	bool is_private; /* `msg` may contain data of a tool: only for people, not for a planner */
};

/* The first DIAG_MAX diagnostics; `n_all` also includes those that were dropped. */
struct diags {
	struct diag item[DIAG_MAX];
	size_t n, n_all;
};

/* A source and its name, both borrowed. */
struct source {
	const char *name;
	const char *text;
	size_t bytes;
};

/* Find the line and column of an offset, both from 1. */
void source_place(const struct source *src, uint32_t offset, uint32_t *line, uint32_t *column);

/* Add a diagnostic. Returns: -1. */
int diag_add(struct diags *all, const struct source *src, const struct diag *one);

/*
 * Append a diagnostic as text for people: message, place, the line with the place underlined, the
 * rewrite. Control characters are escaped. Returns: 0, -E2BIG, -ENOMEM.
 */
int diag_text(struct buf *out, const struct source *src, const struct diag *d);

/* Append the line of a place, and below it @mark under the characters from @start to @end, without
 * a newline at the end. Returns: as diag_text(). */
int source_show(struct buf *out, const struct source *src, uint32_t start, uint32_t end, char mark);

/*
 * Append all diagnostics. diags_report() appends text, or with @is_json one line of JSON,
 * {"diagnostics": […], "more": 0}. diags_json() appends only the JSON list, whose elements are
 * {"code", "message", "file", "line", "column", "start", "end", "fix"}. Returns: 0, -E2BIG,
 * -ENOMEM.
 */
int diags_report(struct buf *out, const struct source *src, const struct diags *all, bool is_json);
int diags_json(struct buf *out, const struct source *src, const struct diags *all);
