/* What is joined where objects are made, changed and read, where control goes round or is left, and
 * in what is kept of a call: `make mutants`. SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "checked_plan.h"
#include "plan_tools.h"

#include <stdio.h>
#include <string.h>

static const struct flow objects[] = {
	{"longer, whichever of two it is",
		"a = ['f1']\nb = ['f1']\nl = a if t == 'a' else b\nl += ['f1']\n"
		"files.delete(file_id='f1' if len(a) > 1 else 'f2')\n",
		"deny", NULL},
	{"how many are different",
		"files.delete(file_id='f1' if len(set([t, 'a'])) > 1 else 'f2')\n", "deny", NULL},
	{"how many of one that grows are different",
		"s = {'a'}\ns |= {t}\nfiles.delete(file_id='f1' if len(s) > 1 else 'f2')\n", "deny",
		NULL},
	{"how many keys of one that grows are different",
		"d = {'a': 1}\nd |= {t: 1}\nfiles.delete(file_id='f1' if len(d) > 1 else 'f2')\n",
		"deny", NULL},
	{"keys that are put together",
		"d = {'a': 1}\nd |= {t: 1}\nfor k in d:\n    web.get(url=k)\n"
		"files.delete(file_id=list(d)[1])\n",
		"deny", NULL},
	{"a text that grows is no word any more", "x = v\nx += 'b'\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"what grows in place is still the same",
		"x = v\nx += ['f1']\nx.append(t)\nfiles.delete(file_id=v)\n", "deny", NULL},
	{"a number that grows",
		"x = v\nx += len(t)\nfiles.delete(file_id='f1' if -x < 1 else 'f2')\n", "deny",
		NULL},
	{"made anew in every round",
		"c = v\nd = {}\nfor i in ['a', 'b']:\n    if v == i:\n        d = {}\n"
		"        if c == 'a':\n            d['k'] = 'f1'\n        break\n    c = t\n"
		"files.delete(file_id='f1' if d else 'f2')\n",
		"deny", NULL},
	{"which keys there are, by **",
		"d = {'x': 'f1'}\nif t == 'a':\n    d.clear()\ndef f(x='f2'):\n    return x\n"
		"files.delete(file_id=f(**d))\n",
		"deny", NULL},
	{"which key is the last",
		"d = {'f1': 1, 'f2': 1}\nif t == 'a':\n    d.popitem()\n[*b, k] = d\n"
		"files.delete(file_id=k)\n",
		"deny", NULL},
	{"what was taken out of a list",
		"l = ['f1', 'f2']\nl.pop(len(t))\nfiles.delete(file_id=l[0])\n", "deny", NULL},
	{"a method of what is known later",
		"a = []\nb = []\nx = a\ng = a.append\nfor i in ['a', 'b', 'k']:\n    g(t)\n"
		"    g = x.append\n    x = b\nfiles.delete(file_id=b)\n",
		"deny", NULL},
};

TEST(objects_say_what_was_done_to_them)
{
	run_flows(objects, ARRAY_LEN(objects), TEST_POLICY);
}

/* Of what a tool returns: each part may be a text, and which it is only a number. */
#define MAIL "m = mail.search(query='a')[0]\n"
static const struct flow parts[] = {
	{"an element of a field", MAIL "bank.pay(recipient=u, amount=m['recipients'][0])\n", "ask",
		NULL},
	{"a key", MAIL "bank.pay(recipient=u, amount=list(m)[0])\n", "ask", NULL},
	{"what the schema does not name", MAIL "bank.pay(recipient=u, amount=m['more'])\n", "ask",
		NULL},
	{"what it names", MAIL "bank.pay(recipient=u, amount=m['size'])\n", "depends", NULL},
	{"a key of more than one thing",
		"d = {}\nd[(t,)] = 1\nbank.pay(recipient=u, amount=list(d)[0])\n", "ask", NULL},
	{"how many there are",
		"bank.pay(recipient=u, amount=len(mail.search(query='a')[0]['recipients']))\n",
		"depends", NULL},
};

TEST(parts_of_results_say_as_much_as_their_types)
{
	run_flows(parts, ARRAY_LEN(parts), TEST_POLICY);
}

/* A person has seen the value, and not what is computed of it. */
static const struct flow approved[] = {
	{"a number", "mail.send(recipients=approve(7, 'r'), subject='s', body='b')\n", "allow", ""},
	{"another",
		"mail.send(recipients=approve(7, 'r') + approve(7, 'r'), subject='s', body='b')\n",
		"ask", NULL},
	{"less than nothing",
		"n = approve(7, 'r')\nmail.send(recipients=-n, subject='s', body='b')\n", "ask",
		NULL},
	{"what may hold many",
		"x = approve(json.decode(t), 'r')\nmail.send(recipients=x, subject='s', body='b')\n",
		"allow", ""},
	{"one of them, or a letter",
		"x = approve(json.decode(t), 'r')\nmail.send(recipients=x[0], subject='s', body='b')\n",
		"depends", NULL},
	{"some of them, or a word",
		"x = approve(json.decode(t), 'r')\nmail.send(recipients=x[0:2], subject='s', body='b')\n",
		"depends", NULL},
	{"a list, or a letter",
		"x = []\nfor i in ['a']:\n    x = approve(t, 'r')\nmail.send(recipients=x[0], subject='s', body='b')\n",
		"depends", NULL},
	{"a list, or letters",
		"x = []\nfor i in ['a']:\n    x = approve(t, 'r')\nmail.send(recipients=[*x][0], subject='s', body='b')\n",
		"depends", NULL},
	{"some of what a tool gave", "mail.send(recipients=v[0:2], subject='s', body='b')\n",
		"allow", ""},
};

TEST(what_is_computed_of_approved_values_is_not_approved)
{
	run_flows(approved, ARRAY_LEN(approved), TEST_POLICY);
}

/* Where a round is decided is on the way that is shown, also of what is wrong in any round. */
static const struct flow shown[] = {
	{"the condition of a while", "while v == 'a':\n    files.delete(file_id='f1')\n", "deny",
		"source 2 guard 3 sink 4"},
};

TEST(witnesses_name_the_condition_of_a_loop)
{
	run_flows(shown, ARRAY_LEN(shown),
		"rule('web.get', effect = read)\nrule('contacts.search', effect = read)\n"
		"rule('files.delete', effect = destructive, when = at_most(text), limit = at_most_per_run(0), file_id = control())\n");
}

/* One of two, or one of two others, is one of more than two. */
static const struct flow chosen[] = {
	{"one of two", "files.delete(file_id=ask('k', t, ['', 'a']))\n", "allow", NULL},
	{"or one of two others",
		"files.delete(file_id=ask('k', t, ['', 'a']) or ask('k', t, ['b', 'c']))\n", "deny",
		NULL},
};

TEST(choices_add_up)
{
	run_flows(chosen, ARRAY_LEN(chosen),
		"rule('web.get', effect = read)\nrule('contacts.search', effect = read)\n"
		"rule('files.delete', effect = destructive, when = at_most(text), file_id = control(allow = at_most(enum(2))))\n");
}

/* Who gave a key has given it, wherever it goes. */
static const struct flow given[] = {
	{"a key, by |", "d = {t: 1} | {'a': 1}\nfiles.delete(file_id=list(d)[0])\n", "deny", NULL},
	{"keys with values, by |", "files.delete(file_id={t: 1} | {'a': 1})\n", "deny", NULL},
	{"a key behind |", "d = {'a': 1} | {t: 1}\nfiles.delete(file_id=list(d)[0])\n", "deny",
		NULL},
	{"keys of others", "d = {v: t} | {'a': t}\nfor k in d:\n    web.get(url=k)\n", "allow",
		NULL},
};

TEST(keys_are_of_whom_they_are)
{
	run_flows(given, ARRAY_LEN(given),
		"trust(user, policy, plan, tool('contacts.search'))\n"
		"rule('web.get', effect = read)\nrule('contacts.search', effect = read)\n"
		"rule('files.delete', effect = destructive, file_id = control(allow = chosen))\n");
}

/* Which way it was is one more of what it may be: a bool, or what was there. */
static const struct flow left[] = {
	{"a bool", "files.delete(file_id=v == 'a')\n", "allow", NULL},
	{"a bool or not", "x = 'f1'\nif t == 'a':\n    x = v == 'a'\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"by a break",
		"x = 'f1'\nfor i in ['a', 'b']:\n    if t == i:\n        x = v == 'a'\n        break\n"
		"files.delete(file_id=x)\n",
		"deny", NULL},
	{"by a continue",
		"x = 'f1'\nfor i in ['a', 'b']:\n    if t == i:\n        x = v == 'a'\n        continue\n"
		"files.delete(file_id=x)\n",
		"deny", NULL},
	{"by a round that is always left",
		"x = 'f1'\nfor i in t.split():\n    x = v == 'a'\n    break\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"by rounds of which each is left",
		"x = 'f1'\nwhile t == 'a':\n    x = v == 'a'\n    continue\nfiles.delete(file_id=x)\n",
		"deny", NULL},
};

TEST(where_control_came_from_adds_to_what_it_may_be)
{
	run_flows(left, ARRAY_LEN(left),
		"rule('web.get', effect = read)\nrule('contacts.search', effect = read)\n"
		"rule('files.delete', effect = destructive, when = at_most(text), file_id = control(allow = at_most(bool)))\n");
}

/* The schema names what the owner of an item says; the rest is nobody's. */
static const struct flow said[] = {
	{"the owner's word", MAIL "files.delete(file_id=m['body'])\n", "depends", NULL},
	{"what the schema does not name", MAIL "files.delete(file_id=m['more'])\n", "deny", NULL},
	{"anything of it", MAIL "for x in m.values():\n    files.delete(file_id=x)\n", "deny",
		NULL},
};

TEST(what_is_beyond_the_schema_is_nobodys)
{
	run_flows(said, ARRAY_LEN(said),
		"trust(user, policy, tool('contacts.search'),\n"
		"      tool('mail.search', principals = ['@example.com']))\n"
		"rule('web.get', effect = read)\nrule('contacts.search', effect = read)\n"
		"rule('mail.search', effect = read, result = each(origin = 'sender',\n"
		"     says = ['sender', 'recipients', 'subject', 'body', 'size', 'read']))\n"
		"rule('files.delete', effect = destructive, when = at_most(text), file_id = control(allow = chosen))\n");
}

/* Tools of which something is in a label: "files.read web.get". */
static const char *tools_in(const struct fixture *f, uint32_t label, char *out, size_t room)
{
	uint32_t set = label_get(f->labels, label).origins, atom;
	size_t n = 0;
	out[0] = '\0';
	for (size_t i = 0; i < test_set.n; i++) {
		bool is_there = set == LABEL_ALL;
		for (size_t k = 0; !is_there && (atom = label_nth(f->labels, set, k)); k++) {
			const char *text = label_text(f->labels, atom);
			is_there = strncmp(text, "tool:", 5) == 0 &&
				strcmp(text + 5, test_set.tool[i].name) == 0;
		}
		if (is_there)
			n += (size_t)snprintf(
				out + n, room - n, "%s%s", n ? " " : "", test_set.tool[i].name);
	}
	return out;
}

/* Of the call of the last line: an argument, what decides that it is made, what it returns. */
static const struct labelled {
	const char *name, *plan, *arg, *guard, *result;
} kept[] = {
	{"a slice of an own text", "files.delete(file_id='f1'[len(t):])\n", "web.get", "",
		"files.delete web.get"},
	{"one place, two arguments", "def f(x):\n    files.delete(file_id=x)\nf(t)\nf(v)\n",
		"contacts.search web.get", "", "contacts.search files.delete web.get"},
	{"one place, two guards",
		"def f():\n    files.delete(file_id='f1')\nif t == 'a':\n    f()\nif v == 'a':\n    f()\n",
		"", "contacts.search web.get", "files.delete"},
	{"two parameters", "bank.pay(recipient=t, amount=v)\n", "web.get", "",
		"bank.pay contacts.search web.get"},
	{"in a loop over what was sorted by data",
		"l = ['f1', 'f2']\nl.sort(key=lambda x: t.find(x))\nfor x in l:\n    files.delete(file_id=x)\n",
		"web.get", "web.get", "files.delete web.get"},
};

TEST(what_is_kept_of_a_call_is_of_all_ways_to_it)
{
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		static struct fixture f;
		char plan[4096], text[200];
		snprintf(plan, sizeof plan, "%s%s", PRELUDE, kept[i].plan);
		set_up(&f, plan, TEST_POLICY, REQUEST);
		int ok = CHECK_INT(f.rc, 0) && CHECK(f.check.n_calls > 0);
		if (ok) {
			const struct check_call *call = f.check.calls[f.check.n_calls - 1];
			ok &= CHECK_STR(
				tools_in(&f, call->arg[0].label, text, sizeof text), kept[i].arg);
			ok &= CHECK_STR(
				tools_in(&f, call->guard, text, sizeof text), kept[i].guard);
			ok &= CHECK_STR(
				tools_in(&f, call->result, text, sizeof text), kept[i].result);
		}
		if (!ok)
			printf("# %s: %s\n", kept[i].name, kept[i].plan);
		tear_down(&f);
	}
}

/* What the explanation says of a line: all that it assigns, on every way to it. */
static const struct assigned {
	const char *name, *plan;
	uint32_t line;
	const char *tools;
} assigned[] = {
	{"a value", "x = t\n", 3, "web.get"},
	{"what is in it", "x = [t]\n", 3, "web.get"},
	{"on two ways", "def f(x):\n    y = x\nf(t)\nf('f1')\n", 4, "web.get"},
	{"of two tools", "def f(x):\n    y = x\nf(t)\nf(v)\n", 4, "contacts.search web.get"},
	{"of none", "x = t\nx = 'f1'\n", 4, ""},
};

TEST(margins_say_what_is_assigned)
{
	for (size_t i = 0; i < ARRAY_LEN(assigned); i++) {
		static struct fixture f;
		char plan[4096], text[200];
		uint32_t n_found = 0;
		snprintf(plan, sizeof plan, "%s%s", PRELUDE, assigned[i].plan);
		set_up(&f, plan, TEST_POLICY, REQUEST);
		for (uint32_t k = 0; k < f.check.n_margins; k++) {
			uint32_t line, column;
			source_place(&f.src, f.check.margin[k].at, &line, &column);
			if (line != assigned[i].line)
				continue;
			n_found++;
			if (!CHECK_STR(tools_in(&f, f.check.margin[k].label, text, sizeof text),
				    assigned[i].tools))
				printf("# %s\n", assigned[i].name);
		}
		CHECK_INT(n_found, 1);
		tear_down(&f);
	}
}

/* Objects of one place are told apart by the ways to it, of however many. */
TEST(ways_to_a_place_are_told_apart)
{
	enum { WAYS = 300 };
	static struct fixture f;
	static char plan[WAYS * 64];
	int n = snprintf(plan, sizeof plan, "%sdef f(x):\n    return [x]\n", PRELUDE);
	for (int i = 0; i < WAYS; i++)
		n += snprintf(plan + n, sizeof plan - (size_t)n, "files.delete(file_id=f(%s)[0])\n",
			i % 2 ? "t" : "'f1'");
	set_up(&f, plan, TEST_POLICY, REQUEST);
	CHECK_INT(f.rc, 0);
	CHECK_INT(f.check.n_denied, WAYS / 2);
	tear_down(&f);
}

/* What a method is of grows with what is known, and then stays. */
TEST(methods_made_again_and_again_are_checked_in_time)
{
	static struct fixture f;
	struct heap_limits limits = plenty;
	limits.fuel = 20000;
	set_up_within(&f,
		PRELUDE
		"a = []\nb = []\nfor i in ['a', 'b']:\n    x = a\n    for k in ['a', 'b']:\n"
		"        g = x.append\n        x = b\nfiles.delete(file_id=a)\n",
		TEST_POLICY, REQUEST, limits, LABELS_BYTES);
	CHECK_STR(verdict_of(&f), "allow");
	tear_down(&f);
}

/* Two tools that return the same shape, called at one place. */
static const struct tool two_tools[] = {
	{.name = "chat.search", PARAMS(query_params), .result = &type_mails, .is_read_only = true},
	{.name = "files.delete", PARAMS(file_params), .is_destructive = true},
	{.name = "mail.search", PARAMS(query_params), .result = &type_mails, .is_read_only = true},
};
static const struct tool_set two_set = {two_tools, ARRAY_LEN(two_tools)};

#define TWO(trusted)                                                                               \
	"trust(user, policy, plan, tool('" trusted "'))\n"                                         \
	"rule('chat.search', effect = read)\nrule('mail.search', effect = read)\n"                 \
	"rule('files.delete', effect = destructive, file_id = control(allow = chosen))\n"

TEST(results_of_two_tools_at_one_place_are_of_both)
{
	static const char *const fields[] = {
		"body", "more", "recipients", "values()[0]", "keys()[0]", "items()[0][1]"};
	static const char *const policies[] = {TWO("chat.search"), TWO("mail.search")};
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		for (size_t k = 0; k < 2 * ARRAY_LEN(policies); k++) {
			static struct fixture f;
			char plan[400];
			bool is_method = strchr(fields[i], '(') != NULL;
			snprintf(plan, sizeof plan,
				"c = mail.search(query='a')\n"
				"m = (%s if c else %s)(query='a')[0]\nfiles.delete(file_id=m%s%s%s)\n",
				k % 2 ? "chat.search" : "mail.search",
				k % 2 ? "mail.search" : "chat.search", is_method ? "." : "['",
				fields[i], is_method ? "" : "']");
			set_up_with(&f, plan, policies[k / 2], &two_set);
			if (!CHECK_STR(verdict_of(&f), "deny"))
				printf("# %s%s\n", plan, f.diags.n ? f.diags.item[0].msg : "");
			tear_down(&f);
		}
}
