/* The dialog between loop and model, which is shortened as it nears the model's context. No system
 * call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/message.h"

#include <jansson.h>

enum dialog_kind { DIALOG_SYSTEM, DIALOG_TASK, DIALOG_SAID /* by the model */, DIALOG_TOLD };

/* DIALOG_WHOLE: the number of recent exchanges that are never shortened. DIALOG_FULL_PCT: the part
 * of the context at which shortening begins. DIALOG_IMAGE_TOKENS: the estimate for an image. */
enum { DIALOG_WHOLE = 3, DIALOG_FULL_PCT = 85, DIALOG_IMAGE_TOKENS = 1000 };

struct dialog_entry {
	enum dialog_kind kind;
	bool is_cut;
	char *text;
	json_t *images; /* images of the entry: [{"mime", "data"}]; or NULL */
};

struct dialog {
	struct dialog_entry *entries;
	size_t n, max;
	uint64_t scale_pct; /* the ratio of the server's token count to our estimate, in percent */
};

/* The text that replaces images; the argument is their number. */
#define DIALOG_NO_IMAGES                                                                           \
	"[%zu image(s) left out: you cannot read any. Print the numbers that you need.]\n"

#define DIALOG_INIT ((struct dialog){.scale_pct = 100})
void dialog_done(struct dialog *d);

/* Append an entry. @images may be NULL; the dialog takes a reference of its own. Returns: 0,
 * -ENOMEM. */
int dialog_add(
	struct dialog *d, enum dialog_kind kind, const char *text, size_t bytes, json_t *images);

/* Estimate the tokens of the dialog: one for every four bytes, scaled by the server's last count.
 */
uint64_t dialog_tokens(const struct dialog *d);
/* Adjust the scale of the estimate: a server counted @tokens for the whole dialog. */
void dialog_counted(struct dialog *d, uint64_t tokens);

/*
 * If the dialog is over DIALOG_FULL_PCT of @context_tokens, reduce entries to their first line, the
 * oldest first: at first messages to the model, and if that is not enough, also the model's own
 * replies. The system prompt, the task and the last DIALOG_WHOLE exchanges stay.
 * Returns: how many entries were cut.
 */
size_t dialog_compact(struct dialog *d, uint64_t context_tokens);

/* Replace all images by a line of text. Returns: how many, or -ENOMEM. */
int dialog_drop_images(struct dialog *d);

/*
 * Return the dialog as JSON: [{"kind", "text", "is_cut", "images"?}]; images over @images_max bytes
 * are left out, the oldest first.
 * Owns:    the caller; NULL without memory.
 */
json_t *dialog_json(const struct dialog *d, size_t images_max);
/* Fill an empty dialog from the rows of dialog_json(). Returns: 0; -EINVAL: malformed; -ENOMEM. */
int dialog_read(struct dialog *d, const json_t *rows);
/* Is @images an array of the form [{"mime", "data"}]? */
bool dialog_is_images(const json_t *images);

/* Convert the dialog to messages in which the two roles alternate. Only `messages` and `n_messages`
 * of @out are set. Owns: dialog_question_done(). Returns: 0, -ENOMEM. */
int dialog_question(const struct dialog *d, struct wire_request *out);
void dialog_question_done(struct wire_request *q);
