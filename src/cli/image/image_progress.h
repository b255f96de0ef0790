/* Progress of an image on its way, for people. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { IMAGE_PROGRESS_LAYERS = 128 };

/* What is known of a layer; `bytes` 0: nothing yet. */
struct image_progress_layer {
	uint64_t moved, bytes;
	char phase; /* the first letter of the word */
};

/* On a terminal, a line that changes; otherwise a line for each layer that is there. */
struct image_progress {
	const char *name; /* borrowed */
	bool is_drawn, is_terminal;
	unsigned n_layers;
	struct image_progress_layer layers[IMAGE_PROGRESS_LAYERS];
};

void image_progress_begin(struct image_progress *p, const char *name);
/* Take an event of image.pull or image.import; @arg: the struct image_progress. */
void image_progress_event(void *arg, const json_t *event);
/* Remove the line. */
void image_progress_end(struct image_progress *p);
