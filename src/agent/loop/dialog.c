/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/dialog.h"

#include "agent/wire/format.h"
#include "base/attr.h"
#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char cut_note[] = "\n[the rest was left out later, to save room]";

void dialog_done(struct dialog *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->entries[i].text);
		json_decref(d->entries[i].images);
	}
	free(d->entries);
	*d = DIALOG_INIT;
}

int dialog_add(
	struct dialog *d, enum dialog_kind kind, const char *text, size_t bytes, json_t *images)
{
	if (d->n == d->max) {
		size_t max = MAX(2 * d->max, (size_t)16);
		struct dialog_entry *entries = realloc(d->entries, max * sizeof *entries);
		if (!entries)
			return -ENOMEM;
		d->entries = entries;
		d->max = max;
	}
	char *copy = strndup(text, bytes);
	if (!copy)
		return -ENOMEM;
	d->entries[d->n++] =
		(struct dialog_entry){.kind = kind, .text = copy, .images = json_incref(images)};
	return 0;
}

static uint64_t estimate(const struct dialog *d)
{
	uint64_t n = 0;
	for (size_t i = 0; i < d->n; i++)
		n += strlen(d->entries[i].text) / 4 + 4 +
			DIALOG_IMAGE_TOKENS * json_array_size(d->entries[i].images);
	return n;
}

uint64_t dialog_tokens(const struct dialog *d)
{
	return estimate(d) * d->scale_pct / 100;
}

void dialog_counted(struct dialog *d, uint64_t tokens)
{
	uint64_t n = estimate(d);
	/* `scale_pct` is the server's count of tokens in percent of our estimate. A server may
	 * leave out tokens that it has cached, so a low count does not mean that our estimate is
	 * too high. Therefore `scale_pct` is at least 100. */
	if (n > 0 && tokens < UINT64_MAX / 100)
		d->scale_pct = MIN(MAX(tokens * 100 / n, UINT64_C(100)), UINT64_C(1000));
}

/* Return the index of the first entry of the last DIALOG_WHOLE exchanges. */
static size_t whole_from(const struct dialog *d)
{
	size_t at = d->n, n_left = DIALOG_WHOLE;
	while (at > 0 && n_left > 0)
		if (d->entries[--at].kind == DIALOG_SAID)
			n_left--;
	return at;
}

static bool cut(struct dialog_entry *e)
{
	size_t line = strcspn(e->text, "\n");
	size_t bytes = strlen(e->text);
	json_decref(e->images);
	e->images = NULL;
	e->is_cut = true;
	if (bytes <= line + sizeof cut_note)
		return false;
	memcpy(e->text + line, cut_note, sizeof cut_note);
	return true;
}

size_t dialog_compact(struct dialog *d, uint64_t context_tokens)
{
	static const enum dialog_kind order[] = {DIALOG_TOLD, DIALOG_SAID};
	uint64_t full = context_tokens / 100 * DIALOG_FULL_PCT;
	size_t n_cut = 0, end = whole_from(d);
	for (size_t k = 0; k < ARRAY_LEN(order); k++)
		for (size_t i = 0; i < end && dialog_tokens(d) > full; i++)
			if (d->entries[i].kind == order[k] && !d->entries[i].is_cut)
				n_cut += cut(&d->entries[i]);
	return n_cut;
}

static int drop(struct dialog_entry *e, size_t n)
{
	char *text;
	if (asprintf(&text, "%s\n" DIALOG_NO_IMAGES, e->text, n) < 0)
		return -ENOMEM;
	free(e->text);
	e->text = text;
	json_decref(e->images);
	e->images = NULL;
	return (int)n;
}

int dialog_drop_images(struct dialog *d)
{
	int n_all = 0;
	for (size_t i = 0; i < d->n; i++) {
		size_t n = json_array_size(d->entries[i].images);
		int r = n > 0 ? drop(&d->entries[i], n) : 0;
		if (r < 0)
			return r;
		n_all += r;
	}
	return n_all;
}

/* ---- saving and restoring a dialog ---- */

static const char *const kinds[] = {[DIALOG_SYSTEM] = "system",
	[DIALOG_TASK] = "task",
	[DIALOG_SAID] = "said",
	[DIALOG_TOLD] = "told"};

static size_t images_bytes(const json_t *images)
{
	size_t i, bytes = 0;
	json_t *image;
	json_array_foreach(images, i, image) bytes +=
		json_string_length(json_object_get(image, "data"));
	return bytes;
}

json_t *dialog_json(const struct dialog *d, size_t images_max)
{
	json_t *out = json_array();
	size_t left = images_max;
	/* Start with the newest images: the model's next request is most likely about them. */
	for (size_t i = d->n; i > 0; i--) {
		const struct dialog_entry *e = &d->entries[i - 1];
		size_t bytes = images_bytes(e->images);
		json_t *row = json_pack("{s:s, s:o, s:b}", "kind", kinds[e->kind], "text",
			format_text(e->text), "is_cut", e->is_cut);
		if (e->images && bytes <= left) {
			json_put_shared(row, "images", e->images);
			left -= bytes;
		}
		(void)json_array_insert_new(out, 0, row);
	}
	return out;
}

bool dialog_is_images(const json_t *images)
{
	static const char *const names[] = {"mime", "data"};
	size_t i;
	json_t *image;
	json_array_foreach(images, i, image) for (size_t k = 0; k < ARRAY_LEN(names);
						  k++) if (!json_is_string(json_object_get(image,
								   names[k]))) return false;
	return json_is_array(images);
}

static int read_entry(struct dialog *d, const json_t *row)
{
	const char *word = json_string_value(json_object_get(row, "kind"));
	const json_t *text = json_object_get(row, "text");
	json_t *images = json_object_get(row, "images");
	int found = -1;
	for (size_t i = 0; word && i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i], word) == 0)
			found = (int)i;
	if (found < 0 || !json_is_string(text) || (images && !dialog_is_images(images)))
		return -EINVAL;
	int r = dialog_add(d, (enum dialog_kind)found, json_string_value(text),
		json_string_length(text), images);
	if (r == 0)
		d->entries[d->n - 1].is_cut = json_is_true(json_object_get(row, "is_cut"));
	return r;
}

int dialog_read(struct dialog *d, const json_t *rows)
{
	size_t i;
	json_t *row;
	int r = json_array_size(rows) >= 2 ? 0 : -EINVAL;
	json_array_foreach(rows, i, row)
	{
		if (r == 0)
			r = read_entry(d, row);
	}
	bool is_begun =
		r == 0 && d->entries[0].kind == DIALOG_SYSTEM && d->entries[1].kind == DIALOG_TASK;
	return r == 0 && !is_begun ? -EINVAL : r;
}

/* ---- converting a dialog to a request ---- */

static size_t fill(const struct dialog_entry *e, struct part *parts)
{
	size_t i, n = 1;
	json_t *image;
	parts[0] = (struct part){.kind = PART_TEXT, .text = e->text};
	json_array_foreach(e->images, i, image) parts[n++] = (struct part){.kind = PART_IMAGE,
		.mime = json_string_value(json_object_get(image, "mime")),
		.text = json_string_value(json_object_get(image, "data"))};
	return n;
}

int dialog_question(const struct dialog *d, struct wire_request *out)
{
	static const enum role roles[] = {ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_USER};
	size_t n_parts = d->n, at = 0;
	for (size_t i = 0; i < d->n; i++)
		n_parts += json_array_size(d->entries[i].images);
	struct message *messages = calloc(d->n + 1, sizeof *messages);
	struct part *parts = calloc(n_parts + 1, sizeof *parts);
	if (!messages || !parts) {
		free(messages);
		free(parts);
		return -ENOMEM;
	}
	/* Set this pointer even if no message will be added, because dialog_question_done()
	 * frees it. */
	messages[0].parts = parts;
	size_t n = 0;
	for (size_t i = 0; i < d->n; i++) {
		enum role role = roles[d->entries[i].kind];
		size_t n_filled = fill(&d->entries[i], parts + at);
		/* Some servers require that roles alternate, so join successive messages of one
		 * role. */
		if (n > 0 && messages[n - 1].role == role)
			messages[n - 1].n_parts += n_filled;
		else
			messages[n++] = (struct message){
				.role = role, .parts = parts + at, .n_parts = n_filled};
		at += n_filled;
	}
	out->messages = messages;
	out->n_messages = n;
	return 0;
}

void dialog_question_done(struct wire_request *q)
{
	if (!q->messages)
		return;
	free((void *)(uintptr_t)q->messages[0].parts);
	free((void *)(uintptr_t)q->messages);
	q->messages = NULL;
}
