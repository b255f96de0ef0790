/* Commands of the interactive session: lines that begin with %. SPDX-License-Identifier: Apache-2.0
 */
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
	const char *arg;    /* without spaces around it, in `text`; "" when there is none */
	uint64_t count;	    /* of MAGIC_UNDO */
	const char *second; /* of MAGIC_GET and MAGIC_PUT: what stands behind it; NULL */
	bool is_forced; /* MAGIC_BRANCH: whatever processes there are; MAGIC_GET: what is there goes
			 */
	char *text;	/* Owns: free() */
};

/* The table: "undo", "[N]", "go back …". */
struct magic_row {
	const char *name, *arg, *help;
};
extern const struct magic_row magic_rows[MAGIC_END_];

/*
 * Is @line, typed where @runtime is in use, one of them, or meant to be? In Python the others are
 * the driver's, which knows those of notebooks: whole cells, as %%bash, and names that are not near
 * one of ours.
 */
bool magic_is(const char *line, const char *runtime);

/*
 * What the end of @line is part of: the argument of which command, MAGIC_END_ when it is a
 * command's name.
 */
enum magic_kind magic_at(const char *line);

/*
 * What the argument of @kind may be, the commands themselves for MAGIC_END_.
 * @known: what session.list, engine.info or file.list answered, for MAGIC_SWITCH, MAGIC_RUNTIME,
 *         MAGIC_GET and MAGIC_FILES.
 * Owns: the caller decrefs.
 */
json_t *magic_names(enum magic_kind kind, const json_t *known);

/* Is @name one of "python, sql"? */
bool magic_is_listed(const char *names, const char *name);

/*
 * Read one. Errors: ERR_USAGE with a hint, also for an unknown one; ERR_NO_MEMORY.
 */
int magic_parse(const char *line, struct magic *out, struct err *err);
