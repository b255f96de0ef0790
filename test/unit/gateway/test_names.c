/* The table of names and of the addresses that stand for them. SPDX-License-Identifier:
 * Apache-2.0 */
#include "gateway/process/names.h"

#include "t.h"

#include <stdio.h>
#include <string.h>

static const unsigned char seed[NAMES_SEED_BYTES] = "0123456789abcde";

TEST(a_name_keeps_its_address)
{
	struct names *n = names_new(seed);
	CHECK(!names_find(n, "a.example"));
	CHECK(!names_at(n, NAMES_FIRST));
	struct name *a = names_add(n, "a.example"), *b = names_add(n, "b.example");
	CHECK_INT(a->v4, NAMES_FIRST);
	CHECK_INT(b->v4, NAMES_FIRST + 1);
	CHECK(!a->arg);
	CHECK(names_add(n, "a.example") == a);
	CHECK(names_find(n, "b.example") == b);
	CHECK(names_at(n, NAMES_FIRST + 1) == b);
	CHECK(!names_at(n, NAMES_FIRST + 2));
	CHECK(!names_at(n, NAMES_FIRST - 1));
	CHECK(!names_at(n, NAMES_RESOLVER));
	CHECK(!names_at(n, 0));
	CHECK_INT(names_count(n), 2);
	CHECK(names_row(n, 0) == a);
	names_free(n);
	names_free(NULL);
}

TEST(names_up_to_the_limit)
{
	struct names *n = names_new(seed);
	struct name *first = names_add(n, "0");
	char host[16];
	for (int i = 1; i < NAMES_MAX; i++) {
		(void)snprintf(host, sizeof host, "%d", i);
		struct name *name = names_add(n, host);
		if (!CHECK(name && name->v4 == NAMES_FIRST + (uint32_t)i))
			break;
		if (!CHECK(name->v4 != NAMES_RESOLVER && (name->v4 & 0xfffe0000) == NAMES_NETWORK))
			break;
	}
	CHECK(!names_add(n, "more"));
	CHECK(!names_find(n, "more"));
	CHECK(!names_at(n, NAMES_FIRST + NAMES_MAX));
	CHECK_INT(names_count(n), NAMES_MAX);
	for (int i = 0; i < NAMES_MAX; i++) {
		(void)snprintf(host, sizeof host, "%d", i);
		struct name *name = names_find(n, host);
		if (!CHECK(name && strcmp(name->host, host) == 0) ||
			!CHECK(names_at(n, name->v4) == name && names_add(n, host) == name))
			break;
	}
	CHECK(names_find(n, "0") == first);
	names_free(n);
}
