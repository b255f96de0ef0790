/* What the files of the fronts share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/text/printed.h"
#include "serve/front/wire.h"

extern const struct front_wire front_dify, front_librechat, front_nemo, front_piston,
	front_sandboxfusion;

/* ---- reading requests ---- */

/* Return a text of the body, or @fallback if it is missing or null. *@is_wrong is set if it is of
 * another type, or contains NUL. */
const char *front_text(
	const struct front_call *c, const char *name, const char *fallback, bool *is_wrong);
/* Return a time that the body gives in units of 1/@per_second s, in ms within the bounds of
 * operations; @fallback_ms if it is missing or not positive. */
int64_t front_time(const json_t *body, const char *name, unsigned per_second, int64_t fallback_ms);
/* Set limits.@name of @params to @value, which is brought within the bounds of the limit. */
void front_limit(json_t *params, const char *name, double value);

/* ---- writing results of program.run ---- */

/* How a step of a program has ended. */
struct front_end {
	enum { FRONT_EXITED, FRONT_SIGNALLED, FRONT_LATE, FRONT_NO_MEMORY } how;
	int code;   /* FRONT_EXITED: exit code */
	int signal; /* FRONT_SIGNALLED, FRONT_NO_MEMORY */
	double wall_ms, cpu_ms;
	json_int_t memory_bytes;
};

/* Read how the step of @record has ended. */
struct front_end front_read_end(const json_t *record);
/* Return how many bytes a cell has written to stderr, without the traceback of its error, which is
 * the last thing there. */
size_t front_stderr_bytes(const json_t *record);
/* Return @before and both texts as one. They may contain NUL. Owns: the caller decrefs. */
json_t *front_joined(const char *before, const json_t *a, const json_t *b);
/* Return a file of program.run in base64. Owns: the caller decrefs. Returns: NULL if memory is
 * exhausted. */
json_t *front_base64(const json_t *file);
