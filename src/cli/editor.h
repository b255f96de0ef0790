/* Reads lines from a person at a terminal, or from a pipe. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct editor;

struct editor_config {
	const char *history; /* the history file, or NULL */
	void *arg;
	/* Wait until stdin is readable. Returns: 0, -EINTR after Ctrl-C, another negative errno:
	 * leave. */
	int (*wait)(void *arg, int fd);
	/* Completions of the end of @text as {"names": […]}, or NULL. Owns: the editor decrefs. */
	json_t *(*complete)(void *arg, const char *text);
};

/* With line editing if stdin and stdout are a terminal, else line by line. */
int editor_open(struct editor **out, const struct editor_config *config, struct err *err);

/* Write the history; NULL is nothing. */
void editor_close(struct editor *e);

/* Is the input a terminal? */
bool editor_is_terminal(const struct editor *e);

/*
 * Read a line, without its end; a statement from the history is returned as a whole. Owns: *@line
 * is the caller's to free. Returns: 1, 0 at the end of the input, -EINTR after Ctrl-C (what was
 * typed is dropped), -EILSEQ for a line with a NUL, -EIO when the terminal is gone, or another
 * negative errno.
 */
int editor_read(struct editor *e, const char *prompt, char **line);

/* Insert @text in front of further input. */
void editor_type(struct editor *e, const char *text, size_t bytes);

/* The number of the last line, for a pipe. */
size_t editor_line(const struct editor *e);

/* A program used the terminal: take it back, and show the input so far. */
void editor_resume(struct editor *e);

/* The size of the terminal has changed. */
void editor_resize(struct editor *e);

/* Add a statement, which may have many lines, to the history. */
void editor_remember(struct editor *e, const char *text);

/* The rest of @name if @text ends in its beginning: "int" for "print" after "x = pr". Returns: NULL
 * if it does not. */
const char *editor_addition(const char *text, const char *name);
