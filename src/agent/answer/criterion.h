/* What an answer has to meet, besides the model's own opinion. No system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

enum criterion_kind {
	CRITERION_NONE,
	CRITERION_COMMAND, /* a shell command that succeeds, in the workspace */
	CRITERION_PYTHON,  /* an expression that is true, in the session, with `answer` */
	CRITERION_SCHEMA,  /* a JSON Schema that it fits; nothing is run */
};

/* Starts as zeros. */
struct criterion {
	enum criterion_kind kind;
	char *text;	/* the command, the expression, the schema */
	json_t *schema; /* or NULL */
};

/*
 * Read "shell:COMMAND", "python:EXPRESSION", "schema:JSON"; what begins with none of these words is
 * a command.
 * Owns:    criterion_done().
 * Errors:  ERR_USAGE: there is nothing behind the word, or it is no JSON Schema; ERR_NO_MEMORY.
 */
int criterion_parse(struct criterion *out, const char *text, struct err *err);
void criterion_done(struct criterion *c);

/*
 * What is to be run: appended to @code. An end that is not "ok" says that it is not met.
 * @answer: as text; @value: what final_answer() was given, or NULL: then `answer` is the text.
 * Returns: the runtime; NULL without memory.
 */
const char *criterion_code(
	const struct criterion *c, const char *answer, const json_t *value, struct buf *code);

/* Does the answer fit the schema: its value; or else its text, or what that is as JSON? Returns: 0,
 * or -EINVAL with the place and what is needed there. */
int criterion_fit(
	const struct criterion *c, const char *answer, const json_t *value, struct err *err);

/* "this command, which failed", …: how a model is told of it when it is not met. */
const char *criterion_words(const struct criterion *c);
