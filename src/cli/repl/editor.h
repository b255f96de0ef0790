/* Input of lines from a person at a terminal, or from a pipe. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct editor;

struct editor_config {
	const char *history; /* the history file, or NULL */
	void *arg;
	/* Wait until stdin is readable. Returns: 0; -EINTR after Ctrl-C; another negative errno:
	 * end the input. */
	int (*wait)(void *arg, int fd);
	/* Return the completions of the end of @text as {"names": […]}, or NULL. Owns: the editor
	 * decrefs. */
	json_t *(*complete)(void *arg, const char *text);
};

/* Open the input: with line editing if stdin and stdout are a terminal, otherwise line by line. */
int editor_open(struct editor **out, const struct editor_config *config, struct err *err);

/* Write the history, and close the editor. @e may be NULL. */
void editor_close(struct editor *e);

/* Is the input a terminal? */
bool editor_is_terminal(const struct editor *e);

/*
 * Read a line, without its end; a statement from the history is returned as a whole.
 * Owns:    *@line is the caller's to free.
 * Returns: 1, 0 at the end of the input, -EINTR after Ctrl-C (the typed text is dropped), -EILSEQ
 *          for a line with a NUL, -EIO if the terminal was closed, or another negative errno.
 */
int editor_read(struct editor *e, const char *prompt, char **line);

/* Insert @text in front of further input. */
void editor_type(struct editor *e, const char *text, size_t bytes);

/* Return the number of the last line of a pipe. */
size_t editor_line(const struct editor *e);

/* Take the terminal back after a program used it, and show the input so far. */
void editor_resume(struct editor *e);

/* Adjust to a new size of the terminal. */
void editor_resize(struct editor *e);

/* Add a statement, which may have many lines, to the history. */
void editor_remember(struct editor *e, const char *text);

/* Return the rest of @name if @text ends in its beginning: "int" for "print" after "x = pr";
 * otherwise NULL. */
const char *editor_addition(const char *text, const char *name);
