/*
 * retort-files: what the operations path.* do in a box.
 *
 * The engine never follows a path of a box: a program there could change a link at any moment. It
 * starts this program as the user of the box instead, which so can do what the box's programs can
 * do, and nothing else. One run is one operation: its arguments come in argv, the content of a file
 * on stdin. The answer is lines of JSON on stdout. After an error, a line on stderr says what is
 * wrong, {"code", "message", "hint"}, and the exit status is 1.
 *
 * The engine takes nothing that it reads here for true: other programs of the box can change it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "answer.h"
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int64_t number(const char *text)
{
	return strtoll(text, NULL, 10);
}

static int run_stat(char **args, struct err *err)
{
	return files_stat(args[0], err);
}

static int run_list(char **args, struct err *err)
{
	return files_list(args[0], (unsigned)number(args[1]), err);
}

static int run_make(char **args, struct err *err)
{
	return files_make(args[0], number(args[1]), err);
}

static int run_move(char **args, struct err *err)
{
	return files_move(args[0], args[1], err);
}

static int run_remove(char **args, struct err *err)
{
	return files_remove(args[0], number(args[1]), number(args[2]), err);
}

static int run_read(char **args, struct err *err)
{
	return files_read(args[0], number(args[1]), number(args[2]), err);
}

static int run_write(char **args, struct err *err)
{
	const struct files_write w = {.path = args[0],
		.bytes = number(args[1]),
		.is_append = number(args[2]),
		.mode = (int)number(args[3]),
		.new_mode = (int)number(args[4]),
		.prefix = args[5],
		.attributes = args[5] ? args + 6 : NULL};
	return files_write(&w, err);
}

static int run_watch(char **args, struct err *err)
{
	return files_watch(args[0], number(args[1]), number(args[2]), err);
}

static const struct {
	const char *name;
	int n_args; /* at least */
	int (*run)(char **args, struct err *err);
} runs[] = {
	{"stat", 1, run_stat},
	{"list", 2, run_list},
	{"make", 2, run_make},
	{"move", 2, run_move},
	{"remove", 3, run_remove},
	{"read", 3, run_read},
	{"write", 5, run_write},
	{"watch", 3, run_watch},
};

static int run(int argc, char **argv, struct err *err)
{
	for (size_t i = 0; argc >= 2 && i < ARRAY_LEN(runs); i++)
		if (strcmp(argv[1], runs[i].name) == 0 && argc >= 2 + runs[i].n_args)
			return runs[i].run(argv + 2, err);
	return err_set(err, ERR_USAGE,
		"this program is for the operations path.* of retort: stat, list, make, move, "
		"remove, read, write, watch");
}

int main(int argc, char **argv)
{
	struct err err = {0}, unsaid;
	(void)signal(SIGXFSZ, SIG_IGN); /* then write() fails with EFBIG */
	if (run(argc, argv, &err) == 0)
		return 0;
	bool is_inexact = false;
	json_t *message = answer_text(err.msg, &is_inexact);
	json_t *line = json_pack("{s:s, s:o, s:s}", "code", err_word(err.code), "message",
		message ? message : json_string(""), "hint", err.hint);
	(void)answer_line(STDERR_FILENO, line, &unsaid);
	return 1;
}
