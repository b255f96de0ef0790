/* Reads lines that a person types at a terminal, or that come from a pipe.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct editor;

struct editor_config {
	const char *history; /* path of the history file; NULL: history is not saved */
	void *arg;
	/* Wait until @fd can be read. Returns: 0; -EINTR after Ctrl-C; or another negative
	 * errno, which ends the input. */
	int (*wait)(void *arg, int fd);
	/* Return names that complete the end of @text, as {"names": […]}; or NULL. Owns: the
	 * editor decrefs. */
	json_t *(*complete)(void *arg, const char *text);
};

/* Open the input. If stdin and stdout are a terminal, lines can be edited. Otherwise lines are
 * read from stdin as they are. */
int editor_open(struct editor **out, const struct editor_config *config, struct err *err);

/* Save the history, and close the editor. @e may be NULL. */
void editor_close(struct editor *e);

/* Return whether the input is a terminal. */
bool editor_is_terminal(const struct editor *e);

/*
 * Read a line. The result has no line end. A statement from the history, or pasted text, is one
 * line even if it has line ends inside.
 * Owns: the caller frees *@line.
 * Returns: 1; 0 at the end of the input; -EINTR after Ctrl-C, which drops what was typed; -EILSEQ
 * if the line contains a NUL; -EIO if the terminal was closed; or another negative errno.
 */
int editor_read(struct editor *e, const char *prompt, char **line);

/* Insert @text before all input that was not read yet, as if it had been typed. Only for a
 * terminal. */
void editor_type(struct editor *e, const char *text, size_t bytes);

/* For input from a pipe, return the number of the last line that was read. */
size_t editor_line(const struct editor *e);

/* Take the terminal back after a program used it, and show again what was typed so far. */
void editor_resume(struct editor *e);

/* Adapt the display to a new size of the terminal. */
void editor_resize(struct editor *e);

/* Add a statement to the history. It may have many lines. */
void editor_remember(struct editor *e, const char *text);

/* Return the rest of @name if @text ends with the beginning of @name, otherwise NULL. For "x =
 * pr" and "print" it is "int". */
const char *editor_addition(const char *text, const char *name);
