/* Lines from a person at a terminal, or from a pipe. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct editor;

struct editor_config {
	const char *history; /* file that is read and written, or NULL */
	void *arg;
	/* Wait until standard input is readable: 0, -EINTR after Ctrl-C, another negative errno:
	 * leave. */
	int (*wait)(void *arg, int fd);
	/* {"names": […]} that the end of @text may be completed to, or NULL. Owns: the editor
	 * decrefs. */
	json_t *(*complete)(void *arg, const char *text);
};

/* With line editing when standard input and output are a terminal, else line by line. */
int editor_open(struct editor **out, const struct editor_config *config, struct err *err);

/* Write the history; NULL is nothing. */
void editor_close(struct editor *e);

/* Is there a person? */
bool editor_is_terminal(const struct editor *e);

/*
 * Read a line, without its end; a statement from the history comes whole. Owns: *@line is the
 * caller's to free. Returns: 1, 0 at the end of the input, -EINTR after Ctrl-C (what was typed is
 * dropped), -EILSEQ for a line with a NUL, -EIO when the terminal is gone, or another negative
 * errno.
 */
int editor_read(struct editor *e, const char *prompt, char **line);

/* As if it were typed before all that will be. */
void editor_type(struct editor *e, const char *text, size_t bytes);

/* The number of the line read last, of a pipe. */
size_t editor_line(const struct editor *e);

/* Somebody else had the terminal: take it back, and show what was typed so far. */
void editor_resume(struct editor *e);

/* It has another size. */
void editor_resize(struct editor *e);

/* Remember a statement, which may have many lines. */
void editor_remember(struct editor *e, const char *text);

/*
 * What @name adds to the end of @text when that is a beginning of it: "int" for "print" after "x =
 * pr". Returns: NULL when it is none.
 */
const char *editor_addition(const char *text, const char *name);
