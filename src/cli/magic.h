/* Commands of the REPL: lines that begin with %. SPDX-License-Identifier: Apache-2.0 */
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
	const char *arg;    /* trimmed, within `text`; "" without an argument */
	uint64_t count;	    /* of MAGIC_UNDO */
	const char *second; /* the second argument of MAGIC_GET and MAGIC_PUT, or NULL */
	bool is_forced;	    /* MAGIC_BRANCH: in spite of running processes; MAGIC_GET: overwrite */
	char *text;	    /* Owns: free() */
};

/* The table: "undo", "[N]", "go back …". */
struct magic_row {
	const char *name, *arg, *help;
};
extern const struct magic_row magic_rows[MAGIC_END_];

/* Is @line a command of the REPL, or an attempt at one? In Python other magics belong to the
 * driver, which knows those of notebooks: whole cells such as %%bash, and names that are not
 * similar to one of ours. */
bool magic_is(const char *line, const char *runtime);

/* To which command's argument does the end of @line belong? MAGIC_END_: it is a command's name. */
enum magic_kind magic_at(const char *line);

/*
 * Completions for the argument of @kind; for MAGIC_END_, the commands. @known: the answer to
 * session.list, engine.info or file.list, for MAGIC_SWITCH, MAGIC_RUNTIME, MAGIC_GET and
 * MAGIC_FILES.
 * Owns:    the caller decrefs.
 */
json_t *magic_names(enum magic_kind kind, const json_t *known);

/* Is @name one of "python, sql"? */
bool magic_is_listed(const char *names, const char *name);

/* Parse a command. Errors: ERR_USAGE with a hint, also for an unknown one; ERR_NO_MEMORY. */
int magic_parse(const char *line, struct magic *out, struct err *err);
