/* What registries ask for. SPDX-License-Identifier: Apache-2.0 */
#include "image/pull/challenge.h"

#include "t.h"

#include <stdio.h>
#include <string.h>

static struct err err;

static int read_url(const char *header, bool is_local, char out[4096])
{
	struct challenge c;
	err = (struct err){0};
	int r = challenge_read(&c, header, &err);
	return r < 0 ? r : challenge_url(&c, "library/x", is_local, out, 4096, &err);
}

TEST(urls_of_tokens)
{
	static const struct {
		const char *header, *url;
	} rows[] = {
		{"Bearer realm=\"https://a.test/token\",service=\"b c\",scope=\"repository:x:pull\"",
			"https://a.test/token?service=b%20c&scope=repository:x:pull"},
		{"bearer  realm=https://a.test/t , scope=\"a\\\"b&c\"",
			"https://a.test/t?scope=a%22b%26c"},
		{"Bearer realm=\"https://a.test/t?x=y\"",
			"https://a.test/t?x=y&scope=repository:library/x:pull"},
		{"Bearer REALM=\"https://a.test\", error=\"x\", Basic realm=\"other\"",
			"https://a.test?scope=repository:library/x:pull"},
	};
	char url[4096];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (CHECK_INT(read_url(rows[i].header, false, url), 0))
			CHECK_STR(url, rows[i].url);
	CHECK_INT(read_url("Bearer realm=\"http://localhost:1/t\"", true, url), 0);
}

TEST(what_is_refused)
{
	static const struct {
		const char *header, *says;
	} rows[] = {
		{"", "of a kind that is not known"},
		{"Negotiate", "of a kind"},
		{"Bearer", "who gives tokens"},
		{"Bearer realm=\"\"", "who gives tokens"},
		{"Bearer realm=\"x", "cannot be read"},
		{"Bearer =x", "cannot be read"},
		{"Bearer realm=\"http://a.test/t\"", "no https URL"},
		{"Bearer realm=\"file:///etc/passwd\"", "no https URL"},
		{"Bearer realm=\"/t\"", "no https URL"},
	};
	char url[4096], long_one[2000] = "Bearer realm=\"https://";
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK(read_url(rows[i].header, false, url) < 0);
		CHECK_HAS(err.msg, rows[i].says);
	}
	memset(long_one + strlen(long_one), 'x', 1500);
	CHECK(read_url(long_one, false, url) < 0);
	CHECK_HAS(err.msg, "cannot be read");
}

TEST(a_plain_login)
{
	struct challenge c;
	CHECK_INT(challenge_read(&c, "Basic realm=\"Registry\"", &err), 0);
	CHECK(!c.is_bearer);
}
