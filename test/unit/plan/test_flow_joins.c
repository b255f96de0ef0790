/* Each join of labels of a run where nothing else would tell that it is not there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/buf.h"
#include "labelled_run.h"

static const struct labelled calls[] = {
	/* All that goes in is in what comes out, in either order. */
	{"log(v=two(v=a(v='x'), w=b(v='y')))\n", "a b two"},
	{"log(v=two(v=b(v='x'), w=a(v='y')))\n", "a b two"},
	{"log(v=ask(a(v='q'), b(v='d'), str))\n", "model a b"},
	{"log(v=ask('q', [b(v='d')], str))\n", "plan model b"},
	{"approve([a(v='x')], 'r')\n", "a"},
	{"log(v=mine(v='x'))\n", "mine<ann,bob>"},
	/* An error is its server's word, and that there is one as well. */
	{"r = try_call(bad, v=1)\nlog(v=r.error)\nlog(v=r.ok)\nlog(v=r.value)\n",
		"bad error:bad; bad/bool; bad/bool"},
	{"r = try_call(a, v='x')\nlog(v=r.error)\nlog(v=r.ok)\nlog(v=r.value)\n",
		"a/bool; a/bool; a"},
	/* Of an item that is its owner's word in part, which fields there are is not. */
	{"m = mail(v=[{'from': 'ann', 'name': 'x', 'more': 'y'}])[0]\nlog(v=m['name'])\nlog(v=m['more'])\nlog(v=len(m))\n",
		"?mail ?mail#? mail#ann; ?mail mail#?; plan mail mail#?/number"},
	{"m = mail(v={'from': 'ann', 'name': 'x', 'more': 'y'})\nlog(v=m['name'])\nlog(v=m['more'])\nlog(v=len(m))\n",
		"?mail#? mail#ann; mail#?; plan mail#?/number"},
};

static const struct labelled endorsed[] = {
	{"log(v=approve(matches(a(v='x'), 'x'), 'r'))\n", "a+matched:x; a+matched:x,approved"},
	{"log(v=len(approve(a(v=[1, 2]), 'r')))\n", "a/number; plan a/number"},
	/* Nobody vouches for himself. */
	{"log(v=member(b(v='x'), [a(v='x'), 'y']))\n", "P601 private"},
	{"log(v=member(b(v='x'), ['x', 'y']))\n", "b+member:x,y"},
	/* Places, parts and dates are not what was approved. */
	{"log(v=enumerate(approve(a(v=['x']), 'r'))[0][0])\n", "a; plan a/number"},
	{"for w in approve(a(v='x'), 'r').split('y'):\n    log(v='z')\n", "a; plan!?a/bool"},
	{"log(v=date.parse(approve(a(v='2026-11-22'), 'r')))\n", "a; a/date"},
};

static const struct labelled computed[] = {
	/* Literals, also those within instructions. */
	{"log(v=5)\nlog(v='x')\nlog(v='ann')\nlog(v=None)\nlog(v=True)\n",
		"plan/number; plan; user/const; -; plan/bool"},
	{"log(v=a(v=1.5) + 2)\nlog(v=a(v=1) + 2)\nlog(v=a(v=1.5) - 2)\n",
		"plan a/number; plan a/number; plan a/number"},
	{"log(v=a(v=True) is True)\n", "plan a/bool"},
	/* A text that is put together is the plan's, and so is a part of one that may be. */
	{"log(v=str(None))\n", "plan"},
	{"log(v=f'{\"ann\"}x')\nlog(v=f'{a(v=\"x\")}x')\nlog(v=f'{1}{a(v=\"x\")}')\n",
		"plan user; plan a; plan a"},
	{"log(v='ann'.split('n')[0])\nlog(v='ann'.partition('n')[0])\n", "plan user; plan user"},
	/* Who chose is seen as such in one thing, not in a text of many. */
	{"c = ['x', 'y'][a(v=0)]\nlog(v=c)\nlog(v=f'{c}')\nlog(v=f'{[c]}')\nlog(v=f'{c}{c}')\n",
		"plan ?a; plan ?a~; plan a; plan ?a~"},
	/* The plan's part in a choice tells nothing. */
	{"i = a(v=0) + 1\nlog(v=i)\nlog(v=[b(v='x'), b(v='y')][i])\n", "plan a/number; ?a b"},
	/* An element says what its list does, behind its end too; of a dict that is presumed. */
	{"l = [c for c in ['x', 'y'] if c != a(v='q')]\nlog(v=l[-1])\nlog(v=l[0])\n",
		"plan ?a; plan ?a"},
	{"y = [{'k': 'x'}, {'k': 'y'}][b(v=0)]\nraw(v=y['k'])\n", "plan ?b(?b/number)"},
	{"l = [1]\nd = {a(v='k'): l}\nlog(v=l)\n", "plan ?a/number"},
	/* Where a branch may have put what others gave, it is that of both, as presumed. */
	{"y = 'ann'\nif a(v='x') == 'q':\n    y = 'x'\nraw(v=y)\nraw(v=y[0])\nraw(v=f'{y}')\n",
		"user/const(?a/bool); user/const(plan a); user/const(plan user a)"},
	{"y = '%d'\nif a(v='x') == 'q':\n    y = '%m'\nraw(v=date.format(b(v='2026-11-22'), y))\n",
		"plan b/date(plan a b)"},
	/* All that is within. */
	{"log(v=[a(v='x'), [b(v='y')]])\nlog(v=(a(v='x'), (b(v='y'),)))\n", "a b; a b"},
	{"log(v=len({a(v='x')}.union([1])))\nlog(v={a(v=1), 2}.issubset([1]))\n",
		"plan a/number; plan a/bool"},
	{"log(v=date.format('2026-11-22', a(v='%d')))\nlog(v=date.format(b(v='2026-11-22'), '%d'))\n",
		"user a; plan b/date"},
};

static const struct labelled guards[] = {
	{"if a(v='x') == b(v='x'):\n    log(v=1)\n", "plan/number!?a ?b/bool"},
	{"if b(v='x') == 'x':\n    if a(v='x') == 'x':\n        log(v=1)\n",
		"plan/number!?a ?b/bool"},
	/* Behind a break that was not taken. */
	{"if b(v='x') == 'x':\n    for i in [1]:\n        if a(v='x') == 'q':\n            break\n        raw(v='y')\n",
		"plan!?b/bool(?a ?b/bool)"},
	/* Which function it is, and with which arguments. */
	{"def f(p):\n    log(v=p)\ndef g(p):\n    pass\nh = f if a(v='x') == 'x' else g\nif b(v='x') == 'x':\n    h('y')\n",
		"plan!?a ?b/bool"},
	{"def f(p):\n    log(v=p)\nx = [b(v='y') for i in [1] if a(v='x') == 'x']\nf(*x)\n",
		"?a b!?a/bool"},
	{"def f(p, q):\n    log(v=p)\nx = a(v=['y'])\nd = b(v={'q': 'z'})\nf(*x, **d)\n",
		"a!?a ?b/bool"},
	{"def f(p):\n    log(v=[p])\nx = a(v=['y'])\nif c(v='z') == 'z':\n    f(*x)\n",
		"a!?a ?c/bool"},
	{"def f():\n    if b(v='z') == 'z':\n        return a(v='x')\n    return 1\nlog(v=f())\n",
		"a ?b"},
	/* What a loop gives, and that it ends. */
	{"x = [i for i in ['p', 'q'] if a(v='z') == 'z']\nfor i in x:\n    raw(v=i)\nraw(v=i)\n",
		"plan(?a/bool)!-(?a/bool); plan(?a/bool)!-(?a/bool); plan(?a/bool)"},
	{"i = 'p'\nfor i in a(v=[]):\n    pass\nraw(v=i)\n", "plan(?a/bool)"},
	/* A built-in that calls functions stands where it stands: what they make may be changed. */
	{"if b(v='y') == 'y':\n    t = []\n    u = sorted([1], key=lambda v: t.append([]) or v)\n    t[0].append(1)\n    log(v=t)\n",
		"plan/number!?b/bool"},
};

static const struct labelled changes[] = {
	/* Nobody knows what is changed: all there is, by one branch as by the other. */
	{"def f(x):\n    x.append(1)\nfs = [f]\nl = b(v=[1])\nif a(v='x') == 'q':\n    fs[0]([])\nif c(v='x') == 'q':\n    fs[0]([])\nraw(v=l)\n",
		"b/number(?a ?c/bool)"},
	/* What is there already stays. */
	{"x = []\nx.extend(b(v=[1]))\nif a(v='x') == 'q':\n    x.append(1)\nraw(v=len(x))\n",
		"plan b/number(a/bool)"},
	{"x = []\nx.extend(b(v=[1]))\nt = (x,)\nif a(v='x') == 'q':\n    t[0].append(1)\nraw(v=len(x))\n",
		"plan b/number(a/bool)"},
	/* A list that others have a part in may be changed where one of them decides. */
	{"l = []\nl.extend(b(v=[1]))\nif a(v='x') == 'x':\n    l.append(2)\nlog(v=l)\n",
		"plan ?a b/number"},
	/* What must not be changed, because the choice of it would be told, is not: however it is
	 * reached. */
	{"x = []\ny = [x, []][b(v=0)]\nif a(v='x') == 'q':\n    y.append(1)\nraw(v=x)\n", "-"},
	{"x = []\nt = ([x, []][b(v=0)],)\nif a(v='x') == 'q':\n    t[0].append(1)\nraw(v=x)\n",
		"-"},
	{"x = []\ny = [[x], [[]]][b(v=0)]\nif a(v='x') == 'q':\n    y[0].append(1)\nraw(v=x)\n",
		"-"},
	{"x = []\ny = [(x,), ([],)][b(v=0)]\nif a(v='x') == 'q':\n    y[0].append(1)\nraw(v=x)\n",
		"-"},
	{"x = []\ny = [[(x,)], [([],)]][b(v=0)]\nif a(v='x') == 'q':\n    y[0][0].append(1)\nraw(v=x)\n",
		"-"},
	/* What is computed of the user's words is the plan's word. */
	{"log(v='ann')\nlog(v=len('ann'))\nlog(v=hash('to'))\nlog(v=ord('ann'[0]))\nlog(v='ann'.find('ann'))\nlog(v=max(range(len(['ann']))))\nlog(v=[i for i in range(len(['to']))][0])\nlog(v=enumerate(['ann'])[0][0])\nlog(v=enumerate(['ann'])[0][1])\nlog(v=list('ann'.elem_ords())[0])\nlog(v=-hash('to'))\nlog(v=hash('to') * hash('to'))\nlog(v=hash('to') / hash('to'))\nlog(v=sum([hash('to')]))\n",
		"user/const; plan user/number; plan user/number; plan user/number; plan user/number; plan/number; plan/number; plan/number; user/const; plan user; plan user/number; plan user/number; plan user/number; plan user/number"},
	{"log(v='ann' == 'to')\nlog(v=not 'ann')\nlog(v=bool('ann'))\nlog(v='ann' in ['to'])\nlog(v='to' < 'ann' < 'to')\nlog(v=list(dict(ann=1))[0])\nlog(v=list(dict(eve=1))[0])\nlog(v=dir(struct(eve=1))[0])\nlog(v=(lambda **k: list(k)[0])(eve=1))\nx = hash('to')\nx *= x\nlog(v=x)\n",
		"plan user/bool; plan user/bool; plan user/bool; plan user/bool; plan user/bool; user/const; plan; plan; plan; plan user/number"},
	/* A number that the request says is nobody's, what is computed of it is not. */
	{"x = 70 + 7\nlog(v=x)\nlog(v=x + x)\nlog(v=(x + x) - x)\nlog(v=x * x)\nlog(v=a(v=70) + 7)\nlog(v=35 * 2.2)\nlog(v=77)\n",
		"-; plan/number; -; plan/number; plan a/number; -; user/const"},
	/* So it is with days. */
	{"log(v='2026-11-22')\nlog(v=date.add('2026-11-22', 77))\nlog(v=date.add('2026-11-21', 1))\n",
		"user/const; plan user/date; -"},
	/* What a key gives is an order, no part of what is put into it. */
	{"log(v=sorted(['ann', 'to'], key=lambda x: len(x), reverse=True)[0])\nx = ['ann', 'to']\nx.sort(key=lambda x: len(x), reverse=True)\nlog(v=x[0])\nlog(v=max(['ann', 'to'], key=lambda x: len(x)))\n",
		"user/const; user/const; user/const"},
	/* A branch that ends where it stands says nothing of what is around it. */
	{"x = [1]\nfor i in [1]:\n    if a(v='q') == 'q':\n        z = 1\n    x.append(2)\nlog(v=len(x))\n",
		"plan/number"},
	/* Which function it is says no more than what guards the call. */
	{"def f():\n    return 1\ndef h():\n    return 2\nx = [1]\ns = a(v='x')\ng = f if s == 'x' else h\nif s == 'x':\n    g()\nraw(v=x)\n",
		"plan/number"},
	/* What is called to find a place that += changes. */
	{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = [{'k': 1}]\nif a(v='x') == 'q':\n    d[f()]['k'] += 1\nraw(v=x)\n",
		"plan/number(?a/bool)"},
	{"x = [1]\ndef f():\n    x.append(2)\n    return 'k'\nd = {'k': 1}\nif a(v='x') == 'q':\n    d[f()] += 1\nraw(v=x)\n",
		"plan/number(?a/bool)"},
};

static const struct labelled failures[] = {
	{"x = [1][a(v=7)]\n", "P601 private"},
	{"x = a(v={'k': 1})['zz']\n", "P601 private"},
	{"x = [a(v='x')]['q']\n", "P601 private"},
	{"x = len(a(v=5))\n", "P601 private"},
	{"x = int(a(v='zz'), 10)\n", "P601 private"},
	{"x = sorted([a(v='x'), 1])\n", "P601 private"},
	{"x = [1][7]\n", "P601"},
	{"y = a(v='x')\nx = len(5)\n", "P601"},
};

TEST(what_goes_in_comes_out)
{
	labelled_check_all(calls, ARRAY_LEN(calls));
}

TEST(who_has_endorsed_it)
{
	labelled_check_all(endorsed, ARRAY_LEN(endorsed));
}

TEST(what_it_is_computed_of)
{
	labelled_check_all(computed, ARRAY_LEN(computed));
}

TEST(who_decided_that_it_happens)
{
	labelled_check_all(guards, ARRAY_LEN(guards));
}

TEST(what_a_branch_may_have_changed)
{
	labelled_check_all(changes, ARRAY_LEN(changes));
}

TEST(what_a_failure_tells)
{
	labelled_check_all(failures, ARRAY_LEN(failures));
}

enum { TEXT_BYTES = 1 << 16, MANY = 200 };

/* @form, with the number in place of each %. */
static void add_numbered(struct buf *out, const char *form, int number)
{
	for (; *form; form++)
		(void)(*form == '%' ? buf_addf(out, "%d", number) : buf_append(out, form, 1));
}

/* Labels that were looked up are found again by some bits of them: more labels than places. */
static void check_many(const char *start, const char *value, const char *want)
{
	struct buf plan = BUF_INIT(TEXT_BYTES), all = BUF_INIT(TEXT_BYTES);
	(void)buf_addf(&plan,
		"m = mail(v=[{'from': 'p' + str(i), 'name': i} for i in range(%d)])\n%s"
		"for i in range(%d):\n    n = m[i]['name']\n    log(v=%s)\n",
		MANY, start, MANY, value);
	for (int i = 0; i < MANY; i++) {
		(void)buf_add(&all, i ? "; " : "");
		add_numbered(&all, want, i);
	}
	labelled_check(buf_str(&plan), buf_str(&all));
	buf_done(&plan);
	buf_done(&all);
}

TEST(each_label_is_found_again)
{
	check_many("", "n", "?mail ?mail#? mail#p%/number");
	check_many("", "str(n)", "plan mail mail#? mail#p%");
	check_many("u = f'{1}'\n", "f'{n}'", "?mail ?mail#? mail#p%/number~");
	check_many("", "not n", "plan mail mail#? mail#p%/number");
	check_many("k = a(v=1)\n", "k + n", "plan a mail mail#? mail#p%/number");
	check_many("", "len(str(n))", "plan mail mail#? mail#p%/number");
	check_many("", "str(n).upper()", "plan mail mail#? mail#p%");
}

/* @line so often, with its number in place of each %, between @first and @last. */
static void check_long(
	const char *first, const char *line, int n, const char *last, const char *want)
{
	struct buf plan = BUF_INIT(TEXT_BYTES);
	(void)buf_add(&plan, first);
	for (int i = 0; i < n; i++)
		add_numbered(&plan, line, i);
	(void)buf_add(&plan, last);
	labelled_check(buf_str(&plan), want);
	buf_done(&plan);
}

#define SHOW "raw(v=x)\nraw(v=z)\n"

/* What is no longer looked at one by one may be anything that is there, as is seen in z. */
TEST(more_changes_than_are_looked_at)
{
	static const char few[] = "plan/number(?a/bool); plan/number",
			  many[] = "plan/number(?a/bool); plan/number(?a/bool)",
			  lists[] = "x = [1]\nz = [1]\nfor i in [1]:\n    if a(v='x') == 'q':\n",
			  list[] = "        x.append(1)\n        v% = []\n        v%.append(1)\n",
			  names[] = "x = [1]\nz = [1]\nif a(v='x') == 'q':\n",
			  deep[] = "x = [1]\nz = [1]\ny = x\nfor i in range(250):\n    y = [y]\n"
				   "if a(v='x') == 'q':\n    y";
	check_long(lists, list, 63, SHOW, few);
	check_long(lists, list, 64, SHOW, many);
	check_long(names, "    v% = 0\n", 255, "    x.append(1)\n" SHOW, few);
	check_long(names, "    v% = 0\n", 300, "    x.append(1)\n" SHOW, many);
	check_long(deep, "[0]", 250, ".append(1)\n" SHOW, many);
}
