/* Labels at run time: what comes of what src() gives is known at sink(). SPDX-License-Identifier:
 * Apache-2.0 */
#include "t.h"

#include "label/foreseen.h"

#include "maker.h"
#include "plan/machine/flow.h"
#include "plan/machine/format.h"
#include "plan/program/program.h"
#include "plan/value/table.h"

#include <stdio.h>
#include <string.h>

enum { SEEN_MAX = 1000 };

static struct program p;
static size_t max_bytes = 16 << 20, max_label_bytes = 1 << 20;
static struct labels *all;
static uint32_t dirty, planned;

static const struct native src_native = {"src", .suspends = true};
static const struct native sink_native = {"sink", .suspends = true};

static uint32_t literal(void *ctx, struct val v)
{
	(void)ctx;
	return v.type == T_BOOL ? 0 : planned;
}

static uint32_t label_of(const char *origin)
{
	struct label l = {.readers = LABEL_ALL,
		.endorsements = LABEL_ALL,
		.kind = {.rank = KIND_TEXT},
		.origins = label_set(all, label_atom(all, origin, strlen(origin)))};
	return label_intern(all, &l);
}

static bool has_origin(uint32_t label, uint32_t of)
{
	label = label_settle(all, label, LABEL_FAILED);
	return label_is_subset(all, label_get(all, of).origins, label_get(all, label).origins);
}

/* All that is in it comes of src(). */
static void paint(struct val *v)
{
	if (v->type < T_LIST) {
		flow_old(&p.vm, v, dirty);
		return;
	}
	flow_new(&p.vm, v, dirty);
	for (uint32_t i = 0; v->type == T_LIST && i < v->list->n; i++)
		paint(&v->list->item[i]);
	for (uint32_t i = 0; v->type == T_DICT && i < v->table->n_entries; i++) {
		paint(&v->table->entry[i].key);
		paint(&v->table->entry[i].value);
	}
}

/* What each sink() got. */
struct heard {
	size_t n;
	struct {
		uint32_t at; /* where it is called */
		bool is_dirty, is_guarded;
		char text[64];
	} item[SEEN_MAX];
};
static struct heard *hears;
static char wrote[SEEN_MAX]; /* per sink(): 'p' when what it got is of the plan as well */

static void hear(struct val v, bool is_dirty)
{
	struct text t = {.h = &p.heap};
	const struct frame *f = &p.vm.frames[p.vm.n_frames - 1];
	if (!hears || hears->n == SEEN_MAX)
		return;
	size_t n = hears->n++;
	CHECK(format_value(&p.vm, &t, v, true) == 0);
	snprintf(hears->item[n].text, sizeof hears->item[n].text, "%.*s", (int)t.n, t.data);
	hears->item[n].is_dirty = is_dirty;
	hears->item[n].is_guarded = has_origin(p.heap.guard, dirty);
	hears->item[n].at = f->code->at[f->pc - f->code->ins - 1];
	text_done(&t);
}

/*
 * Run @text with labels. @out gets a letter for each sink(): "-" clean, "T" what came of src(), and
 * "!" behind it when what came of src() decided that it is called. @flip: src(a, b) gives b; src()
 * gives a text that nobody of the plan wrote.
 */
static int run(const char *text, bool flip, char out[SEEN_MAX])
{
	const struct source src = {"plan", text, strlen(text)};
	const struct heap_limits limits = {.fuel = 1000000, .bytes = max_bytes, .depth = 60};
	const struct vm_host host = {0};
	const uint64_t seed[2] = {7, 9};
	const struct predeclared names[] = {{"src", VAL_PTR(T_NATIVE, (void *)&src_native)},
		{"sink", VAL_PTR(T_NATIVE, (void *)&sink_native)}};
	struct dialect dialect = DIALECT_PLAN;
	size_t n = 0, n_sinks = 0;
	dialect.while_loops = true;
	all = labels_new(max_label_bytes);
	if (!all)
		return 603;
	dirty = label_of("tool:src");
	planned = label_of("plan");
	struct program_setup setup = {.names = names,
		.n_names = 2,
		.labels = all,
		.literals = {.label = literal},
		.quiet = label_get(all, planned).origins};
	struct val result, given;
	enum vm_state state = VM_FAILED;
	if (program_load_with(&p, &src, &dialect, &limits, seed, &setup) == 0)
		state = program_run(&p, &host, &result);
	while (state == VM_CALLED) {
		const struct args *args = &p.vm.call_args;
		given = VAL_NONE;
		if (p.vm.called == &src_native) {
			if (args->n > 0)
				given = args->item[flip && args->n > 1];
			else
				CHECK(str_of(p.vm.h, "a b", &given) == 0);
			paint(&given);
		} else if (n < SEEN_MAX - 3) {
			uint32_t label = flow_whole(&p.vm, args->item[0]);
			bool is = has_origin(label, dirty);
			wrote[n_sinks++] = has_origin(label, planned) ? 'p' : '-';
			out[n++] = is ? 'T' : '-';
			if (has_origin(p.heap.guard, dirty))
				out[n++] = '!';
			hear(args->item[0], is);
		}
		vm_answer(&p.vm, given);
		state = program_resume(&p, &result);
	}
	out[n] = wrote[n_sinks] = '\0';
	if (state == VM_FAILED && n < SEEN_MAX - 10)
		snprintf(out + n, 10, "P%d", p.diags.item[0].code);
	int code = p.diags.n > 0 ? p.diags.item[0].code : 0;
	program_done(&p);
	labels_free(all);
	return code;
}

struct flow_case {
	const char *text, *want;
};

static const struct flow_case cases[] =
	{
		/* what is computed from it */
		{"s = src('a')\nsink(s)\nsink(s + 'b')\nsink('b')\nsink(len(s))\nsink(s == 'x')\n",
			"TT-TT"},
		{"s = src(3)\nsink(s + 1)\nsink(-s)\nsink(1 + 2)\nx = 1\nx += s\nsink(x)\nsink(not s)\n",
			"TT-TT"},
		{"s = src('a')\nsink(f'x{s}')\nsink('%s' % s)\nsink('{}'.format(s))\nsink(s.upper())\nsink('-'.join([s]))\n",
			"TTTTT"},
		{"s = src(['a', 'b'])\nsink(s[0])\nsink([x for x in s])\nsink(len(s))\nsink(sorted(s))\na, b = s\nsink(a)\n",
			"TTTTT"},
		{"s = src(2)\nsink(max(1, s))\nsink(str(s))\nsink(int(s))\nsink(abs(s))\nsink(range(s))\nsink(type(s))\n",
			"TTTTTT"},
		/* a container keeps what is in it apart */
		{"s = src('a')\nx = ['b', s]\nsink(x)\nsink(x[0])\nsink(x[1])\nsink(len(x))\nsink(x == 1)\n",
			"T-T-T"},
		{"s = src('a')\nd = {'x': s, 'y': 1}\nsink(d['y'])\nsink(d['x'])\nsink(list(d))\nsink(d)\nsink('x' in d)\n",
			"-T-T-"},
		{"s = src('a')\nd = {}\nd[s] = 1\nsink(d.get('x'))\nsink(len(d))\nsink('q' in d)\n",
			"TTT"},
		{"s = src(0)\nx = [1, 2]\nsink(x[s])\nx[s] = 3\nsink(x[1])\n", "TT"},
		{"s = src('a')\nx = struct(a=s, b=1)\nsink(x.a)\nsink(x.b)\nsink((1, s)[0])\nsink((1, s)[1])\n",
			"T--T"},
		{"s = src('a')\nx = [1]\nx.append(s)\nsink(x[0])\nsink(x)\nsink(x.pop())\nsink(x[0])\n",
			"-TT-"},
		{"s = src([1])\nx = [1]\nx.extend(s)\nsink(x[0])\nsink(len(x))\n", "TT"},
		{"s = src('a')\nd = dict(a=s, b=1)\nsink(d['b'])\nsink(d['a'])\nsink({**d, 'c': 1}['c'])\n",
			"-T-"},
		/* branches: taken, not taken */
		{"s = src('a')\ny = 'a'\nif s == 'a':\n    y = 'b'\nsink(y)\nsink('z')\n", "T-"},
		{"s = src('a')\ny = 'a'\nif s == 'evil':\n    y = 'b'\nsink(y)\nsink('z')\n", "T-"},
		{"s = src('a')\nif s:\n    sink(1)\nelse:\n    sink(2)\nsink(3)\n", "-!-"},
		{"s = src('a')\nx = [1]\nif s == 'evil':\n    x.append(2)\nsink(len(x))\nsink([3])\n",
			"T-"},
		{"s = src('a')\nd = {'k': [1]}\nif s == 'evil':\n    d['k'].append(2)\nsink(d['k'])\n",
			"T"},
		{"s = src('a')\nd = {'k': 1}\nif s == 'evil':\n    d['k'] += 2\nsink(d['k'])\nx = [1]\nsink(x)\n",
			"T-"},
		{"s = src('a')\nx = [1]\ny = x\nif s == 'evil':\n    z = y\n    z.append(1)\nsink(x)\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\ns = src('a')\nif s == 'evil':\n    f()\nsink(x)\n",
			"T"},
		{"def f(x):\n    return x + 1\ns = src('a')\nx = [1]\nif s == 'evil':\n    f(1)\nsink(x)\n",
			"-"},
		{"s = src('a')\nsink(1 if s == 'x' else 2)\nsink(s and 'b')\nsink(s == 'a' or 'b')\nsink(1 < len(s) < 3)\n",
			"TTTT"},
		{"s = src('a')\nx = [i for i in [1, 2, 3] if s == 'evil']\nsink(x)\nsink(len(x))\nsink({i: 1 for i in [1] if s})\n",
			"TTT"},
		/* loops */
		{"s = src([])\ny = 0\nfor c in s:\n    y = y + 1\nsink(y)\nsink(1)\n", "T-"},
		{"s = src([])\nx = []\nfor c in s:\n    x.append(1)\nsink(len(x))\n", "T"},
		{"s = src([1, 2])\nfor c in s:\n    sink('x')\nsink('y')\n", "-!-!-"},
		{"s = src(2)\ny = 0\nfor i in range(3):\n    if i == s:\n        break\n    y = i\nsink(y)\nsink(1)\n",
			"T-"},
		{"s = src(9)\ny = 0\nfor i in range(3):\n    if i == s:\n        break\n    sink(i)\n    y = i\nsink(y)\n",
			"-!-!-!T"},
		{"s = src(9)\nfor i in range(2):\n    if i == s:\n        continue\n    sink(i)\nsink(1)\n",
			"-!-!-"},
		{"s = src(9)\nfor i in range(2):\n    sink(i)\n    if i == s:\n        continue\nsink(1)\n",
			"---"},
		{"s = src(3)\ni = 0\nwhile i < s:\n    i += 1\nsink(i)\nsink(1)\n", "T-"},
		{"a = 1\nb = 2\nc = 3\nd = 4\ns = src(1)\nfor i in range(5):\n    d = c\n    c = b\n    b = a\n    a = s\nsink(d)\n",
			"T"},
		{"s = src(9)\nl = [1]\nfor c in range(3):\n    if s == 9:\n        if l: break\n    a = 1\nsink(c)\n",
			"T"},
		{"s = src(9)\nl = [1]\nfor c in range(3):\n    if s == 1:\n        if l: break\n    a = 1\nsink(c)\n",
			"T"},
		{"s = src(9)\nl = [1]\nfor b in l:\n  for c in range(3):\n    if s == 1:\n        if l: break\n    a = 1\nsink(c)\n",
			"T"},
		{"s = src(9)\nl = [1]\nfor b in l:\n  for c in range(3):\n    if 1 == b * sum([x for x in l if x < s]):\n        if l: break\n    a = 1\nsink(c)\n",
			"T"},
		{"s = src('a')\nd = {'a': 1}\nsink(d[s])\nsink(d['a'])\n", "T-"},
		{"s = src('a')\nx = [1]\ndef f():\n    return x\nif s == 'evil':\n    f().append(1)\nsink(x)\n",
			"T"},
		{"x = src([])\nx.append(1)\ny = 1\nif x:\n    y = 2\nsink(y)\n", "T"},
		/* functions */
		{"def f(x):\n    if x:\n        return 1\n    return 2\ns = src('a')\nsink(f(s))\nsink(f(1))\nsink(1)\n",
			"T--"},
		{"def f(x):\n    if x == 'evil':\n        return\n    sink(1)\ns = src('a')\nf(s)\nf(1)\nsink(2)\n",
			"-!--"},
		{"def f(x, out):\n    if x == 'a':\n        return\n    out.append(1)\ns = src('a')\no = []\nf(s, o)\nsink(o)\n",
			"T"},
		{"f = src(1)\ng = (lambda: 1) if f else (lambda: 2)\nsink(g())\n", "T"},
		{"s = src(['a', 'b'])\ndef f(*a, **k):\n    return len(a)\nsink(f(*s))\nsink(f(1, 2))\n",
			"T-"},
		{"s = src('a')\ndef f():\n    def g():\n        return s\n    return g\nsink(f()())\n",
			"T"},
		{"s = src(2)\nsink(sorted([1, 2], key=lambda x: x * s))\nsink(sorted([2, 1]))\n",
			"T-"},
		{"s = src('a')\ndef f():\n    n = 1\n    g = lambda: n\n    if s == 'evil':\n        n = 2\n    return g()\nsink(f())\n",
			"T"},
		/* the choice of what is changed */
		{"x = [1]\ny = [2]\nz = x\nif src('a') == 'evil':\n    z = y\nsum([], z).append(3)\nsink(x)\nsink(y)\n",
			"P605"},
		{"x = {}\ny = {}\nz = x\nif src('a') == 'evil':\n    z = y\njson.decode('', z).update({'k': 1})\nsink(x)\nsink(y)\n",
			"P605"},
		{"x = [1]\ny = sum(src([]), start=x)\ny.append(3)\nsink(x)\n", "P605"},
		{"a = []\nb = []\ns = src('a')\nx = a if s == 'a' else b\nsink(len(x))\nx.append(1)\nsink(a)\n",
			"TP605"},
		{"s = src(['k', 'l'])\ng = {}\nfor k in s:\n    g.setdefault(k, []).append(1)\nsink(g)\nr = [1]\nsink(r)\n",
			"T-"},
		{"s = src(['k', 'l'])\ng = {}\nfor k in s:\n    if k not in g:\n        g[k] = []\n    g[k].append(1)\nsink(g)\n",
			"T"},
		{"s = src(9)\nm = [1]\ng = {}\nif s == 9:\n    g[s] = m\nif s == 9:\n    g.setdefault(s, []).append(2)\nsink(m)\n",
			"P605"},
		{"for m in src([{'n': 1}]):\n    m['x'] = 2\n    sink(m)\n", "T!"},
		{"s = src('a')\nx = None\nif s:\n    x = []\n    x.append(1)\nsink(x)\n", "T"},
		{"r = src({'a': [1]})\nr['a'].append(2)\nr['b'] = 1\nsink(r)\nx = [1]\nsink(x)\n",
			"T-"},
		{"counts = {}\nfor w in src(['a', 'b', 'a']):\n    counts[w] = counts.get(w, 0) + 1\nsink(counts)\nsink('x')\n",
			"T-"},
		{"best = None\nfor m in src([1, 5, 3]):\n    if best is None or m > best:\n        best = m\nsink(best)\nsink(1)\n",
			"T-"},
		{"names = ['x']\nfor m in src(['a']):\n    if m == 'a':\n        names.append(m)\nsink(names[0])\n",
			"T"},
		/* whole values, structures, what a branch may change by
		   another name */
		{"s = src('a')\nsink('%s' % [s])\nsink(([1] + [s])[1])\nsink(f'{[s]}')\nsink(f'{s}-{1}')\n",
			"TTTT"},
		{"s = src([1])\nsink(len([1] + s))\nsink(len(s + [1]))\nx = []\nx += s\nsink(len(x))\n",
			"TTT"},
		{"s = src(None)\nsink(s is None)\nsink(s is not None)\n", "TT"},
		{"s = src('a')\nsink([1] == [s])\nsink([s] == [1])\nsink(1 in [s])\nsink(s in {1: 2})\n",
			"TTTT"},
		{"s = src(1)\nd = {}\nd[(1, s)] = 2\nsink(len(d))\ne = {(1, 1): 2}\nsink(e[(1, s)])\nsink(e.get((1, s)))\ne.setdefault((1, s), 2)\nsink(len(e))\n",
			"TTTT"},
		{"s = src([1, 2, 3])\na, *b = s\nsink(len(b))\nsink(a)\n", "TT"},
		{"s = src('a')\nx = [1, 2]\nif s == 'evil':\n    x.append(3)\na, b = x\nsink(a)\na, *b = x\nsink(len(b))\nsink(x[0])\nfor c in x:\n    a = c\nsink(a)\nsink(c)\n",
			"TTTTT"},
		{"s = src(1)\nx = [1, 2, 3]\nsink(len(x[s:]))\nsink(len(x[:s]))\nsink(len(x[::s]))\nsink('abc'[s:])\nsink('abc'[:s])\nsink('abc'[::s])\nsink('abc'[s:3:1])\n",
			"TTTTTTT"},
		{"s = src(['a'])\nsink(len([*s]))\nsink(len([1, *s]))\nsink(len((*s,)))\nsink(len({*s}))\nsink(len({**src({'a': 1})}))\n",
			"TTTTT"},
		{"s = src('a')\nsink(len({s: 1}))\nsink(len({(1, s): 1}))\nsink(len({s, 'b'}))\n",
			"TTT"},
		{"s = src('a')\na = {'k': 1}\nb = {'k': 2}\nx = a if s == 'a' else b\nsink(x['k'])\nc = struct(k=1)\nd = struct(k=2)\ny = c if s == 'a' else d\nsink(y.k)\n",
			"TT"},
		{"s = src(1)\nsink([s].index(1))\nsink([s].count(1))\n", "TT"},
		{"s = src({'a': 1})\nsink(len(s.keys()))\nsink(len(s.values()))\nsink(len(s.items()))\nsink(len(s.copy()))\n",
			"TTTT"},
		{"s = src(1)\nx = [(s, 1), (2, 3)]\nx.sort()\nsink(x[0][1])\ny = [1, 2]\ny.sort(reverse=src(True))\nsink(y[0])\nz = [1, 2]\nz.sort(key=lambda v: v * s)\nsink(z[0])\n",
			"TTT"},
		{"s = src([1])\nsink(enumerate(s)[0][0])\nfor i, x in enumerate(s):\n    sink(i)\n",
			"TT!"},
		{"s = src([1, 2])\nx = []\ny = sorted(s, key=lambda v: x.append(1) or v)\nsink(len(x))\n",
			"P605"},
		{"s = src(1)\nsink(sorted([1, 2], key=lambda v: s if v == 1 else 0)[0])\nsink(sorted([1, 2], key=lambda v: [v, s])[0])\n",
			"TT"},
		{"s = src(2.5)\nsink(s + 1.5)\nsink(1.5 + s)\nsink(s * 1.5)\nsink(1.5 - s)\n",
			"TTTT"},
		{"s = src(7)\nsink(s // 2)\nsink(9 // s)\nsink(s % 4)\nsink(9 % s)\nsink(s < 2)\nsink(2 < s)\n",
			"TTTTTT"},
		{"s = src([])\nsink(not s)\nsink(s or 1)\nsink(s and 1)\ny = 1\nif not s:\n    y = 2\nsink(y)\nz = 1\nif s:\n    z = 2\nsink(z)\n",
			"TTTTT"},
		{"s = src(1)\nsink(s < 3 < 4)\nsink(0 < 1 < s)\nsink(0 < s < 4)\n", "TTT"},
		{"for i in range(src(2)):\n    sink(i)\n", "T!T!"},
		{"x = [1]\ndef f():\n    x.append(2)\ndef g():\n    pass\ns = src('a')\nh = f if s == 'evil' else g\nh()\nsink(len(x))\n",
			"T"},
		{"s = src('a')\ndef f():\n    sink(1)\ndef g():\n    pass\n(f if s == 'a' else g)()\nsink(2)\n",
			"-!-"},
		{"s = src('a')\nx = [1, 2]\nif s == 'evil':\n    x.append(3)\ndef f(a, b=0, c=0):\n    sink(1)\n    return a\nsink(f(*x))\n",
			"-!T"},
		{"def f(k=0):\n    sink(1)\n    return k\nsink(f(**src({'k': 1})))\n", "-!T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    for z in [x]:\n        z.append(2)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    z = []\n    z += [x]\n    z[0].append(2)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    [x][0].append(2)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    (1, x)[1].append(2)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    {'k': x}['k'].append(2)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    [y for y in [x]][0].append(2)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    (x if 1 == 1 else [2]).append(3)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    (x or [1]).append(3)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    {}.get('k', x).append(2)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    [x].copy()[0].append(2)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    ([x] + [])[0].append(2)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    a, b = [x, 1]\n    a.append(2)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ns = src('a')\nif s == 'evil':\n    a = [x]\n    a[0] += [2]\nsink(len(x))\n",
			"T"},
		{"x = [1]\nd = {'k': x}\ns = src('a')\nif s == 'a':\n    d.get('k').append(2)\nsink(len(x))\n",
			"P605"},
		{"x = [1]\nd = {'k': x}\ns = src('a')\nif s == 'a':\n    d['k'] += [2]\nsink(len(x))\n",
			"P605"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = {}\ny = 0\nfs = [f]\nh = f\ndef k():\n    fs[0]()\ns = src('a')\nif s == 'evil':\n    d[f()] = 1\nsink(len(x))\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = {}\ny = 0\nfs = [f]\nh = f\ndef k():\n    fs[0]()\ns = src('a')\nif s == 'evil':\n    [d][f()]['a'] = 1\nsink(len(x))\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = {}\ny = 0\nfs = [f]\nh = f\ndef k():\n    fs[0]()\ns = src('a')\nif s == 'evil':\n    y += f()\nsink(len(x))\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = {}\ny = 0\nfs = [f]\nh = f\ndef k():\n    fs[0]()\ns = src('a')\nif s == 'evil':\n    sorted([1], key=lambda v: f())\nsink(len(x))\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = {}\ny = 0\nfs = [f]\nh = f\ndef k():\n    fs[0]()\ns = src('a')\nif s == 'evil':\n    sorted([1], key=lambda v: x.append(v) or v)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = {}\ny = 0\nfs = [f]\nh = f\ndef k():\n    fs[0]()\ns = src('a')\nif s == 'evil':\n    [1].sort(key=lambda v: f())\nsink(len(x))\n", "T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = {}\ny = 0\nfs = [f]\nh = f\ndef k():\n    fs[0]()\ns = src('a')\nif s == 'evil':\n    z = f\n    z()\nsink(len(x))\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = {}\ny = 0\nfs = [f]\nh = f\ndef k():\n    fs[0]()\ns = src('a')\nif s == 'evil':\n    fs[0]()\nsink(len(x))\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = {}\ny = 0\nfs = [f]\nh = f\ndef k():\n    fs[0]()\ns = src('a')\nif s == 'evil':\n    h()\nsink(len(x))\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = {}\ny = 0\nfs = [f]\nh = f\ndef k():\n    fs[0]()\ns = src('a')\nif s == 'evil':\n    k()\nsink(len(x))\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = {}\ny = 0\nfs = [f]\nh = f\ndef k():\n    fs[0]()\ns = src('a')\nif s == 'evil':\n    y = [f() for i in [1]]\nsink(len(x))\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\nd = {}\ny = 0\nfs = [f]\nh = f\ndef k():\n    fs[0]()\ns = src('a')\nif s == 'evil':\n    y = {1: f()}\nsink(len(x))\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\ndef k(v):\n    return f()\ns = src('a')\nif s == 'evil':\n    sorted([1], key=k)\nsink(len(x))\n",
			"T"},
		{"x = [1]\ndef f():\n    x.append(2)\n    return 0\ndef k(v):\n    return f()\ns = src('a')\nif s == 'evil':\n    [1].sort(key=k)\nsink(len(x))\n",
			"T"},
};

/* A set that takes what another one holds is the same set: how many there are is still whose it
 * was. */
static const struct flow_case updated[] = {
	{"x = set([1])\nx.update(src([2]))\nsink(len(x))\nx.update([3])\nsink(len(x))\nsink(set([1]))\n",
		"TT-"},
	{"x = set([1, 2])\nx.difference_update(src([2]))\nsink(len(x))\n", "T"},
	{"x = set([1, 2])\nx.intersection_update(src([2]))\nsink(len(x))\n", "T"},
	{"x = set([1, 2])\nx.symmetric_difference_update(src([2]))\nsink(len(x))\n", "T"},
	{"s = src('a')\nx = set([1])\nl = [1]\nif s == 'evil':\n    l.append(2)\nx.update(l)\nx.update([3])\nsink(len(x))\n",
		"T"},
	{"x = set([1])\ns = src('a')\nif s == 'a':\n    y = set([1])\n    y.update([2])\n    x = y\nx.update([3])\nsink(len(x))\n",
		"T"},
};

static void follow(const struct flow_case *rows, size_t n)
{
	char seen[SEEN_MAX];
	for (size_t i = 0; i < n; i++) {
		(void)run(rows[i].text, false, seen);
		if (strcmp(seen, rows[i].want) != 0)
			fprintf(stderr, "# %s", rows[i].text);
		CHECK_STR(seen, rows[i].want);
	}
}

TEST(sets_keep_their_labels_when_they_are_updated)
{
	follow(updated, ARRAY_LEN(updated));
}

TEST(labels_follow_values)
{
	follow(cases, ARRAY_LEN(cases));
}

/* What a built-in calls, in a branch that is not taken, or is. */
static const struct flow_case keys[] = {
	{"s = src('a')\nx = [1]\nif s == 'evil':\n    max([x], key=lambda v: v.append(2) or 0)\nsink(len(x))\nsink(1)\n",
		"T-"},
	{"s = src('a')\nx = [[1], [2]]\nif s == 'a':\n    x = sorted(x, key=lambda v: v.append(2) or 0)\nsink(x)\n",
		"T"},
	{"s = src('a')\nx = [1]\nif s == 'evil':\n    x = max([3], key=lambda v: len([q for q in [1] if q]))\nsink(x)\nif s == 'b':\n    x = 2\nsink(1)\n",
		"T-"},
	{"s = src('a')\nx = [1]\nif s == 'evil':\n    max([3], key=lambda v: len([q.append(1) for q in [x]]))\nsink(len(x))\n",
		"T"},
	{"s = src('a')\nx = [1]\nif s == 'evil':\n    max([3], key=lambda v: max([x], key=lambda w: w.append(v) or 0) and 1)\nsink(len(x))\n",
		"T"},
	{"s = src('a')\nx = [1]\nif s == 'evil':\n    max([3], key=lambda v, w=x.append(2): v)\nsink(len(x))\n",
		"T"},
	{"s = src('a')\nx = [1]\nif s == 'evil':\n    max([3], key=x.append)\nsink(len(x))\n", "T"},
	{"s = src('a')\nx = [1]\nif s == 'evil':\n    k = lambda v: x.append(v) or 0\n    max([3], key=k)\nsink(len(x))\n",
		"T"},
	{"s = src('a')\nx = [1]\nif s == 'evil':\n    max([3], **{'key': lambda v: x.append(v) or 0})\nsink(len(x))\n",
		"T"},
	{"def f(n):\n    l = [1]\n    def g():\n        return max([[1]], key=lambda v: v.append(n) or len([q for q in l if q]))\n    if src('a') == 'evil':\n        g()\n    return len(l)\nsink(f(1))\n",
		"T"},
	{"s = src('a')\nx = [1]\nif s == 'evil':\n    max([3], key=len)\n    max([3], key=None)\nsink(len(x))\n",
		"-"},
};

/* A name that data gives says which names there are. */
static const struct flow_case named[] = {
	{"d = dict(**{src('a'): 1})\nsink('a' in d)\nsink(d.get('a', 0))\nsink(d['a'])\n", "TTT"},
	{"d = dict([('a', 1)], **{src('a'): 1})\nsink(len(d))\nsink(d['a'])\n", "TT"},
	{"d = dict([(src('a'), 1)], b=1)\nsink('a' in d)\nsink(d['b'])\n", "TT"},
	{"d = {'a': 1}\nd.update(**{src('a'): 1})\nsink(len(d))\nsink('b' in d)\n", "TT"},
	{"d = dict(a=1, b=src('a'))\nsink(len(d))\nsink(d['a'])\nsink(list(d)[0])\n", "---"},
	{"def f(**k):\n    return k\nsink('a' in f(**{src('a'): 1}))\n", "T"},
};

TEST(so_do_names)
{
	follow(named, ARRAY_LEN(named));
}

TEST(so_does_what_a_key_may_change)
{
	follow(keys, ARRAY_LEN(keys));
}

/* Memory may end anywhere: of values, and of labels. */
/* Numbers, parts and new texts of one label, in either order. */
TEST(what_is_computed_is_of_the_plan_too)
{
	char seen[SEEN_MAX];
	CHECK(run("s = src()\nsink(len(s))\nsink(s[0])\nsink(s + s)\nsink(s[1:])\nsink(s.find('a'))\n",
		      false, seen) == 0);
	CHECK_STR(seen, "TTTTT");
	CHECK_STR(wrote, "p-p-p");
	CHECK(run("s = src()\nsink(s + s)\nsink(s.upper())\nsink(len(s))\nsink(s * 2)\n", false,
		      seen) == 0);
	CHECK_STR(wrote, "p-pp");
}

TEST(no_allocation_may_fail_badly_with_labels)
{
	static const char text[] =
		"def f(x, *a, **k):\n    return [y for y in a if y] + [x, k]\n"
		"s = src({'a': [1, 2], 'b': 'c'})\ng = {}\nfor k in s:\n    if k == 'a':\n"
		"        g.setdefault(k, []).append(f(k, *s[k], z=s))\nsink(g)\n"
		"sink(sorted(s, key=lambda x: x + s['b']))\nsink('%s' % json.dumps(g))\n";
	char seen[SEEN_MAX];
	size_t n_failed = 0, n_done = 0;
	for (size_t bytes = 1000; bytes < 1 << 18; bytes += 491) {
		max_bytes = bytes;
		int code = run(text, false, seen);
		CHECK(code == 0 || code == 603 || code == 109);
		n_failed += code != 0;
	}
	max_bytes = 16 << 20;
	for (size_t bytes = 1000; bytes < 1 << 14; bytes += 37) {
		max_label_bytes = bytes;
		int code = run(text, false, seen);
		CHECK(code == 0 || code == 603);
		n_done += code == 0;
	}
	max_label_bytes = 1 << 20;
	CHECK(n_failed > 10 && n_done > 10);
	CHECK_INT(run(text, false, seen), 0);
	CHECK_STR(seen, "TTT");
}

/* A look at all that is in a list is paid for, however little is said of it. */
TEST(labels_of_much_cost_fuel)
{
	char seen[SEEN_MAX];
	CHECK_INT(run("x = src([1]) * 100000\nfor i in range(10000):\n    if x == []: pass\n",
			  false, seen),
		602);
	CHECK_INT(run("x = src([1])\nx.append(x)\nsink(x == 1)\n", false, seen), 0);
	CHECK_INT(
		run("x = src(1)\nfor i in range(60):\n    x = [x, x]\nsink(len(x))\n", false, seen),
		0);
}

/* "%e" an expression, "%v" a number's name, "%l" a list's, "%c" a condition; lists hold numbers. */
static void make_form(struct maker *m, const char *form, int depth)
{
	static const char *const names[] = {"a", "b", "c"}, *const lists[] = {"l", "m"};
	static const char *const exprs[] = {"%v", "%v", "1", "2", "%v + %e", "len(%l)", "src(1, 2)",
		"src(0, 3)", "(%e if %c else %e)", "sum(%l)", "min(%e, %e)",
		"sum([x for x in %l if x < %e])", "d.get(%e, 0)", "len(g.get(%e, []))", "f(%e, %l)",
		"len(d)", "h(%e)", "max(%l + [%e])", "%v * %e", "(%c and %e or 1)",
		"len(sorted(%l))", "len(set(%l))", "(%l + [0])[0]", "[0, 1, 2][min(%v, 2)]",
		"struct(x=%e, y=%e).x", "dict(k=%e, j=%e)['k']",
		"max(%l + [1], key=lambda x: x * %v)",
		"len(max([[1], %l], key=lambda x: len([q for q in %l if q < %e])))",
		"sorted([1, %e], key=lambda x: %e)[0]", "(lambda **k: len(k))(a=%e)",
		"[*range(9)][min(%v, 2)]", "(lambda x, y=%e: x + y)(%e)"};
	static const char *const tests[] = {"%e == %e", "%v < %e", "%e in %l", "%l", "not %e",
		"%e in d", "%v < %e < 3", "%c and %c", "%c or %c", "any(%l)", "%l == %l"};
	for (; *form; form++) {
		char one[2] = {*form, 0};
		if (*form != '%') {
			put(m, one);
			continue;
		}
		form++;
		if (*form == 'v')
			put(m, names[pick(m, 3)]);
		else if (*form == 'l')
			put(m, lists[pick(m, 2)]);
		else if (*form == 'c')
			make_form(
				m, depth > 3 ? "%v" : tests[pick(m, ARRAY_LEN(tests))], depth + 1);
		else
			make_form(
				m, depth > 3 ? "%v" : exprs[pick(m, ARRAY_LEN(exprs))], depth + 1);
	}
}

static void make_block(struct maker *m, int depth);

static void make_line(struct maker *m, int depth)
{
	static const char *const lines[] = {"%v = %e", "%v = %e", "%v += %e", "%l = [%e, %e]",
		"%l.append(%e)", "%l += [%e]", "%l = %l if %c else %l", "l = m", "d[%e] = %e",
		"d = {}", "g.setdefault(%e, []).append(%e)", "g[%e] = %l", "sink(%v)", "sink(%l)",
		"sink(d)", "sink(%e)", "sink(len(%l))", "f(%e, %l)", "%l.insert(0, %e)",
		"(a, b) = (%e, %e)", "%l.extend(%l[:2])", "sink([x for x in %l if %c])",
		"%l.sort()", "%l = %l[1:]", "d.update({%e: %e})", "d[%e] = d.get(%e, 0) + 1",
		"t = g.get(%e, [])", "t = list(%l)", "t.append(%e)", "sink(t)", "%l.clear()",
		"sorted([%l, [1]], key=lambda x: x.append(%e) or 0)", "d.update(k=%e)",
		"t = %l[:2]; t *= 2", "%l += %l[:1]", "m = l", "sorted([1, %e], key=%l.append)",
		"sink(list(dict(k=%e, **{'j': 1})))",
		"sorted([1], key=lambda x, y=m.append(%e): x)",
		"t = max([%l, %l], key=lambda x: len([q for q in x if q == %e]))", "%v *= %e",
		"%v -= %e", "f(%e, [*%l, %e])", "g[%e] = l"};
	static const char *const heads[] = {"if %c:", "for c in range(3):", "for b in %l:",
		"for a in [1, %e]:", "if %v == %e:", "for a in d:"};
	for (int i = 0; i < depth; i++)
		put(m, " ");
	if (m->in_loop && pick(m, 8) == 0) {
		make_form(m, pick(m, 2) ? "if %c: break" : "if %c: continue", 1);
	} else if (depth < 3 && pick(m, 3) == 0) {
		unsigned which = pick(m, ARRAY_LEN(heads));
		bool is_loop = heads[which][0] == 'f';
		make_form(m, heads[which], 1);
		m->in_loop += is_loop;
		make_block(m, depth + 1);
		m->in_loop -= is_loop;
		return;
	} else {
		make_form(m, lines[pick(m, ARRAY_LEN(lines))], 1);
	}
	put(m, "\n");
}

static void make_block(struct maker *m, int depth)
{
	put(m, "\n");
	for (unsigned i = 0, n = 1 + pick(m, 3); i < n; i++)
		make_line(m, depth);
}

static void make_program(struct maker *m)
{
	put(m, "def h(x):\n if x == 1:\n  return 2\n return x\n");
	put(m, "def f(x, y):\n z = 1\n");
	put(m, pick(m, 2) ? " if x == 2:\n  return 3\n" : "");
	put(m, pick(m, 2) ? " y.append(x)\n" : "");
	put(m, " for i in y:\n  if i == x:\n   z += 1\n   break\n return z\n");
	put(m, "a = 1\nb = 2\nc = 0\nl = []\nm = [1]\nd = {}\ng = {}\nt = []\n");
	for (unsigned i = 0, n = 3 + pick(m, 12); i < n; i++)
		make_line(m, 0);
	put(m, "sink(a)\nsink(b)\nsink(c)\nsink(l)\nsink(m)\nsink(d)\nsink(g)\nsink(t)\n");
}

/*
 * Is every call that nothing untrusted guards made in the other run as well, and in this order,
 * with the same value when that is clean in one of them?
 */
static bool is_within(const struct heard *one, const struct heard *other, size_t *n_clean)
{
	size_t k = 0;
	for (size_t i = 0; i < one->n; i++) {
		if (one->item[i].is_guarded)
			continue;
		for (; k < other->n; k++) {
			bool is_dirty = one->item[i].is_dirty && other->item[k].is_dirty;
			if (one->item[i].at == other->item[k].at &&
				(is_dirty || strcmp(one->item[i].text, other->item[k].text) == 0))
				break;
		}
		if (k++ == other->n)
			return false;
		*n_clean += !one->item[i].is_dirty;
	}
	return true;
}

static void show(const char *name, const struct heard *one)
{
	for (size_t i = 0; i < one->n; i++)
		fprintf(stderr, "# %s: at %u %s%s%s\n", name, one->item[i].at, one->item[i].text,
			one->item[i].is_dirty ? " T" : "", one->item[i].is_guarded ? " !" : "");
}

/* Two runs that differ in what src() gives: what has not its label in one of them is the same. */
TEST(nothing_else_changes_with_untrusted_data)
{
	static struct maker m;
	static struct heard one, other;
	static char seen[SEEN_MAX];
	size_t n_ended = 0, n_clean = 0, n_all = 0;
	uint64_t from = number_of("RETORT_FIRST", 1), n_plans = number_of("RETORT_PLANS", 4000);
	for (uint64_t seed = from; seed < from + n_plans; seed++) {
		m = (struct maker){.state = seed * 7919};
		make_program(&m);
		one.n = other.n = 0;
		hears = &one;
		int r = run(m.text, false, seen);
		hears = &other;
		r |= run(m.text, true, seen);
		/* A run that fails tells that it does, and no more is claimed. */
		if (r != 0)
			continue;
		n_ended++;
		n_all += one.n;
		if (!is_within(&one, &other, &n_clean) || !is_within(&other, &one, &n_clean)) {
			fprintf(stderr, "# RETORT_FIRST=%llu\n%s\n", (unsigned long long)seed,
				m.text);
			show("one", &one);
			show("other", &other);
			CHECK(false);
			break;
		}
	}
	hears = NULL;
	/* It says something only when plans end, and both kinds of values are there. */
	CHECK(n_ended > n_plans / 4 && n_clean > n_plans && n_all - n_clean / 2 > n_plans / 2);
}
