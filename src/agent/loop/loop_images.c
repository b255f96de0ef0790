/* Recognition of models that cannot read images. SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/inside.h"

#include <string.h>

/* Return whether the server's message is about images. The HTTP status is not a sign of this,
 * because servers use different ones. */
static bool is_about_images(const struct failure *why)
{
	static const char *const words[] = {
		"image", "vision", "multimodal", "multi-modal", "mmproj"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasestr(why->err.msg, words[i]))
			return true;
	return false;
}

static bool has_images(const struct loop *l)
{
	for (size_t i = 0; i < l->dialog.n; i++)
		if (json_array_size(l->dialog.entries[i].images) > 0)
			return true;
	return false;
}

int loop_drop_images(struct loop *l)
{
	size_t n_next = json_array_size(l->images);
	int r = n_next > 0 ? buf_addf(&l->next, DIALOG_NO_IMAGES, n_next) : 0;
	l->no_images = true;
	json_decref(take_ptr(l->images));
	return r < 0 ? r : dialog_drop_images(&l->dialog);
}

/*
 * Images may be the reason for a failure in two cases:
 * - The server's message mentions them.
 * - The server rejects the request without mentioning images, but it has not accepted any images
 * before.
 */
bool loop_ask_without_images(struct loop *l, const struct failure *why)
{
	bool is_suspect = is_about_images(why) || (why->class == FAILURE_REQUEST && !l->has_seen);
	bool is_possible = why->class == FAILURE_REQUEST || why->class == FAILURE_SERVER ||
		why->class == FAILURE_MODEL;
	if (l->no_images || !is_possible || !is_suspect || !has_images(l))
		return false;
	int n = loop_drop_images(l);
	if (n < 0) {
		loop_fail_memory(l);
		return true;
	}
	loop_tell(l,
		json_pack("{s:s, s:i, s:s}", "event", "images", "left_out", n, "message",
			why->err.msg));
	loop_ask(l);
	return true;
}

void loop_note_images(struct loop *l)
{
	l->has_seen = l->has_seen || has_images(l);
}
