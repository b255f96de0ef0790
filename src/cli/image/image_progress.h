/* Progress of an image on its way, for people. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { IMAGE_PROGRESS_LAYERS = 128, IMAGE_PROGRESS_NAME_BYTES = 320 };

/* What is known of a layer; `bytes` 0: nothing yet. */
struct image_progress_layer {
	uint64_t moved, bytes;
	char phase;	     /* the first letter of the word */
	bool was_downloaded; /* some of it; otherwise to unpack it is all the work */
};

/* On a terminal, a line that changes; otherwise a line for each layer that is there. */
struct image_progress {
	char name[IMAGE_PROGRESS_NAME_BYTES]; /* as a terminal may show it */
	bool is_drawn, is_terminal, is_pull;
	unsigned n_layers;
	struct image_progress_layer layers[IMAGE_PROGRESS_LAYERS];
};

/* @is_pull: layers come from a registry. */
void image_progress_begin(struct image_progress *p, const char *name, bool is_pull);
/* Take an event of image.pull or image.import; @arg: the struct image_progress. */
void image_progress_event(void *arg, const json_t *event);
/* Remove the line; or, if the user has interrupted it, leave it, and begin the next one. */
void image_progress_end(struct image_progress *p, bool is_interrupted);
