/*
 * What a clone of a driver's process lacks, compared with the process itself: for example
 * descriptors that were closed, or shared memory that was not saved.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOSS_BYTES = 640 };

struct loss {
	unsigned n_sockets, n_pipes, n_others, n_locks, n_unread;
	/* Number of open files, including the working directory, that are not found under their
	 * names any more. */
	unsigned n_astray;
	/* Number of processes that ran beside the driver and were not copied. The driver does not
	 * report it. */
	unsigned n_processes;
	/* @bytes: shared memory that was not saved. @gone_bytes: data that was written to private
	 * mappings of files. */
	uint64_t bytes, gone_bytes;
};

/* Read the losses from the JSON of a GUARD or READY frame. The driver is not trusted, so numbers
 * are capped and unknown members are ignored. */
void loss_parse(struct loss *out, const json_t *said);

/* Add the losses @more to @loss. */
void loss_add(struct loss *loss, const struct loss *more);

/* What is missing in a state that was saved as text, for example a shell's. */
struct loss_text {
	unsigned n_omitted, n_descriptors;
	bool is_homeless; /* the driver's working directory had been deleted */
	bool is_all;	  /* nothing was saved, because the state was too large */
};
void loss_parse_text(struct loss_text *out, const json_t *said);

/* Append a description of the losses to @text, a buffer of LOSS_BYTES. @what is the name of the
 * runtime. */
void loss_add_text(char text[LOSS_BYTES], const char *what, const struct loss_text *loss);

/* Describe the losses in @out. Without losses @out becomes "". */
void loss_say(char out[LOSS_BYTES], const struct loss *loss);
