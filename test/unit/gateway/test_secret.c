/* Secrets: their names, values and places, and what is wrong with them. SPDX-License-Identifier:
 * Apache-2.0 */
#define _GNU_SOURCE 1
#include "gateway/rule/secret.h"

#include "unit/gateway/wiped.h"
#include "t.h"

#include <ctype.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_error(const struct err *err, int code, const char *problem, const char *hint)
{
	CHECK(code < 0);
	CHECK_INT(err->code, ERR_USAGE);
	CHECK_HAS(err->msg, problem);
	CHECK_HAS(err->hint, hint);
	CHECK(!strpbrk(err->msg, "\r\n"));
}

TEST(names)
{
	static const char *const rows[] = {"API_KEY", "a", "A1", "__", "_A", "GITHUB_TOKEN",
		"NODES", "GITLAB", "SSLKEY", "PATHS", "MY_HOME", "PROXY", "HTTP_PROXY_KEY", "LDAP",
		"USER_TOKEN", "ENVIRONMENT", "path", "home", "node_key", "python"};
	char longest[SECRET_NAME_BYTES];
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK_INT(secret_check_name(rows[i], &err), 0))
			printf("# %s: %s\n", rows[i], err.msg);
	memset(longest, 'A', sizeof longest);
	longest[SECRET_NAME_BYTES - 1] = '\0';
	CHECK_INT(secret_check_name(longest, &err), 0);
}

TEST(wrong_names)
{
	static const char *const rows[][2] = {{"", "empty"}, {"1A", "digit"}, {"9", "digit"},
		{"A-B", "bytes that no name"}, {"A B", "bytes that no name"},
		{"A=hunter22", "bytes that no name"}, {"A\n", "bytes that no name"},
		{"A.B", "bytes that no name"}, {"\xc3\x84_KEY", "bytes that no name"}};
	char longer[SECRET_NAME_BYTES + 1];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		check_error(&err, secret_check_name(rows[i][0], &err), rows[i][1], "API_KEY");
		CHECK(!rows[i][0][0] || !strstr(err.msg, rows[i][0]));
	}
	struct err err = {0};
	memset(longer, 'A', sizeof longer);
	longer[SECRET_NAME_BYTES] = '\0';
	check_error(&err, secret_check_name(longer, &err), "too long", "64");
	CHECK(!strstr(err.msg, "AAA"));
}

TEST(names_that_change_programs)
{
	static const char *const rows[] = {"PATH", "HOME", "SHELL", "USER", "LOGNAME", "TMPDIR",
		"LANG", "LC_ALL", "TZ", "TERM", "PWD", "IFS", "ENV", "BASH_ENV", "_", "LD_PRELOAD",
		"LD_LIBRARY_PATH", "LD_", "DYLD_INSERT_LIBRARIES", "GLIBC_TUNABLES", "PYTHONPATH",
		"PYTHONSTARTUP", "NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "PERL5LIB", "RUBYOPT",
		"JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND", "SSL_CERT_FILE", "OPENSSL_CONF",
		"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTP_PROXY", "http_proxy", "https_proxy",
		"HTTPS_PROXY", "ALL_PROXY", "all_proxy", "no_proxy", "NO_PROXY", "Http_Proxy",
		"XDG_CONFIG_HOME", "RETORT_NET"};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		check_error(&err, secret_check_name(rows[i], &err), rows[i], "API_KEY");
		CHECK_HAS(err.msg, "changes how programs run");
	}
}

TEST(values)
{
	static char longest[SECRET_VALUE_MAX];
	static const char *const rows[] = {
		"12345678", "sk-0123456789", " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "        "};
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(secret_check_value("KEY", rows[i], strlen(rows[i]), &err), 0);
	memset(longest, 'a', sizeof longest);
	CHECK_INT(secret_check_value("KEY", longest, sizeof longest, &err), 0);
}

TEST(wrong_values)
{
	static char longer[SECRET_VALUE_MAX + 1];
	static const struct {
		const char *value;
		size_t bytes;
		const char *problem, *hint;
	} rows[] = {
		{"", 0, "the secret KEY is empty", "leave it out"},
		{NULL, 0, "the secret KEY is empty", "leave it out"},
		{"hunter2", 7, "the secret KEY is too short", "at least 8"},
		{"x", 1, "too short", "at least 8"},
		{longer, sizeof longer, "the secret KEY is too long", "at most 8192"},
		{"hunter22\n", 9, "line break at its end", "command line"},
		{"hunter22\r\n", 10, "line break at its end", "command line"},
		{"hunter22\n\n", 10, "line break at its end", "command line"},
		{"\n", 1, "line break at its end", "command line"},
		{"hunter\n22\n", 10, "has a line break", "one line"},
		{"\nhunter22", 9, "has a line break", "one line"},
		{"hunter\r22", 9, "has a line break", "one line"},
		{"hunter\t22", 9, "control", "printable"},
		{"hunter\x7f"
		 "22",
			9, "control", "printable"},
		{"hunter22\0", 9, "control", "printable"},
		{"\0\0\0\0\0\0\0\0", 8, "control", "printable"},
		{"hunter\xc3\xbc"
		 "22",
			10, "not ASCII", "printable"},
		{"hunter22\x80", 9, "not ASCII", "printable"},
		{"hunter22\xff", 9, "not ASCII", "printable"},
	};
	memset(longer, 'h', sizeof longer);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		int code = secret_check_value("KEY", rows[i].value, rows[i].bytes, &err);
		check_error(&err, code, rows[i].problem, rows[i].hint);
		CHECK_HAS(err.msg, "the secret KEY ");
		CHECK(!strstr(err.msg, "hunter") && !strstr(err.hint, "hunter"));
		CHECK(!strstr(err.msg, "hhhh") && !strstr(err.hint, "hhhh"));
	}
}

TEST(every_byte_of_a_value)
{
	for (int c = 0; c < 256; c++) {
		char value[] = "hunter22";
		struct err err = {0};
		value[4] = (char)c;
		CHECK_INT(secret_check_value("KEY", value, 8, &err) == 0, c < 128 && isprint(c));
	}
}

static const struct {
	const char *text, *written, *host;
	uint16_t port;
	unsigned places;
	const char *prefix;
} places[] = {
	{"api.example", NULL, "api.example", 443, 0, ""},
	{"API.Example.", "api.example", "api.example", 443, 0, ""},
	{"db", NULL, "db", 443, 0, ""},
	{"api.example:443", "api.example", "api.example", 443, 0, ""},
	{"api.example:0443", "api.example", "api.example", 443, 0, ""},
	{"api.example:8443", NULL, "api.example", 8443, 0, ""},
	{"db:65535", NULL, "db", 65535, 0, ""},
	{"api.example:80,query", NULL, "api.example", 80, SECRET_IN_QUERY, ""},
	{"api.example,body", NULL, "api.example", 443, SECRET_IN_BODY, ""},
	{"a,body,query", "a,query,body", "a", 443, SECRET_IN_QUERY | SECRET_IN_BODY, ""},
	{"a,like=sk-", "a", "a", 443, 0, "sk-"},
	{"a:1,like=A_z.9-,body", "a:1,body", "a", 1, SECRET_IN_BODY, "A_z.9-"},
	{"a,query,like=_,body", "a,query,body", "a", 443, SECRET_IN_QUERY | SECRET_IN_BODY, "_"},
	{"a,like=query", "a", "a", 443, 0, "query"},
	{"a,like=01234567890123456789012345678901", "a", "a", 443, 0,
		"01234567890123456789012345678901"},
	{"any.example", NULL, "any.example", 443, 0, ""},
	{"localhost.example", NULL, "localhost.example", 443, 0, ""},
	{"mylocalhost", NULL, "mylocalhost", 443, 0, ""},
	{"_srv._tcp.example", NULL, "_srv._tcp.example", 443, 0, ""},
	{"4chan.org", NULL, "4chan.org", 443, 0, ""},
};

TEST(places_as_they_are_written)
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct err err = {0};
		struct secret s = {.name = "KEY", .placeholder = "p"}, again = {0};
		char prefix[SECRET_PREFIX_BYTES], text[SECRET_PLACE_BYTES];
		const char *written = places[i].written ? places[i].written : places[i].text;
		if (!CHECK_INT(secret_read_place(&s, prefix, places[i].text, &err), 0)) {
			printf("# %s: %s\n", places[i].text, err.msg);
			continue;
		}
		CHECK_STR(s.host, places[i].host);
		CHECK_INT(s.port, places[i].port);
		CHECK_INT(s.places, places[i].places);
		CHECK_STR(prefix, places[i].prefix);
		CHECK_STR(s.name, "KEY"); /* is left alone */
		CHECK_STR(s.placeholder, "p");
		CHECK(!s.value);
		secret_write_place(&s, text);
		CHECK_STR(text, written);
		CHECK_INT(secret_read_place(&again, prefix, text, &err), 0);
		CHECK(strcmp(again.host, s.host) == 0 && again.port == s.port &&
			again.places == s.places);
		CHECK_STR(prefix, "");
	}
}

TEST(the_longest_place_comes_back)
{
	char host[RULE_HOST_BYTES + 1], text[SECRET_PLACE_BYTES + 64], again[SECRET_PLACE_BYTES];
	char prefix[SECRET_PREFIX_BYTES];
	struct err err = {0};
	struct secret s;
	memset(host, 'a', sizeof host);
	for (size_t i = 63; i < sizeof host; i += 64)
		host[i] = '.';
	host[RULE_HOST_BYTES - 1] = '\0';
	(void)snprintf(text, sizeof text, "%s:65535,query,body", host);
	CHECK_INT(secret_read_place(&s, prefix, text, &err), 0);
	secret_write_place(&s, again);
	CHECK_STR(again, text);
	(void)snprintf(text, sizeof text, "%s.:65535,query,body", host);
	CHECK_INT(secret_read_place(&s, prefix, text, &err), 0);
	(void)snprintf(text, sizeof text, "%sb", host); /* one letter too long */
	check_error(&err, secret_read_place(&s, prefix, text, &err), "too long", "253");
}

static const struct {
	const char *text, *problem, *hint;
} errors[] = {
	{"", "names no host", "HOST[:PORT]"},
	{",query", "names no host", "HOST[:PORT]"},
	{":443", "names no host", "HOST[:PORT]"},
	{"::1", "names no host", "HOST[:PORT]"},
	{".", "no name of a host", "api.example"},
	{"a..b", "no name of a host", "api.example"},
	{"-a", "no name of a host", "api.example"},
	{"a!b", "no name of a host", "api.example"},
	{"!a", "no name of a host", "api.example"},
	{"192.0.2.1", "no name of a host", "no address"},
	{"192.0.2.1:443", "no name of a host", "no address"},
	{"0x7f000001", "no name of a host", "no address"},
	{"127.1", "no name of a host", "no address"},
	{"2130706433", "no name of a host", "no address"},
	{"[::1]:443", "an address", "name the host"},
	{"fe80::1", "more than one port", "one port"},
	{"a:1:2", "more than one port", "one port"},
	{"a:", "no port", "1 to 65535"},
	{"a:0", "no port", "1 to 65535"},
	{"a:65536", "no port", "1 to 65535"},
	{"a:https", "no port", "443"},
	{"a:-1", "no port", "443"},
	{"*", "one host", "each host"},
	{"*.example", "one host", "each host"},
	{"any", "no hosts", "one host"},
	{"ANY.:443", "no hosts", "one host"},
	{"none", "no hosts", "one host"},
	{"localhost", "sandbox itself", "--net"},
	{"LOCALHOST.:80", "sandbox itself", "--net"},
	{"a.localhost", "sandbox itself", "--net"},
	{"https://api.example/", "not a URL", "HOST"},
	{"me:pw@api.example", "no user", "HOST"},
	{"api.example/v1", "no path", "whatever the path"},
	{"10.0.0.0/8", "no path", "whatever the path"},
	{"db:5432=127.0.0.1:5432", "like=PREFIX only", "HOST"},
	{"KEY=hunter22", "like=PREFIX only", "HOST"},
	{"b\xc3\xbc"
	 "cher.example",
		"not ASCII", "xn--"},
	{"a, query", "a space", "HOST"},
	{" a", "a space", "HOST"},
	{"a\n", "a space", "HOST"},
	{"a\x7f", "a space", "HOST"},
	{"a,", "no option", "query, body and like=PREFIX"},
	{"a,,query", "no option", "query, body and like=PREFIX"},
	{"a,header", "no option", "query, body and like=PREFIX"},
	{"a,Query", "no option", "query, body and like=PREFIX"},
	{"a,quer", "no option", "query, body and like=PREFIX"},
	{"a,queryy", "no option", "query, body and like=PREFIX"},
	{"a,like", "no option", "query, body and like=PREFIX"},
	{"a,LIKE=x", "no option", "query, body and like=PREFIX"},
	{"a,query=1", "no option", "query, body and like=PREFIX"},
	{"a,b", "no option", "query, body and like=PREFIX"},
	{"a,query,query", "option is there twice", "HOST"},
	{"a,body,query,body", "option is there twice", "HOST"},
	{"a,like=x,like=x", "prefix is there twice", "once"},
	{"a,like=", "prefix is empty", "like=sk-"},
	{"a,like=x/y", "no prefix has", "like=sk-"},
	{"a,like=x=y", "no prefix has", "like=sk-"},
	{"a,like=\"", "no prefix has", "like=sk-"},
	{"a,like=012345678901234567890123456789012", "prefix is too long", "32"},
};

TEST(wrong_places)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		struct err err = {0};
		struct secret s = {.host = "before", .port = 7, .places = 3};
		char prefix[SECRET_PREFIX_BYTES] = "before";
		check_error(&err, secret_read_place(&s, prefix, errors[i].text, &err),
			errors[i].problem, errors[i].hint);
		CHECK_STR(s.host, "before");
		CHECK_STR(prefix, "before");
		CHECK(s.port == 7 && s.places == 3);
		CHECK(!strstr(err.msg, "hunter"));
	}
}

TEST(placeholders)
{
#define RANDOM "0123456789abcdefghijklmnopqrstuv"
#define PREFIX "-_.AZaz0123456789012345678901234"
	static const char *const yes[] = {RANDOM, "sk-" RANDOM, "_" RANDOM, "." RANDOM,
		PREFIX RANDOM, "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"};
	static const char *const no[] = {"", "a", "0123456789abcdefghijklmnopqrstu",
		"0123456789abcdefghijklmnopqrstuV", "0123456789abcdefghijklmnopqrst-v",
		"A123456789abcdefghijklmnopqrstuv", RANDOM "-", RANDOM " ", "sk/" RANDOM,
		" " RANDOM, PREFIX "x" RANDOM, "sk-" RANDOM "\n", "\xc3\xa4" RANDOM};
	CHECK_INT(strlen(RANDOM), SECRET_RANDOM_BYTES);
	CHECK_INT(strlen(PREFIX RANDOM), SECRET_PLACEHOLDER_BYTES - 1);
	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		CHECK(secret_is_placeholder(yes[i]));
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		CHECK(!secret_is_placeholder(no[i]));
}

TEST(values_are_copied)
{
	struct secrets all = {.n = 3}, copy, bare;
	char value[] = "hunter22";
	(void)snprintf(all.v[0].name, sizeof all.v[0].name, "A");
	(void)snprintf(all.v[1].name, sizeof all.v[1].name, "B");
	(void)snprintf(all.v[2].name, sizeof all.v[2].name, "AB");
	(void)snprintf(all.v[1].host, sizeof all.v[1].host, "api.example");
	secret_set_value(&all.v[0], value);
	secret_set_value(&all.v[1], "before it");
	secret_set_value(&all.v[1], "hunter33");
	secret_set_value(&all.v[1], all.v[1].value);
	value[0] = 'x';
	CHECK_STR(all.v[0].value, "hunter22");
	CHECK_STR(all.v[1].value, "hunter33");
	CHECK(!all.v[2].value);
	CHECK(secrets_find(&all, "B") == &all.v[1]);
	CHECK(secrets_find(&all, "AB") == &all.v[2]);
	CHECK(!secrets_find(&all, "ABC") && !secrets_find(&all, "") && !secrets_find(&all, "a"));
	secrets_copy(&copy, &all, true);
	secrets_copy(&bare, &all, false);
	CHECK(copy.v[0].value != all.v[0].value);
	secrets_done(&all);
	CHECK_INT(all.n, 0);
	CHECK(!all.v[0].value && !secrets_find(&all, "A"));
	CHECK_INT(copy.n, 3);
	CHECK_STR(copy.v[0].value, "hunter22");
	CHECK_STR(copy.v[1].value, "hunter33");
	CHECK_STR(copy.v[1].host, "api.example");
	CHECK(!copy.v[2].value);
	CHECK_INT(bare.n, 3);
	CHECK_STR(bare.v[2].name, "AB");
	for (size_t i = 0; i < bare.n; i++)
		CHECK(!bare.v[i].value);
	secrets_done(&copy);
	secrets_done(&bare);
	secrets_done(&bare);
}

TEST(values_are_wiped)
{
	struct secrets all = {.n = 2}, copy;
	size_t n_freed;
	wiped_begin("hunter");
	secret_set_value(&all.v[0], "hunter22");
	secret_set_value(&all.v[1], "hunter22");
	secret_set_value(&all.v[1], "hunter33");
	secrets_copy(&copy, &all, true);
	secrets_done(&all);
	secrets_done(&copy);
	CHECK_INT(wiped_end(&n_freed), 0);
	CHECK_INT(n_freed, 5);
}
