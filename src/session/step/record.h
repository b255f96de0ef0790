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

/* ORDER status: the table status_words in record.c has one word for each of these values, such
 * as "timeout". The words and the values have the same order. */
enum record_status {
	RECORD_OK,
	RECORD_ERROR,
	RECORD_TIMEOUT,
	RECORD_OOM,
	RECORD_KILLED,
	RECORD_DENIED,
	RECORD_STATUS_END_
};

/* ORDER outcome: the table outcome_words in record.c has one word for each of these values, such
 * as "rolled_back". The words and the values have the same order. */
enum record_outcome {
	RECORD_COMMITTED,
	RECORD_ROLLED_BACK,
	RECORD_REPLAYED,
	RECORD_DIVERGED,
	RECORD_LOST,
	RECORD_OUTCOME_END_
};

/* The limits of a record, with their JSON, which is reused while the limits are the same. */
struct record_limits {
	struct limits limits;
	uint32_t by[LIMIT_END_];
	json_t *json;
	char *text; /* @json as text */
};

struct record {
	char session[RECORD_ID_BYTES];
	char step[RECORD_ID_BYTES];   /* name of the step, a hexadecimal SHA-256 */
	char parent[RECORD_ID_BYTES]; /* name of the step before this step, or "" */
	struct step_name name;
	char *canonical; /* canonical JSON from which the name is computed */
	const char *runtime;
	enum record_status status;
	int exit_code;	   /* exit code of the step, or -1 if a signal or retort ended it */
	int signal;	   /* signal that ended the step, or 0 */
	int exit_status;   /* exit status with which `retort run` ends */
	json_t *value;	   /* object or NULL */
	json_t *displays;  /* array */
	unsigned n_clears; /* frames that clear the page */
	uint64_t n_displays_cut, result_bytes;	  /* @result_bytes: size of the RESULT frame */
	uint64_t displays_bytes, n_display_parts; /* totals, see session/step/report.h */
	json_t *error;				  /* object or NULL */
	struct capture out[2];			  /* stdout, stderr */
	json_t *outputs; /* stdout and stderr as JSON, made by record_name(); NULL until then */
	enum record_outcome outcome;
	/* @reason: explains @outcome to the user, or NULL. @notice: what the state has lost, or
	 * NULL. */
	const char *reason, *notice;
	const char *undone;	  /* what the runtime undid by itself, see undone_of(); or NULL */
	const char *checkpoint;	  /* name of the checkpoint of the state before the step, or NULL */
	const json_t *files_lost; /* paths of files that could not be restored, borrowed; or NULL */
	json_t *files;		  /* array */
	json_t *processes;	  /* array of processes that run on, or have ended; or NULL */
	json_t *network;     /* array of what was asked of the network (network_json.h), or NULL */
	const json_t *image; /* {"name", "digest"}, borrowed; or NULL */
	json_t *variables;   /* array of new and changed variables, or NULL */
	struct tool_log tools; /* log of the step's tool calls */
	/* Exact path of each entry of @files, also if it is not UTF-8. NULL for a deleted file. */
	char **paths;
	size_t n_paths;
	/* @files_cut: @files is not complete. @has_exited: the code of a session's step has
	 * called exit(). */
	bool files_cut, has_exited;
	/* @waited_ms: part of @wall_ms in which the wall clock was paused. */
	double wall_ms, queued_ms, waited_ms;
	struct box_usage usage;
	struct limits limits;
	uint32_t by[LIMIT_END_];
	struct record_limits said; /* JSON of the limits; empty until it is made */
};

void record_init(struct record *r, const struct limits *limits);
void record_done(struct record *r);

/* Reset the record for the next step, but keep the JSON of the limits. */
void record_renew(struct record *r, const struct limits *limits);

/* Make the JSON of the limits, unless it is up to date. It is made while the step runs, so that
 * the record is complete sooner. */
void record_say_limits(struct record *r);

/* Return the word for @status: "ok", "timeout", … */
const char *record_status_word(enum record_status status);

/* Return the word for @outcome: "committed", "rolled_back", … */
const char *record_outcome_word(enum record_outcome outcome);

/* Return the name of a limit's enforcer: "cgroup v2", "rlimit", …; NULL for LIMIT_BY_NONE. */
const char *record_by_word(uint32_t by);

/* Append a copy of @path, which may be NULL, to `paths`. Returns: 0 or -ENOMEM. */
int record_add_path(struct record *r, const char *path);

/* Return the record as JSON, as described in docs/use/run.md. Owns: the caller drops the
 * reference. */
json_t *record_json(const struct record *r);

/* Replace the record's error by one with this name and message. Its line and traceback are kept. */
void record_set_error(struct record *r, const char *name, const char *fmt, ...) attr_printf(3, 4);

/* Return the part of the record that differs from run to run, as text: {"usage": …, "limits":
 * …, "processes": …}. Owns: the caller frees the text. Returns: NULL if memory is exhausted. */
char *record_usage_text(struct record *r);

/*
 * Compute the step's name with step_name(), from @parent, the runtime, the code and one canonical
 * JSON object. The object has the result of the step, the tool calls, the arguments @argv
 * (NULL-terminated, or NULL) and the members of @inputs (an object, or NULL).
 * May run on any thread, since it uses only the record.
 */
void record_name(struct record *r, const char *parent, const char *code, size_t bytes,
	const char *const *argv, const json_t *inputs);
