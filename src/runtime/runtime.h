/* The table of runtimes: for each language, what starts its driver and how its state is kept.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

#include <stdbool.h>

enum {
	RUNTIMES_MAX = 4, /* number of runtimes, such as Python and SQL */
	RUNTIME_ARGS_MAX = 16,
	RUNTIME_ENV_MAX = 272,
	RUNTIME_BINDS_MAX = 12,
};

/*
 * How the state of a runtime survives a branch, a rollback and a restart.
 *
 * MEMORY  the driver is forked
 * FILE    the state is a file in the workspace
 * TEXT    the driver sends its state as text in a STATE frame, and a new driver gets it in SETUP
 * REPLAY  the steps of the session are run again
 */
enum runtime_carry { CARRY_MEMORY, CARRY_FILE, CARRY_TEXT, CARRY_REPLAY };

/* What a caller wants from a runtime. All pointers are borrowed. */
struct runtime_request {
	/* path on the host, or name or path in the image; NULL: the usual one */
	const char *interpreter;
	/* The box has an image in place of the host's system: nothing is looked up on the host. The
	 * interpreter is searched for in PATH when it starts. */
	bool has_image;
	const char **image_env; /* variables of the image, NAME=VALUE */
	size_t n_image_env;
	const char *user;   /* value of USER in a box with an image; NULL: root */
	const char *chosen; /* interpreter whose directory comes first in PATH, or NULL */
	/* Directory of the host that contains a directory for the driver of each runtime. */
	const char *drivers_dir;
	const char *session;	/* value of RETORT_SESSION */
	const char *const *env; /* variables of the caller, NAME=VALUE */
	size_t n_env;
	uint64_t cpu_milli;
	uint64_t memory_bytes;
	bool has_seed, has_time;
	uint64_t seed;
	int64_t time_ns; /* nanoseconds since 1970 */
};

struct runtime_start;

struct runtime {
	const char *name;    /* name for option -r and for records: "python" */
	const char *endings; /* file name endings: "|py|pyw|" */
	/* interpreters in `#!` lines, and other names of the language: "|python|python3|" */
	const char *words;
	enum runtime_carry carry;
	/* the driver gets a step's standard input as text in the STEP frame, not as a descriptor */
	bool is_stdin_text;
	bool has_environment; /* steps can have environment variables of their own */
	bool has_scopes;      /* steps can have global variables of their own */
	int (*start)(const struct runtime_request *req, struct runtime_start *out, struct err *err);
};

/* Find a runtime by name, alias or file ending: "bash", "js", "PYTHON". Returns: NULL if no runtime
 * has that name. */
const struct runtime *runtime_by_name(const char *name);

/* runtime_index(): return the index of a runtime in the table; it is below RUNTIMES_MAX.
 * runtime_at(): return the runtime at an index, or NULL if the index is too large. */
unsigned runtime_index(const struct runtime *runtime);
const struct runtime *runtime_at(unsigned index);

/*
 * Set *@out to the runtime for a program. The runtime is the first of these that exists:
 * - the runtime that has the ending of @filename (which may be NULL);
 * - the runtime that the `#!` line of @code names.
 * If neither exists, the function fails in two cases: @code has a `#!` line, or @filename has the
 * ending of source code (".rb") or data (".csv"). In all other cases *@out becomes NULL.
 * Errors: ERR_RUNTIME.
 */
int runtime_guess(const char *filename, const char *code, size_t bytes, const struct runtime **out,
	struct err *err);

/* Return whether the file name has the ending of a data file, such as ".csv". */
bool runtime_is_data(const char *filename);

/* Return the names of all runtimes for a message: "python, javascript, …". */
const char *runtime_names(void);

extern const struct runtime runtime_python, runtime_node, runtime_sql, runtime_shell;
