/* Installations of interpreters on the host, and the environment that all runtimes share.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "runtime/runtime.h"

#include <limits.h>

/* How to recognise an installation of a language, as opposed to a home directory with a link in
 * its bin/. */
struct runtime_kind {
	const char *language;
	const char *executable; /* below the prefix: "bin/node" */
	const char *signs[3];	/* patterns below the prefix, one of which must match; or NULL */
	const char *hint;	/* what the user should name instead, for the hint */
	const char *usual[4];	/* where to look for an executable; ends with NULL */
	const char *missing;	/* hint when the language is not installed */
};

/* Report that @path is not an installation of @kind. Returns: negative errno. */
int runtime_not_found(const struct runtime_kind *kind, const char *path, struct err *err);

/*
 * Find the executable as an absolute path: @asked, which may also be the directory of an
 * installation, or (NULL) the first usual place that has one. Errors: ERR_RUNTIME: not found.
 */
int runtime_find(
	const struct runtime_kind *kind, const char *asked, char out[PATH_MAX], struct err *err);

/* As above, for Python. */
int python_find(const char *asked, char out[PATH_MAX], struct err *err);

/* Cut @path at its last slash. */
void runtime_cut_last_part(char *path);

/*
 * Make @path absolute, without "." and ".." parts and double slashes; links are not resolved.
 * Errors: ERR_LIMIT: too long; ERR_IO: no current directory.
 */
int runtime_absolute_path(const char *path, char out[PATH_MAX], struct err *err);

/*
 * Is there an installation of @kind at @prefix? A virtual environment or a link may name any
 * path: a box is shown that path only if it is an installation.
 */
bool runtime_is_installation(const struct runtime_kind *kind, const char *prefix);

/* Bind @prefix, and its resolved path too: files of an installation refer to each other by that. */
int runtime_bind_prefix(struct runtime_start *out, const char *prefix, struct err *err);

/*
 * Bind the installation that @executable belongs to, and that of each link on the way to it.
 * @executable becomes the first of its paths that exists in the box. Errors: ERR_RUNTIME: it does
 * not belong to an installation.
 */
int runtime_bind_installation(const struct runtime_kind *kind, struct runtime_start *out,
	char executable[PATH_MAX], struct err *err);

/* The seed as 32 bits. */
unsigned runtime_seed(const struct runtime_request *req);

/*
 * Set the caller's variables, those of every runtime, and the runtime's @own ("" is left out).
 * When a name occurs twice, the earlier of these three counts. Errors: ERR_LIMIT, ERR_NO_MEMORY.
 */
int runtime_add_environment(const struct runtime_request *req, const char *const *own, size_t n_own,
	struct runtime_start *out, struct err *err);
