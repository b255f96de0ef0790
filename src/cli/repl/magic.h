/* The commands of the REPL: lines that begin with %. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum magic_kind {
	MAGIC_UNDO,
	MAGIC_BRANCH,
	MAGIC_SWITCH,
	MAGIC_LOG,
	MAGIC_FILES,
	MAGIC_GET,
	MAGIC_PUT,
	MAGIC_RUNTIME,
	MAGIC_TIME,
	MAGIC_RESET,
	MAGIC_HELP,
	MAGIC_QUIT,
	MAGIC_END_
};

struct magic {
	enum magic_kind kind;
	const char *arg;    /* the argument, trimmed, within `text`; "" without an argument */
	uint64_t count;	    /* number of steps for MAGIC_UNDO */
	const char *second; /* the second argument of MAGIC_GET and MAGIC_PUT, or NULL */
	bool is_forced;	    /* MAGIC_BRANCH: despite running processes; MAGIC_GET: overwrite */
	char *text;	    /* the command line. Owns: free() */
};

/* A row of the table: "undo", "[N]", "go back …". */
struct magic_row {
	const char *name, *arg, *help;
};
extern const struct magic_row magic_rows[MAGIC_END_];

/* Is @line a command of the REPL, or a misspelt one? In Python the driver handles the magics of
 * notebooks: whole cells such as %%bash, and names that are not similar to a command. */
bool magic_is(const char *line, const char *runtime);

/* Return the command whose argument is to be completed at the end of @line. MAGIC_END_: @line
 * ends inside the command's name, or the command is unknown. */
enum magic_kind magic_at(const char *line);

/*
 * Return completions for the argument of @kind; for MAGIC_END_, the commands. @known: the result of
 * session.list, engine.info or file.list, for MAGIC_SWITCH, MAGIC_RUNTIME, MAGIC_GET and
 * MAGIC_FILES.
 * Owns:    the caller decrefs.
 */
json_t *magic_names(enum magic_kind kind, const json_t *known);

/* Is @name one of the words of a list such as "python, sql"? */
bool magic_is_listed(const char *names, const char *name);

/* Parse a command. Errors: ERR_USAGE with a hint, also for an unknown command; ERR_NO_MEMORY. */
int magic_parse(const char *line, struct magic *out, struct err *err);
