/* The commands of the REPL. They are lines that begin with %. SPDX-License-Identifier:
 * Apache-2.0 */
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
	/* The argument without blanks around it, as a part of `text`; "" without an argument. */
	const char *arg;
	uint64_t count;	    /* number of steps to undo (MAGIC_UNDO) */
	const char *second; /* second argument of MAGIC_GET or MAGIC_PUT; or NULL */
	/* --force. MAGIC_BRANCH: end running processes. MAGIC_GET: overwrite the file. */
	bool is_forced;
	bool has_secrets; /* --secrets (MAGIC_BRANCH): the branch gets the secrets */
	bool is_kept;	  /* --keep-processes (MAGIC_BRANCH): let running processes go on */
	char *text;	  /* the text after the command's name. Owns: free() */
};

/* A command for the help: its name, its arguments, and what it does. */
struct magic_row {
	const char *name, *arg, *help;
};
extern const struct magic_row magic_rows[MAGIC_END_];

/* Return whether @line is a command of the REPL, perhaps a misspelt one. In Python, a line that
 * begins with % may also be a notebook magic, which is left to the driver: a whole cell such as
 * %%bash, or a name that is not similar to a command. */
bool magic_is(const char *line, const char *runtime);

/* Return the command whose argument is being typed at the end of @line. MAGIC_END_: the
 * command's name itself is being typed, or is unknown. */
enum magic_kind magic_at(const char *line);

/*
 * Return completions for the argument of @kind. For MAGIC_END_, return the names of the commands.
 * @known: the result of engine.info for MAGIC_RUNTIME, of session.list for MAGIC_SWITCH, of
 * file.list for MAGIC_GET and MAGIC_FILES; otherwise NULL.
 * Owns: the caller decrefs.
 */
json_t *magic_names(enum magic_kind kind, const json_t *known);

/* Return whether @name is a word of the list @names, such as "python, sql". */
bool magic_is_listed(const char *names, const char *name);

/* Parse a command. Errors: ERR_USAGE with a hint, for example if the command is unknown;
 * ERR_NO_MEMORY. */
int magic_parse(const char *line, struct magic *out, struct err *err);
