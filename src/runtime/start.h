/* How to start a driver: which binds its box needs, which program to execute.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runtime/runtime.h"
#include "sandbox/wire.h"

/* How to start a driver: what to bind, what to execute. Strings are owned; runtime_start_done()
 * frees. */
struct runtime_start {
	struct warden_bind *binds;
	size_t n_binds;
	char *argv[RUNTIME_ARGS_MAX + 1];
	char *envp[RUNTIME_ENV_MAX + 1];
	bool is_fixed; /* the same addresses in every run: no ASLR */
};

void runtime_start_done(struct runtime_start *start);

/* Is @path of the host in every box under the same name (/usr and the like)? */
bool runtime_is_in_box(const char *path);

/*
 * Add a read-only bind of an installation at @path to the same path inside (not needed below
 * /usr), or of one of our own directories to @dst. Errors: ERR_NOT_FOUND, ERR_LIMIT.
 */
int runtime_bind(struct runtime_start *start, const char *path, const char *dst, struct err *err);

/* The same of what retort has installed as @name, to @dst; a failure says to install it again. */
int runtime_bind_driver(const struct runtime_request *req, struct runtime_start *start,
	const char *name, const char *dst, struct err *err);

/* Append to argv or envp (@max entries of @list). Errors: ERR_LIMIT, ERR_NO_MEMORY. */
int runtime_add(char **list, size_t max, struct err *err, const char *fmt, ...) attr_printf(4, 5);
