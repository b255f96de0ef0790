/* The record of a step: its input, result, usage and limits. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/step_name.h"
#include "sandbox/limits.h"
#include "sandbox/wire.h"
#include "session/box/capture.h"
#include "session/step/tool_log.h"

#include <jansson.h>
#include <stdint.h>

enum { RECORD_ID_BYTES = 72 };

/* ORDER status: words in record.c. */
enum record_status {
	RECORD_OK,
	RECORD_ERROR,
	RECORD_TIMEOUT,
	RECORD_OOM,
	RECORD_KILLED,
	RECORD_DENIED,
	RECORD_STATUS_END_
};

/* ORDER outcome: words in record.c. */
enum record_outcome {
	RECORD_COMMITTED,
	RECORD_ROLLED_BACK,
	RECORD_REPLAYED,
	RECORD_DIVERGED,
	RECORD_LOST,
	RECORD_OUTCOME_END_
};

/* The limits of a record as JSON, with the values that the JSON was made from. */
struct record_limits {
	struct limits limits;
	uint32_t by[LIMIT_END_];
	json_t *json;
	char *text; /* @json as text */
};

struct record {
	char session[RECORD_ID_BYTES];
	char step[RECORD_ID_BYTES];   /* hexadecimal SHA-256 */
	char parent[RECORD_ID_BYTES]; /* hexadecimal SHA-256, or "" */
	struct step_name name;
	char *canonical; /* canonical JSON that `step` is computed from */
	const char *runtime;
	enum record_status status;
	int exit_code;	  /* exit code of the program; -1: ended by a signal or by retort */
	int signal;	  /* signal that ended it, or 0 */
	int exit_status;  /* exit status of `retort run` */
	json_t *value;	  /* object or NULL */
	json_t *displays; /* array */
	uint64_t n_displays_cut, result_bytes;	  /* result_bytes: value, error and variables */
	uint64_t displays_bytes, n_display_parts; /* totals, see session/step/report.h */
	json_t *error;				  /* object or NULL */
	struct capture out[2];			  /* stdout, stderr */
	json_t *outputs; /* stdout and stderr as JSON, from record_name(); or NULL */
	enum record_outcome outcome;
	const char *reason, *notice; /* or NULL; notice: losses of the state */
	const char *undone;	     /* what the runtime itself has undone, see report.c; or NULL */
	const char *checkpoint;	     /* name of the checkpoint of the state before it, or NULL */
	const json_t *files_lost;    /* borrowed: paths that could not be restored; or NULL */
	json_t *files;		     /* array */
	json_t *variables;	     /* array of new and changed variables, or NULL */
	struct tool_log tools;	     /* log of its tool calls */
	char **paths;		     /* exact path of each of `files`; NULL for a deleted file */
	size_t n_paths;
	bool files_cut, has_exited;	      /* has_exited: a session's step has called exit() */
	double wall_ms, queued_ms, waited_ms; /* waited_ms: part of wall_ms spent in pauses */
	struct box_usage usage;
	struct limits limits;
	uint32_t by[LIMIT_END_];
	struct record_limits said; /* JSON of the limits; empty until it is made */
};

void record_init(struct record *r, const struct limits *limits);
void record_done(struct record *r);

/* Reset the record for the next step, but keep the JSON of the limits. */
void record_renew(struct record *r, const struct limits *limits);

/* Make the JSON of the limits, unless it is up to date. Called while the step runs, to save time
 * later. */
void record_say_limits(struct record *r);

/* Return the word for @status: "ok", "timeout", … */
const char *record_status_word(enum record_status status);

/* Return the word for @outcome: "committed", "rolled_back", … */
const char *record_outcome_word(enum record_outcome outcome);

/* Return the name of a limit's enforcer: "cgroup v2", "rlimit", …; NULL for LIMIT_BY_NONE. */
const char *record_by_word(uint32_t by);

/* Append a copy of @path (or NULL) to `paths`. Returns: 0 or -ENOMEM. */
int record_add_path(struct record *r, const char *path);

/* Return the record as JSON, see docs/use/run.md. Owns: the caller. */
json_t *record_json(const struct record *r);

/* Replace the error by {name, message}, but keep line and traceback. */
void record_set_error(struct record *r, const char *name, const char *fmt, ...) attr_printf(3, 4);

/* Return {usage, limits} as JSON, the part that differs from run to run. Owns: the caller frees.
 * Returns: NULL without memory. */
char *record_usage_text(struct record *r);

/* Compute the step's name with step_name(), from parent, runtime and code, and from canonical JSON
 * of the arguments (NULL-terminated, or NULL), the calls, the members of @inputs (an object, or
 * NULL) and the result. May run on any thread: it uses only the record. */
void record_name(struct record *r, const char *parent, const char *code, size_t bytes,
	const char *const *argv, const json_t *inputs);
