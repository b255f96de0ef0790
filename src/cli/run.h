/* The options of `retort run`, which runs a program of a language, or with `--` any program of the
 * box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/box.h"
#include "cli/view.h"

/* Values of the options in cli/process.def. */
struct process_args {
	bool input, terminal;
	const char *detach_keys; /* NULL: PROCESS_KEYS */
};
#define PROCESS_KEYS "ctrl-p,ctrl-q"

struct run_args {
	struct box_args box;
	struct process_args process;
	const char *code;
	struct output_args output;
	const char *stdin_file;
	bool help;
	int color;
};

/* Open the file of --stdin. @program: the program's file, or NULL. Owns: the caller. Returns: the
 * descriptor; -1 without --stdin; or less than -1 and @err. */
int run_open_stdin(const struct run_args *args, const char *program, struct err *err);

/* `retort run -- CMD`, in cli/process/run_command.c. @argv: the program and its arguments,
 * NULL-terminated. Returns: the exit status. */
int run_command(const struct run_args *args, const struct opt_set *set, char **argv);
