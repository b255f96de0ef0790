/* What a copy of a driver's process lacks: descriptors that lead nowhere, memory that it shares.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOSS_BYTES = 240 };

struct loss {
	unsigned n_sockets, n_pipes, n_others, n_locks, n_unread;
	unsigned n_astray;	    /* open files that are not those which have their names */
	uint64_t bytes, gone_bytes; /* of shared memory; written to private mappings of files */
};

/* As a driver says it in GUARD or READY; of what it says nothing is believed but small numbers. */
void loss_parse(struct loss *out, const json_t *said);

/* The same of what is no copy, but a text: a shell. */
struct loss_text {
	unsigned n_omitted, n_descriptors;
	bool is_homeless; /* its directory was gone */
	bool is_all;	  /* there is no text */
};
void loss_parse_text(struct loss_text *out, const json_t *said);

/* Append to the @text of LOSS_BYTES what of @what is not kept. */
void loss_add_text(char text[LOSS_BYTES], const char *what, const struct loss_text *loss);

/* In words; "" when there is none. */
void loss_say(char out[LOSS_BYTES], const struct loss *loss);
