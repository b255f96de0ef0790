/* The display of plots on a terminal. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/screen/sink.h"

#include <jansson.h>
#include <stdbool.h>

#define PICTURE_CHOICES "auto|kitty|iterm|sixel|path|none"

/* ORDER PICTURE_CHOICES */
enum picture_mode {
	PICTURE_AUTO,
	PICTURE_KITTY,
	PICTURE_ITERM,
	PICTURE_SIXEL,
	PICTURE_PATH,
	PICTURE_NONE
};

struct picture {
	enum picture_mode mode; /* never PICTURE_AUTO */
	const char *dir;	/* directory for PICTURE_PATH; NULL: a temporary directory */
	char made_dir[24];	/* path of the temporary directory, once created */
	struct sink *out;
	unsigned n_shown;
	bool is_dropped; /* images are hidden although the user did not choose NONE: report that
			    once */
	bool is_quiet;
};

/* Resolve PICTURE_AUTO to the best mode that the terminal on stdout supports: kitty's or iTerm's
 * protocol, else PATH; or NONE if stdout is not a terminal and @dir is NULL. */
void picture_init(struct picture *p, int mode, const char *dir, struct sink *out);

/* Request in @create that drivers make images in the format that @mode needs (sixels). */
void picture_ask(int mode, json_t *create);

/* Show the image in @mimes, or else its text/plain. The data come from a box: only well-formed
 * base64 reaches the terminal. Returns: whether an image was shown or saved. */
bool picture_show(struct picture *p, const json_t *mimes);
