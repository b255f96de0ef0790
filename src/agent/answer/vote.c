/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/vote.h"

#include "agent/answer/answer.h"
#include "base/ascii.h"
#include "base/json.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * PARTS_MAX: a JSON value with more parts is compared as text.
 * DEPTH_MAX: numbers that are nested deeper are compared as they are written.
 * SUBSTITUTE: the character that is written in place of NUL.
 */
enum { PARTS_MAX = 100000, DEPTH_MAX = 64, SUBSTITUTE = 0x1a };

/* ---- the value of a candidate ---- */

static json_t *plain_number(const json_t *v)
{
	double x = json_real_value(v);
	bool is_whole = trunc(x) == x && fabs(x) < 9007199254740992.0;
	return is_whole ? json_integer((json_int_t)x) : json_incref(json_unconst(v));
}

/* Return a copy of @v in which real numbers without a fraction are integers: 42.0 becomes 42.
 * Returns: a new reference; NULL if memory is exhausted. */
static json_t *plain(const json_t *v, int depth)
{
	const char *key;
	json_t *value;
	size_t i;
	if (json_is_real(v))
		return plain_number(v);
	if ((!json_is_array(v) && !json_is_object(v)) || depth == DEPTH_MAX)
		return json_incref(json_unconst(v));
	json_t *out = json_is_array(v) ? json_array() : json_object();
	int r = out ? 0 : -1;
	if (json_is_array(v))
		json_array_foreach(v, i, value) r |=
			json_array_append_new(out, plain(value, depth + 1));
	else
		json_object_foreach(json_unconst(v), key, value) r |=
			json_object_set_new(out, key, plain(value, depth + 1));
	if (r == 0)
		return out;
	json_decref(out);
	return NULL;
}

/* Return @v as canonical JSON. Reals have only 15 digits, because further digits depend on the
 * order in which a program adds numbers. */
static char *canonical(const json_t *v)
{
	static const size_t flags =
		JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(DBL_DIG);
	cleanup_json json_t *same = plain(v, 0);
	return same ? json_dumps(same, flags) : NULL;
}

static char *words(const char *text)
{
	char *out = malloc(strlen(text) + 1), *to = out;
	for (; out && *text; text++) {
		if (!ascii_is_space(*text))
			*to++ = *text;
		else if (to > out && to[-1] != ' ')
			*to++ = ' ';
	}
	if (out && to > out && to[-1] == ' ')
		to--;
	if (out)
		*to = '\0';
	return out;
}

char *vote_text(const char *text)
{
	size_t bytes = strlen(text);
	cleanup_json json_t *json = json_parts(text, bytes) > PARTS_MAX
		? NULL
		: json_loadb(text, bytes, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	return json ? canonical(json) : words(text);
}

/* Return the canonical form of an output. Each NUL in the output is replaced by SUBSTITUTE,
 * because a C string would end there. */
static char *text_says(const json_t *text)
{
	size_t bytes = json_string_length(text);
	char *copy = malloc(bytes + 1);
	if (!copy)
		return NULL;
	for (size_t i = 0; i < bytes; i++)
		copy[i] = json_string_value(text)[i] ? json_string_value(text)[i] : SUBSTITUTE;
	copy[bytes] = '\0';
	char *out = vote_text(copy);
	free(copy);
	return out;
}

static char *bundle_says(const json_t *bundle)
{
	const json_t *value = json_object_get(bundle, "application/json");
	if (json_is_string(value))
		return text_says(value);
	return value ? canonical(value) : text_says(json_object_get(bundle, "text/plain"));
}

static char *error_says(const json_t *record)
{
	static const char *const members[] = {"name", "message"};
	const json_t *error = json_object_get(record, "error");
	const char *texts[2] = {json_string_value(json_object_get(record, "status")), ""};
	for (size_t i = 0; i < 2; i++) {
		const char *text = json_string_value(json_object_get(error, members[i]));
		texts[i] = text ? text : texts[i];
	}
	char *both = NULL;
	if (asprintf(&both, "%s: %s", texts[0] ? texts[0] : "", texts[1]) < 0)
		return NULL;
	char *out = words(both);
	free(both);
	return out;
}

char *vote_record(const json_t *record)
{
	const char *status = json_string_value(json_object_get(record, "status"));
	const json_t *answer = answer_find(record), *value = json_object_get(record, "value");
	if (!status || strcmp(status, "ok") != 0)
		return error_says(record);
	if (answer || value)
		return bundle_says(answer ? answer : value);
	return text_says(json_object_get(record, "stdout"));
}

/* ---- counting votes ---- */

const char *vote_rank_word(enum vote_rank rank)
{
	static const char *const rank_words[] = {"none", "failed", "good", "passed"};
	return rank_words[rank];
}

static bool is_same(const struct ballot *a, const struct ballot *b)
{
	return a == b || (a->value && *a->value && b->value && strcmp(a->value, b->value) == 0);
}

static size_t count(const struct ballot *ballots, size_t n, size_t which)
{
	size_t votes = 0;
	for (size_t i = 0; i < n; i++)
		votes += ballots[i].rank == ballots[which].rank &&
			is_same(&ballots[i], &ballots[which]);
	return votes;
}

bool vote_count(const struct ballot *ballots, size_t n, struct vote *out)
{
	struct vote v = {0};
	enum vote_rank best = VOTE_NONE;
	for (size_t i = 0; i < n; i++) {
		best = ballots[i].rank > best ? ballots[i].rank : best;
		v.n_stand += ballots[i].rank > VOTE_NONE;
	}
	for (size_t i = 0; i < n && best > VOTE_NONE; i++) {
		size_t votes = ballots[i].rank == best ? count(ballots, n, i) : 0;
		v.n_best += votes > 0;
		bool is_better = votes > v.n_votes ||
			(votes > 0 && votes == v.n_votes && ballots[i].is_answer &&
				!ballots[v.winner].is_answer &&
				is_same(&ballots[i], &ballots[v.winner]));
		if (is_better) {
			v.winner = i;
			v.n_votes = votes;
		}
	}
	if (best > VOTE_NONE)
		*out = v;
	return best > VOTE_NONE;
}

const char *vote_reason(const struct ballot *ballots, const struct vote *v)
{
	if (v->n_stand == 1)
		return "only";
	if (v->n_votes > 1)
		return "majority";
	if (v->n_best == v->n_stand)
		return "first";
	return ballots[v->winner].rank == VOTE_PASSED ? "check" : "success";
}
