/* The record of a step as a model reads it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Characters of all the text: what hosts show without cutting it themselves. Images of one step,
 * and the base64 of one. */
enum {
	OBSERVATION_CHARACTERS = 10000,
	OBSERVATION_IMAGES_MAX = 8,
	OBSERVATION_IMAGE_BYTES = 5 << 20
};

struct observation_options {
	bool is_new;	      /* the session was made for this step */
	bool has_tools;	      /* the model can call run_wait, read_output, list_files to see more */
	const char *packages; /* that hints may name, or NULL */
};

struct observation {
	struct buf text; /* the verdict on its first line; UTF-8 may have to be repaired */
	json_t *images;	 /* [{"mime", "data"}] */
	size_t stdout_characters, stderr_characters; /* how much is shown of each */
};

/*
 * Shape:   ok, error, …: runtime, time, what failed, what became of the state; then files, error,
 *          value, displays, stdout and stderr. What is long loses its middle.
 * Owns:    observation_done().
 */
void observation_make(
	const json_t *record, const struct observation_options *options, struct observation *out);
void observation_done(struct observation *o);

/* Where a person reads: `retort run`, `retort session exec`, `retort repl`. */
enum observation_place { PLACE_RUN, PLACE_SESSION, PLACE_REPL, PLACE_END_ };

/* What helps a person at the command line, a line; or nothing. Returns: whether there is one. */
bool observation_hint(struct buf *out, const json_t *record, enum observation_place place);
/* The record as programs get it: error.hint says what helps. Changes @record, but none of its
 * members. */
void observation_add_hint(json_t *record);
