/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/answer.h"

#include "base/attr.h"
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MIME "application/vnd.retort.answer+json"

const json_t *answer_find(const json_t *record)
{
	const json_t *displays = json_object_get(record, "displays");
	for (size_t i = json_array_size(displays); i > 0; i--) {
		const json_t *bundle = json_array_get(displays, i - 1);
		if (json_object_get(bundle, ANSWER_MIME))
			return bundle;
	}
	return NULL;
}

char *answer_words(const json_t *bundle)
{
	static const char picture[] = "\xe2\x90\x80";
	const json_t *words = json_object_get(bundle, "text/plain");
	const char *text = json_string_value(words);
	size_t bytes = json_string_length(words), n = 0;
	char *out = malloc(bytes * (sizeof picture - 1) + 1);
	for (size_t i = 0; i < bytes && out; i++) {
		size_t k = text[i] ? 1 : sizeof picture - 1;
		memcpy(out + n, text[i] ? text + i : picture, k);
		n += k;
	}
	if (out)
		out[n] = '\0';
	return out;
}

static int remember_text(struct grounding *g, const json_t *text)
{
	return json_is_string(text)
		? grounding_add(g, json_string_value(text), json_string_length(text))
		: 0;
}

static int remember_bundle(struct grounding *g, const json_t *bundle)
{
	const json_t *json = json_object_get(bundle, "application/json");
	int r = remember_text(g, json_object_get(bundle, "text/plain"));
	char *text = json && r == 0 ? json_dumps(json, JSON_ENCODE_ANY) : NULL;
	if (text)
		r = grounding_add(g, text, strlen(text));
	free(text);
	return r;
}

int answer_remember(struct grounding *g, const json_t *record)
{
	static const char *const texts[] = {"stdout", "stderr"};
	int r = remember_bundle(g, json_object_get(record, "value"));
	size_t i;
	json_t *bundle;
	for (i = 0; r == 0 && i < ARRAY_LEN(texts); i++)
		r = remember_text(g, json_object_get(record, texts[i]));
	if (r == 0)
		r = remember_text(g, json_object_get(json_object_get(record, "error"), "message"));
	json_array_foreach(json_object_get(record, "displays"), i, bundle)
	{
		if (r == 0 && !json_object_get(bundle, ANSWER_MIME))
			r = remember_bundle(g, bundle);
	}
	return r;
}

json_t *answer_misses(struct grounding *g, const char *text, const char *code)
{
	struct grounding_miss misses[ANSWER_MISSES_MAX], none[1];
	size_t n = grounding_check(g, text, strlen(text), misses, ARRAY_LEN(misses));
	json_t *out = json_array();
	struct grounding *literals = code ? grounding_new() : NULL;
	if (!out || (code && grounding_add(literals, code, strlen(code)) < 0)) {
		json_decref(out);
		grounding_free(literals);
		return NULL;
	}
	for (size_t i = 0; i < MIN(n, ARRAY_LEN(misses)); i++) {
		const char *at = text + misses[i].at;
		bool is_computed = code &&
			grounding_check(literals, at, misses[i].bytes, none, ARRAY_LEN(none)) > 0;
		if (!is_computed)
			json_add_new(out, json_stringn(at, misses[i].bytes));
	}
	grounding_free(literals);
	return out;
}
