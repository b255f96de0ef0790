/* The dialog between the loop and the model. It is shortened when it nears the size of the
 * model's context. Makes no system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/message.h"

#include <jansson.h>

/* DIALOG_SAID: a reply of the model. DIALOG_TOLD: a message to the model, such as the result of
 * a step. */
enum dialog_kind { DIALOG_SYSTEM, DIALOG_TASK, DIALOG_SAID, DIALOG_TOLD };

/* DIALOG_WHOLE: number of recent exchanges that are never shortened. DIALOG_FULL_PCT: the dialog
 * is shortened when it fills more than this percentage of the context. DIALOG_IMAGE_TOKENS:
 * estimated tokens of an image. */
enum { DIALOG_WHOLE = 3, DIALOG_FULL_PCT = 85, DIALOG_IMAGE_TOKENS = 1000 };

struct dialog_entry {
	enum dialog_kind kind;
	bool is_cut;
	char *text;
	json_t *images; /* images of the entry, [{"mime", "data"}], or NULL */
};

struct dialog {
	struct dialog_entry *entries;
	size_t n, max;
	uint64_t scale_pct; /* the server's count of tokens, in percent of our estimate */
};

/* The text that replaces the images of a message. Its format has one argument: their number. */
#define DIALOG_NO_IMAGES                                                                           \
	"[%zu image(s) left out: you cannot read any. Print the numbers that you need.]\n"

#define DIALOG_INIT ((struct dialog){.scale_pct = 100})
void dialog_done(struct dialog *d);

/* Append an entry. @images may be NULL; otherwise the dialog takes a new reference. Returns: 0,
 * -ENOMEM. */
int dialog_add(
	struct dialog *d, enum dialog_kind kind, const char *text, size_t bytes, json_t *images);

/* Estimate the tokens of the dialog: one for every four bytes, a few for each entry, and
 * DIALOG_IMAGE_TOKENS for each image. The sum is scaled by `scale_pct` percent. */
uint64_t dialog_tokens(const struct dialog *d);
/* Adjust `scale_pct` after a server counted @tokens for the whole dialog. */
void dialog_counted(struct dialog *d, uint64_t tokens);

/*
 * If the dialog fills more than DIALOG_FULL_PCT percent of @context_tokens, shorten its oldest
 * entries: only the first line of an entry is kept, and no image. Messages to the model are
 * shortened first, and if that is not enough, the model's own replies as well. The system prompt,
 * the task and the last DIALOG_WHOLE exchanges are kept.
 * Returns: the number of entries whose text was shortened.
 */
size_t dialog_compact(struct dialog *d, uint64_t context_tokens);

/* Replace the images of each message by the text DIALOG_NO_IMAGES. Returns: the number of
 * images, or -ENOMEM. */
int dialog_drop_images(struct dialog *d);

/*
 * Return the dialog as JSON: [{"kind", "text", "is_cut", "images"?}]. Images are written for the
 * newest entries first. The images of an entry are left out if they would bring the sum over
 * @images_max bytes.
 * Owns:    the caller; NULL if memory is exhausted.
 */
json_t *dialog_json(const struct dialog *d, size_t images_max);
/* Fill an empty dialog from the result of dialog_json(). Returns: 0; -EINVAL if @rows is
 * malformed; -ENOMEM. */
int dialog_read(struct dialog *d, const json_t *rows);
/* Return whether @images is an array of the form [{"mime", "data"}]. */
bool dialog_is_images(const json_t *images);

/* Convert the dialog to messages in which the roles "user" and "assistant" alternate. Set only
 * the members `messages` and `n_messages` of @out. Owns: the caller, until
 * dialog_question_done(). Returns: 0, -ENOMEM. */
int dialog_question(const struct dialog *d, struct wire_request *out);
void dialog_question_done(struct wire_request *q);
