/* The record of a step as a model reads it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* CHARACTERS: limit of the whole text, which hosts show without cutting it. IMAGES_MAX: limit for
 * one step. IMAGE_BYTES: limit of one image in base64. */
enum {
	OBSERVATION_CHARACTERS = 10000,
	OBSERVATION_IMAGES_MAX = 8,
	OBSERVATION_IMAGE_BYTES = 5 << 20
};

struct observation_options {
	bool is_new;	/* the session was made for this step */
	bool has_tools; /* the model can call run_wait, read_output and list_files to see more */
	const char *packages; /* installed packages, for hints; or NULL */
};

struct observation {
	struct buf text; /* the first line says how the step ended; the UTF-8 may need repair */
	json_t *images;	 /* [{"mime", "data"}] */
	size_t stdout_characters, stderr_characters; /* characters shown of each stream */
};

/*
 * Shape:   ok, error, …: runtime, time, the error, the state; then files, error, value, displays,
 * stdout and stderr. Long texts lose their middle.
 * Owns: observation_done().
 */
void observation_make(
	const json_t *record, const struct observation_options *options, struct observation *out);
void observation_done(struct observation *o);

/* The command that a person uses: `retort run`, `retort session exec`, `retort repl`. */
enum observation_place { PLACE_RUN, PLACE_SESSION, PLACE_REPL, PLACE_END_ };

/* Append a hint for a person, in one line, if there is any. Returns: was a hint appended? */
bool observation_hint(struct buf *out, const json_t *record, enum observation_place place);
/* Add the hint for programs as error.hint. Changes @record, but not the objects in it. */
void observation_add_hint(json_t *record);
