/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/reply.h"

#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const stop_words[REPLY_STOP_END_] = {
	[REPLY_END] = "end",
	[REPLY_LENGTH] = "length",
	[REPLY_SEQUENCE] = "sequence",
	[REPLY_TOOL] = "tool",
	[REPLY_REFUSAL] = "refusal",
	[REPLY_CONTEXT] = "context",
	[REPLY_STOPPED] = "stopped",
};

const char *reply_stop_word(enum reply_stop stop)
{
	return stop_words[stop];
}

int reply_stop_find(const char *word)
{
	for (int i = 0; i < REPLY_STOP_END_; i++)
		if (strcmp(word, stop_words[i]) == 0)
			return i;
	return -1;
}

void reply_done(struct reply *r)
{
	for (size_t i = 0; i < r->n_parts; i++) {
		buf_done(&r->texts[i]);
		free(r->words[2 * i]);
		free(r->words[2 * i + 1]);
		json_decref((json_t *)(uintptr_t)r->parts[i].opaque);
	}
	free(r->parts);
	free(r->texts);
	free(r->words);
	*r = (struct reply){0};
}

/* Set an id or a name; @slot is its index in `words`. */
static int set_word(struct reply *r, size_t slot, const char *word)
{
	if (!word || !*word)
		return 0;
	char *copy = strdup(word);
	if (!copy)
		return -ENOMEM;
	free(r->words[slot]);
	r->words[slot] = copy;
	return 0;
}

int reply_rename(struct reply *r, size_t part, const char *id, const char *name)
{
	if (set_word(r, 2 * part, id) < 0 || set_word(r, 2 * part + 1, name) < 0)
		return -ENOMEM;
	r->parts[part].id = r->words[2 * part];
	r->parts[part].name = r->words[2 * part + 1];
	return 0;
}

static int make_room(struct reply *r)
{
	if (r->parts)
		return 0;
	struct part *parts = calloc(REPLY_PARTS_MAX, sizeof *parts);
	struct buf *texts = calloc(REPLY_PARTS_MAX, sizeof *texts);
	char **words = calloc((size_t)2 * REPLY_PARTS_MAX, sizeof *words);
	if (!parts || !texts || !words) {
		free(parts);
		free(texts);
		free(words);
		return -ENOMEM;
	}
	r->parts = parts;
	r->texts = texts;
	r->words = words;
	return 0;
}

int reply_add(struct reply *r, enum part_kind kind, const char *id, const char *name)
{
	size_t at = r->n_parts;
	if (at == REPLY_PARTS_MAX)
		return -E2BIG;
	if (make_room(r) < 0)
		return -ENOMEM;
	r->parts[at] = (struct part){.kind = kind, .text = ""};
	r->texts[at] = BUF_INIT(REPLY_TEXT_BYTES);
	r->n_parts++;
	if (reply_rename(r, at, id, name) < 0)
		return -ENOMEM;
	return (int)at;
}

int reply_append(struct reply *r, size_t part, const char *text, size_t bytes)
{
	if (bytes > REPLY_TEXT_BYTES - r->text_bytes)
		return -E2BIG;
	int n = buf_append(&r->texts[part], text, bytes);
	if (n < 0)
		return n;
	r->text_bytes += bytes;
	r->parts[part].text = buf_str(&r->texts[part]);
	return 0;
}

void reply_set_opaque(struct reply *r, size_t part, json_t *opaque_take, const char *wire)
{
	json_decref((json_t *)(uintptr_t)r->parts[part].opaque);
	r->parts[part].opaque = opaque_take;
	r->parts[part].wire = wire;
}

static int join(const struct reply *r, enum part_kind kind, struct buf *out)
{
	for (size_t i = 0; i < r->n_parts; i++)
		if (r->parts[i].kind == kind && buf_add(out, r->parts[i].text) < 0)
			return -ENOMEM;
	return 0;
}

char *reply_text(const struct reply *r)
{
	cleanup_buf struct buf out = BUF_INIT(REPLY_TEXT_BYTES);
	if (join(r, PART_TEXT, &out) < 0 || buf_append(&out, "", 0) < 0)
		return NULL;
	return out.data ? buf_take(&out) : strdup("");
}

const char *reply_behind_thoughts(const char *text)
{
	const char *at;
	while ((at = strstr(text, "</think>")))
		text = at + strlen("</think>");
	return text + strspn(text, " \t\r\n");
}

static void put_text(const struct reply *r, enum part_kind kind, const char *name, json_t *out)
{
	cleanup_buf struct buf text = BUF_INIT(REPLY_TEXT_BYTES);
	if (join(r, kind, &text) == 0 && text.bytes > 0)
		json_object_set_new(out, name, json_string(buf_str(&text)));
}

json_t *reply_json(const struct reply *r)
{
	json_t *calls = json_array();
	json_t *out = json_object();
	put_text(r, PART_TEXT, "text", out);
	put_text(r, PART_REASONING, "reasoning", out);
	for (size_t i = 0; i < r->n_parts; i++) {
		const struct part *p = &r->parts[i];
		if (p->kind == PART_TOOL_CALL)
			json_array_append_new(calls,
				json_pack("{s:s, s:s, s:s}", "id", p->id ? p->id : "", "name",
					p->name ? p->name : "", "arguments", p->text));
	}
	if (json_array_size(calls) > 0)
		json_object_set(out, "tool_calls", calls);
	json_decref(calls);
	json_put_text(out, "stop", reply_stop_word(r->stop));
	json_t *usage = json_pack("{s:I, s:I, s:I, s:I}", "input", (json_int_t)r->usage.input,
		"output", (json_int_t)r->usage.output, "cached", (json_int_t)r->usage.cached,
		"reasoning", (json_int_t)r->usage.reasoning);
	if (r->usage.is_estimated)
		json_object_set_new(usage, "estimated", json_true());
	json_put_new(out, "usage", usage);
	return out;
}
