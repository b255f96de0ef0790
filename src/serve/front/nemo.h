/* What the files of the front "nemo" share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/json.h"

struct front_call;

/* ---- nemo.c ---- */

/* Answer that nothing is served there. */
void nemo_nothing(struct front_call *c);

/* ---- sessions: nemo_session.c ---- */

/* Beginning of the names of all sessions; longest X-Session-ID that becomes part of a name. */
#define NEMO_PREFIX "nemo-"
enum { NEMO_ID_BYTES = 50, NEMO_NAME_BYTES = sizeof NEMO_PREFIX + NEMO_ID_BYTES };

/* Write the name of the session of the X-Session-ID @id. An id that cannot be part of a name is
 * replaced by "=" and a digest. An id that looks like this already is kept, so that each id of GET
 * /sessions leads to its session. */
void nemo_name_session(char name[NEMO_NAME_BYTES], const char *id);

/* Routes: GET /sessions, and DELETE /sessions/ID. */
void nemo_start_list(struct front_call *c);
void nemo_start_delete(struct front_call *c);

/* ---- texts: nemo_text.c ---- */

/* How much of a traceback a client wants: traceback_verbosity. */
enum nemo_verbosity { NEMO_MINIMAL, NEMO_PLAIN, NEMO_FULL, NEMO_VERBOSITY_UNKNOWN };

/* Return what @word means: Minimal, Plain, Context or Verbose. */
enum nemo_verbosity nemo_verbosity_of(const char *word);

/*
 * Return what a cell shows on stdout: the output of its program, what it displays, the value of its
 * last expression, and the traceback. Return what it writes to stderr: without the traceback, but
 * with the reason if the cell was killed, or ran longer than its @timeout.
 * Owns: the caller decrefs. Returns: NULL if memory is exhausted, or the text is over 64 MiB.
 */
json_t *nemo_cell_stdout(const json_t *record, enum nemo_verbosity verbosity);
json_t *nemo_cell_stderr(
	const json_t *record, const json_t *timeout, enum nemo_verbosity verbosity);

/* Cut @text to @max characters, and say so at its end. Owns: takes @text; the caller decrefs the
 * result. Returns: NULL if @text is NULL or memory is exhausted. */
json_t *nemo_cut(json_t *text, size_t max);

/* Write "Execution timed out after N seconds" and a newline. @timeout: a number, which is written
 * as Python writes it. */
enum { NEMO_LATE_BYTES = 96 };
void nemo_late(char out[NEMO_LATE_BYTES], const json_t *timeout);
