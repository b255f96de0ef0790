/* The table of toolchains: for each language in which whole programs are run, the name of the
 * source file, and what compiles and runs it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * A language, and the program of the host that it needs. Programs of a language with a runtime
 * (runtime.h) are run by its driver; for all others, `run` starts them.
 *
 * `compile` and `run` are bash. They find `program`, the path of the program; `source`, the name of
 * the source file; `sources`, an array of it and of all files beside it with the same ending;
 * `flags`, an array of the caller's arguments for the compiler; and the program's arguments as
 * positional parameters.
 */
struct toolchain {
	const char *language; /* "cpp" */
	const char *words;    /* other names of the language, "|c++|g++|" */
	const char *source;   /* "main.cpp" */
	const char *runtime;  /* name of the language's runtime, or NULL */
	/* Names and paths of the program: the first that exists is used. "gcc|/opt/gcc/bin/gcc" */
	const char *programs;
	const char *compile; /* NULL: the language is not compiled */
	const char *run;     /* NULL if the language has a runtime */
	const char *version; /* prints the version, somewhere in its output */
	const char *package; /* Debian package that has the program */
};

size_t toolchain_count(void);
const struct toolchain *toolchain_at(size_t i);

/* Find a language by its name or another name of it; case is ignored. Several rows may have the
 * same language: the first one whose program exists is found, otherwise the first row. Returns:
 * NULL if there is no such language. */
const struct toolchain *toolchain_find(const char *language);

/* Find the program of @t in the directories that are in the PATH of every box. @path: what is
 * there, for programs in a box without a rootfs. Returns: whether this host has it. */
bool toolchain_program(const struct toolchain *t, char path[PATH_MAX]);

/* Report that the host lacks the program of @t, or (@t NULL) that no language is called @language.
 * Returns: negative errno. Errors: ERR_RUNTIME. */
int toolchain_missing(const struct toolchain *t, const char *language, struct err *err);
