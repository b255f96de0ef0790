/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/word.h"

#include <string.h>

TEST(word_counts_edits)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} rows[] = {
		{"", "", 0}, {"", "abc", 3}, {"memory", "memory", 0}, {"memroy", "memory", 1},
		{"memor", "memory", 1}, {"mxmory", "memory", 1}, {"mmemory", "memory", 1},
		{"ab", "ba", 1}, {"kitten", "sitting", 3}, {"abc", "xyz", 3},
		{"ca", "abc", 3}, /* no edit inside a swap: optimal string alignment */
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_INT(word_distance(rows[i].a, rows[i].b), rows[i].distance);
		CHECK_INT(word_distance(rows[i].b, rows[i].a), rows[i].distance);
	}
}

TEST(word_has_a_limit)
{
	char longest[WORD_MAX_BYTES + 1], longer[WORD_MAX_BYTES + 2];
	memset(longest, 'a', sizeof longest - 1);
	memset(longer, 'a', sizeof longer - 1);
	longest[sizeof longest - 1] = longer[sizeof longer - 1] = '\0';
	CHECK_INT(word_distance(longest, longest), 0);
	CHECK_INT(word_distance(longest, "a"), WORD_MAX_BYTES - 1);
	CHECK_INT(word_distance(longest, longer), WORD_MAX_BYTES + 1);
	CHECK_INT(word_distance(longer, longer), 0);
	CHECK_INT(word_distance("a", longer), WORD_MAX_BYTES + 1);
}

static const char *nearest(const char *word)
{
	static const char *const words[] = {
		"memory", "cpus", "cpu-time", "file-size", "env", "json", "jsonl", "r"};
	struct word_near near = WORD_NEAR(word);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		word_near_try(&near, words[i]);
	return near.best;
}

TEST(word_finds_what_was_meant)
{
	static const struct {
		const char *word, *best;
	} rows[] = {
		{"memroy", "memory"},
		{"mem", "memory"},
		{"me", "memory"},
		{"cpu", "cpus"},
		{"file", "file-size"},
		{"evn", "env"},
		{"jsno", "json"},
		{"jsonl", "jsonl"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(nearest(rows[i].word), rows[i].best);
	CHECK(!nearest("gpu-count"));
	CHECK(!nearest("x"));
	CHECK(!nearest(""));
	CHECK(!nearest("abc"));
}
