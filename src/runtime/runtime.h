/* The table of runtimes: what a language needs of a box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

#include <stdbool.h>

enum { RUNTIME_ARGS_MAX = 16, RUNTIME_ENV_MAX = 272, RUNTIME_BINDS_MAX = 12 };

/* What the caller asks of a runtime. Borrowed. */
struct runtime_request {
	const char *interpreter; /* a path of the host (or of @rootfs), or NULL for the usual one */
	const char *rootfs;	 /* or NULL */
	const char *drivers_dir; /* of the host: holds one directory per runtime */
	const char *session;	 /* for RETORT_SESSION */
	const char *const *env;	 /* NAME=VALUE of the caller, after ours */
	size_t n_env;
	uint64_t cpu_milli;
	bool has_seed;
	uint64_t seed;
};

/* How to start a driver: what to bind, what to execute. Strings are owned; runtime_start_done()
 * frees. */
struct runtime_start {
	struct warden_bind *binds;
	size_t n_binds;
	char *argv[RUNTIME_ARGS_MAX + 1];
	char *envp[RUNTIME_ENV_MAX + 1];
};

struct runtime {
	const char *name;    /* as in -r and the record */
	const char *endings; /* of files: "|py|pyw|" */
	const char *words;   /* of a `#!` line: "|python|python3|" */
	int (*start)(const struct runtime_request *req, struct runtime_start *out, struct err *err);
};

/* The runtime called @name, or NULL. */
const struct runtime *runtime_by_name(const char *name);

/*
 * The runtime for a program: by the ending of @filename (or NULL), else by its `#!` line, else
 * python. Returns: never NULL.
 */
const struct runtime *runtime_guess(const char *filename, const char *code, size_t bytes);

/* Names of all runtimes, "python, …", for messages. */
const char *runtime_names(void);

void runtime_start_done(struct runtime_start *start);

/* Is @path of the host in every box under the same name (/usr and the like)? */
bool runtime_is_in_box(const char *path);

/*
 * Add a read-only bind of an installation at @path to the same path inside (below /usr nothing is
 * needed), or of a directory of ours to @dst. Errors: ERR_NOT_FOUND, ERR_LIMIT.
 */
int runtime_bind(struct runtime_start *start, const char *path, const char *dst, struct err *err);

/* Append to argv or envp (@max entries of @list). Errors: ERR_LIMIT, ERR_NO_MEMORY. */
int runtime_add(char **list, size_t max, struct err *err, const char *fmt, ...) attr_printf(4, 5);

extern const struct runtime runtime_python;
