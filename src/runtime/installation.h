/* Installations of interpreters on the host, and the environment all have. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "runtime/runtime.h"

#include <limits.h>

/* How an installation of a language is told from somebody's home with a link in its bin. */
struct runtime_kind {
	const char *language;
	const char *executable; /* below the prefix: "bin/node" */
	const char *signs[3];	/* patterns below the prefix, one of which is there; or NULL */
	const char *hint;	/* what to name instead */
	const char *usual[4];	/* where an executable is looked for; ends with NULL */
	const char *missing;	/* what to do when there is none */
};

/* There is no @kind at @path. Returns: negative errno. */
int runtime_not_found(const struct runtime_kind *kind, const char *path, struct err *err);

/*
 * The executable as an absolute path: the one @asked for, which may also be the directory of an
 * installation, or, when that is NULL, the first usual one. Errors: ERR_RUNTIME: none is there.
 */
int runtime_find(
	const struct runtime_kind *kind, const char *asked, char out[PATH_MAX], struct err *err);

/* The same of Python. */
int python_find(const char *asked, char out[PATH_MAX], struct err *err);

/* Cut @path at its last slash. */
void runtime_cut_last_part(char *path);

/*
 * Absolute, without "." and ".." parts and double slashes, but with its links as they are.
 * Errors: ERR_LIMIT: too long; ERR_IO: no current directory.
 */
int runtime_absolute_path(const char *path, char out[PATH_MAX], struct err *err);

/*
 * Does a @kind live at @prefix? A virtual environment or a link may be a stranger's: what it names
 * is shown to the box only if it is this.
 */
bool runtime_is_installation(const struct runtime_kind *kind, const char *prefix);

/* Bind @prefix, by its real name too: files of an installation name each other by that. */
int runtime_bind_prefix(struct runtime_start *out, const char *prefix, struct err *err);

/*
 * Bind the installation that @executable belongs to, and that of each link it goes through.
 * @executable becomes the first of its names that the box will see.
 * Errors: ERR_RUNTIME: it belongs to none.
 */
int runtime_bind_installation(const struct runtime_kind *kind, struct runtime_start *out,
	char executable[PATH_MAX], struct err *err);

/* The seed as 32 bits. */
unsigned runtime_seed(const struct runtime_request *req);

/*
 * The caller's variables, what every runtime has, and the runtime's @own ("" is left out); of two
 * with one name the first of these three counts. Errors: ERR_LIMIT, ERR_NO_MEMORY.
 */
int runtime_add_environment(const struct runtime_request *req, const char *const *own, size_t n_own,
	struct runtime_start *out, struct err *err);
