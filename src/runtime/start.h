/* How to start a driver: the files that its box needs, and its command line.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runtime/runtime.h"
#include "sandbox/wire.h"

/* The binds, command line and environment of a driver. Owns: the caller calls runtime_start_done(),
 * which frees all of them. */
struct runtime_start {
	struct warden_bind *binds;
	size_t n_binds;
	char *argv[RUNTIME_ARGS_MAX + 1];
	char *envp[RUNTIME_ENV_MAX + 1];
	bool is_fixed; /* without ASLR: the same addresses in every run */
};

void runtime_start_done(struct runtime_start *start);

/* Directories of the system in the PATH of every box. */
#define RUNTIME_PATH "/usr/local/bin:/usr/bin:/bin"

/* Return whether every box has the host's @path under the same name. All boxes have /usr, /bin,
 * /sbin, /lib and /lib64. */
bool runtime_is_in_box(const char *path);

/*
 * Bind @path of the host, read-only.
 * For a directory of retort's own, @dst is its path in the box.
 * For an installation of an interpreter, @dst is NULL, and the box sees it at the same path.
 * Nothing is bound if every box has this path anyway (runtime_is_in_box()).
 * Errors: ERR_NOT_FOUND, ERR_LIMIT.
 */
int runtime_bind(struct runtime_start *start, const char *path, const char *dst, struct err *err);

/* Bind the directory @name of @req->drivers_dir to @dst. The hint of an error says to install
 * retort again. Errors: those of runtime_bind(). */
int runtime_bind_driver(const struct runtime_request *req, struct runtime_start *start,
	const char *name, const char *dst, struct err *err);

/* Append a formatted text to @list, which is argv or envp and has room for @max texts. Errors:
 * ERR_LIMIT, ERR_NO_MEMORY. */
int runtime_add(char **list, size_t max, struct err *err, const char *fmt, ...) attr_printf(4, 5);
