/* Losses of a clone of a driver's process: closed descriptors, shared memory that was not saved.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOSS_BYTES = 640 };

struct loss {
	unsigned n_sockets, n_pipes, n_others, n_locks, n_unread;
	unsigned n_astray;	    /* open files whose names now belong to other files */
	uint64_t bytes, gone_bytes; /* shared memory; private mappings of files */
};

/* Read the losses from GUARD or READY. The driver is not trusted: numbers are capped, other members
 * are ignored. */
void loss_parse(struct loss *out, const json_t *said);

/* Losses of a state that is saved as text, such as a shell's. */
struct loss_text {
	unsigned n_omitted, n_descriptors;
	bool is_homeless; /* the working directory was deleted */
	bool is_all;	  /* the text is missing */
};
void loss_parse_text(struct loss_text *out, const json_t *said);

/* Append the losses of the runtime @what to @text, of LOSS_BYTES. */
void loss_add_text(char text[LOSS_BYTES], const char *what, const struct loss_text *loss);

/* Write the losses as a sentence; "" without losses. */
void loss_say(char out[LOSS_BYTES], const struct loss *loss);
