/* Installations of interpreters on the host, and the environment that all runtimes share.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "runtime/runtime.h"

#include <limits.h>

/*
 * How to find the interpreter of a language, and how to recognise the prefix of its installation.
 * The prefix is the directory that contains the whole installation, such as /usr/local.
 * A directory is not a prefix if its bin/ contains only a link to an interpreter elsewhere. For
 * example, a home directory may contain such a link.
 */
struct runtime_kind {
	const char *language;
	const char *executable; /* path below the prefix: "bin/node" */
	/* Glob patterns that recognise a prefix: a directory is a prefix only if it contains a file
	 * or directory that matches one of the patterns. For example, "lib/python3*" matches in
	 * /usr. Unused elements are NULL. */
	const char *signs[3];
	const char *hint;     /* error hint if a path belongs to no installation */
	const char *usual[4]; /* usual paths of the executable, in order; ends with NULL */
	const char *missing;  /* error hint if no interpreter is found */
};

/* Report that there is no interpreter of @kind at @path. Returns: negative errno. */
int runtime_not_found(const struct runtime_kind *kind, const char *path, struct err *err);

/*
 * Find the executable and write its absolute path to @out. @asked is the path of the executable,
 * its name in PATH, or the directory of an installation. NULL: the first of the usual paths that
 * can be executed.
 * Errors: ERR_RUNTIME: not found; those of runtime_absolute_path().
 */
int runtime_find(
	const struct runtime_kind *kind, const char *asked, char out[PATH_MAX], struct err *err);

/* Write to @out how an interpreter of an image is named: as the caller has named it, or @usual,
 * which is searched for in PATH. Errors: ERR_LIMIT. */
int runtime_name_in_image(
	const struct runtime_request *req, const char *usual, char out[PATH_MAX], struct err *err);

/* Call runtime_find() for Python. */
int python_find(const char *asked, char out[PATH_MAX], struct err *err);

/* Cut @path at its last slash. */
void runtime_cut_last_part(char *path);

/* Make @path absolute, and remove "." and ".." parts and double slashes. Links are not resolved.
 * Errors: ERR_LIMIT: too long; ERR_IO: no current directory. */
int runtime_absolute_path(const char *path, char out[PATH_MAX], struct err *err);

/* Return whether there is an installation of @kind at @prefix. Only an installation may be bound
 * into a box: a virtual environment or a link could name any other directory of the host. */
bool runtime_is_installation(const struct runtime_kind *kind, const char *prefix);

/* Bind @prefix, and the path to which it resolves, because files of an installation may refer to
 * each other by that path. */
int runtime_bind_prefix(struct runtime_start *out, const char *prefix, struct err *err);

/*
 * Bind the installation that contains @executable. If @executable is a link, follow it from path to
 * path, and also bind the installation of each of these paths. Then @executable becomes the first
 * path that exists in the box.
 * Errors: ERR_RUNTIME: none of the paths belongs to an installation.
 */
int runtime_bind_installation(const struct runtime_kind *kind, struct runtime_start *out,
	char executable[PATH_MAX], struct err *err);

/* Return the request's seed, reduced to 32 bits. */
unsigned runtime_seed(const struct runtime_request *req);

/* Set environment variables in this order: those for a fixed seed or time (still.h), the
 * caller's, those of every runtime, and @own. If a variable occurs twice, the first one counts.
 * Empty texts in @own are skipped. Errors: ERR_BOX, ERR_LIMIT, ERR_NO_MEMORY. */
int runtime_add_environment(const struct runtime_request *req, const char *const *own, size_t n_own,
	struct runtime_start *out, struct err *err);
