/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/word.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
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
	static const char *const words[] = {"memory", "cpus", "cpu-time", "file-size", "env",
		"json", "jsonl", "r", "token-file", "tokenize"};
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
		{"tokens", "token-file"},
		{"token-fiel", "token-file"},
		{"tokenise", "tokenize"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(nearest(rows[i].word), rows[i].best);
	CHECK(!nearest("gpu-count"));
	CHECK(!nearest("x"));
	CHECK(!nearest(""));
	CHECK(!nearest("abc"));
}

TEST(word_says_what_was_meant)
{
	static const struct {
		const char *name;
	} rows[] = {{"memory"}, {NULL}, {"cpus"}};
	struct err err = {0};
	struct word_near near = WORD_NEAR("memroy");
	WORD_NEAR_ROWS(&near, rows, ARRAY_LEN(rows), name);
	CHECK_INT(
		err_unknown(&err, ERR_USAGE, &near, "see --help", "unknown %s", "memroy"), -EINVAL);
	CHECK_INT(err.code, ERR_USAGE);
	CHECK_STR(err.msg, "unknown memroy");
	CHECK_STR(err.hint, "did you mean memory?");
	near.before = "--";
	near.after = "=N";
	CHECK_INT(err_unknown(&err, ERR_NOT_FOUND, &near, "see --help", "%s", "%d"), -ENOENT);
	CHECK_STR(err.msg, "%d");
	CHECK_STR(err.hint, "did you mean --memory=N?");
}

TEST(word_says_something_else_when_nothing_is_near)
{
	char hint[ERR_HINT_BYTES];
	struct err err = {0};
	struct word_near near = WORD_NEAR("gpu-count");
	word_near_try(&near, "memory");
	near.before = "--";
	(void)err_unknown(&err, ERR_USAGE, &near, "100 % is --help", "unknown");
	CHECK_STR(err.hint, "100 % is --help");
	word_near_hint(&near, "", hint);
	CHECK_STR(hint, "");
}

TEST(word_is_in_a_list)
{
	static const struct {
		const char *list, *word;
		bool is_in;
	} rows[] = {
		{"|py|pyw|", "py", true},
		{"|py|pyw|", "pyw", true},
		{"|py|pyw|", "PyW", true},
		{"|PY|", "py", true},
		{"|c++|g++|", "G++", true},
		{"|a|", "a", true},
		{"|py|pyw|", "p", false},
		{"|py|pyw|", "y", false},
		{"|py|pyw|", "pywx", false},
		{"|py|pyw|", "", false},
		{"|py|pyw|", "|", false},
		{"|py|pyw|", "py|", false},
		{"|py|pyw|", "|py", false},
		{"|py|pyw|", "py|pyw", false},
		{"", "py", false},
		{"", "", false},
		{"|", "", false},
		{"||", "", false},
		{"|py|", "python", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(word_is_in(rows[i].list, rows[i].word, strlen(rows[i].word)),
			rows[i].is_in);
	CHECK(word_is_in("|py|", "python", 2));
	CHECK(!word_is_in("|py|", "python", 3));
}

/* Not a byte behind the end of the word or of the list is looked at. */
TEST(word_without_an_end)
{
	static const char list[] = "|py|pyw|";
	for (size_t n = 0; n <= 3; n++)
		for (size_t m = 1; m <= sizeof list; m++) {
			char *word = malloc(n + (n == 0)), *own = malloc(m);
			memcpy(word, "pyw", n);
			memcpy(own, list, m - 1);
			own[m - 1] = '\0';
			CHECK_INT(word_is_in(own, word, n), (n == 2 && m > 4) || (n == 3 && m > 8));
			free(word);
			free(own);
		}
}
