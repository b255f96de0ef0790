/* The keys that detach from a program. SPDX-License-Identifier: Apache-2.0 */
#include "cli/process/keys.h"

#include "t.h"

#include <stdio.h>
#include <string.h>

static int parse(const char *text, struct keys *k)
{
	struct err err;
	int r = keys_parse(text, k, &err);
	if (r < 0)
		CHECK(err.hint[0]);
	return r;
}

TEST(lists_of_keys)
{
	struct keys k;
	CHECK_INT(parse("ctrl-p,ctrl-q", &k), 0);
	CHECK_INT(k.n, 2);
	CHECK_INT(k.key[0], 16);
	CHECK_INT(k.key[1], 17);
	CHECK_INT(parse("ctrl-@,ctrl-[,ctrl-_,A,,,a", &k), 0);
	CHECK(k.n == 6 && memcmp(k.key, "\0\33\37A,a", 6) == 0);
	CHECK_INT(parse("", &k), 0);
	CHECK_INT(k.n, 0);
	static const char *const wrong[] = {"ctrl-", "ctrl-1", "ab", "a,", "a,b,", "ctrl-pp", "é",
		"a,b,c,d,e,f,g,h,i", "ctrl-p ctrl-q"};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (!CHECK(parse(wrong[i], &k) < 0))
			printf("# %s\n", wrong[i]);
	/* After an error the keys are those of before. */
	CHECK_INT(k.n, 0);
}

/* Type @text in pieces of @step bytes. Returns: what the program gets, with "!" at the end if the
 * sequence was found. */
static const char *type(const char *keys, const char *text, size_t step)
{
	static char got[256];
	struct keys k;
	size_t n = 0, bytes = strlen(text);
	bool is_found = false;
	(void)parse(keys, &k);
	for (size_t at = 0; at < bytes && !is_found; at += step)
		n += keys_filter(&k, text + at, MIN(step, bytes - at), got + n, &is_found);
	snprintf(got + n, sizeof got - n, "%s", is_found ? "!" : "");
	return got;
}

TEST(keys_that_are_typed)
{
	static const struct {
		const char *keys, *text, *got;
	} rows[] = {{"p,q", "hello", "hello"}, {"p,q", "apqb", "a!"}, {"p,q", "papq", "pa!"},
		{"p,q", "ppq", "p!"}, {"p,q", "ppx", "ppx"}, {"p,q", "pxpq", "px!"},
		{"a,a,b", "aaab", "a!"}, {"a,b,a,c", "ababac", "ab!"},
		{"a,b,a,c", "abaabac", "aba!"}, {"x", "yx", "y!"}, {"", "anything", "anything"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t step = 1; step < 9; step++)
			CHECK_STR(type(rows[i].keys, rows[i].text, step), rows[i].got);
	/* A key that may begin the sequence waits. */
	CHECK_STR(type("p,q", "ap", 1), "a");
}
