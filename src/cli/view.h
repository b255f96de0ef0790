/* A run as the caller sees it: plain, as one object, or event by event. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/run.h"
#include "base/opt.h"
#include "base/utf8.h"
#include "cli/picture.h"
#include "cli/sink.h"

#include <stdbool.h>

/* How to show it. Borrowed. */
struct view_options {
	bool json, jsonl, quiet;
	int images; /* enum picture_mode */
	const char *out_dir;
	const struct limits *limits;
	const struct opt_set *set; /* which options were given */
};

/* A character whose last bytes have not come yet. */
struct view_rest {
	char data[UTF8_MAX_BYTES];
	size_t bytes;
};

struct view {
	struct view_options options;
	struct sink out, err;
	struct picture picture;
	struct view_rest rest[2];
};

void view_init(struct view *view, const struct view_options *options);
void view_done(struct view *view);

/*
 * Run @req and show what is heard of it, then its end.
 * Blocks:  as run_once() does, and until the output is taken.
 * Returns: the exit status of the command.
 */
int view_run(struct view *view, const struct run_request *req);
