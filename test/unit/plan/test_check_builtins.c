/* What built-in functions, methods and calls join, where the verdict hangs on it: `make mutants`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "checked_plan.h"
#include "plan_tools.h"

/* `f` is another text that nobody trusts. */
#define FILE_TEXT   "f = files.read(file_id='f1')\n"
#define CLEARED	    "d = {'k': 'f1'}\nif t == 'a':\n    d.clear()\n"
#define NUMBERED    "l = [(len(t), 'f1'), (1, 'f2')]\n"
#define LONG	    "l = []\nfor x in t.split():\n    l.append('f1')\n"
#define SET_OR_LIST "a = approve(t, 'r')\ns = set()\ns.add(a)\nx = s if a else [a]\n"
#define SENT	    ", subject='s', body='b')\n"

static const struct flow joined[] = {
	/* places */
	{"counted from what is named",
		"files.delete(file_id=enumerate(['f1'], start=len(t))[0][0])\n", "deny", NULL},
	{"counted from what the plan makes up",
		"files.delete(file_id=enumerate(['f1'], 5)[0][0])\n", "deny", "source 3 sink 3"},
	{"the same by name", "files.delete(file_id=enumerate(['f1'], start=5)[0][0])\n", "deny",
		"source 3 sink 3"},
	{"what is counted, by name", "files.delete(file_id=enumerate(iterable=[t])[0][1])\n",
		"deny", NULL},
	{"places say nothing of what is there, and are the plan's",
		"n = [i for i, x in enumerate([t, 'f1'])]\nfiles.delete(file_id=['f1', 'f2'][n[0]])\n",
		"allow", ""},
	{"as far as an endorsed number, which nobody has seen then",
		"n = approve(len(t), 'r')\nmail.send(recipients=enumerate([None], n)[0][0]" SENT,
		"depends", NULL},
	{"from an endorsed number of the plan",
		"mail.send(recipients=range(approve(5, 'r'))[0]" SENT, "depends", NULL},
	{"a place by data",
		"l = ['f1', 'f2']\nl.insert(len(t), 'f1')\nfiles.delete(file_id=l[0])\n", "deny",
		NULL},
	/* what is in there is the same object */
	{"put into what zip gave",
		"a = ['f1']\nfor x in zip(*[[a]]):\n    x[0].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"put into what is there instead",
		"a = ['f1']\njson.decode('zz', *[a]).append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"what is there instead", "files.delete(file_id=json.decode(t, *['a']))\n", "deny", NULL},
	{"how many are counted, by name",
		LONG "files.delete(file_id='f1' if enumerate(iterable=l) else 'f2')\n", "deny",
		NULL},
	{"how many are counted from a number by name",
		LONG "files.delete(file_id='f1' if enumerate(l, start=1) else 'f2')\n", "deny",
		NULL},
	{"put into what is counted",
		"a = ['f1']\nfor i, x in enumerate(iterable=[a]):\n    x.append(t)\n"
		"files.delete(file_id=a)\n",
		"deny", NULL},
	{"put into the largest",
		"a = ['f1']\nmax([], default=a).append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"put into the largest of all that are behind *",
		"a = ['f1']\nmax(*[a, ['f2']]).append(t)\nfiles.delete(file_id=a)\n", "deny", NULL},
	{"put into the largest of the only one behind *",
		"a = ['f1']\nmax(*[[a]]).append(t)\nfiles.delete(file_id=a)\n", "deny", NULL},
	{"put into the largest of what * adds nothing to",
		"a = ['f1']\nmax([a], *[]).append(t)\nfiles.delete(file_id=a)\n", "deny", NULL},
	{"put into a sum of lists",
		"a = ['f1']\nsum([[a], []], [])[0].append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"put into a sum by name",
		"a = ['f1']\nsum(start=[], iterable=[[a]])[0].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"put into what a sum starts with",
		"a = ['f1']\nsum([['f2']], start=[a])[0].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"put into a sum of nothing",
		"a = ['f1']\nsum([1][1:], a).append(t)\nfiles.delete(file_id=a)\n", "deny", NULL},
	{"put into a sum of what is behind *",
		"a = ['f1']\nsum(*[[[a]], []])[0].append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"put into a sum to which * adds nothing",
		"a = ['f1']\nsum([[a]], *[[]])[0].append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"put into the start of a sum of what is behind *",
		"a = ['f1']\nsum(*[[]], start=a).append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"put into the start of a sum behind *",
		"a = ['f1']\nsum([], *[a]).append(t)\nfiles.delete(file_id=a)\n", "deny", NULL},
	{"put into what the model said",
		"x = ask(*['k', 'a', [str]])\nx.append(t)\nfiles.delete(file_id=x)\n", "deny",
		"source 1 sink 5"},
	{"words that a tool says", "files.delete(file_id=enum(*['f1', t])[0])\n", "deny", NULL},
	/* which of them is the largest, which go, in which order they are */
	{"the largest, by what is within",
		"files.delete(file_id=max([(len(t), 'f1'), (1, 'f2')])[1])\n", "deny", NULL},
	{"the largest of many", "files.delete(file_id=max(t, *['a']))\n", "deny", NULL},
	{"the largest, or a text", "bank.pay(recipient='bob@b.c', amount=max(['1'], default=t))\n",
		"ask", NULL},
	{"the order, by how it is asked for",
		"l = ['f1', 'f2']\nl.sort(reverse=t == 'a')\nfiles.delete(file_id=l[0])\n", "deny",
		NULL},
	{"what is left behind, by what is within",
		NUMBERED "l.remove((1, 'f2'))\nfiles.delete(file_id=l[0][1])\n", "deny", NULL},
	{"by a key function that becomes tainted",
		"l = ['f1']\ndef g(x):\n    y = l[-1]\n    l.append(t)\n    return y\n"
		"files.delete(file_id=max(['f1', 'f2'], key=g))\n",
		"deny", NULL},
	{"by a key function of what is behind *",
		"l = []\nsorted(*[[t]], key=lambda x: l.append(x))\nfiles.delete(file_id=l)\n",
		"deny", NULL},
	{"by a key function of all that is behind *",
		"l = []\nmax(*['a', t], key=lambda x: l.append(x))\nfiles.delete(file_id=l)\n",
		"deny", NULL},
	{"as often as there are behind *",
		LONG "n = []\n"
		     "max('a', *l, key=lambda x: n.append('f1') or 1)\n"
		     "files.delete(file_id='f1' if n else 'f2')\n",
		"deny", NULL},
	{"by a key function that is not seen",
		"l = ['f1']\nsorted(['a'], **{'key': lambda x: l.append(t)})\n"
		"files.delete(file_id=l)\n",
		"refused", NULL},
	/* whether it is there */
	{"there or not: get", CLEARED "files.delete(file_id=d.get('k', 'f2'))\n", "deny",
		"source 1 guard 4 sink 6"},
	{"there or not: pop", CLEARED "files.delete(file_id=d.pop('k', 'f2'))\n", "deny",
		"source 1 guard 4 sink 6"},
	{"there or not: setdefault", CLEARED "files.delete(file_id=d.setdefault('k', 'f2'))\n",
		"deny", "source 1 guard 4 sink 6"},
	{"there or not: what setdefault put there",
		CLEARED "d.setdefault('k', 'f2')\nfiles.delete(file_id=d['k'])\n", "deny",
		"source 1 guard 4 sink 7"},
	{"set under a key of data", "files.delete(file_id={'k': 'f1'}.setdefault(t, 'f2'))\n",
		"deny", NULL},
	{"set by default", "files.delete(file_id={'k': 'f1'}.setdefault('a', t))\n", "deny", NULL},
	/* whoever endorsed it has not seen what is made of it */
	{"a set of an endorsed value, or a list", SET_OR_LIST "mail.send(recipients=x" SENT,
		"allow", ""},
	{"the union of that and the set", SET_OR_LIST "mail.send(recipients=x.union(s)" SENT,
		"depends", NULL},
	{"endorsed values in another order",
		"x = approve([t, 'f1'], 'r')\nmail.send(recipients=sorted(x)" SENT, "depends",
		NULL},
	{"whether an endorsed value is empty",
		"x = approve(t, 'r')\nmail.send(recipients=bool(x)" SENT, "depends", NULL},
	{"what may be a set of endorsed ones with more",
		SET_OR_LIST "mail.send(recipients=x.union([a])" SENT, "depends", NULL},
	{"what may be a copy of endorsed ones", SET_OR_LIST "mail.send(recipients=x.copy()" SENT,
		"depends", NULL},
	{"what is within an endorsed list", "files.delete(file_id=approve([t], 'r')[0])\n", "deny",
		NULL},
	{"endorsed twice", "x = approve(approve(t, 'r'), 'r')\nmail.send(recipients=x" SENT,
		"allow", ""},
	/* calls */
	{"one function of two, the first",
		FILE_TEXT "a = lambda: f\nb = lambda: 'f1'\n"
			  "files.delete(file_id=(a if v == 'a' else b)())\n",
		"deny", NULL},
	{"one function of two, the second",
		FILE_TEXT "a = lambda: 'f1'\nb = lambda: f\n"
			  "files.delete(file_id=(a if v == 'a' else b)())\n",
		"deny", NULL},
	{"one function of two, by data",
		"a = lambda: 'f1'\nb = lambda: 'f2'\nfiles.delete(file_id=(a if t == 'a' else b)())\n",
		"deny", "source 1 guard 5 guard 5 sink 5"},
	{"by name behind *", "def g(x, y):\n    return y\nfiles.delete(file_id=g(*['f1'], y=t))\n",
		"deny", NULL},
	{"by name behind what is not meant",
		"def g(x, y):\n    return y\nfiles.delete(file_id=g(*[t], y='f1'))\n", "allow", ""},
	/* the model and tools that may fail */
	{"how many the model says",
		"x = ask('k', t, [int])\nfiles.delete(file_id='f1' if x else 'f2')\n", "deny",
		NULL},
	{"what the model says in a list",
		"bank.pay(recipient='bob@b.c', amount=ask('k', t, [str])[0])\n", "ask", NULL},
	{"whether a tool failed", "files.delete(file_id=try_call(clock.today).value)\n", "deny",
		"source 3 sink 3"},
	{"an error may quote what is not for everybody",
		"r = try_call(mail.search, query='a')\n"
		"mail.send(recipients='bob@b.c', subject='s', body=r.error)\n",
		"depends", NULL},
	{"one of what was written where data decides",
		"d = {'k': 'f1'}\ndef g():\n    if t == 'a':\n        return\n    d['k'] = 'f1'\ng()\n"
		"files.delete(file_id=member('f1', [d['k']]))\n",
		"allow", ""},
};

/* Each of these would be another one if a join were left out. */
TEST(built_ins_leave_nothing_out)
{
	run_flows(joined, ARRAY_LEN(joined), TEST_POLICY);
}

/* The same with other rules. */
#define RULES                                                                                      \
	"trust(user, policy, tool('files.read'), error('files.read'))\n"                           \
	"literals(['allowed'])\nrule('web.get', effect = read)\n"                                  \
	"rule('files.read', effect = read, launder = True)\n"                                      \
	"rule('contacts.search', effect = read)\n"                                                 \
	"rule('files.delete', effect = destructive, when = trusted | approved,\n"                  \
	"     file_id = control(allow = chosen))\n"                                                \
	"rule('bank.pay', effect = payment, recipient = control(allow = trusted),\n"               \
	"     amount = control(allow = at_most(bool)))\n"
static const struct flow ruled[] = {
	{"a literal of the policy", "files.delete(file_id='allowed')\n", "allow", ""},
	{"a part of one", "files.delete(file_id='allowed'[0:3])\n", "deny", "source 3 sink 3"},
	{"decided by an endorsed number",
		"n = approve(len(t), 'r')\nif n:\n    files.delete(file_id='f1')\n", "allow", ""},
	{"as often as an endorsed number says",
		"n = approve(len(t), 'r')\nfor i in range(n):\n    files.delete(file_id='f1')\n",
		"deny", NULL},
	{"which of three functions is more than a bit",
		"fs = [lambda: 'f1', lambda: 'f2', lambda: 'k']\n"
		"bank.pay(recipient='bob@b.c', amount=fs[len(t)]())\n",
		"deny", NULL},
	{"an error of what the user gave",
		"files.delete(file_id=try_call(files.read, file_id='f1').error)\n", "allow", ""},
	{"an error of what data chose",
		"x = 'f1' if t == 'a' else 'f2'\n"
		"files.delete(file_id=try_call(files.read, file_id=x).error)\n",
		"deny", NULL},
};

TEST(built_ins_under_other_rules)
{
	run_flows(ruled, ARRAY_LEN(ruled), RULES);
}

/* Who chose what is measured has made the number. */
static const struct flow measured[] = {
	{"one of two words", "files.delete(file_id='f1' if t == 'a' else 'delete')\n", "allow", ""},
	{"the length of one", "files.delete(file_id=len('f1'))\n", "allow", ""},
	{"the length of one of two", "files.delete(file_id=len('f1' if t == 'a' else 'delete'))\n",
		"deny", NULL},
};

TEST(what_is_measured_is_made)
{
	run_flows(measured, ARRAY_LEN(measured), RULES "trust(plan)\n");
}

/* Constants choose the same in every run, whose they ever are: a date is still one. */
#define DATE "d = date.parse(t)\n"
static const struct flow written[] = {
	{"as the plan says", DATE "files.delete(file_id=date.format(d, '%Y'))\n", "allow", ""},
	{"as the user says", DATE "files.delete(file_id=date.format(d, 'k'))\n", "allow", ""},
	{"as the policy says", DATE "files.delete(file_id=date.format(d, '%d.%m.'))\n", "allow",
		""},
	{"as data says", DATE "files.delete(file_id=date.format(d, t))\n", "deny", NULL},
};

TEST(constants_only_choose)
{
	run_flows(written, ARRAY_LEN(written),
		"literals(['%d.%m.'])\nrule('web.get', effect = read)\n"
		"rule('contacts.search', effect = read)\n"
		"rule('files.delete', effect = destructive, file_id = control(allow = at_most(date)))\n");
}

/* What a def gets by default within two loops stays what it was: or it would go on for ever. */
TEST(defaults_of_all_times)
{
	static struct fixture f;
	struct heap_limits few = plenty;
	few.fuel = 1 << 18;
	set_up_within(&f,
		PRELUDE "g = None\nfor a in ['a', 'b']:\n    x = 'f1'\n    for b in ['a', 'b']:\n"
			"        g = lambda y=x: y\n        x = t\nfiles.delete(file_id=g())\n",
		TEST_POLICY, REQUEST, few, LABELS_BYTES);
	CHECK_STR(verdict_of(&f), "deny");
	tear_down(&f);
}
