/* What a clone of a driver's process lacks: descriptors that lead nowhere, memory that it shares.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOSS_BYTES = 640 };

struct loss {
	unsigned n_sockets, n_pipes, n_others, n_locks, n_unread;
	unsigned n_astray;	    /* open files that are not the files which have their names */
	uint64_t bytes, gone_bytes; /* of shared memory; of private mappings of files */
};

/* Read it from GUARD or READY. The driver is not trusted: numbers are bounded, everything else is
 * ignored. */
void loss_parse(struct loss *out, const json_t *said);

/* The same for a state that is a text: a shell's. */
struct loss_text {
	unsigned n_omitted, n_descriptors;
	bool is_homeless; /* its working directory was gone */
	bool is_all;	  /* the text is missing */
};
void loss_parse_text(struct loss_text *out, const json_t *said);

/* Append to @text, of LOSS_BYTES, what of @what was not kept. */
void loss_add_text(char text[LOSS_BYTES], const char *what, const struct loss_text *loss);

/* As a sentence; "" when nothing is lost. */
void loss_say(char out[LOSS_BYTES], const struct loss *loss);
