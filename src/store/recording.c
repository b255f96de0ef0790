/* Reading of recordings. SPDX-License-Identifier: Apache-2.0 */
#include "store/recording.h"

#include "base/base64.h"
#include "base/file.h"
#include "store/call_step.h"
#include "store/file_step.h"
#include "store/journal.h"
#include "store/seal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void recording_check(char out[DIGEST_BYTES], const char *order, size_t order_bytes, size_t n_steps,
	const char *head)
{
	char number[24];
	snprintf(number, sizeof number, "%zu", n_steps);
	const struct digest_part parts[] = {{"retort.recording.1", 18}, {order, order_bytes},
		{number, strlen(number)}, {head, strlen(head)}};
	digest_parts(out, parts, ARRAY_LEN(parts));
}

/* The current line of the file. */
struct line {
	json_t *json;
	json_int_t version;
	size_t number; /* line number, from 1 */
	const char *at;
	size_t left; /* bytes from `at` to the end of the file */
};

static int damaged(const struct line *l, const char *why, struct err *err)
{
	return err_fail(err, ERR_DAMAGED, "export it again: a record is read whole or not at all",
		"line %zu of the record: %s", l->number, why);
}

static int next_line(struct line *l, struct err *err)
{
	json_error_t why;
	l->number++;
	json_decref(l->json);
	l->json = NULL;
	const char *end = l->left > 0 ? memchr(l->at, '\n', l->left) : NULL;
	if (!end)
		return damaged(l, l->left > 0 ? "it is cut" : "it is missing", err);
	size_t bytes = (size_t)(end - l->at);
	l->json = json_loadb(l->at, bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	l->at = end + 1;
	l->left -= bytes + 1;
	if (!json_is_object(l->json))
		return damaged(l, "it is not an object", err);
	return 0;
}

/* Copy the text member @name to @out. Returns: false if it is not a text, contains a NUL, or does
 * not fit into @room with its final NUL. */
static bool take_word(const json_t *json, const char *name, char *out, size_t room)
{
	const json_t *value = json_object_get(json, name);
	const char *text = json_string_value(value);
	size_t bytes = json_string_length(value);
	if (!text || bytes >= room || strlen(text) != bytes)
		return false;
	memcpy(out, text, bytes + 1);
	return true;
}

/* Copy the member @name, which is a text or {"base64": text}. Owns: the caller frees. Returns: NULL
 * when it is neither. */
static char *take_text(const json_t *json, const char *name, size_t *out_bytes)
{
	const json_t *value = json_object_get(json, name);
	const json_t *coded = json_object_get(value, "base64");
	const json_t *from = coded ? coded : value;
	const char *text = json_string_value(from);
	size_t bytes = json_string_length(from);
	struct err ignored;
	cleanup_buf struct buf out = BUF_INIT(bytes + 3);
	int r = !text || (coded && json_object_size(value) != 1) ? -EINVAL
		: coded ? base64_read(&out, text, bytes, &ignored)
			: buf_append(&out, text, bytes);
	if (r < 0)
		return NULL;
	*out_bytes = out.bytes;
	return buf_take(&out);
}

static int read_head(
	struct recording *out, struct line *l, char head[DIGEST_BYTES], struct err *err)
{
	static const char begin[] = "{\"retort_record\"";
	char check[DIGEST_BYTES], want[DIGEST_BYTES];
	bool is_ours = l->left >= sizeof begin - 1 && memcmp(l->at, begin, sizeof begin - 1) == 0;
	int r = next_line(l, err);
	const json_t *version = json_object_get(l->json, "retort_record");
	if (r < 0 && is_ours)
		return r;
	if (r < 0 || !json_is_integer(version))
		return err_fail(err, ERR_USAGE, "name a file that `session.export` wrote",
			"line 1 of the record: it is not the beginning of a record");
	if (json_integer_value(version) > RECORDING_CALLS)
		return err_fail(err, ERR_USAGE, "use the newer retort that wrote it",
			"record of version %lld, and this retort knows %d",
			(long long)json_integer_value(version), RECORDING_CALLS);
	json_int_t n = json_integer_value(json_object_get(l->json, "steps"));
	if (json_integer_value(version) < 1 || json_object_size(l->json) != 5 ||
		!json_is_integer(json_object_get(l->json, "steps")) || n < 0 ||
		!take_word(l->json, "head", head, DIGEST_BYTES) ||
		!take_word(l->json, "check", check, sizeof check))
		return damaged(l, "a required member is missing", err);
	if (n > RECORDING_STEPS_MAX)
		return err_set(err, ERR_LIMIT, "record of %lld steps, at most %d", (long long)n,
			RECORDING_STEPS_MAX);
	l->version = json_integer_value(version);
	out->order = take_text(l->json, "order", &out->order_bytes);
	if (!out->order)
		return damaged(l, "its order is not a text", err);
	recording_check(want, out->order, out->order_bytes, (size_t)n, head);
	if (strcmp(check, want) != 0)
		return damaged(l, "it is damaged", err);
	return (int)n;
}

/* Read the content of a file step, and compare it with the digest in the step's record. */
static int read_content(struct journal_node *step, const struct line *l, struct err *err)
{
	struct file_step file;
	char hex[DIGEST_BYTES];
	if (l->version < RECORDING_FILES || file_step_read(&file, step, err) < 0)
		return damaged(l, "it is not a step", err);
	if (file.is_removal)
		return 0;
	char *content = take_text(l->json, "content", &step->extra_bytes);
	step->extra = content;
	if (!content)
		return damaged(l, "the file's content is missing", err);
	digest_text(hex, content, step->extra_bytes);
	if (strcmp(hex, file.digest) != 0 || file.size_bytes != step->extra_bytes)
		return damaged(l, "the file's content was changed, or damaged", err);
	return 0;
}

/* Read the responses of the step's tool calls, and compare them with the digests in the record. */
static int read_answers(struct journal_node *step, const struct line *l, struct err *err)
{
	json_t *calls = call_step_calls(step);
	const json_t *answers = json_object_get(l->json, "answers");
	bool is_good = calls
		? l->version >= RECORDING_CALLS && call_step_is_answered(calls, answers)
		: !answers;
	json_decref(calls);
	if (!is_good)
		return damaged(l, "answers to its tool calls are missing", err);
	char *extra = answers ? json_dumps(answers, JSON_COMPACT) : NULL;
	step->extra = extra;
	step->extra_bytes = extra ? strlen(extra) : 0;
	return 0;
}

static int read_step(struct journal_node *step, struct line *l, const char *parent, struct err *err)
{
	char digest[DIGEST_BYTES];
	int r = next_line(l, err);
	if (r < 0)
		return r;
	char *code = take_text(l->json, "code", &step->code_bytes);
	char *record = take_text(l->json, "record", &step->record_bytes);
	step->code = code;
	step->record = record;
	step->seq = (int64_t)l->number;
	bool has_content = json_object_get(l->json, "content") != NULL;
	bool has_answers = json_object_get(l->json, "answers") != NULL;
	if (json_object_size(l->json) != 5U + has_content + has_answers || !code || !record ||
		!take_word(l->json, "step", step->digest, sizeof step->digest) ||
		!take_word(l->json, "parent", step->parent, sizeof step->parent) ||
		!take_word(l->json, "runtime", step->runtime, sizeof step->runtime))
		return damaged(l, "it is not a step", err);
	journal_digest(digest, step);
	if (strcmp(digest, step->digest) != 0)
		return damaged(l, "its contents were changed, or damaged", err);
	if (strcmp(step->parent, parent) != 0)
		return damaged(l, "its parent is not the step before it", err);
	if (file_step_is(step) && !has_answers)
		return read_content(step, l, err);
	return has_content || file_step_is(step) ? damaged(l, "it is not a step", err)
						 : read_answers(step, l, err);
}

static int parse(struct recording *out, struct line *l, struct err *err)
{
	char head[DIGEST_BYTES] = "";
	char parent[DIGEST_BYTES] = "";
	int n = read_head(out, l, head, err);
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		/* The array grows with the lines that are read. A wrong number of steps in the
		 * first line must not make us allocate much memory. */
		if ((i & (i - 1)) == 0) {
			size_t room = i ? 2 * (size_t)i : 1;
			void *more = realloc(out->steps, room * sizeof *out->steps);
			if (!more)
				return err_set(err, ERR_NO_MEMORY, "record of %d steps", n);
			out->steps = more;
		}
		out->steps[i] = (struct journal_node){0};
		out->n_steps = (size_t)i + 1;
		int r = read_step(&out->steps[i], l, parent, err);
		if (r < 0)
			return r;
		memcpy(parent, out->steps[i].digest, sizeof parent);
	}
	l->number++;
	if (strcmp(parent, head) != 0)
		return damaged(l, "the last step is not the one the first line names", err);
	if (l->left > 0)
		return damaged(l, "there are more steps than the first line says", err);
	return 0;
}

int recording_parse(struct recording *out, const char *data, size_t bytes, struct err *err)
{
	struct line line = {.at = data, .left = bytes};
	*out = (struct recording){0};
	if (bytes > RECORDING_MAX)
		return err_set(
			err, ERR_LIMIT, "record of %zu bytes: at most %d", bytes, RECORDING_MAX);
	int r = parse(out, &line, err);
	json_decref(line.json);
	if (r < 0)
		recording_done(out);
	return r;
}

int recording_load(struct recording *out, const char *path, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(RECORDING_MAX);
	*out = (struct recording){0};
	int r = file_load(&text, path, "record", err);
	return r < 0 ? r : recording_parse(out, buf_str(&text), text.bytes, err);
}

void recording_done(struct recording *r)
{
	for (size_t i = 0; i < r->n_steps; i++) {
		free((void *)(uintptr_t)r->steps[i].code);
		free((void *)(uintptr_t)r->steps[i].record);
		free((void *)(uintptr_t)r->steps[i].extra);
	}
	free(r->steps);
	free(r->order);
	*r = (struct recording){0};
}
