/* What a copy of a driver's process lacks: descriptors that lead nowhere, memory that it shares.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdint.h>

enum { LOSS_BYTES = 240 };

struct loss {
	unsigned n_sockets, n_pipes, n_others, n_locks, n_unread;
	unsigned n_astray;	    /* open files that are not those which have their names */
	uint64_t bytes, gone_bytes; /* of shared memory; written to private mappings of files */
};

/* As a driver says it in GUARD or READY; of what it says nothing is believed but small numbers. */
void loss_parse(struct loss *out, const json_t *said);

/* In words; "" when there is none. */
void loss_say(char out[LOSS_BYTES], const struct loss *loss);
