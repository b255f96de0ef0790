/* SPDX-License-Identifier: Apache-2.0 */
#include "store/call_step.h"

#include "base/json.h"
#include "store/journal.h"

#include <stdlib.h>
#include <string.h>

static const char *digest_in(const json_t *call, const char *member)
{
	unsigned char raw[DIGEST_RAW_BYTES];
	const char *text = json_string_value(json_object_get(call, member));
	return text && digest_read(raw, text) == 0 ? text : NULL;
}

static bool is_call(const json_t *call)
{
	bool has_answer = json_object_get(call, "answer") != NULL;
	return json_object_size(call) == 2U + has_answer &&
		json_is_string(json_object_get(call, "name")) && digest_in(call, "arguments") &&
		(!has_answer || digest_in(call, "answer"));
}

json_t *call_step_calls(const struct journal_node *node)
{
	/* The bytes with which the member "calls" begins in canonical JSON. A record without
	 * these bytes need not be parsed. */
	static const char member[] = "\"calls\":[";
	if (!memmem(node->record, node->record_bytes, member, sizeof member - 1))
		return NULL;
	cleanup_json json_t *record =
		json_loadb(node->record, node->record_bytes, JSON_ALLOW_NUL, NULL);
	json_t *calls = json_object_get(record, "calls");
	bool is_list = json_array_size(calls) > 0;
	for (size_t i = 0; is_list && i < json_array_size(calls); i++)
		is_list = is_call(json_array_get(calls, i));
	return is_list ? json_incref(calls) : NULL;
}

static int add_answer(struct journal *j, json_t *answers, const char *digest, struct err *err)
{
	char *text;
	size_t bytes;
	int r = journal_blob_get(j, digest, &text, &bytes, err);
	if (r < 0)
		return r;
	json_t *value = json_stringn(text, bytes);
	free(text);
	if (!value)
		return err_set(err, ERR_DAMAGED, "blob %s: it is not a tool's answer", digest);
	json_put_new(answers, digest, value);
	return 0;
}

int call_step_answers(struct journal *j, const json_t *calls, json_t **out, struct err *err)
{
	cleanup_json json_t *answers = json_need(json_object());
	int r = 0;
	for (size_t i = 0; r == 0 && i < json_array_size(calls); i++) {
		const char *digest = digest_in(json_array_get(calls, i), "answer");
		if (digest && !json_object_get(answers, digest))
			r = add_answer(j, answers, digest, err);
	}
	if (r == 0)
		*out = take_ptr(answers);
	return r;
}

static bool has_digest(const json_t *text, const char *digest)
{
	char hex[DIGEST_BYTES];
	if (!json_is_string(text))
		return false;
	digest_text(hex, json_string_value(text), json_string_length(text));
	return strcmp(hex, digest) == 0;
}

bool call_step_is_answered(const json_t *calls, const json_t *answers)
{
	cleanup_json json_t *wanted = json_need(json_object());
	bool is_so = json_is_object(answers);
	for (size_t i = 0; is_so && i < json_array_size(calls); i++) {
		const char *digest = digest_in(json_array_get(calls, i), "answer");
		if (!digest || json_object_get(wanted, digest))
			continue;
		is_so = has_digest(json_object_get(answers, digest), digest);
		json_put_bool(wanted, digest, true);
	}
	return is_so && json_object_size(wanted) == json_object_size(answers);
}
