/* What was said so far, and what of it a model is still told. No system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/message.h"

#include <jansson.h>

enum dialog_kind { DIALOG_SYSTEM, DIALOG_TASK, DIALOG_SAID /* by the model */, DIALOG_TOLD };

/* What stays whole, however little the model can read; what an image is taken for. */
enum { DIALOG_WHOLE = 3, DIALOG_FULL_PCT = 85, DIALOG_IMAGE_TOKENS = 1000 };

struct dialog_entry {
	enum dialog_kind kind;
	bool is_cut;
	char *text;
	json_t *images; /* [{"mime", "data"}], or NULL */
};

struct dialog {
	struct dialog_entry *entries;
	size_t n, max;
	uint64_t scale_pct; /* of our estimates: how they were, compared with what a server counted
			     */
};

/* In the place of images; with how many there were. */
#define DIALOG_NO_IMAGES                                                                           \
	"[%zu image(s) left out: you cannot read any. Print the numbers that you need.]\n"

#define DIALOG_INIT ((struct dialog){.scale_pct = 100})
void dialog_done(struct dialog *d);

/* Say more. @images may be NULL; a reference is kept. Returns: 0, -ENOMEM. */
int dialog_add(
	struct dialog *d, enum dialog_kind kind, const char *text, size_t bytes, json_t *images);

/* About how many tokens all of it is: a token for every four bytes, or what a server's count lets
 * one expect. */
uint64_t dialog_tokens(const struct dialog *d);
/* A server counted that many for all there is. */
void dialog_counted(struct dialog *d, uint64_t tokens);

/*
 * Shorten it, when it is over DIALOG_FULL_PCT of @context_tokens: what the model was told becomes
 * its first line, the oldest first; when that is not enough, so does what it said. The system's
 * text, the task and the last DIALOG_WHOLE exchanges stay.
 * Returns: how many entries were cut.
 */
size_t dialog_compact(struct dialog *d, uint64_t context_tokens);

/* The images go; a line says that there were some. Returns: how many, or -ENOMEM. */
int dialog_drop_images(struct dialog *d);

/*
 * As JSON: [{"kind", "text", "is_cut", "images"?}]; images over @images_max bytes are left out, the
 * oldest first. Owns: the caller; NULL without memory.
 */
json_t *dialog_json(const struct dialog *d, size_t images_max);
/* Into an empty one. Returns: 0, -EINVAL: that is no dialog; -ENOMEM. */
int dialog_read(struct dialog *d, const json_t *rows);
/* [{"mime", "data"}]? */
bool dialog_is_images(const json_t *images);

/* As a question, in which the two sides take turns; only `messages` and `n_messages` of @out are
 * set. Owns: dialog_question_done(). Returns: 0, -ENOMEM. */
int dialog_question(const struct dialog *d, struct wire_request *out);
void dialog_question_done(struct wire_request *q);
