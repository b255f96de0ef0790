/* What happened in a step: its record. SPDX-License-Identifier: Apache-2.0 */
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

/* Limits as a record shows them, and the values that the JSON was made of. */
struct record_limits {
	struct limits limits;
	uint32_t by[LIMIT_END_];
	json_t *json;
	char *text; /* the same as text */
};

struct record {
	char session[RECORD_ID_BYTES];
	char step[RECORD_ID_BYTES];   /* hexadecimal SHA-256 */
	char parent[RECORD_ID_BYTES]; /* likewise, or "" */
	struct step_name name;
	char *canonical; /* what `step` names: equal each time the step runs */
	const char *runtime;
	enum record_status status;
	int exit_code;	  /* of the program; -1 when a signal or retort ended it */
	int signal;	  /* 0 when it did not end by a signal */
	int exit_status;  /* what `retort run` exits with */
	json_t *value;	  /* object or NULL */
	json_t *displays; /* array */
	uint64_t n_displays_cut, result_bytes;	  /* result_bytes: of value, error and variables */
	uint64_t displays_bytes, n_display_parts; /* sizes of displays; see session/step/report.h */
	json_t *error;				  /* object or NULL */
	struct capture out[2];			  /* stdout, stderr */
	json_t *outputs; /* stdout and stderr as JSON: made by record_name(), or NULL */
	enum record_outcome outcome;
	const char *reason, *notice; /* each or NULL; notice: what was closed or not put back */
	const char *undone;	     /* what its runtime has undone, see report.c; or NULL */
	const char *checkpoint;	     /* name of the checkpoint of the state before it, or NULL */
	const json_t *files_lost;    /* borrowed: paths that could not be put back; or NULL */
	json_t *files;		     /* array */
	json_t *variables;	     /* array of new and changed ones; or NULL */
	struct tool_log tools;	     /* its tool calls */
	char **paths; /* for each of `files` the exact name; NULL for a deleted file */
	size_t n_paths;
	bool files_cut, has_exited; /* has_exited: the code of a session's step called exit() */
	double wall_ms, queued_ms, waited_ms; /* waited_ms: of wall_ms, for answers */
	struct box_usage usage;
	struct limits limits;
	uint32_t by[LIMIT_END_];
	struct record_limits said; /* or empty */
};

void record_init(struct record *r, const struct limits *limits);
void record_done(struct record *r);

/* Make it the record of the next step; the JSON of limits stays. */
void record_renew(struct record *r, const struct limits *limits);

/* Make the JSON of its limits, unless it exists: before the step ends there is time for that. */
void record_say_limits(struct record *r);

/* "ok", "timeout", … */
const char *record_status_word(enum record_status status);

/* "committed", "rolled_back", … */
const char *record_outcome_word(enum record_outcome outcome);

/* Who enforces a limit: "cgroup v2", "rlimit", …; NULL for LIMIT_BY_NONE. */
const char *record_by_word(uint32_t by);

/* Append to `paths` a copy of @path (or NULL). Returns: 0 or -ENOMEM. */
int record_add_path(struct record *r, const char *path);

/* The record as JSON, as docs/use/run.md describes it. Owns: the caller. */
json_t *record_json(const struct record *r);

/* Replace error by {name, message}, keeping line and traceback of the old one. */
void record_set_error(struct record *r, const char *name, const char *fmt, ...) attr_printf(3, 4);

/* {usage, limits} as JSON: the part that differs from run to run. Owns: the caller frees. Returns:
 * NULL without memory. */
char *record_usage_text(struct record *r);

/* Compute the name of the step with step_name(), from parent, runtime, code, and as canonical JSON:
 * the arguments (NULL-terminated, or NULL), its calls, the members of @inputs (an object, or NULL)
 * and everything that came out. Any thread: it touches nothing but the record. */
void record_name(struct record *r, const char *parent, const char *code, size_t bytes,
	const char *const *argv, const json_t *inputs);
