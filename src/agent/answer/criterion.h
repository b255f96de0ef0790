/* The check of an answer that the user asks for. No system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

enum criterion_kind {
	CRITERION_NONE,
	CRITERION_COMMAND, /* a shell command that must succeed, in the workspace */
	CRITERION_PYTHON,  /* an expression that must be true, in the session, with `answer` */
	CRITERION_SCHEMA,  /* a JSON Schema that the answer must fit; nothing is run */
};

/* Starts as zeros. */
struct criterion {
	enum criterion_kind kind;
	char *text;	/* the command, the expression, the schema */
	json_t *schema; /* or NULL */
};

/*
 * Read "shell:COMMAND", "python:EXPRESSION", "schema:JSON"; without any of these words, it is a
 * command. Owns:    criterion_done(). Errors:  ERR_USAGE: nothing behind the word, or not a JSON
 * Schema; ERR_NO_MEMORY.
 */
int criterion_parse(struct criterion *out, const char *text, struct err *err);
void criterion_done(struct criterion *c);

/*
 * Append the code that checks an answer to @code. The answer fails if the code ends in any way but
 * "ok".
 * @answer: as text. @value: the argument of final_answer(); NULL: the code then sees the text as
 * `answer`. Returns: the runtime; NULL without memory.
 */
const char *criterion_code(
	const struct criterion *c, const char *answer, const json_t *value, struct buf *code);

/* Does the answer fit the schema? That is its value, or else its text as JSON, or else its text.
 * Returns: 0, or -EINVAL with the place and what the schema wants there. */
int criterion_fit(
	const struct criterion *c, const char *answer, const json_t *value, struct err *err);

/* "this command, which failed", …: how a failed check is described to the model. */
const char *criterion_words(const struct criterion *c);
