/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/id.h"

#include <string.h>

TEST(ids_are_as_long_as_they_should_be)
{
	char id[16], other[16];
	id_make(id, sizeof id, "s-");
	id_make(other, sizeof other, "s-");
	CHECK_INT(strlen(id), sizeof id - 1);
	CHECK(strncmp(id, "s-", 2) == 0);
	CHECK_INT(strspn(id + 2, ID_CHARACTERS), sizeof id - 3);
	CHECK(strcmp(id, other) != 0);
	CHECK(id_is_like(id, sizeof id, "s-", 13));
	CHECK(!id_is_like(id, sizeof id - 1, "s-", 1));
	CHECK(!id_is_like(id, sizeof id, "a-", 1));
}

TEST(ids_hold_every_character)
{
	char id[4096];
	bool has[256] = {false};
	id_make(id, sizeof id, "");
	for (const char *c = id; *c; c++)
		has[(unsigned char)*c] = true;
	for (const char *c = ID_CHARACTERS; *c; c++)
		CHECK(has[(unsigned char)*c]);
}

TEST(ids_are_told_from_other_names)
{
	static const struct {
		const char *text;
		bool is_like;
	} rows[] = {
		{"a-bcd", true},
		{"a-b", false},
		{"a-", false},
		{"a", false},
		{"", false},
		{"a-bc/", false},
		{"a-bc1", false},
		{"a-BCD", false},
		{"a-bcdefg2", true},
		{"a-bcdefg22", false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_INT(id_is_like(rows[i].text, 10, "a-", 2), rows[i].is_like);
}

TEST(random_bytes_fill_what_they_are_given)
{
	unsigned char bytes[1024] = {0};
	int n_zero = 0;
	id_random(bytes, sizeof bytes - 1);
	CHECK_INT(bytes[sizeof bytes - 1], 0);
	for (size_t i = 0; i < 64; i++)
		n_zero += bytes[sizeof bytes - 65 + i] == 0;
	CHECK(n_zero < 16);
}
