/* The criterion that the user sets for an answer. No system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

enum criterion_kind {
	CRITERION_NONE,
	CRITERION_COMMAND, /* a shell command, run in the workspace, that must succeed */
	CRITERION_PYTHON,  /* an expression, evaluated in the session with `answer`, that must be
			      true */
	CRITERION_SCHEMA,  /* a JSON Schema that the answer must fit; no code is run */
};

/* Initialized with zeros. */
struct criterion {
	enum criterion_kind kind;
	char *text;	/* the command, the expression, or the schema as text */
	json_t *schema; /* the parsed schema, or NULL */
};

/*
 * Read "shell:COMMAND", "python:EXPRESSION", "schema:JSON"; a text without any of these words is a
 * command.
 * Owns:    criterion_done().
 * Errors:  ERR_USAGE: no text behind the word, or not a JSON Schema; ERR_NO_MEMORY.
 */
int criterion_parse(struct criterion *out, const char *text, struct err *err);
void criterion_done(struct criterion *c);

/*
 * Append the code that checks an answer to @code. The answer fails the check unless the status of
 * the code is "ok". @answer: the answer as text. @value: the argument of final_answer(); NULL: the
 * variable `answer` is then the text.
 * Returns: the runtime; NULL without memory.
 */
const char *criterion_code(
	const struct criterion *c, const char *answer, const json_t *value, struct buf *code);

/* Does the answer fit the schema? The value is checked if there is one, otherwise the text as JSON,
 * otherwise the text as a string. Returns: 0, or -EINVAL with the place of the mismatch and the
 * schema's requirement. */
int criterion_fit(
	const struct criterion *c, const char *answer, const json_t *value, struct err *err);

/* Return the phrase that describes a failed check to the model: "this command, which failed", … */
const char *criterion_words(const struct criterion *c);
