/* The check that the user sets for answers. Makes no system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

enum criterion_kind {
	CRITERION_NONE,
	CRITERION_COMMAND, /* a shell command, run in the workspace; it must succeed */
	CRITERION_PYTHON,  /* an expression on `answer`, run in the session; it must be true */
	CRITERION_SCHEMA,  /* a JSON Schema; the answer must fit it; no code is run */
};

/* The user's check of answers. A struct of zeros means that answers are not checked. */
struct criterion {
	enum criterion_kind kind;
	char *text;	/* the command, the expression or the schema, as the user wrote it */
	json_t *schema; /* the parsed schema; NULL for the other kinds */
};

/*
 * Read "shell:COMMAND", "python:EXPRESSION" or "schema:JSON". A text without such a prefix is a
 * command.
 * Owns:    the caller, until criterion_done().
 * Errors:  ERR_USAGE if nothing follows the prefix, or if the schema is not an object or a boolean;
 * ERR_NO_MEMORY.
 */
int criterion_parse(struct criterion *out, const char *text, struct err *err);
void criterion_done(struct criterion *c);

/*
 * Append to @code the code that runs the user's check of an answer: a shell command, or Python code
 * that evaluates an expression. The check is passed if the step that runs @code ends with the
 * status "ok".
 * A model answers either with a text or by calling final_answer().
 * @answer: the answer as text.
 * @value: the argument of final_answer() as JSON; NULL if there is none.
 * A Python expression refers to the answer as the variable `answer`. The value of this variable is
 * @value; if @value is NULL, it is the text @answer.
 * Returns: the runtime of the code, "python" or "shell"; NULL if memory is exhausted.
 */
const char *criterion_code(
	const struct criterion *c, const char *answer, const json_t *value, struct buf *code);

/*
 * Check an answer against the schema. @value is the argument of final_answer() as JSON; NULL if
 * there is none. If @value is not NULL, @value must fit the schema. If @value is NULL, the text
 * @answer must fit the schema, either as a JSON string or as the JSON value that can be parsed from
 * the text.
 * Returns: 0; -EINVAL, and @err says which part of the answer does not fit and what the schema
 * requires there; -ENOMEM.
 */
int criterion_fit(
	const struct criterion *c, const char *answer, const json_t *value, struct err *err);

/* Return a phrase that tells the model how the check failed: "this command, which failed", … */
const char *criterion_words(const struct criterion *c);
