/* A whole program that runs in a box of its own. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/calls.h"
#include "api/row/param.h"

/*
 * Run the program that the parameters of @call describe (program.run), as a sequence of other
 * operations: session.create, file.write, step.run, file.read, session.close. They are started as
 * calls of the same caller, so that its rights and quotas hold. Answers @call when the session is
 * closed.
 */
void program_start(struct operation_call *call);

/* Write the files of a program into a new box and compile it (program.build). The session stays. */
void program_start_build(struct operation_call *call);

/* Return the name of the language that @word names, as program.languages gives it; NULL: no
 * language is called so. *@is_compiled: whether its programs are compiled; may be NULL. */
const char *program_language(const char *word, bool *is_compiled);

/* How many bytes the files in a result may have together. */
enum { PROGRAM_FILES_BYTES = 32 << 20 };

/* Rows of a file of a program, and help of parameters that several operations have. */
enum { PROGRAM_FILE_ROWS = 3, FILES_MAX = 1000, LANGUAGE_BYTES = 64 };
extern const struct param program_file_rows[PROGRAM_FILE_ROWS];
#define HELP_FILENAME "name of the program's file (default: that of its language, such as main.cpp)"
#define HELP_FILES                                                                                 \
	"other files of the program; those with the ending of the program's file are compiled "    \
	"with it"
#define HELP_COMPILE_ARGS    "further arguments of the compiler, such as -std=c++20"
#define HELP_COMPILE_TIMEOUT "wall time of the compiler (default: limits.timeout_ms)"
#define HELP_LARGE_STACK                                                                           \
	"a compiled program has as much stack as the host allows, as judges of contests give it"
