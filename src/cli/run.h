/* The options of `retort run`, which runs a program of a language, a notebook, or with `--` any
 * program of the box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/box.h"
#include "cli/view.h"

#include <jansson.h>

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
	/* Of notebooks. */
	const char *output_file, *params_file;
	struct opt_list params;
	bool inplace, allow_errors;
	const char *pull; /* as image_need() takes it */
	bool help;
	int color;
};

/* Open the file of --stdin. @program: the program's file, or NULL. Owns: the caller. Returns: the
 * descriptor; -1 without --stdin; or less than -1 and @err. */
int run_open_stdin(const struct run_args *args, const char *program, struct err *err);

/* `retort run -- CMD`, in cli/process/run_command.c. @argv: the program and its arguments,
 * NULL-terminated. @image: of the box, as once_image(), or NULL. Its program comes before @argv,
 * and if @argv is empty, its arguments. Returns: the exit status. */
int run_command(
	const struct run_args *args, const struct opt_set *set, char **argv, const json_t *image);

/* Return whether @path is named as a notebook. */
bool run_is_notebook(const char *path);

/* Refuse the options for notebooks, for a program that is not one. */
int run_check_no_notebook(const struct opt_set *set, struct err *err);

/* `retort run FILE.ipynb`, in cli/notebook/run_notebook.c. @argv: the file, and options behind it,
 * NULL-terminated. Returns: the exit status. */
int run_notebook(struct run_args *args, struct opt_set *set, char **argv);
