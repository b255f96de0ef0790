/* Network rules: their text, what is wrong with it, and which decides. SPDX-License-Identifier:
 * Apache-2.0 */
#include "gateway/rule/rule.h"

#include "unit/gateway/parsed.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_same(const struct rule *a, const struct rule *b)
{
	return a->kind == b->kind && a->may_be_private == b->may_be_private &&
		a->is_mapped == b->is_mapped && a->port == b->port && a->to_port == b->to_port &&
		a->network == b->network && a->bits == b->bits &&
		memcmp(&a->to, &b->to, sizeof a->to) == 0 && strcmp(a->host, b->host) == 0;
}

TEST(rules_as_they_are_written)
{
	static const char *const rows[][2] = {{"api.example", "api.example"},
		{"API.Example.:443", "api.example:443"}, {"db:5432", "db:5432"},
		{"4chan.org", NULL}, {"_srv._tcp.example:0443", "_srv._tcp.example:443"},
		{"*.Example:1", "*.example:1"}, {"*.any", NULL}, {"*.none", NULL}, {"any", NULL},
		{"ANY.:8080", "any:8080"}, {"!any", NULL}, {"!*.internal:65535", NULL},
		{"!db.internal", NULL}, {"192.0.2.1", NULL}, {"10.1.2.3/32:22", "10.1.2.3:22"},
		{"10.0.0.0/8", NULL}, {"128.0.0.0/2", NULL}, {"192.168.16.0/20:8080", NULL},
		{"db:5432=127.0.0.1", "db:5432=127.0.0.1:5432"}, {"db:5432=127.0.0.1:15432", NULL},
		{"db:1=[::1]:2", NULL}, {"db:1=[::1]", "db:1=[::1]:1"},
		{"db:1=[::ffff:10.0.0.1]:2", "db:1=10.0.0.1:2"}, {"0xabc.com", NULL},
		{"a-.-b", NULL}, {"Ask", "ask"}, {"!ask:22", NULL}, {"*.ask", NULL}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		struct rule r, again;
		char text[RULE_TEXT_BYTES];
		if (!CHECK_INT(rule_parse(&r, rows[i][0], &err), 0)) {
			printf("# %s: %s\n", rows[i][0], err.msg);
			continue;
		}
		rule_write(&r, text);
		CHECK_STR(text, rows[i][1] ? rows[i][1] : rows[i][0]);
		CHECK_INT(rule_parse(&again, text, &err), 0);
		CHECK(is_same(&r, &again));
	}
}

TEST(hosts_of_a_rule)
{
	static const char *const rows[][2] = {{"API.Example:443", "api.example"},
		{"!*.example.org:5432", "*.example.org"}, {"10.1.0.0/16:80", "10.1.0.0/16"},
		{"192.0.2.1", "192.0.2.1"}, {"any:80", "any"}, {"db:1=10.0.0.1:2", "db"},
		{"GET any/*", "any"}, {"* *.api.example:80/v1", "*.api.example"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		struct rule r;
		char hosts[RULE_HOSTS_BYTES];
		if (!CHECK_INT(rule_parse(&r, rows[i][0], &err), 0))
			continue;
		rule_write_hosts(&r, hosts);
		CHECK_STR(hosts, rows[i][1]);
	}
}

TEST(the_longest_rule_comes_back)
{
	char text[RULE_TEXT_BYTES] = "*.", host[RULE_HOST_BYTES], again[RULE_TEXT_BYTES];
	struct err err = {0};
	struct rule r;
	memset(host, 'a', sizeof host);
	for (size_t i = 63; i < sizeof host; i += 64)
		host[i] = '.';
	host[RULE_HOST_BYTES - 1] = '\0';
	(void)snprintf(text, sizeof text, "!*.%s:65535", host);
	CHECK_INT(rule_parse(&r, text, &err), 0);
	rule_write_hosts(&r, again);
	CHECK_INT(strlen(again), RULE_HOSTS_BYTES - 1);
	CHECK_INT(strncmp(again, text + 1, RULE_HOSTS_BYTES - 1), 0);
	rule_write(&r, again);
	CHECK_STR(again, text);
	(void)snprintf(text, sizeof text,
		"%s:65535=[1111:1111:1111:1111:1111:1111:1111:1111]:65535", host);
	CHECK_INT(rule_parse(&r, text, &err), 0);
	rule_write(&r, again);
	CHECK_STR(again, text);
	(void)snprintf(text, sizeof text, "%sb", host); /* one letter too long */
	CHECK(rule_parse(&r, text, &err) < 0);
}

static const struct {
	const char *text, *problem, *hint;
} errors[] = {
	{"", "empty", "--net any"},
	{"!", "empty", "--net any"},
	{"https://api.example/", "not a URL", "--net api.example:443"},
	{"http://api.example/v1", "not a URL", "--net api.example:80"},
	{"https://me:pw@api.example:8443/?x", "not a URL", "--net api.example:8443"},
	{"ws://api.example/v1", "not a URL", "--net api.example:80"},
	{"!http://api.example/", "not a URL", "--net api.example:80"},
	{"https://", "not a URL", "--net api.example:443"},
	{"me@api.example", "no user", "--net api.example:443"},
	{"api.example:0", "\"0\" is no port", "1 to 65535"},
	{"api.example:65536", "\"65536\" is no port", "1 to 65535"},
	{"api.example:https", "\"https\" is no port", "1 to 65535"},
	{"api.example:", "\"\" is no port", "1 to 65535"},
	{"api.example:-1", "no port", "1 to 65535"},
	{"api.example:80:90", "more than one port", "one port"},
	{":443", "no host", "--net api.example:443"},
	{"*", "before a name", "--net any"},
	{"*:443", "before a name", "--net any"},
	{"*.*", "before a name", "--net any"},
	{"a.*.example", "whole names", "*.api.example"},
	{"api*.example", "whole names", "*.api.example"},
	{"*.a.*", "whole names", "*.api.example"},
	{"**.example", "whole names", "*.api.example"},
	{"b\xc3\xbc"
	 "cher.example",
		"not ASCII", "xn--"},
	{"a.example,b.example", "comma", "--net db:5432"},
	{"a.example b", "space", "--net db:5432"},
	{"a.example\n", "space", "--net db:5432"},
	{"0x7f000001", "neither", "192.0.2.1"},
	{"2130706433", "neither", "192.0.2.1"},
	{"127.1", "neither", "192.0.2.1"},
	{"0177.0.0.1:80", "neither", "192.0.2.1"},
	{"1.2.3.4.5", "neither", "192.0.2.1"},
	{"example.0x1", "neither", "192.0.2.1"},
	{"*.1", "neither", "192.0.2.1"},
	{"10.1.0.0/8:22", "beyond", "--net 10.0.0.0/8:22"},
	{"10.0.0.1/31", "beyond", "--net 10.0.0.0/31"},
	{"0.0.0.0/0", "1 to 32", "--net any"},
	{"GET ask/*", "not about requests", "--net ask"},
	{"ask:80=10.0.0.1", "only one name", "HOST:PORT=ADDRESS"},
	{"10.0.0.0/33", "1 to 32", "/8"},
	{"10.0.0.0/", "1 to 32", "/8"},
	{"10.0.0.0/x", "1 to 32", "/8"},
	{"127.0.0.1:5432", "sandbox itself", "--net db:5432=127.0.0.1:5432"},
	{"127.0.0.0/8", "sandbox itself", "--net db:5432"},
	{"0.0.0.0", "sandbox itself", "any"},
	{"0.0.0.0/1", "sandbox itself", "db:5432"},
	{"198.0.0.0/8:80", "stands for names", "name the host"},
	{"198.18.0.1:53", "stands for names", "name the host"},
	{"224.0.0.1", "no server", "10.0.0.0/8"},
	{"255.255.255.255", "no server", "10.0.0.0/8"},
	{"::1", "IPv6", "name the host"},
	{"[::1]:80", "IPv6", "name the host"},
	{"2001:db8::/32:443", "IPv6", "name the host"},
	{"1:2:3:4:5:6:7:8", "IPv6", "name the host"},
	{"!192.0.2.1", "needless", "leave it out"},
	{"!10.0.0.0/8", "needless", "leave it out"},
	{"!db:1=10.0.0.1", "needless", "leave it out"},
	{"!!db", "no name", "api.example"},
	{"any=127.0.0.1", "only one name", "db:5432"},
	{"any:1=127.0.0.1", "only one name", "db:5432"},
	{"*.x:1=127.0.0.1:1", "only one name", "db:5432"},
	{"10.0.0.1:1=127.0.0.1:1", "only one name", "db:5432"},
	{"db=127.0.0.1:1", "needs a port", "db:5432"},
	{"db:1=", "no address", "db:5432"},
	{"db:1=other:1", "no address", "db:5432"},
	{"db:1=::1", "no address", "db:5432"},
	{"db:1=[127.0.0.1]", "no address", "db:5432"},
	{"db:1=[::1", "\"]\" is missing", "db:5432"},
	{"db:1=[::1]2", "no address", "db:5432"},
	{"db:1=[fe80::1%eth0]", "no address", "db:5432"},
	{"db:1=127.0.0.1:0", "\"0\" is no port", "1 to 65535"},
	{"=127.0.0.1", "no host", "--net"},
	{"localhost:80", "sandbox itself", "db:5432=127.0.0.1:5432"},
	{"a.localhost:1=127.0.0.1:1", "sandbox itself", "another name"},
	{"none:80", "no rule", "--net none"},
	{"a..example", "no name", "api.example"},
	{".example", "no name", "api.example"},
	{"..", "no name", "api.example"},
	{"a$b", "no name", "api.example"},
};

TEST(errors_say_what_and_what_to_do)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		struct err err = {0};
		struct rule r;
		bool is_ok = CHECK(rule_parse(&r, errors[i].text, &err) < 0) &&
			CHECK_INT(err.code, ERR_USAGE) && CHECK_HAS(err.msg, errors[i].problem) &&
			CHECK_HAS(err.hint, errors[i].hint);
		if (!is_ok)
			printf("# %s\n", errors[i].text);
	}
}

TEST(names_are_made_comparable)
{
	static const char *const good[][2] = {
		{"A.b.", "a.b"}, {"db", "db"}, {"1password.com", "1password.com"}};
	static const char *const none[] = {"", ".", "a..b", ".a", "a b", "a/b", "1.2.3.4", "a.1",
		"a.0X7F", "a.0x", "b\xc3\xbc", "[::1]", "a:1", "a@b"};
	char out[RULE_HOST_BYTES], label[65];
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		CHECK(rule_name(out, good[i][0], strlen(good[i][0])));
		CHECK_STR(out, good[i][1]);
		CHECK(rule_name(out, out, strlen(out)));
		CHECK_STR(out, good[i][1]);
	}
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		if (!CHECK(!rule_name(out, none[i], strlen(none[i]))))
			printf("# %s\n", none[i]);
	CHECK(!rule_name(out, "a\0b", 3));
	memset(label, 'a', 64);
	CHECK(rule_name(out, label, 63));
	CHECK(!rule_name(out, label, 64));
	label[63] = '.';
	label[64] = 'b';
	CHECK(rule_name(out, label, 65));
}

TEST(the_most_specific_decides)
{
	struct rules r = PARSE("any", "!any:5432", "!*.internal:5432", "*.db.internal:5432",
		"x.db.internal:5432", "!x.db.internal", "db:5432", "db:5432=10.0.0.1", "!db:5432",
		"twice:1", "!twice:1");
	CHECK_STR(parsed_text(rules_for_port(&r, "api.example", 443)), "any");
	CHECK_STR(parsed_text(rules_for_port(&r, "api.example", 5432)), "!any:5432");
	CHECK_STR(parsed_text(rules_for_port(&r, "a.internal", 5432)), "!*.internal:5432");
	CHECK_STR(parsed_text(rules_for_port(&r, "db.internal", 5432)), "!*.internal:5432");
	CHECK_STR(parsed_text(rules_for_port(&r, "b.a.db.internal", 5432)), "*.db.internal:5432");
	CHECK_STR(parsed_text(rules_for_port(&r, "x.db.internal", 5432)), "x.db.internal:5432");
	CHECK_STR(parsed_text(rules_for_port(&r, "x.db.internal", 80)), "!x.db.internal");
	CHECK_STR(parsed_text(rules_for_port(&r, "db", 5432)), "db:5432=10.0.0.1:5432");
	CHECK_STR(parsed_text(rules_for_port(&r, "twice", 1)), "!twice:1");
	CHECK_STR(parsed_text(rules_for_port(&r, "internal", 5432)), "!any:5432");
	CHECK_STR(parsed_text(rules_for_port(&r, "xxinternal", 5432)), "!any:5432");
	CHECK(!rules_for_port(&r, "api.example", 22));
	CHECK(!rules_for_port(&r, "", 80));
	CHECK(!rules_for_port(&r, "a", 0));
}

TEST(a_person_is_asked_last)
{
	struct rules r = PARSE("ask", "!ask:22", "any:443", "*.x", "db:22");
	CHECK_STR(parsed_text(rules_for_port(&r, "api.example", 80)), "ask");
	CHECK_STR(parsed_text(rules_for_port(&r, "api.example", 443)), "any:443");
	CHECK_STR(parsed_text(rules_for_port(&r, "api.example", 22)), "!ask:22");
	CHECK_STR(parsed_text(rules_for_port(&r, "a.x", 80)), "*.x");
	CHECK_STR(parsed_text(rules_for_port(&r, "db", 22)), "db:22");
	CHECK(!rules_for_port(&r, "api.example", 5432));
	CHECK(!rules_for_address(&r, 0x0a010203, 80));
}

TEST(a_name_by_any_port)
{
	struct rules r = PARSE("db:5432", "*.example:22", "10.0.0.0/8");
	CHECK_STR(parsed_text(rules_for_name(&r, "db")), "db:5432");
	CHECK_STR(parsed_text(rules_for_name(&r, "a.example")), "*.example:22");
	CHECK(!rules_for_name(&r, "example"));
	CHECK(!rules_for_name(&r, "a.example.evil"));
	CHECK(!rules_for_name(&r, ".example"));
	CHECK(!rules_for_name(&r, "db.evil"));
	CHECK(!rules_for_name(&r, ""));
}

TEST(addresses_by_network)
{
	struct rules r = PARSE("any", "any:22", "10.0.0.0/8", "192.0.2.1:22", "128.0.0.0/2:7");
	CHECK_STR(parsed_text(rules_for_address(&r, 0x0a010203, 443)), "10.0.0.0/8");
	CHECK(!rules_for_address(&r, 0x0a010203, 22));
	CHECK(!rules_for_address(&r, 0x0b000000, 443));
	CHECK_STR(parsed_text(rules_for_address(&r, 0xc0000201, 22)), "192.0.2.1:22");
	CHECK(!rules_for_address(&r, 0xc0000200, 22));
	CHECK_STR(parsed_text(rules_for_address(&r, 0xbfffffff, 7)), "128.0.0.0/2:7");
	CHECK(!rules_for_address(&r, 0x7fffffff, 7));
}

TEST(ports_each_once)
{
	uint16_t ports[2 * RULES_MAX];
	struct rules r = PARSE("a:443", "b", "*.c:80", "10.0.0.1:22", "any:22");
	CHECK_INT(rules_ports(&r, ports), 3);
	CHECK_INT(ports[0], 443);
	CHECK_INT(ports[1], 80);
	CHECK_INT(ports[2], 22);
}

TEST(none_stands_alone)
{
	const char *const texts[] = {"none", "any"};
	struct err err = {0};
	struct rules r;
	CHECK_INT(rules_parse(&r, texts, 1, &err), 0);
	CHECK_INT(r.n, 0);
	CHECK_INT(rules_parse(&r, texts, 0, &err), 0);
	CHECK_INT(r.n, 0);
	CHECK(rules_parse(&r, texts, 2, &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	CHECK_HAS(err.msg, "alone");
	CHECK_HAS(err.hint, "leave it out");
}

TEST(many_rules)
{
	static char texts[RULES_MAX + 1][16];
	const char *v[2 * RULES_MAX + 1];
	struct err err = {0};
	struct rules r;
	for (size_t i = 0; i <= RULES_MAX; i++)
		(void)snprintf(texts[i], sizeof texts[i], "h%zu", i);
	for (size_t i = 0; i < 2 * RULES_MAX; i++)
		v[i] = texts[i % RULES_MAX];
	CHECK_INT(rules_parse(&r, v, 2 * RULES_MAX, &err), 0);
	CHECK_INT(r.n, RULES_MAX);
	v[2 * RULES_MAX] = texts[RULES_MAX];
	CHECK(rules_parse(&r, v, 2 * RULES_MAX + 1, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK(err.hint[0]);
}
