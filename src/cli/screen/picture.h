/* Shows plots on a terminal. SPDX-License-Identifier: Apache-2.0 */
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
	/* Where PICTURE_PATH saves images; NULL: in a temporary directory. */
	const char *dir;
	/* Path of the temporary directory in which images are saved. "": it is not created yet. */
	char made_dir[24];
	struct sink *out;
	unsigned n_shown;
	/* Images are left out because stdout is not a terminal, not because the user chose
	 * PICTURE_NONE. This becomes false when the user has been told. */
	bool is_dropped;
	bool is_quiet;
};

/* Initialize @p. If @mode is PICTURE_AUTO, choose the best mode for stdout: the protocol of
 * kitty or iTerm2 on these terminals, otherwise PICTURE_PATH. If stdout is not a terminal and
 * @dir is NULL, choose PICTURE_NONE. */
void picture_init(struct picture *p, int mode, const char *dir, struct sink *out);

/* If @mode is PICTURE_SIXEL, set a variable in @create that asks drivers for images in sixel
 * format. */
void picture_ask(int mode, json_t *create);

/* Show the image in @mimes. If this is impossible, show the text of "text/plain" instead. @mimes
 * comes from a box, so only a valid sixel sequence or valid base64 reaches the terminal.
 * Returns: whether @mimes has an image and something was shown for it. */
bool picture_show(struct picture *p, const json_t *mimes);
