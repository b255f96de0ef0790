/* A notebook file: its cells are read, and their outputs written. Without effects.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NOTEBOOK_BYTES: maximum of a file. NOTEBOOK_PARTS: maximum of its values, which are containers,
 * members and elements. NOTEBOOK_CODE_BYTES: maximum of a cell's code. */
enum { NOTEBOOK_BYTES = 64 << 20, NOTEBOOK_PARTS = 2 << 20, NOTEBOOK_CODE_BYTES = 16 << 20 };

/* A notebook of format 4. What is not changed by the functions below stays as it was read: unknown
 * members, their order, attachments, ids, cells of text. */
struct notebook {
	json_t *json;
	json_t *cells; /* its member; borrowed */
};

/*
 * Read a notebook.
 * Source:  the JSON schemas of the Python package nbformat, 4.0 to 4.5. Of these, the members are
 *          checked that are used here.
 * Owns:    the caller ends @out with notebook_done().
 * Errors:  ERR_USAGE: not a notebook of format 4; ERR_LIMIT: it is too large.
 */
int notebook_read(struct notebook *out, const char *text, size_t bytes, struct err *err);
void notebook_done(struct notebook *nb);

/*
 * Find the language of the cells, as retort names it. A notebook that names no language is one of
 * Python.
 * Returns: NULL and @err for a language that retort does not run.
 * Errors:  ERR_RUNTIME.
 */
const char *notebook_runtime(const struct notebook *nb, struct err *err);

/* Return whether cell @i is to be run: it has code, more than spaces, and not the tag
 * "skip-execution". */
bool notebook_is_run(const struct notebook *nb, size_t i);
size_t notebook_count_run(const struct notebook *nb);
/* Return whether the metadata of cell @i have the tag @tag. */
bool notebook_has_tag(const struct notebook *nb, size_t i, const char *tag);

/* Append the code of cell @i to @out. Errors: ERR_LIMIT: it is over the maximum of @out. */
int notebook_code(const struct notebook *nb, size_t i, struct buf *out, struct err *err);

/* Remove the outputs and the numbers of all cells of code but those with the tag
 * "skip-execution". */
void notebook_clear(struct notebook *nb);

/* Set the number and the outputs of cell @i. Owns: takes @outputs. */
void notebook_set(struct notebook *nb, size_t i, int64_t count, json_t *outputs);

/* Put @code into the cell with the tag "injected-parameters". If there is no such cell, it is made
 * behind the cell with the tag "parameters"; without that, in front of all others. */
void notebook_inject(struct notebook *nb, const char *code);

/* Split a text into an array of its lines, as notebook files have it. A text of very many lines
 * stays one. Owns: the caller decrefs. */
json_t *notebook_lines(const char *text, size_t bytes);

/* Return the notebook as the text of a file. Owns: the caller frees. Returns: NULL if memory is
 * exhausted. */
char *notebook_text(const struct notebook *nb);
