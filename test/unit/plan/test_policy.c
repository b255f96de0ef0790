/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "plan/policy/ground.h"
#include "plan/policy/policy.h"
#include "plan/policy/policy_list.h"
#include "plan/value/str.h"
#include "plan/value/table.h"
#include "plan_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_BYTES = 64 << 20 };

struct fixture {
	struct labels *labels;
	struct policy policy;
	struct diags diags;
	int rc;
};

static void set_up(struct fixture *f, const char *text)
{
	struct source src = {"p.star", text, text ? strlen(text) : 0};
	*f = (struct fixture){.labels = labels_new(LABELS_BYTES)};
	f->rc = policy_parse(&f->policy, text ? &src : NULL, &test_set, f->labels, &f->diags);
}

static void tear_down(struct fixture *f)
{
	policy_done(&f->policy);
	labels_free(f->labels);
}

/* What tests of a policy find wrong, one line each. */
static void run_cases(const char *text, size_t n_want, const char *want)
{
	static struct fixture f;
	size_t n_run;
	set_up(&f, text);
	if (!CHECK_INT(f.rc, 0))
		printf("# %s\n", f.diags.item[0].msg);
	size_t n = f.rc == 0 ? policy_test(&f.policy, &f.diags, &n_run) : 0;
	CHECK_INT(n, n_want);
	for (size_t i = 0; i < f.diags.n; i++) {
		CHECK_INT(f.diags.item[i].code, 520);
		if (!strstr(want, f.diags.item[i].msg))
			CHECK_STR(f.diags.item[i].msg, want);
	}
	tear_down(&f);
}

#define WEB "origin = tool('web.get')"

/* Each line is a decision. */
static const char *const decisions[] = {
	"test('mail.send', recipients = 'a@b.c', subject = 'x', body = 'y', expect = allow)",
	"test('mail.send', recipients = value(" WEB "), expect = ask)",
	"test('mail.send', recipients = value('a@example.com', " WEB "), expect = allow)",
	"test('mail.send', recipients = value(['a@example.com', 'b@example.com'], " WEB
	"), expect = allow)",
	"test('mail.send', recipients = value(['a@example.com', 'b@evil.com'], " WEB
	"), expect = ask)",
	"test('mail.send', recipients = value('x@evil.com,a@example.com', " WEB "), expect = ask)",
	"test('mail.send', recipients = value('x@evil.com a@example.com', " WEB "), expect = ask)",
	"test('mail.send', recipients = value('a@example.com.evil', " WEB "), expect = ask)",
	"test('mail.send', recipients = value(5, " WEB "), expect = ask)",
	"test('mail.send', recipients = value('', " WEB "), expect = ask)",
	"test('mail.send', recipients = value(" WEB ", approved = True), expect = allow)",
	"test('mail.send', recipients = value(" WEB ", approved = False), expect = ask)",
	"test('mail.send', recipients = value(origin = plan), expect = ask)",
	"test('mail.send', recipients = value(origin = model), expect = ask)",
	"test('mail.send', recipients = value(origin = [user, tool('clock.today')]), expect = allow)",
	"test('mail.send', recipients = value(origin = [user, tool('web.get')]), expect = ask)",
	"test('mail.send', recipients = value(origin = error('contacts.search')), expect = ask)",
	/* Payloads go anywhere, but to readers only. */
	"test('mail.send', recipients = 'a@b.c', subject = value(" WEB "), expect = allow)",
	"test('mail.send', recipients = 'a@b.c', body = value(readers = ['a@b.c']), expect = allow)",
	"test('mail.send', recipients = ['a@b.c', 'e@b.c'], body = value(readers = ['a@b.c']), expect = deny)",
	"test('mail.send', recipients = ['a@b.c', 'e@b.c'], body = value(readers = ['a@b.c', 'e@b.c']), expect = allow)",
	"test('mail.send', recipients = 'e@b.c', body = value(readers = ['a@b.c']), expect = deny)",
	"test('mail.send', recipients = value(), body = value(readers = ['a@b.c']), expect = deny)",
	"test('mail.send', body = value(readers = ['a@b.c']), expect = allow)",
	"test('mail.send', subject = value(readers = ['a@b.c']), recipients = 'e@b.c', expect = allow)",
	/* The guard. */
	"test('mail.send', when = value(" WEB "), expect = deny)",
	"test('mail.send', when = value(" WEB ", kind = bool), expect = allow)",
	"test('mail.send', when = value(" WEB ", kind = enum(2)), expect = deny)",
	"test('files.delete', when = value(" WEB ", kind = bool), file_id = '1', expect = deny)",
	"test('files.delete', when = value(origin = plan), file_id = '1', expect = allow)",
	"test('files.delete', file_id = value('1', origin = user, chosen_by = tool('web.get')), expect = deny)",
	"test('files.delete', file_id = value(origin = tool('files.read'), kind = text), expect = deny)",
	"test('files.delete', file_id = value(origin = tool('files.read'), kind = handle('file')), expect = deny)",
	/* Amounts and their sum. */
	"test('bank.pay', recipient = 'ann', amount = value(100, " WEB
	", kind = number), expect = allow)",
	"test('bank.pay', recipient = 'ann', amount = value(101, " WEB
	", kind = number), expect = deny)",
	"test('bank.pay', recipient = 'ann', amount = 1000000000000000000000000000000, expect = deny)",
	"test('bank.pay', recipient = 'ann', amount = -5, expect = deny)",
	"test('bank.pay', recipient = 'ann', amount = 'all', expect = deny)",
	"test('bank.pay', recipient = 'ann', amount = value(5, " WEB
	", kind = text), expect = ask)",
	"test('bank.pay', recipient = 'ann', amount = value(5.5, " WEB
	", kind = bool), expect = allow)",
	"test('web.get', url = value(" WEB "), expect = allow)",
	/* A principal's items. */
	"test('mail.send', recipients = value(origin = tool('mail.search', of = 'a@example.com')), expect = ask)",
};

TEST(decisions_are_as_the_rules_say)
{
	for (size_t i = 0; i < ARRAY_LEN(decisions); i++) {
		char text[8192];
		snprintf(text, sizeof text, "%s%s\n", TEST_POLICY, decisions[i]);
		run_cases(text, 0, "");
		/* The opposite is seen to fail. */
		char *expect = strstr(text, "expect = ");
		bool is_allow = strncmp(expect + 9, "allow", 5) == 0;
		snprintf(expect, 40, "expect = %s)\n", is_allow ? "deny" : "allow");
		static struct fixture f;
		size_t n_run = 0;
		set_up(&f, text);
		if (!CHECK_INT(policy_test(&f.policy, &f.diags, &n_run), 1) || n_run != 1)
			printf("# %s\n", decisions[i]);
		tear_down(&f);
	}
}

static void run_values(const char *rule, const char *const *values, size_t n, const char *expect)
{
	char text[1024];
	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof text,
			"rule('files.delete', effect = destructive, file_id = control(%s))\n"
			"test('files.delete', file_id = value(%s, " WEB "), expect = %s)\n",
			rule, values[i], expect);
		run_cases(text, 0, "");
	}
}

/* Whatever may be read as what is denied, in any part of the value. */
TEST(deny_holds_of_any_part)
{
	static const char *const ends[] = {"'x@rival.com'", "'X@RIVAL.COM'", "'x@rival.com '",
		"' x@rival.com'", "'x@rival.com.'", "'<x@rival.com>'", "'Ann <x@rival.com>'",
		"'x@rival.com,ann@ok.com'", "'ann@ok.com,x@rival.com'", "'ann@ok.com x@rival.com'",
		"'ann@ok.com\\nx@rival.com'", "'\"x\"@rival.com'", "'x@rival.com(ann@ok.com)'",
		"'x%rival.com@ok.com'", "'rival.com!x@ok.com'", "'x@rival.com@ok.com'",
		"'@rival.com:ann@ok.com'", "'team: ann@ok.com'", "'mailto:ann@ok.com'",
		"'=?utf-8?q?x=40rival.com=3e?=@ok.com'", "'x\xef\xbc\xa0rival.com'",
		"'x@rival\357\274\216com'", "'x@rival.com\xe2\x80\x8b'", "'x@r\xc4\xb1val.com'",
		"'ann@\xc3\xb6k.com'", "['x@rival.com', 'ann@ok.com']",
		"['ann@ok.com', ['bob@ok.com', ['x@rival.com']]]", "[5, 'ann@ok.com']", "''",
		"'a b'", "'run.EXE'", "'run.exe.'", "[[[[[[[[[['ann@ok.com']]]]]]]]]]"};
	static const char *const others[] = {"'ann@ok.com'", "'ann@rival.com.ok.com'", "[]",
		"[[], ['ann@ok.com', 'bob@ok.com.']]", "'ann+x@ok.com'", "'xrival.com'", "None",
		"'gr\xc3\xbc\303\237e'", "'exe'"};
	static const char *const members[] = {"'high'", "'HIGH'", "' high '", "'high.'",
		"['low', 'high']", "['high', 'low']", "'low,high'", "'low high'", "'(high)'",
		"'\xef\xbd\x88igh'", "'hi\xe2\x80\x8bgh'", "'GR\xc3\x9cN'", "7", "'7'", "' 7.0'",
		"7.0", "[1, [7]]", "'1;7'", "'very  high'"};
	static const char *const no_members[] = {"'low'", "[]", "''", "['low', 'mid']", "8", "'77'",
		"'highest'", "None", "'gr\xc3\xbcn-rot'", "True", "'\xe4\xbd\x8e'"};
#define DENY(list) "allow = at_most(text), deny = " list
	static const char ends_rule[] = DENY("ends_with(['@rival.com', '.exe'])");
	static const char member_rule[] = DENY("member(['high', 7, 'gr\xc3\xbcn', 'very high'])");
	run_values(ends_rule, ends, ARRAY_LEN(ends), "deny");
	run_values(ends_rule, others, ARRAY_LEN(others) - 2, "allow");
	run_values(member_rule, members, ARRAY_LEN(members), "deny");
	run_values(member_rule, no_members, ARRAY_LEN(no_members), "allow");
	/* Addresses, as mail programs read them. */
	static const char *const addresses[] = {"'x.y@rival.com'", "'X.Y@Rival.com.'",
		"'Ann <x.y@rival.com>'", "'ann@ok.com, x.y@rival.com'", "'\"x.y\"@rival.com'",
		"'x.y(c)@rival.com'", "'x.y@(c)rival.com'", "'x.y@rival(c).com'",
		"'x.y@rival.(c)com'", "'x.(c)y@rival.com'", "'x(c).y@rival.com'",
		"'x.y @ rival.com'", "'x.y\\\\@rival.com'", "'x.y@rival .com'",
		"'x.y@rival. com, ann@ok.com'", "'x.y%rival.com@ok.com'", "'rival.com!x.y@ok.com'",
		"'mailto:x.y@rival.com'", "'@ok.com:x.y@rival.com'", "'=?utf-8?q?x.y?=@rival.com'",
		"'x.y@r\xc4\xb1val.com'", "['ann@ok.com', ('\"x.y\"@rival.com',)]"};
	static const char *const other_addresses[] = {"'ann@ok.com'", "'xx.y@rival.com'",
		"'Ann B <ann@ok.com>, \"B\" <b.c+d@ok.com>'", "'ann@ok.com.'", "'x.y'", "'(c)'",
		"['ann@ok.com', 'bob@rival.com']"};
	static const char address_rule[] = DENY("member(['x.y@rival.com'])");
	run_values(address_rule, addresses, ARRAY_LEN(addresses), "deny");
	run_values(address_rule, other_addresses, ARRAY_LEN(other_addresses), "allow");
	run_values(DENY("ends_with(['.exe'])"), others + 7, 1, "deny");
	run_values(DENY("ends_with(['.exe'])"), others + 8, 1, "allow");
	/* A name of a domain in its other form. */
	static const char *const encoded[] = {"'x@xn--gre-6ka8i.de'", "'x@GR\xc3\x96SSE.de'"};
	run_values(DENY("ends_with(['@gr\xc3\xb6sse.de'])"), encoded, 2, "deny");
	run_values(DENY("member(['x@gr\xc3\xb6sse.de'])"), encoded, 2, "deny");
}

/* What stands between words, around and behind them, and how a number or a bool is written. */
TEST(deny_holds_whatever_separates)
{
	static const char *const words[] = {"'low/high'", "'low:high'", "'low+high'", "'high&low'",
		"'a=high'", "'{high}'", "'`high`'", "'high!'", "'#high'", "'_high_'", "'--high'",
		"'low\xe3\x80\x81high'", "'hi%67h'", "'very/high'", "'=?utf-8?b?aGlnaA==?='"};
	static const char *const numbers[] = {"'0o7'", "'0b111'", "'0x7'", "'007'", "'7_'", "'7%'",
		"'x=7'", "'\xd9\xa7'", "'\xef\xbc\x97'", "'7-'", "'+7'",
		"'7.00000000000000000000000000000000000000000000000000000000000000000000000'"};
	static const char *const bools[] = {
		"True", "'true'", "'TRUE'", "'yes'", "'on'", "'a=true'", "1", "'1'", "[['True']]"};
	static const char *const ends[] = {"'a.exe::$DATA'", "'a.exe/.'", "'a.exe/'", "'a.exe?x=1'",
		"'a.exe#x'", "'a.ex%65'", "'a.exe%00'", "'a.exe..'", "'a.exe|b'", "'a.exe_'",
		"'a.exe-/b'", "'a.exe\xe3\x80\x82'"};
	static const char *const hosts[] = {"'rival.com'", "'http://rival.com/'", "'rival.com:80'",
		"'rival%2ecom'", "'rival.com%00'", "'https://www.rival.com./a?b#c'"};
	static const char *const addresses[] = {"'x@rival.com|y'", "'`x@rival.com`'",
		"'{x@rival.com}'", "'x@rival.com?subject=a'", "'=?utf-8?q?x=40rival.com?='",
		"'x=40rival.com'", "'x&#64;rival.com'", "'x%40rival.com'", "'x@rival.com/'",
		"'x@rival.com-'", "'x@rival.com+'", "'-x@ok.com'", "'x..y@ok.com'"};
	static const char *const others[] = {"'low'", "'higher'", "'very-high'", "'low/mid'",
		"'-7'", "'77'", "'.7'", "'7.5'", "False", "'false'", "0", "'no'", "None"};
	static const char *const other_ends[] = {"'a.exec'", "'exe/a.txt'", "'a.txt?exe'",
		"'http://example.org/a%20'", "'a%2'", "'rival.community'"};
	run_values(DENY("member(['high', 7])"), words, ARRAY_LEN(words), "deny");
	run_values(DENY("member(['very high'])"), words + 13, 1, "deny");
	run_values(DENY("member(['high', 7])"), numbers, ARRAY_LEN(numbers), "deny");
	run_values(DENY("member(['high', '7'])"), numbers, ARRAY_LEN(numbers), "deny");
	run_values(DENY("member([True])"), bools, ARRAY_LEN(bools), "deny");
	run_values(DENY("member(['true'])"), bools, 3, "deny");
	run_values(DENY("member(['high', 7, True])"), others, ARRAY_LEN(others), "allow");
	run_values(DENY("ends_with(['.exe'])"), ends, ARRAY_LEN(ends), "deny");
	run_values(DENY("ends_with(['rival.com'])"), hosts, ARRAY_LEN(hosts), "deny");
	run_values(DENY("ends_with(['@rival.com'])"), addresses, ARRAY_LEN(addresses), "deny");
	run_values(DENY("ends_with(['.exe', 'rival.com'])"), other_ends, ARRAY_LEN(other_ends),
		"allow");
}

/* To allow, each part has to be just that. */
TEST(allow_holds_of_one_address)
{
	static const char *const good[] = {"'ann@ok.com'", "['ann@ok.com', ('bob@ok.com',)]", "[]",
		"'ann.b+c@ok.com'", "'a-b_c-@ok.com'", "'7@ok.com'"};
	static const char *const bad[] = {"'ann@OK.com'", "'x@rival.com@ok.com'",
		"'x%rival.com@ok.com'", "'rival.com!x@ok.com'", "'x: ann@ok.com'", "'x:ann@ok.com'",
		"'@ok.com'", "'x@rival.com\357\274\214ann@ok.com'", "'x\xc2\xa0y@ok.com'",
		"'\xc3\xa9@ok.com'", "['ann@ok.com', 'x@rival.com']", "'ann@ok.com '",
		"'ann@ok.com.'", "'<ann@ok.com>'", "''", "None", "'x@rival.com>ann@ok.com'",
		"'a(b)@ok.com'", "'=?utf-8?q?x=40rival.com=3e?=@ok.com'",
		"'=?us-ascii?b?eEByaXZhbC5jb20+?=@ok.com'", "'=?utf-8?q?a=40b.com=2C?=x@ok.com'",
		"'a|b@ok.com'", "'a`b@ok.com'", "'-oQ/tmp@ok.com'", "'a=40b.com@ok.com'",
		"'a=b@ok.com'", "'a/b@ok.com'", "'$x@ok.com'", "'a*@ok.com'", "'~@ok.com'",
		"'a&b@ok.com'", "'a#b@ok.com'", "'{a}@ok.com'", "'.@ok.com'", "'a..b@ok.com'",
		"'a.@ok.com'", "'.a@ok.com'", "'\"a\"@ok.com'", "'a\\x01b@ok.com'"};
	run_values("allow = ends_with(['@ok.com'])", good, ARRAY_LEN(good), "allow");
	run_values("allow = ends_with(['@ok.com']), otherwise = deny", bad, ARRAY_LEN(bad), "deny");
	/* The policy may have the domain written in part. */
	static const char *const parts[] = {"'ann@mail.ok.com'", "'ann@ok.com'", "'ann@a_b.ok.com'",
		"'ann@-.ok.com'", "'@ok.com'", "'a|b@ok.com'", "'a|b.ok.com'"};
	run_values("allow = ends_with(['ok.com'])", parts, 2, "allow");
	run_values("allow = ends_with(['ok.com']), otherwise = deny", parts + 2, 5, "deny");
	static const char *const idn[] = {"'ann@\xc3\xb6k.com'"};
	run_values("allow = ends_with(['@\xc3\xb6k.com'])", idn, 1, "allow");
}

/* The policy's own words need no trust(); of those who gave something all are trusted, or none. */
TEST(who_is_trusted)
{
	run_cases("rule('files.delete', effect = destructive, file_id = control(otherwise = ask))\n"
		  "test('files.delete', file_id = value(origin = policy), expect = allow)\n"
		  "test('files.delete', file_id = value(origin = [user, policy]), expect = allow)\n"
		  "test('files.delete', file_id = value(origin = plan), expect = ask)\n",
		0, "");
	run_cases(
		"rule('files.delete', effect = destructive,\n"
		"     file_id = control(allow = chosen(tool('files.read')), otherwise = ask))\n"
		"test('files.delete', file_id = value(origin = [tool('web.get'), tool('clock.today')]), expect = ask)\n"
		"test('files.delete', file_id = value(origin = tool('clock.today')), expect = allow)\n"
		"trust(tool('clock.today'))\n",
		0, "");
}

TEST(trusted_principals)
{
	static const char base[] =
		"trust(tool('mail.search', principals = ['@example.com']))\n"
		"rule('mail.search', effect = read, result = each(origin = 'sender'))\n"
		"rule('files.delete', effect = destructive, file_id = control(otherwise = ask))\n";
	static const char *const rows[][2] = {{"ann@example.com", "allow"}, {"ann@evil.com", "ask"},
		{"*", "ask"}, {"?", "ask"}, {"x@evil.com, a@example.com", "ask"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[1024];
		snprintf(text, sizeof text,
			"%stest('files.delete', file_id = value(origin = tool('mail.search', of = '%s')), expect = %s)\n",
			base, rows[i][0], rows[i][1]);
		run_cases(text, 0, "");
	}
}

TEST(a_test_that_fails_names_the_parameter)
{
	run_cases(TEST_POLICY "test('files.delete', file_id = value(" WEB "), expect = allow)\n", 1,
		"files.delete: expected allow, the rules say deny (file_id)");
	run_cases(TEST_POLICY "test('files.delete', file_id = '1', expect = deny)\n", 1,
		"files.delete: expected deny, the rules say allow (every clause)");
	run_cases("deny('web.get')\ntest('web.get', url = 'x', expect = allow)\n", 1,
		"web.get: expected allow, the rules say deny (there is no rule)");
	run_cases("test('web.get', url = 'x', expect = deny)\n", 0, "");
	run_cases("defaults(annotations)\ntest('web.get', url = value(" WEB
		  "), expect = allow)\ntest('files.delete', file_id = value(" WEB
		  "), expect = ask)\ntest('files.delete', file_id = 'a', expect = allow)\n"
		  "test('files.delete', file_id = 'a', when = value(" WEB "), expect = ask)\n",
		0, "");
}

/* Source, code, part of the message, part of the hint. */
static const struct {
	const char *text;
	int code;
	const char *msg, *hint;
} mistakes[] = {
	{"def f():\n    pass\n", 501, "declarations only", "rule, trust"},
	{"for x in []:\n    pass\n", 501, "declarations only", ""},
	{"f(1)\n", 501, "not a declaration", ""},
	{"a.b(1)\n", 501, "not a declaration", ""},
	{"a[0] = 1\n", 501, "only a name", ""},
	{"trust(usr)\n", 502, "no word usr", "user"},
	{"A = B\n", 502, "no constant B", ""},
	{"AB = 1\nC = AC\n", 502, "no constant AC", "AB"},
	{"rule('web.get', effect = reed)\n", 502, "no word reed", "read"},
	{"rule('web.get', effect = read, result = value(x = 1))\n", 502, "no option called x", ""},
	{"rule('web.gte', effect = read)\n", 503, "no tool web.gte", "web.get"},
	{"deny('nothing.like.it')\n", 503, "no tool", ""},
	{"test('web.gte', expect = ask)\n", 503, "no tool", ""},
	{"trust(tool('x'))\n", 503, "no tool x", ""},
	{"rule('web.get', effect = read, uri = control())\n", 504, "called uri", "url"},
	{"rule('web.get', effect = read, uri = trusted)\n", 504, "called uri", "url"},
	{"test('web.get', uri = 'x', expect = ask)\n", 504, "called uri", "url"},
	{"rule('mail.search', effect = read, result = each(origin = 'from'))\n", 504,
		"no field of the result called from", ""},
	{"rule('mail.send', effect = read, body = payload(readers = covers('to')))\n", 504,
		"called to", ""},
	{"rule(5, effect = read)\n", 505, "a text is needed", ""},
	{"rule()\n", 505, "a tool is needed", ""},
	{"test('web.get')\n", 505, "expected is missing", "expect ="},
	{"rule('web.get', effect = read, url = trusted)\n", 505, "control or payload", ""},
	{"rule('web.get', effect = read, url = control(allow = ends_with('a')))\n", 505,
		"list of texts", ""},
	{"rule('web.get', effect = read, url = control(allow = ends_with([''])))\n", 505,
		"not empty", ""},
	{"rule('web.get', effect = read, url = control(allow = at_most(enum(1))))\n", 505,
		"at least 2", ""},
	{"rule('web.get', effect = read, url = control(deny = trusted))\n", 505,
		"only ends_with and member", ""},
	{"rule('web.get', effect = read, when = trusted | chosen)\n", 505, "chosen is for values",
		"when = trusted | at_most(bool)"},
	{"rule('web.get', effect = read, when = greatest('size', of = 'clock.today', field = 'id', said = ['most']))\n",
		505, "are for values", "when = trusted | at_most(bool)"},
	{"rule('web.get', effect = read, url = control(allow = least('size', of = 'clock.today', said = ['most'])))\n",
		505, "field = and said =", "greatest("},
	{"rule('web.get', effect = read, url = control(allow = least('size', of = 'mail.search', field = 'id', said = ['most'])))\n",
		505, "takes arguments", "lists all there is"},
	{"rule('web.get', effect = read, url = control(allow = least('size', of = 'clock.tody', field = 'id', said = ['most'])))\n",
		503, "no tool clock.tody", "clock.today"},
	{"rule('web.get', effect = read, url = control(allow = least('size', by = 'clock.today')))\n",
		502, "no option called by", ""},
	{"rule('web.get', effect = read, url = control(deny = greatest('size', of = 'clock.today', field = 'id', said = ['most'])))\n",
		505, "only ends_with and member", ""},
	{"rule('mail.search', effect = read, result = each(origin = 'sender', says = ['subjct']))\n",
		504, "no field of the result called subjct", "subject"},
	{"rule('mail.search', effect = read, result = each(says = ['subject']))\n", 505,
		"origin, which names the field", "origin"},
	{"rule('bank.pay', effect = payment, limit = at_most_per_run(amount = -1), recipient = control(), amount = control())\n",
		505, "at least 0", ""},
	{"trust(tool('net:api.exmaple'))\n", 503, "no tool that declares the host api.exmaple",
		"did you mean net:api.example?"},
	{"trust(tool('net:'))\n", 503, "no tool that declares the host", ""},
	{"trust(tool('net:api.example', principals = ['a']))\n", 503, "no tool net:api.example",
		""},
	{"rule('web.run', effect = read)\ntest('web.get', url = value(origin = tool('net:api.example', of = 'a')), expect = deny)\n",
		503, "no tool net:api.example", ""},
	{"trust(error('net:api.example'))\n", 503, "no tool net:api.example", ""},
	{"trust(tool(5))\n", 505, "a text is needed", ""},
	{"A = f'{x}'\n", 505, "a constant is needed", ""},
	{"A = 1\nA = 2\n", 506, "declared twice", ""},
	{"rule('web.get', effect = read)\nrule('web.get', effect = read)\n", 506,
		"has a rule or is denied", ""},
	{"rule('web.get', effect = read)\ndeny('web.get')\n", 506, "has a rule or is denied", ""},
	{"rule('web.get', effect = read, url = control(allow = member(['a', 'b']), deny = member(['b'])))\n",
		506, "allowed and denied", ""},
	{"rule('mail.send', effect = read, body = payload(readers = covers('body')))\n", 506,
		"its own parameter", ""},
	{"rule('web.get')\n", 507, "has no effect", "read, write"},
	{"rule('files.delete', effect = destructive)\n", 507,
		"parameter file_id of files.delete has no rule", "control"},
	{"rule('bank.pay', effect = payment, recipient = control())\n", 507, "parameter amount",
		""},
	{"rule('web.get', effect = read\n", 103, "", ""},
};

TEST(mistakes_are_told)
{
	for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
		static struct fixture f;
		set_up(&f, mistakes[i].text);
		int ok = CHECK_INT(f.rc, -1) && CHECK_INT(f.diags.n_all > 0, 1) &&
			CHECK_INT(f.diags.item[0].code, mistakes[i].code) &&
			CHECK_HAS(f.diags.item[0].msg, mistakes[i].msg) &&
			CHECK_HAS(f.diags.item[0].hint, mistakes[i].hint);
		if (!ok)
			printf("# %s", mistakes[i].text);
		tear_down(&f);
	}
}

static struct val text_of(struct heap *h, const char *text)
{
	struct val v = VAL_NONE;
	(void)str_of(h, text, &v);
	return v;
}

/* A call of bank.pay with what is spent so far. */
static enum policy_ruling pay(struct fixture *f, struct val amount, double *spent)
{
	struct policy_answer answer[POLICY_ANSWERS_MAX];
	struct policy_arg args[2] = {{.is_given = true, .value = text_of(&f->policy.heap, "ann")},
		{.is_given = true, .value = amount}};
	const struct policy_call call = {
		.tool = tool_find(&test_set, "bank.pay"), .arg = args, .spent = spent};
	enum policy_ruling r = policy_ruling(answer, policy_decide(&f->policy, &call, answer));
	if (r == POLICY_ALLOW && spent)
		policy_spend(&f->policy, &call, spent);
	return r;
}

TEST(limits_are_of_a_run)
{
	static struct fixture f;
	double spent[8] = {0};
	set_up(&f, TEST_POLICY);
	CHECK_INT(f.policy.n_limits, 2);
	CHECK_INT(pay(&f, VAL_INT(60), spent), POLICY_ALLOW);
	CHECK_INT(pay(&f, VAL_INT(41), spent), POLICY_DENY);
	CHECK_INT(pay(&f, VAL_FLOAT(40.0), spent), POLICY_ALLOW);
	/* Two calls are all. */
	CHECK_INT(pay(&f, VAL_INT(0), spent), POLICY_DENY);
	CHECK_INT(pay(&f, VAL_FLOAT(0.0 / 0.0), (double[8]){0}), POLICY_DENY);
	/* Before a run nothing is known of the sum. */
	CHECK_INT(pay(&f, VAL_INT(1), NULL), POLICY_DENY);
	tear_down(&f);
}

static uint32_t origins_are(struct fixture *f, uint32_t label, const char *want)
{
	struct label l = label_get(f->labels, label);
	char text[512] = "";
	uint32_t atom;
	for (size_t i = 0; (atom = label_nth(f->labels, l.origins, i)); i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
			label_text(f->labels, atom));
	CHECK_STR(text, want);
	return label;
}

TEST(results_are_labelled)
{
	static struct fixture f;
	set_up(&f, TEST_POLICY);
	struct heap *h = &f.policy.heap;
	const struct tool *web = tool_find(&test_set, "web.get"),
			  *search = tool_find(&test_set, "mail.search"),
			  *clock = tool_find(&test_set, "clock.today");
	uint32_t page = origins_are(&f, policy_result(&f.policy, web, 0), "tool:web.get");
	/* A tool that is trusted passes on what it was given. */
	uint32_t day = origins_are(&f, policy_result(&f.policy, clock, 0), "tool:clock.today");
	CHECK_INT(policy_trusts(&f.policy, day), POLICY_PROVED);
	CHECK_INT(label_get(f.labels, day).kind.rank, KIND_DATE);
	CHECK_INT(policy_trusts(&f.policy, policy_result(&f.policy, clock, page)), POLICY_REFUTED);
	struct val mail;
	CHECK_INT(table_new(h, T_DICT, 0, &mail), 0);
	(void)table_put(h, mail.table, text_of(h, "sender"), text_of(h, "ann@example.com"));
	(void)table_put(h, mail.table, text_of(h, "recipients"), text_of(h, "bob@example.com"));
	uint32_t item = origins_are(
		&f, policy_item(&f.policy, search, 0, mail), "tool:mail.search#ann@example.com");
	CHECK_STR(label_text(f.labels, label_nth(f.labels, label_get(f.labels, item).readers, 0)),
		"ann@example.com");
	CHECK_STR(label_text(f.labels, label_nth(f.labels, label_get(f.labels, item).readers, 1)),
		"bob@example.com");
	/* An object names its readers: {"eve@example.com": "rw"}. */
	struct val shared;
	CHECK_INT(table_new(h, T_DICT, 0, &shared), 0);
	(void)table_put(h, shared.table, text_of(h, "eve@example.com"), text_of(h, "rw"));
	(void)table_put(h, mail.table, text_of(h, "recipients"), shared);
	item = policy_item(&f.policy, search, 0, mail);
	CHECK_STR(label_text(f.labels, label_nth(f.labels, label_get(f.labels, item).readers, 1)),
		"eve@example.com");
	CHECK_INT(label_nth(f.labels, label_get(f.labels, item).readers, 2), 0);
	(void)origins_are(&f, policy_item(&f.policy, search, 0, VAL_UNSET), "tool:mail.search#*");
	(void)table_put(h, mail.table, text_of(h, "sender"), text_of(h, "*"));
	(void)origins_are(&f, policy_item(&f.policy, search, 0, mail), "tool:mail.search#?");
	(void)origins_are(&f, policy_item(&f.policy, search, page, VAL_NONE),
		"tool:web.get tool:mail.search#?");
	tear_down(&f);
}

TEST(what_comes_from_a_host_is_the_hosts)
{
	static struct fixture f;
	set_up(&f,
		"trust(tool('web.run'))\nrule('web.run', effect = read, launder = True)\n"
		"rule('web.list', effect = read, result = each(origin = 'sender', says = ['body']))\n");
	struct heap *h = &f.policy.heap;
	const struct tool *run = tool_find(&test_set, "web.run"),
			  *list = tool_find(&test_set, "web.list");
	struct val mail;
	uint32_t page = policy_result(&f.policy, tool_find(&test_set, "web.get"), 0);
	/* What a tool does not pass on are its arguments, not what it reads. */
	uint32_t out = origins_are(
		&f, policy_result(&f.policy, run, page), "tool:web.run tool:net:api.example");
	CHECK_INT(policy_trusts(&f.policy, out), POLICY_REFUTED);
	CHECK_INT(label_givers(f.labels, out), label_get(f.labels, out).origins);
#define HOSTS "tool:net:*.example.org tool:net:api.example"
	(void)origins_are(&f, policy_result(&f.policy, list, 0), "tool:web.list " HOSTS);
	(void)origins_are(&f, policy_said(&f.policy, list, 0, VAL_UNSET), HOSTS " tool:web.list#*");
	(void)origins_are(&f, policy_item(&f.policy, list, 0, VAL_UNSET),
		HOSTS " tool:web.list#* tool:web.list#?");
	CHECK_INT(table_new(h, T_DICT, 0, &mail), 0);
	(void)table_put(h, mail.table, text_of(h, "sender"), text_of(h, "ann"));
	(void)origins_are(&f, policy_said(&f.policy, list, 0, mail), HOSTS " tool:web.list#ann");
	(void)origins_are(&f, policy_item(&f.policy, list, 0, mail), HOSTS " tool:web.list#?");
	tear_down(&f);
	set_up(&f,
		"trust(tool('web.run'), tool('net:api.example'))\nrule('web.run', effect = read)\n");
	CHECK_INT(policy_trusts(&f.policy, policy_result(&f.policy, run, 0)), POLICY_PROVED);
	CHECK_INT(policy_trusts(&f.policy, policy_result(&f.policy, list, 0)), POLICY_REFUTED);
	tear_down(&f);
}

TEST(hosts_are_named_in_policies)
{
	run_cases(
		"trust(tool('web.run'))\n"
		"HOST = 'net:api.example'\n"
		"rule('web.run', effect = read)\n"
		"rule('files.read', effect = read, file_id = control(allow = chosen(tool(HOST))))\n"
		"test('files.read', file_id = value(origin = tool('web.run')), expect = allow)\n"
		"test('files.read', file_id = value(origin = [tool('web.run'), tool(HOST)]), expect = allow)\n"
		"test('files.read', file_id = value(origin = tool('net:*.example.org')), expect = deny)\n"
		"test('files.read', file_id = value(chosen_by = tool('net:*.example.org')), expect = allow)\n",
		0, "");
}

TEST(an_owner_says_what_the_rule_names)
{
	static struct fixture f;
	set_up(&f,
		"rule('mail.search', effect = read, result = each(origin = 'sender', says = ['recipients'],\n"
		"     readers = ['recipients']))\n"
		"rule('files.read', effect = read, file_id = control(allow = chosen(tool('mail.search', of = 'ann'))))\n"
		"test('files.read', file_id = value(origin = tool('mail.search', of = 'ann'), chosen_by = model), expect = allow)\n"
		"test('files.read', file_id = value(origin = tool('mail.search', of = 'bob')), expect = deny)\n"
		"test('files.read', file_id = value(origin = tool('mail.search')), expect = deny)\n");
	struct heap *h = &f.policy.heap;
	const struct tool *search = tool_find(&test_set, "mail.search");
	struct val mail;
	size_t n_run;
	CHECK_INT(f.rc, 0);
	CHECK_INT(policy_test(&f.policy, &f.diags, &n_run), 0);
	CHECK_INT(table_new(h, T_DICT, 0, &mail), 0);
	(void)table_put(h, mail.table, text_of(h, "sender"), text_of(h, "ann"));
	(void)origins_are(&f, policy_said(&f.policy, search, 0, mail), "tool:mail.search#ann");
	(void)origins_are(&f, policy_item(&f.policy, search, 0, mail), "tool:mail.search#?");
	(void)origins_are(&f, policy_said(&f.policy, search, 0, VAL_UNSET), "tool:mail.search#*");
	(void)origins_are(&f, policy_item(&f.policy, search, 0, VAL_UNSET),
		"tool:mail.search#? tool:mail.search#*");
	CHECK_INT(policy_is_said(&f.policy, search, "recipients"), true);
	CHECK_INT(policy_is_said(&f.policy, search, "body"), false);
	/* Whose it is is not known before the run: then it depends; what is nobody's never will be.
	 */
	struct policy_answer answer[POLICY_ANSWERS_MAX];
	for (int k = 0; k < 2; k++) {
		struct policy_arg arg = {.is_given = true, .value = VAL_UNSET};
		arg.label = k ? policy_item(&f.policy, search, 0, VAL_UNSET)
			      : policy_said(&f.policy, search, 0, VAL_UNSET);
		const struct policy_call call = {
			.tool = tool_find(&test_set, "files.read"), .arg = &arg};
		CHECK_INT(policy_decide(&f.policy, &call, answer), 2);
		CHECK_INT(answer[1].proof, k ? POLICY_REFUTED : POLICY_DEPENDS);
	}
	tear_down(&f);
}

static bool says_most(const void *arg, struct val word)
{
	return str_is(word, arg);
}

static struct val sized(struct heap *h, const char *id, struct val size)
{
	struct val item = VAL_NONE;
	CHECK_INT(table_new(h, T_DICT, 0, &item), 0);
	(void)table_put(h, item.table, text_of(h, "id"), text_of(h, id));
	(void)table_put(h, item.table, text_of(h, "size"), size);
	return item;
}

/* Items "a", "b", … of these sizes. */
static struct val sizes(struct heap *h, size_t n, const struct val *size)
{
	struct val list;
	char id[2] = "a";
	CHECK_INT(list_new(h, 0, &list), 0);
	for (size_t i = 0; i < n; i++, id[0]++)
		(void)list_append(h, list.list, sized(h, id, size[i]));
	return list;
}

static enum policy_proof is_the_one(struct fixture *f, struct policy_listed *l, struct val v)
{
	struct policy_answer answer[POLICY_ANSWERS_MAX];
	struct policy_arg arg = {.is_given = true, .value = v};
	const struct policy_call call = {
		.tool = tool_find(&test_set, "files.delete"), .arg = &arg, .listed = l};
	CHECK_INT(policy_decide(&f->policy, &call, answer), 3);
	return answer[2].proof;
}

TEST(a_word_of_the_request_means_what_was_listed_first)
{
	static struct fixture f;
	set_up(&f,
		"rule('clock.today', effect = read)\nrule('web.get', effect = read)\n"
		"rule('files.delete', effect = destructive, file_id = control(allow = \n"
		"     greatest('size', of = 'clock.today', field = 'id', said = ['most', 'largest'])))\n");
	struct heap *h = &f.policy.heap;
	const struct tool *lists = tool_find(&test_set, "clock.today"),
			  *web = tool_find(&test_set, "web.get"),
			  *deletes = tool_find(&test_set, "files.delete");
	const struct val one[] = {VAL_INT(1), VAL_INT(3), VAL_FLOAT(2.5)},
			 other[] = {VAL_INT(9), VAL_INT(3)}, same[] = {VAL_INT(3), VAL_FLOAT(3)},
			 nan[] = {VAL_INT(3), VAL_FLOAT(__builtin_nan(""))},
			 texts[] = {VAL_INT(3), text_of(h, "4")};
	struct policy_listed l;
	CHECK_INT(f.rc, 0);
	CHECK_INT(policy_listed_init(&l, &f.policy, h, says_most, "largest"), 0);
	CHECK_INT(is_the_one(&f, &l, text_of(h, "b")), POLICY_DEPENDS);
	policy_change(&l, &f.policy, web);
	CHECK_INT(policy_list(&l, &f.policy, web, h, sizes(h, 2, other)), 0);
	CHECK_INT(policy_list(&l, &f.policy, lists, h, sizes(h, 3, one)), 0);
	CHECK_INT(is_the_one(&f, &l, text_of(h, "b")), POLICY_PROVED);
	CHECK_INT(is_the_one(&f, &l, text_of(h, "a")), POLICY_REFUTED);
	CHECK_INT(is_the_one(&f, &l, VAL_INT(3)), POLICY_REFUTED);
	CHECK_INT(policy_list(&l, &f.policy, lists, h, sizes(h, 2, other)), 0);
	CHECK_INT(is_the_one(&f, &l, text_of(h, "a")), POLICY_REFUTED);
	/* Where no one has the most, none is meant. */
	const struct {
		size_t n;
		const struct val *size;
	} none[] = {{2, same}, {2, nan}, {2, texts}, {0, NULL}};
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		CHECK_INT(policy_listed_init(&l, &f.policy, h, says_most, "most"), 0);
		CHECK_INT(
			policy_list(&l, &f.policy, lists, h, sizes(h, none[i].n, none[i].size)), 0);
		CHECK_INT(is_the_one(&f, &l, text_of(h, "a")), POLICY_REFUTED);
		CHECK_INT(is_the_one(&f, &l, VAL_NONE), POLICY_REFUTED);
	}
	/* Behind a change of the plan's own nothing that is listed counts. */
	CHECK_INT(policy_listed_init(&l, &f.policy, h, says_most, "most"), 0);
	policy_change(&l, &f.policy, deletes);
	CHECK_INT(policy_list(&l, &f.policy, lists, h, sizes(h, 3, one)), 0);
	CHECK_INT(is_the_one(&f, &l, text_of(h, "b")), POLICY_DEPENDS);
	/* The request does not say it. */
	CHECK_INT(policy_listed_init(&l, &f.policy, h, says_most, "least"), 0);
	CHECK_INT(policy_list(&l, &f.policy, lists, h, sizes(h, 3, one)), 0);
	CHECK_INT(is_the_one(&f, &l, text_of(h, "b")), POLICY_REFUTED);
	CHECK_INT(is_the_one(&f, NULL, text_of(h, "b")), POLICY_REFUTED);
	tear_down(&f);
}

TEST(launder_is_said_in_the_rule)
{
	static struct fixture f;
	set_up(&f,
		"trust(tool('clock.today'))\nrule('clock.today', effect = read, launder = True)\n");
	uint32_t page = policy_result(&f.policy, tool_find(&test_set, "web.get"), 0);
	uint32_t day = policy_result(&f.policy, tool_find(&test_set, "clock.today"), page);
	CHECK_INT(policy_trusts(&f.policy, page), POLICY_REFUTED);
	CHECK_INT(policy_trusts(&f.policy, day), POLICY_PROVED);
	tear_down(&f);
}

TEST(without_a_policy_annotations_decide)
{
	static struct fixture f;
	set_up(&f, NULL);
	CHECK_INT(f.rc, 0);
	struct policy_answer answer[POLICY_ANSWERS_MAX];
	uint32_t page = policy_result(&f.policy, tool_find(&test_set, "web.get"), 0);
	struct policy_arg arg = {.is_given = true, .label = page, .value = VAL_UNSET};
	struct policy_call call = {.tool = tool_find(&test_set, "files.read"), .arg = &arg};
	CHECK_INT(policy_ruling(answer, policy_decide(&f.policy, &call, answer)), POLICY_ALLOW);
	call.tool = tool_find(&test_set, "files.delete");
	CHECK_INT(policy_ruling(answer, policy_decide(&f.policy, &call, answer)), POLICY_ASK);
	arg.label = 0;
	CHECK_INT(policy_ruling(answer, policy_decide(&f.policy, &call, answer)), POLICY_ALLOW);
	call.guard = page;
	CHECK_INT(policy_ruling(answer, policy_decide(&f.policy, &call, answer)), POLICY_ASK);
	arg.label = LABEL_FAILED;
	CHECK_INT(policy_ruling(answer, policy_decide(&f.policy, &call, answer)), POLICY_ASK);
	tear_down(&f);
}

/* Request, literal, whose it is. Numbers are written as such. */
static const struct {
	const char *request, *literal, *whose;
} groundings[] = {
	{"Send it to Bob@Example.com now", "bob@example.com", "user"},
	{"Send it to Bob@Example.com now", "example.com", "plan"},
	{"Send it to Bob@Example.com now", "bob", "plan"},
	{"Send it to bob@example.com.", "bob@example.com", "user"},
	{"Send it to xbob@example.com", "bob@example.com", "plan"},
	{"the  file\n\"my notes\"", "my notes", "user"},
	{"on 2024-05-13", "13", "plan"},
	{"on 2024-05-13", "2024-05-13", "user"},
	{"room 13, please", "13", "user"},
	{"anything", "", "plan"},
	{"a / b", "/", "plan"},
	{"anything", "INBOX", "policy"},
	{NULL, "x", "plan"},
	{"pay 1,000.50 EUR", "#1000.5", "user"},
	{"pay 1000 EUR", "#1000", "user"},
	{"pay $1000", "#1000", "user"},
	{"pay 10000 EUR", "#1000", "plan"},
	{"pay 1000.50 EUR", "#1000", "plan"},
	{"on 2024-05-13", "#13", "plan"},
	{"it is -5 degrees", "#-5", "user"},
	{"it is -5 degrees", "#5", "plan"},
	{"Zürich", "zürich", "user"},
	{"Zürich", "rich", "plan"},
};

TEST(literals_are_grounded_in_the_request)
{
	static struct fixture f;
	set_up(&f, "literals(['INBOX'])\n");
	for (size_t i = 0; i < ARRAY_LEN(groundings); i++) {
		struct ground g;
		const char *text = groundings[i].literal;
		double x = text[0] == '#' ? atof(text + 1) : 0;
		struct val v = text[0] != '#'	  ? text_of(&f.policy.heap, text)
			: x == (double)(int64_t)x ? VAL_INT((int64_t)x)
						  : VAL_FLOAT(x);
		CHECK_INT(ground_init(&g, &f.policy.heap, groundings[i].request, &f.policy), 0);
		uint32_t label = ground_label(&g, v);
		(void)origins_are(&f, label, groundings[i].whose);
		/* What the planner invents may be anything of its type. */
		CHECK_INT(label_get(f.labels, label).kind.rank,
			strcmp(groundings[i].whose, "plan") != 0 ? KIND_CONST
				: text[0] == '#'		 ? KIND_NUMBER
								 : KIND_TEXT);
		CHECK_INT(ground_label(&g, VAL_NONE), LABEL_BOTTOM);
	}
	tear_down(&f);
}

TEST(without_memory_nothing_is_allowed)
{
	static struct fixture f;
	struct source src = {"p.star", TEST_POLICY, strlen(TEST_POLICY)};
	for (size_t bytes = 100; bytes < 20000; bytes += 100) {
		f = (struct fixture){.labels = labels_new(bytes)};
		if (!f.labels)
			continue;
		f.rc = policy_parse(&f.policy, &src, &test_set, f.labels, &f.diags);
		if (f.rc < 0)
			CHECK(f.diags.n > 0);
		policy_done(&f.policy);
		labels_free(f.labels);
	}
}

/* A policy with swapped parameter names, and one that is the wrong way round. */
TEST(holes_of_others)
{
	static struct fixture f;
	set_up(&f,
		"rule('mail.send', effect = external, file_id = control(), subject = payload(), body = payload())\n");
	CHECK_INT(f.rc, -1);
	CHECK_INT(f.diags.item[0].code, 504);
	CHECK_HAS(f.diags.item[0].msg, "no parameter of mail.send called file_id");
	tear_down(&f);
	set_up(&f,
		"rule('files.delete', effect = destructive, file_id = control(allow = ends_with(['x']), deny = trusted))\n");
	CHECK_INT(f.rc, -1);
	CHECK_INT(f.diags.item[0].code, 505);
	tear_down(&f);
	run_cases(
		"rule('files.delete', effect = destructive, file_id = control(allow = at_most(text)))\n"
		"test('files.delete', file_id = value(" WEB "), expect = ask)\n",
		1, "files.delete: expected ask, the rules say allow (every clause)");
}
