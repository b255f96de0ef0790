/* The ways in which a request carries its token. SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/credential.h"

#include "t.h"

#include <stdio.h>
#include <string.h>

#define LONGEST CREDENTIAL_BYTES - 1

TEST(authorization)
{
	static const struct {
		const char *value;
		bool is_basic;
		const char *want; /* NULL: refused */
	} rows[] = {
		{"Bearer abc", false, "abc"},
		{"bearer abc", true, "abc"},
		{"BEARER   abc", false, "abc"},
		{"Bearer", false, NULL},
		{"Bearer ", false, NULL},
		{"Bearerabc", false, NULL},
		{"Bearer\tabc", false, NULL},
		{"", true, NULL},
		{"Digest abc", true, NULL},
		{"Basic bWU6YWJj", false, NULL},
		{"Basic bWU6YWJj", true, "abc"},      /* me:abc */
		{"basic OmFiYw==", true, "abc"},      /* :abc */
		{"Basic bWU6YTpiYw==", true, "a:bc"}, /* me:a:bc */
		{"Basic bWVhYmM=", true, NULL},	      /* meabc */
		{"Basic bWU6", true, NULL},	      /* me: */
		{"Basic bWU6YWJ", true, NULL},
		{"Basic bWU6YWJj x", true, NULL},
		{"Basic !", true, NULL},
		{"Basic ", true, NULL},
		{"Basic bWU6YQBj", true, NULL}, /* me:a\0c */
		{"Basic AG1lOmFiYw==", true, "abc"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char out[CREDENTIAL_BYTES] = "";
		bool is_read = credential_read_authorization(rows[i].value, rows[i].is_basic, out);
		CHECK_INT(is_read, rows[i].want != NULL);
		CHECK_STR(out, rows[i].want ? rows[i].want : "");
	}
}

TEST(protocols)
{
#define MARK "base64url.bearer.retort."
	static const struct {
		const char *value, *want;
	} rows[] = {
		{MARK "YWJj", "abc"},
		{"a, b," MARK "YWJj , c", "abc"},
		{"a " MARK "YWJj", "abc"},
		{MARK "YQ", "a"},
		{MARK "YWI", "ab"},
		{MARK "-_-_", "\xfb\xff\xbf"},
		{MARK, NULL},
		{MARK ",", NULL},
		{MARK "Y", NULL},
		{MARK "YQ==", "a"},
		{MARK "Y+/=", NULL},
		{MARK "YQBj", NULL},
		{"base64url.bearer.Retort.YWJj", NULL},
		{"xbase64url.bearer.retort.YWJj", NULL},
		{"base64url.bearer.other.YWJj", NULL},
		{"", NULL},
		{",,, ,", NULL},
		/* the first one counts */
		{MARK "YWJj," MARK "ZGVm", "abc"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char out[CREDENTIAL_BYTES] = "";
		CHECK_INT(credential_read_protocols(rows[i].value, out), rows[i].want != NULL);
		CHECK_STR(out, rows[i].want ? rows[i].want : "");
	}
}

/* A token as long as one may be is read, a longer one is refused. */
TEST(tokens_have_a_maximum)
{
	char value[4 * CREDENTIAL_BYTES], token[CREDENTIAL_BYTES + 1], out[CREDENTIAL_BYTES];
	memset(token, 'a', sizeof token);
	snprintf(value, sizeof value, "Bearer %.*s", LONGEST, token);
	CHECK(credential_read_authorization(value, false, out));
	CHECK_INT(strlen(out), LONGEST);
	snprintf(value, sizeof value, "Bearer %.*s", CREDENTIAL_BYTES, token);
	CHECK(!credential_read_authorization(value, false, out));
	for (size_t n = 0; n < 4 * CREDENTIAL_BYTES - 100; n += 4) {
		/* "aaaa" is base64 of 3 bytes without NUL */
		int at = snprintf(value, sizeof value, MARK);
		memset(value + at, 'a', n);
		value[(size_t)at + n] = '\0';
		CHECK_INT(credential_read_protocols(value, out), n > 0 && n / 4 * 3 <= LONGEST);
		at = snprintf(value, sizeof value, "Basic Ojo6"); /* ::: */
		memset(value + at, 'a', n);
		value[(size_t)at + n] = '\0';
		CHECK_INT(
			credential_read_authorization(value, true, out), n / 4 * 3 + 2 <= LONGEST);
	}
}

TEST(cookies)
{
	static const struct {
		const char *value, *want;
	} rows[] = {
		{"k=abc", "abc"},
		{"a=b; k=abc", "abc"},
		{"a=b;k=abc; c=d", "abc"},
		{"k=abc; k=abc", "abc"},
		{"k=a=b", "a=b"},
		/* one of another host of the same site */
		{"k=abc; k=abd", NULL},
		{"k=; k=abc", NULL},
		{"k=", NULL},
		{"k", NULL},
		{"K=abc", NULL},
		{"xk=abc", NULL},
		{"a=k=abc", NULL},
		{"", NULL},
		{"; ;", NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char out[CREDENTIAL_BYTES] = "";
		bool has_one = credential_read_cookie(rows[i].value, "k", out);
		CHECK_INT(has_one, rows[i].want != NULL);
		if (has_one)
			CHECK_STR(out, rows[i].want);
	}
}

TEST(other_schemes_and_words)
{
	char out[CREDENTIAL_BYTES];
	CHECK(credential_read_scheme("token abc", "token", out));
	CHECK_STR(out, "abc");
	CHECK(credential_read_scheme("Token  abd", "token", out));
	CHECK_STR(out, "abd");
	CHECK(!credential_read_scheme("token", "token", out));
	CHECK(!credential_read_scheme("tokens abc", "token", out));
	CHECK(!credential_read_scheme("Bearer abc", "token", out));
	CHECK(credential_read_word("abc", out));
	CHECK(!credential_read_word("a bc", out));
	CHECK(!credential_read_word("", out));
}
