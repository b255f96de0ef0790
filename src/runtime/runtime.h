/* The table of runtimes: what a language needs of a box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

#include <stdbool.h>

enum {
	RUNTIMES_MAX = 4, /* rows of the table */
	RUNTIME_ARGS_MAX = 16,
	RUNTIME_ENV_MAX = 272,
	RUNTIME_BINDS_MAX = 12,
};

/*
 * How the state of a runtime survives a branch, a rollback and a restart.
 *
 * MEMORY  the driver is forked
 * FILE    the state is a file of the workspace
 * TEXT    the driver reports it in STATE, and a new driver takes it from SETUP
 * REPLAY  the session's steps are run again
 */
enum runtime_carry { CARRY_MEMORY, CARRY_FILE, CARRY_TEXT, CARRY_REPLAY };

/* The caller's wishes for a runtime. Borrowed. */
struct runtime_request {
	const char *interpreter; /* a path of the host (or of @rootfs), or NULL for the usual one */
	const char *rootfs;	 /* or NULL */
	const char *chosen;	 /* an interpreter whose directory comes first in PATH, or NULL */
	const char *drivers_dir; /* of the host: holds one directory per runtime */
	const char *session;	 /* for RETORT_SESSION */
	const char *const *env;	 /* NAME=VALUE of the caller, after ours */
	size_t n_env;
	uint64_t cpu_milli;
	uint64_t memory_bytes;
	bool has_seed, has_time;
	uint64_t seed;
	int64_t time_ns; /* since 1970 */
};

struct runtime_start;

struct runtime {
	const char *name;    /* as in -r and the record */
	const char *endings; /* endings of its files: "|py|pyw|" */
	/* words of its `#!` lines, and other names of it: "|python|python3|" */
	const char *words;
	enum runtime_carry carry;
	/* its driver takes a step's standard input as a text in STEP, not as a descriptor */
	bool is_stdin_text;
	int (*start)(const struct runtime_request *req, struct runtime_start *out, struct err *err);
};

/* Find a runtime by name, alias or file ending: "bash", "js", "PYTHON". Returns: NULL when there
 * is no such runtime. */
const struct runtime *runtime_by_name(const char *name);

/* The row of a runtime in the table, below RUNTIMES_MAX; and the runtime of a row, NULL past the
 * last. */
unsigned runtime_index(const struct runtime *runtime);
const struct runtime *runtime_at(unsigned index);

/*
 * The runtime for a program: by the ending of @filename (or NULL), else by its `#!` line; *@out
 * is NULL when neither decides. Errors: ERR_RUNTIME when the ending or the line belongs to
 * another language, or the ending to data files.
 */
int runtime_guess(const char *filename, const char *code, size_t bytes, const struct runtime **out,
	struct err *err);

/* Does the name have the ending of a data file? */
bool runtime_is_data(const char *filename);

/* Names of all runtimes, "python, …", for messages. */
const char *runtime_names(void);

extern const struct runtime runtime_python, runtime_node, runtime_sql, runtime_shell;
