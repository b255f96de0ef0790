/* Collects the outputs of a cell as a notebook file has them. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * A client of Jupyter gets outputs one by one (output.h), and applies them to what it shows: text
 * of one stream continues the text before it, an update changes earlier displays, also in other
 * cells, and "clear_output" removes what the cell has shown. A file has only the result of all
 * that. Display data in a file are texts, except those of JSON types.
 */
enum { CELL_STORE_TEXT_BYTES = 256 << 20 };

struct cell_store {
	json_t *outputs;    /* of the current cell, without `text` */
	struct buf text;    /* of the stream that goes on */
	const char *stream; /* its name: "stdout" or "stderr"; NULL: there is no text */
	bool is_clearing;   /* the next output removes those before it */
	json_t *displays;   /* outputs of all cells, by display_id */
};

#define CELL_STORE_INIT ((struct cell_store){.text = BUF_INIT(CELL_STORE_TEXT_BYTES)})
void cell_store_done(struct cell_store *s);

/* Begin a cell. */
void cell_store_begin(struct cell_store *s);
/* Apply outputs of the current cell. Owns: takes @outputs, which may be NULL. */
void cell_store_add(struct cell_store *s, json_t *outputs);
/* End the cell. Owns: the caller decrefs the array of its outputs. An update in a later cell can
 * still change what is in it. */
json_t *cell_store_end(struct cell_store *s);
