/* An observation: the record of a step as text and images for a model. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* OBSERVATION_CHARACTERS: maximum of the whole text. Programs that use a model usually show it a
 * text of this length without cutting it. OBSERVATION_IMAGES_MAX: maximum of images for a step.
 * OBSERVATION_IMAGE_BYTES: maximum of an image in base64. */
enum {
	OBSERVATION_CHARACTERS = 10000,
	OBSERVATION_IMAGES_MAX = 8,
	OBSERVATION_IMAGE_BYTES = 5 << 20
};

struct observation_options {
	bool is_new;	      /* the session was made for this step */
	bool has_tools;	      /* the model has the tools run_wait, read_output and list_files */
	const char *packages; /* list of the installed packages, for hints; or NULL */
};

struct observation {
	/* The first line says how the step ended. The text may be invalid UTF-8. */
	struct buf text;
	json_t *images;				     /* [{"mime", "data"}] */
	size_t stdout_characters, stderr_characters; /* numbers of characters shown */
};

/*
 * Make the observation of a step from its record.
 * Shape: the first line has the status, the runtime, the time, the error, and the state of the
 * session. Then come the files, the variables, the error, the value, displays, stdout and stderr.
 * The middle of long texts is left out.
 * Owns: the caller calls observation_done().
 */
void observation_make(
	const json_t *record, const struct observation_options *options, struct observation *out);
void observation_done(struct observation *o);

/* How a person has run the step: by `retort run`, `retort session exec` or `retort repl`. */
enum observation_place { PLACE_RUN, PLACE_SESSION, PLACE_REPL, PLACE_END_ };

/* If there is a hint for @record, append it to @out: one line for a person. Returns: whether a
 * hint was appended. */
bool observation_hint(struct buf *out, const json_t *record, enum observation_place place);
/* Append a line for each thing that the network has refused in this step, see
 * agent/answer/refusal.h. Returns: whether a line was appended. */
bool observation_refusals(struct buf *out, const json_t *record, enum observation_place place);
/* Set error.hint of @record to a hint for programs, if there is one. Other objects that share
 * the member "error" with @record do not change. */
void observation_add_hint(json_t *record);
