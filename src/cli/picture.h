/* Plots on a terminal. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/sink.h"

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
	enum picture_mode mode; /* never AUTO */
	const char *dir;	/* of the files of PICTURE_PATH, or NULL: a temporary one */
	char made_dir[24];	/* the temporary one, once it is needed */
	struct sink *out;
	unsigned n_shown;
	bool is_dropped; /* nobody has asked for NONE: what is not shown is told, once */
	bool is_quiet;
};

/*
 * AUTO becomes what the terminal on stdout can do: kitty's or iTerm's protocol, else PATH; and NONE
 * when stdout is no terminal and no @dir is given.
 */
void picture_init(struct picture *p, int mode, const char *dir, struct sink *out);

/* Ask the drivers of a session, by what @create makes it with, for what @mode needs: sixels. */
void picture_ask(int mode, json_t *create);

/*
 * Show the image of @mimes, if it has one, or its text/plain.
 * The bytes come from a box: only well-formed base64 goes to the terminal.
 * Returns: whether an image was shown or named.
 */
bool picture_show(struct picture *p, const json_t *mimes);
