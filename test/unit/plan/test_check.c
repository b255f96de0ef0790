/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "checked_plan.h"
#include "plan/builtin/builtin.h"
#include "plan/program/call.h"
#include "plan/value/native.h"
#include "plan/value/str.h"
#include "plan_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything that is not trusted is denied to files.delete. Lines begin behind the prelude, at 3.
 */
static const struct flow direct[] = {
	{"constant", "files.delete(file_id='f1')\n", "allow", ""},
	{"constant of the plan", "files.delete(file_id='zzz')\n", "deny", "source 3 sink 3"},
	{"direct", "files.delete(file_id=t)\n", "deny", "source 1 sink 3"},
	{"positional", "files.delete(t)\n", "deny", "source 1 sink 3"},
	{"variable", "x = t\ny = x\nfiles.delete(file_id=y)\n", "deny", "source 1 sink 5"},
	{"overwritten", "x = t\nx = 'f1'\nfiles.delete(file_id=x)\n", "allow", ""},
	{"concatenated", "files.delete(file_id='f1' + t)\n", "deny", "source 1 sink 3"},
	{"formatted", "files.delete(file_id=f'{t}')\n", "deny", "source 1 sink 3"},
	{"percent", "files.delete(file_id='%s' % t)\n", "deny", NULL},
	{"percent tuple", "files.delete(file_id='%s' % (t,))\n", "deny", NULL},
	{"format", "files.delete(file_id='{}'.format(t))\n", "deny", NULL},
	{"upper", "files.delete(file_id=t.upper())\n", "deny", NULL},
	{"slice", "files.delete(file_id=t[1:2])\n", "deny", NULL},
	{"index", "files.delete(file_id=t[0])\n", "deny", NULL},
	{"by tainted index", "files.delete(file_id=['f1', 'f2'][len(t)])\n", "deny", NULL},
	{"by tainted key", "d = {'a': 'f1', 'b': 'f2'}\nfiles.delete(file_id=d[t])\n", "deny",
		NULL},
	{"get by tainted key", "d = {'a': 'f1'}\nfiles.delete(file_id=d.get(t, 'f2'))\n", "deny",
		NULL},
	{"length", "files.delete(file_id=str(len(t)))\n", "deny", NULL},
	{"compared", "files.delete(file_id=str(t == 'a'))\n", "deny", NULL},
	{"membership", "files.delete(file_id=str('a' in t))\n", "deny", NULL},
	{"negated", "files.delete(file_id=str(not t))\n", "deny", NULL},
	{"split", "files.delete(file_id=t.split('a')[0])\n", "deny", NULL},
	{"joined", "files.delete(file_id=''.join(['a', t]))\n", "deny", NULL},
	{"chain", "files.delete(file_id=str(1 < len(t) < 1))\n", "deny", NULL},
	{"or", "files.delete(file_id=t or 'f1')\n", "deny", NULL},
	{"and", "files.delete(file_id=t and 'f1')\n", "deny", NULL},
	{"ternary", "files.delete(file_id='f1' if t == 'a' else 'f2')\n", "deny",
		"source 1 guard 3 sink 3"},
	{"ternary of constants", "files.delete(file_id='f1' if v == 'a' else 'f2')\n", "allow", ""},
	{"a slice of a literal is another one", "files.delete(file_id='f1'[0:2])\n", "deny",
		"source 3 sink 3"},
	{"a slice of what may be one",
		"x = approve(approve(['f1', 'f2'], 'r')[0], 'r')\nfiles.delete(file_id=x[0:2][1:])\n",
		"deny", NULL},
	{"through ask", "x = ask('k', t, str)\nfiles.delete(file_id=x)\n", "deny",
		"source 1 through 3 sink 4"},
	{"model alone", "x = ask('k', u, str)\nfiles.delete(file_id=x)\n", "deny", NULL},
	{"swapped variables", "a, b = t, 'f1'\nfiles.delete(file_id=b)\n", "allow", ""},
	{"unpacked", "a, b = t, 'f1'\nfiles.delete(file_id=a)\n", "deny", NULL},
	{"unpacked with star", "a, *b = ['f1', 'f2', t]\nfiles.delete(file_id=b[0])\n", "deny",
		NULL},
	{"before the star", "a, *b = ['f1', 'f2', t]\nfiles.delete(file_id=a)\n", "allow", ""},
	{"dead branch", "x = 'f1'\nif 1 == 2:\n    x = t\nfiles.delete(file_id=x)\n", "allow", ""},
	{"dead call", "if False:\n    files.delete(file_id=t)\n", "allow", ""},
	{"same constant on both ways",
		"if t == 'a':\n    x = 'f1'\nelse:\n    x = 'f1'\nfiles.delete(file_id=x)\n",
		"allow", ""},
	{"sum", "files.delete(file_id=str(sum([1, len(t)])))\n", "deny", NULL},
	{"max", "files.delete(file_id=max(['f1', t]))\n", "deny", NULL},
	{"print is no sink", "print(t)\n", "allow", ""},
	{"a number of the plan by int()", "files.delete(file_id=str(int('777')))\n", "deny", NULL},
	{"a number of the plan by len()", "files.delete(file_id=str(len([0, 0, 0])))\n", "deny",
		NULL},
	{"a number of the plan by comparing", "files.delete(file_id=str(int(777 == 777)))\n",
		"deny", NULL},
	{"a number of the plan by range()",
		"for i in range(9):\n    files.delete(file_id=str(i))\n", "deny", NULL},
	{"a text of the plan by None", "files.delete(file_id=str(None))\n", "deny", NULL},
	{"a text of the plan by chr()", "files.delete(file_id=chr(len([0])))\n", "deny", NULL},
	{"a text of the plan by a format", "files.delete(file_id=f'{None}')\n", "deny", NULL},
	{"a place of the plan",
		"l = ['f1', 'f2']\ni = 0\nfor k in ['a']:\n    i = i + 1\nfiles.delete(file_id=l[i])\n",
		"allow", NULL},
	{"a length is the plan's number", "files.delete(file_id=len([0, 0, 0]))\n", "deny", NULL},
	{"chosen by the plan", "files.delete(file_id='f1' if len(v) > 77 else 'f2')\n", "allow",
		NULL},
};

static const struct flow containers[] = {
	{"[tainted]", "files.delete(file_id=[t])\n", "deny", "source 1 sink 3"},
	{"[[tainted]]", "files.delete(file_id=[[t]])\n", "deny", NULL},
	{"(tainted,)", "files.delete(file_id=(t,))\n", "deny", NULL},
	{"{tainted}", "files.delete(file_id={t})\n", "deny", NULL},
	{"{k: tainted}", "files.delete(file_id={'k': t})\n", "deny", NULL},
	{"{tainted: k}", "files.delete(file_id={t: 'k'})\n", "deny", NULL},
	{"[x for x in [tainted]]", "files.delete(file_id=[x for x in [t]])\n", "deny", NULL},
	{"field", "d = {'a': t, 'b': 'f1'}\nfiles.delete(file_id=d['b'])\n", "allow", ""},
	{"tainted field", "d = {'a': t, 'b': 'f1'}\nfiles.delete(file_id=d['a'])\n", "deny", NULL},
	{"element", "l = ['f1', t]\nfiles.delete(file_id=l[0])\n", "allow", ""},
	{"tainted element", "l = ['f1', t]\nfiles.delete(file_id=l[1])\n", "deny", NULL},
	{"negative index", "l = ['f1', t]\nfiles.delete(file_id=l[-1])\n", "deny", NULL},
	{"nested field", "d = {'a': {'b': t, 'c': 'f1'}}\nfiles.delete(file_id=d['a']['c'])\n",
		"allow", ""},
	{"nested tainted field",
		"d = {'a': {'b': t, 'c': 'f1'}}\nfiles.delete(file_id=d['a']['b'])\n", "deny",
		NULL},
	{"field overwritten", "d = {'a': t}\nd['a'] = 'f1'\nfiles.delete(file_id=d['a'])\n",
		"allow", ""},
	{"field written", "d = {'a': 'f1'}\nd['a'] = t\nfiles.delete(file_id=d['a'])\n", "deny",
		NULL},
	{"alias", "a = ['f1']\nb = a\nb[0] = t\nfiles.delete(file_id=a[0])\n", "deny", NULL},
	{"alias appended", "a = ['f1']\nb = a\nb.append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"alias in a list", "a = ['f1']\nb = [a]\nb[0].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias in a sum", "a = ['f1']\nb = [a] + []\nb[0].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias in a slice", "a = ['f1']\nb = [a][0:]\nb[0].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias in a struct",
		"a = ['f1']\ns = struct(x=a)\ns.x.append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"alias in values()",
		"a = ['f1']\nd = {'k': a}\nd.values()[0].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias in items()",
		"a = ['f1']\nd = {'k': a}\nfor k, v in d.items():\n    v.append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias in zip()",
		"a = ['f1']\nfor x, y in zip([a], [1]):\n    x.append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias in sorted()", "a = ['f1']\nsorted([a])[0].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias in enumerate()",
		"a = ['f1']\nfor i, x in enumerate([a]):\n    x.append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias by get",
		"a = ['f1']\nd = {'k': a}\nd.get('k').append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"alias by pop", "a = ['f1']\n[a].pop().append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"alias by setdefault",
		"a = ['f1']\nd = {}\nd.setdefault('k', a).append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias by max", "a = ['f1']\nmax([a]).append(t)\nfiles.delete(file_id=a)\n", "deny", NULL},
	{"alias by or", "a = ['f1']\n([] or a).append(t)\nfiles.delete(file_id=a)\n", "deny", NULL},
	{"alias by dict()", "a = ['f1']\ndict(k=a)['k'].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias by pairs", "a = ['f1']\ndict([('k', a)])['k'].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias by update",
		"a = ['f1']\nd = {}\nd.update([('k', a)])\nd['k'].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"extended", "a = ['f1']\na.extend([t])\nfiles.delete(file_id=a)\n", "deny", NULL},
	{"+= in place", "a = ['f1']\nb = a\nb += [t]\nfiles.delete(file_id=a)\n", "deny", NULL},
	{"inserted", "a = ['f1']\na.insert(0, t)\nfiles.delete(file_id=a[0])\n", "deny", NULL},
	{"moved by pop", "a = ['f1', t]\na.pop(0)\nfiles.delete(file_id=a[0])\n", "deny", NULL},
	{"moved by reverse", "a = reversed(['f1', t])\nfiles.delete(file_id=a[0])\n", "deny", NULL},
	{"sorted", "files.delete(file_id=sorted(['f1', t])[0])\n", "deny", NULL},
	{"order by key",
		"d = {'f1': t}\nfiles.delete(file_id=sorted(['f1', 'f2'], key=lambda x: d.get(x, 'a'))[0])\n",
		"deny", NULL},
	{"set of tainted", "files.delete(file_id=list(set([t]))[0])\n", "deny", NULL},
	{"keys", "files.delete(file_id={t: 1}.keys()[0])\n", "deny", NULL},
	{"length of a list",
		"a = ['f1']\nif t == 'a':\n    a.append('f1')\nfiles.delete(file_id=str(len(a)))\n",
		"deny", NULL},
	{"at a tainted place", "a = ['f1', 'f1']\na[len(t)] = 'f2'\nfiles.delete(file_id=a[0])\n",
		"deny", NULL},
	{"at a tainted key", "d = {'a': 'f1'}\nd[t] = 'f2'\nfiles.delete(file_id=d['a'])\n", "deny",
		NULL},
	{"object by a tainted choice",
		"a = ['f1']\nb = ['f1']\n(a if t == 'a' else b).append('f2')\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"object of one place by a tainted choice",
		"l = [['f1'] for i in range(2)]\nl[len(t)].append('f2')\nfiles.delete(file_id=l[0])\n",
		"deny", NULL},
	{"removed by value", "a = ['f1', 'f2']\na.remove(t)\nfiles.delete(file_id=a[0])\n", "deny",
		NULL},
	{"a dict in a loop is many",
		"l = []\nfor x in ['f1', t]:\n    d = {}\n    d['a'] = x\n    l.append(d)\nfiles.delete(file_id=l[0]['a'])\n",
		"deny", NULL},
	{"a field of a mail", "m = mail.search(query='a')\nfiles.delete(file_id=m[0]['body'])\n",
		"deny", NULL},
	{"a struct", "s = struct(a=t, b='f1')\nfiles.delete(file_id=s.b)\n", "allow", ""},
	{"a field of a struct", "s = struct(a=t, b='f1')\nfiles.delete(file_id=s.a)\n", "deny",
		NULL},
	{"a clean dict of a clean loop",
		"l = [x for x in ['f1', 'f2']]\nfiles.delete(file_id=l[0])\n", "allow", ""},
	{"alias by update of a dict",
		"a = ['f1']\nd = {}\nd.update({'k': a})\nd['k'].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias by **", "a = ['f1']\nd = {**{'k': a}}\nd['k'].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias by *", "a = ['f1']\nd = [*[a]]\nd[0].append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"alias by copy", "a = ['f1']\nd = [a].copy()\nd[0].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias by a loop", "a = ['f1']\nfor x in [a]:\n    x.append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias by a star target",
		"a = ['f1']\n*x, y = [a, 1]\nx[0].append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"alias by a comprehension",
		"a = ['f1']\n[x.append(t) for x in [a]]\nfiles.delete(file_id=a)\n", "deny", NULL},
	{"alias by a default",
		"a = ['f1']\ndef f(x=a):\n    x.append(t)\nf()\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"alias by *args",
		"a = ['f1']\ndef f(*x):\n    x[0].append(t)\nf(a)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias by **kwargs",
		"a = ['f1']\ndef f(**x):\n    x['k'].append(t)\nf(k=a)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias by repetition",
		"a = ['f1']\nx = [a] * 2\nx[0].append(t)\nfiles.delete(file_id=a)\n", "deny", NULL},
	{"alias by popitem",
		"a = ['f1']\n{'k': a}.popitem()[1].append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"alias by sum",
		"a = ['f1']\nx = sum([[a]], [])\nx[0].append(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"alias by reversed", "a = ['f1']\nreversed([a])[0].append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"alias by getattr",
		"a = ['f1']\ngetattr(struct(k=a), 'k').append(t)\nfiles.delete(file_id=a)\n",
		"refused", NULL},
};

/* Implicit flows: the guard is named. */
static const struct flow implicit[] = {
	{"branch taken", "y = 'f1'\nif t == 'a':\n    y = 'f2'\nfiles.delete(file_id=y)\n", "deny",
		"source 1 guard 4 sink 6"},
	{"branch not taken",
		"y = 'f1'\nif t == 'a':\n    pass\nelse:\n    y = 'f2'\nfiles.delete(file_id=y)\n",
		"deny", "source 1 guard 4 sink 8"},
	{"loop over an empty tainted list",
		"y = 'f2'\nfor c in mail.search(query='a'):\n    y = 'f1'\nfiles.delete(file_id=y)\n",
		"deny", "source 4 guard 4 sink 6"},
	{"comprehension filter",
		"y = [i for i in ['f1', 'f2'] if t == 'a']\nfiles.delete(file_id=y)\n", "deny",
		"source 1 guard 3 sink 4"},
	{"moving one variable each round",
		"a = 'f1'\nb = 'f1'\nd = 'f1'\ne = 'f1'\ng = 'f1'\nh = 'f1'\nfor i in range(10):\n"
		"    h = g\n    g = e\n    e = d\n    d = b\n    b = a\n    a = t\nfiles.delete(file_id=h)\n",
		"deny", "source 1 sink 16"},
	{"zero-iteration overwrite", "x = t\nfor i in []:\n    x = 'f1'\nfiles.delete(file_id=x)\n",
		"deny", "source 1 sink 6"},
	{"zero iterations of while",
		"x = t\nn = 1\nwhile n > 1:\n    x = 'f1'\nfiles.delete(file_id=x)\n", "deny",
		NULL},
	{"break",
		"x = 'f1'\nfor i in ['a', 'b']:\n    if t == i:\n        break\n    x = 'f2'\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"break before, else written",
		"x = 'f1'\nfor i in ['a', 'b']:\n    if t == i:\n        break\n    else:\n        x = 'f2'\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"break behind a write",
		"x = 'f1'\nfor i in ['f1', 'f2']:\n    x = i\n    if t == i:\n        break\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"break keeps what is overwritten later",
		"x = 'f1'\nfor i in ['f1', 'f2']:\n    x = t\n    if v == i:\n        break\n    x = 'f1'\nfiles.delete(file_id=x)\n",
		"deny", "source 1 sink 9"},
	{"continue",
		"x = 'f1'\nfor i in ['a', 'b']:\n    if t == i:\n        continue\n    x = 'f2'\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"continue keeps what is overwritten later",
		"x = 'f1'\nfor i in ['f1', 'f2']:\n    x = t\n    if v == i:\n        continue\n    x = 'f1'\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"break of the inner loop only",
		"x = 'f1'\nfor i in ['a']:\n    for k in ['b']:\n        if t == k:\n            break\n    x = 'f2'\nfiles.delete(file_id=x)\n",
		"allow", ""},
	{"return",
		"def f():\n    if t == 'a':\n        return 'f1'\n    return 'f2'\nfiles.delete(file_id=f())\n",
		"deny", "source 1 guard 4 sink 7"},
	{"return from a loop",
		"def f():\n    for i in ['f1', 'f2']:\n        if t == i:\n            return i\n    return 'f1'\nfiles.delete(file_id=f())\n",
		"deny", NULL},
	{"return before a change",
		"l = ['f1']\ndef f():\n    if t == 'a':\n        return\n    l.append('f2')\nf()\nfiles.delete(file_id=l)\n",
		"deny", NULL},
	{"return behind a change",
		"l = ['f1']\ndef f():\n    if t == 'a':\n        l.append('f2')\n        return\nf()\nfiles.delete(file_id=l)\n",
		"deny", NULL},
	{"return keeps what is overwritten later",
		"d = {'a': 'f1'}\ndef f():\n    d['a'] = t\n    if v == 'a':\n        return\n    d['a'] = 'f1'\nf()\nfiles.delete(file_id=d['a'])\n",
		"deny", NULL},
	{"after a return nothing is left of it",
		"x = 'f1'\ndef f():\n    if t == 'a':\n        return 'f1'\n    return 'f2'\nf()\nx = 'f2'\nfiles.delete(file_id=x)\n",
		"allow", ""},
	{"call under a guard", "if t == 'a':\n    files.delete(file_id='f1')\n", "deny",
		"source 1 guard 3 sink 4"},
	{"call after a break",
		"for i in ['a', 'b']:\n    if t == i:\n        break\n    files.delete(file_id='f1')\n",
		"deny", NULL},
	{"call after a continue",
		"for i in ['a', 'b']:\n    if t == i:\n        continue\n    files.delete(file_id='f1')\n",
		"deny", NULL},
	{"call after a return",
		"def f():\n    if t == 'a':\n        return\n    files.delete(file_id='f1')\nf()\n",
		"deny", NULL},
	{"call in a function under a guard",
		"def f():\n    files.delete(file_id='f1')\nif t == 'a':\n    f()\n", "deny", NULL},
	{"call in a loop over tainted data",
		"for m in mail.search(query='a'):\n    files.delete(file_id='f1')\n", "deny", NULL},
	{"call after the branch", "if t == 'a':\n    x = 1\nfiles.delete(file_id='f1')\n", "allow",
		""},
	{"call by and", "t == 'a' and files.delete(file_id='f1')\n", "deny", NULL},
	{"call by or", "t == 'a' or files.delete(file_id='f1')\n", "deny", NULL},
	{"call by ternary", "files.delete(file_id='f1') if t == 'a' else None\n", "deny", NULL},
	{"call in a filter", "[files.delete(file_id='f1') for i in ['a'] if t == 'a']\n", "deny",
		NULL},
	{"call by chain", "1 < len(t) < len([files.delete(file_id='f1')])\n", "deny", NULL},
	{"function by a tainted choice",
		"def f():\n    return 'f1'\ndef g():\n    return 'f2'\nfiles.delete(file_id=(f if t == 'a' else g)())\n",
		"deny", NULL},
	{"effect by a tainted choice",
		"def f():\n    files.delete(file_id='f1')\ndef g():\n    pass\n(f if t == 'a' else g)()\n",
		"deny", NULL},
	{"guard by len", "if len(t) > 1:\n    files.delete(file_id='f1')\n", "deny", NULL},
	{"guard by truth of a list", "if mail.search(query='a'):\n    files.delete(file_id='f1')\n",
		"deny", NULL},
	{"guard by trusted data", "if v == 'a':\n    files.delete(file_id='f1')\n", "allow", ""},
	{"guard that the plan invented", "if len(u) > 77:\n    files.delete(file_id='f1')\n",
		"allow", ""},
	{"while by tainted data",
		"n = 1\nwhile n < len(t):\n    n = n + 1\nfiles.delete(file_id=str(n))\n", "deny",
		NULL},
	{"nested guards",
		"x = 'f1'\nif v == 'a':\n    if t == 'a':\n        x = 'f2'\nfiles.delete(file_id=x)\n",
		"deny", "source 1 guard 5 sink 7"},
	{"elif",
		"x = 'f1'\nif v == 'a':\n    x = 'f2'\nelif t == 'a':\n    x = 'f1'\nelse:\n    x = 'f2'\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"a list made in a branch",
		"x = []\nif t == 'a':\n    x = ['f1']\nfiles.delete(file_id=str(len(x)))\n", "deny",
		NULL},
	{"a key set in a branch",
		"d = {}\nif t == 'a':\n    d['k'] = 'f1'\nfiles.delete(file_id=d.get('k', 'f2'))\n",
		"deny", NULL},
	{"a key set in a branch, by in",
		"d = {}\nif t == 'a':\n    d['k'] = 'f1'\nfiles.delete(file_id=str('k' in d))\n",
		"deny", NULL},
	{"cleared in a branch",
		"l = ['f1']\nif t == 'a':\n    l.clear()\nfiles.delete(file_id=str(len(l)))\n",
		"deny", NULL},
	{"return before a change at a place that is not known",
		"d = {'a': 'f1'}\ndef f():\n    if t == 'a':\n        return\n    d[v] = 'f2'\nf()\nfiles.delete(file_id=d['a'])\n",
		"deny", NULL},
	{"else breaks",
		"x = 'f1'\nfor i in ['a', 'b']:\n    if t == i:\n        x = 'f2'\n    else:\n        break\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"else returns",
		"l = {'a': 'f1'}\ndef f():\n    if t == 'a':\n        l['a'] = 'f2'\n    else:\n        return\nf()\nfiles.delete(file_id=l['a'])\n",
		"deny", NULL},
	{"the second break",
		"x = 'f1'\nfor i in ['a', 'b']:\n    x = 'f1'\n    if v == i:\n        break\n    x = t\n    if v == i:\n        break\n    x = 'f1'\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"dict by a tainted choice",
		"a = {'k': 'f1'}\nb = {'k': 'f1'}\n(a if t == 'a' else b)['k'] = 'f2'\nfiles.delete(file_id=a['k'])\n",
		"deny", NULL},
	{"update by a tainted choice",
		"a = {'k': 'f1'}\nb = {'k': 'f1'}\n(a if t == 'a' else b).update({'k': 'f2'})\nfiles.delete(file_id=a['k'])\n",
		"deny", NULL},
	{"update with pairs by a tainted choice",
		"a = {'k': 'f1'}\nb = {'k': 'f1'}\n(a if t == 'a' else b).update([('k', 'f2')])\nfiles.delete(file_id=a['k'])\n",
		"deny", NULL},
	{"union in place by a tainted choice",
		"a = {'k': 'f1'}\nb = {'k': 'f1'}\nc = a if t == 'a' else b\nc |= {'k': 'f2'}\nfiles.delete(file_id=a['k'])\n",
		"deny", NULL},
	{"order of a sort",
		"l = ['f1', 'f2']\nl.sort(key=lambda x: x == t)\nfiles.delete(file_id=l[0])\n",
		"deny", NULL},
	{"while with a break",
		"n = 'f1'\nwhile len(v) > 1:\n    if t == 'a':\n        break\n    n = 'f2'\nfiles.delete(file_id=n)\n",
		"deny", NULL},
	{"setdefault behind a branch",
		"d = {}\nif t == 'a':\n    d['k'] = 'f2'\nd.setdefault('k', 'f1')\nfiles.delete(file_id=d['k'])\n",
		"deny", NULL},
	{"a first unknown key in a branch",
		"d = {'a': 'f1'}\nif t == 'a':\n    d[v] = 'f2'\nfiles.delete(file_id=d['a'])\n",
		"deny", NULL},
	{"a first unknown key in a loop",
		"d = {'a': 'f1'}\nfor i in t.split():\n    d[v] = 'f2'\nfiles.delete(file_id=d['a'])\n",
		"deny", NULL},
	{"defaults under a dict",
		"d = {}\nif t == 'a':\n    d['k'] = 'f2'\ne = {'k': 'f1', **d}\nfiles.delete(file_id=e['k'])\n",
		"deny", NULL},
	{"an object of the branch",
		"x = 'f1'\nif v == 'a':\n    d = {'k': 'f2'}\n    x = d['k']\nfiles.delete(file_id=x)\n",
		"allow", NULL},
	{"what the condition of while changes",
		"d = {'k': 'f1'}\ndef g():\n    d['k'] = t\n    return len(v) > 1\nwhile g():\n    d['k'] = 'f1'\nfiles.delete(file_id=d['k'])\n",
		"deny", NULL},
};

static const struct flow functions[] = {
	{"which return it was, of the same word",
		"def f(x):\n    y = 'f1'\n    if t == 'a':\n        return y\n    return x\nfiles.delete(file_id=f('f1'))\n",
		"deny", NULL},
	{"argument", "def f(x):\n    return x\nfiles.delete(file_id=f(t))\n", "deny", NULL},
	{"two callers", "def f(x):\n    return x\na = f(t)\nfiles.delete(file_id=f('f1'))\n",
		"allow", ""},
	{"through two",
		"def f(x):\n    return x\ndef g(x):\n    return f(x)\na = g(t)\nfiles.delete(file_id=g('f1'))\n",
		"allow", ""},
	{"sink inside", "def f(x):\n    files.delete(file_id=x)\nf('f1')\nf(t)\n", "deny",
		"source 1 sink 4"},
	{"default", "def f(x=t):\n    return x\nfiles.delete(file_id=f())\n", "deny", NULL},
	{"default not used", "def f(x=t):\n    return x\nfiles.delete(file_id=f('f1'))\n", "allow",
		""},
	{"by name", "def f(a, b):\n    return b\nfiles.delete(file_id=f(b=t, a='f1'))\n", "deny",
		NULL},
	{"the other by name", "def f(a, b):\n    return a\nfiles.delete(file_id=f(b=t, a='f1'))\n",
		"allow", ""},
	{"*args", "def f(*a):\n    return a[1]\nfiles.delete(file_id=f('f1', t))\n", "deny", NULL},
	{"another of *args", "def f(*a):\n    return a[0]\nfiles.delete(file_id=f('f1', t))\n",
		"allow", ""},
	{"**kwargs", "def f(**k):\n    return k['b']\nfiles.delete(file_id=f(b=t))\n", "deny",
		NULL},
	{"spread", "def f(a, b):\n    return a\nfiles.delete(file_id=f(*['f1', t]))\n", "deny",
		NULL},
	{"spread dict", "def f(a, b):\n    return a\nfiles.delete(file_id=f(**{'a': t, 'b': 1}))\n",
		"deny", NULL},
	{"closure", "def f():\n    x = t\n    return lambda: x\nfiles.delete(file_id=f()())\n",
		"deny", NULL},
	{"closure sees later writes",
		"def f():\n    x = 'f1'\n    g = lambda: x\n    x = t\n    return g()\nfiles.delete(file_id=f())\n",
		"deny", NULL},
	{"closures of two activations",
		"l = []\ndef f(x):\n    l.append(lambda: x)\nfor v in [t, 'f1']:\n    f(v)\nfiles.delete(file_id=l[0]())\n",
		"deny", NULL},
	{"changes its argument",
		"def f(l):\n    l.append(t)\na = ['f1']\nf(a)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"changes a global's list",
		"a = ['f1']\ndef f():\n    a.append(t)\nf()\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"local hides global",
		"x = 'f1'\ndef f():\n    x = t\n    return 1\nf()\nfiles.delete(file_id=x)\n",
		"allow", ""},
	{"lambda", "files.delete(file_id=(lambda x: x)(t))\n", "deny", NULL},
	{"method as a value", "a = ['f1']\ng = a.append\ng(t)\nfiles.delete(file_id=a)\n", "deny",
		NULL},
	{"built-in as a value", "g = str\nfiles.delete(file_id=g(t))\n", "deny", NULL},
	{"tool as a value", "g = files.delete\ng(file_id=t)\n", "deny", NULL},
	{"tool in a list", "for g in [files.delete]:\n    g(file_id=t)\n", "deny", NULL},
	{"function in a dict", "d = {'a': lambda x: t}\nfiles.delete(file_id=d['a'](1))\n", "deny",
		NULL},
	{"no return", "def f():\n    pass\nfiles.delete(file_id=f())\n", "allow", ""},
	{"in a key function",
		"l = []\nx = sorted(['a', 'b'], key=lambda v: l.append(t) or v)\nfiles.delete(file_id=l)\n",
		"deny", NULL},
	{"moving in a key function",
		"d = {'a': 'f1', 'b': 'f1', 'c': 'f1'}\ndef k(v):\n    d['c'] = d['b']\n    d['b'] = d['a']\n    d['a'] = t\n    return v\n"
		"x = sorted(['a', 'b'], key=k)\nfiles.delete(file_id=d['c'])\n",
		"deny", NULL},
	{"recursion", "def f(x):\n    return f(x)\nf(t)\n", "refused", NULL},
	{"mutual recursion", "def g(x):\n    return f(x)\ndef f(x):\n    return g(x)\nf(1)\n",
		"refused", NULL},
	{"unknown function", "x = [1]\nx[0](t)\n", "refused", NULL},
	{"spread into a tool", "files.delete(*['f1'])\n", "refused", NULL},
	{"named spread into a tool", "files.delete(**{'file_id': 'f1'})\n", "refused", NULL},
	{"unknown parameter", "files.delete(id='f1')\n", "refused", NULL},
	{"missing argument", "files.delete()\n", "refused", NULL},
	{"too many arguments", "files.delete('f1', 'f2')\n", "refused", NULL},
	{"unknown tool", "files.remove(file_id='f1')\n", "refused", NULL},
	{"tool without a rule", "x = 1\n", "allow", ""},
	{"closure of an earlier activation",
		"l = []\ndef f():\n    x = 'f1'\n    r = l[0]() if l else 'f1'\n    l.append(lambda: x)\n    x = t\n    return r\ny = 'f1'\nfor i in ['a', 'b']:\n    y = f()\nfiles.delete(file_id=y)\n",
		"deny", NULL},
	{"one of two sets of tools", "x = contacts if v == 'a' else files\nx.delete(file_id=t)\n",
		"refused", NULL},
	{"tools or something else",
		"x = struct(delete=len) if v == 'a' else files\nx.delete(file_id=t)\n", "refused",
		NULL},
	{"a set of tools", "x = files\nx.delete(file_id=t)\n", "deny", NULL},
	{"in a key function of two arguments",
		"def k(x):\n    x['k'] = t\n    return 1\na = {'k': 'f1'}\nb = {'k': 'f1'}\nmax(a, b, key=k)\nfiles.delete(file_id=b['k'])\n",
		"deny", NULL},
	{"a tool as a key function", "max('f1', t, key=files.delete)\n", "refused", NULL},
	{"alias by max of two", "a = ['f1']\nmax(a, ['f2']).append(t)\nfiles.delete(file_id=a)\n",
		"deny", NULL},
	{"a field called as a method", "s = struct(get=files.delete)\ns.get(t)\n", "deny", NULL},
	{"a field or a method", "s = struct(get=files.delete) if v == 'a' else {}\ns.get(t)\n",
		"refused", NULL},
	{"a method or a field", "s = {} if v == 'a' else struct(get=files.delete)\ns.get(t)\n",
		"refused", NULL},
	{"a tool or a method", "s = {} if v == 'a' else contacts\ns.search(t)\n", "refused", NULL},
	{"approved code", "approve(struct(get=files.delete), 'a').get(t)\n", "refused", NULL},
	{"approved code in a list", "approve([files.delete], 'a')[0](t)\n", "refused", NULL},
	{"a member that is code", "member(struct(get=files.delete), [1]).get(t)\n", "refused",
		NULL},
	{"a named member that is code", "member(value=struct(get=files.delete), list=[1]).get(t)\n",
		"refused", NULL},
	{"spread into max", "l = [['f1']]\nmax(*l).append(t)\nfiles.delete(file_id=l)\n", "deny",
		NULL},
	{"spread into a method", "l = ['f1']\nl.append(*[t])\nfiles.delete(file_id=l)\n", "refused",
		NULL},
	{"spread into format", "files.delete(file_id='{}'.format(*[t]))\n", "deny", NULL},
};

static const struct flow endorsed[] = {
	{"kinds: a number for an amount",
		"m = mail.search(query='a')\nbank.pay(recipient='bob@b.c', amount=m[0]['size'])\n",
		"depends", NULL},
	{"kinds: text for an amount", "bank.pay(recipient='bob@b.c', amount=t)\n", "ask",
		"source 1 sink 3"},
	{"kinds: a text made a number", "bank.pay(recipient='bob@b.c', amount=int(t))\n", "depends",
		NULL},
	{"kinds: a text out of numbers",
		"bank.pay(recipient='bob@b.c', amount=str(len(t)) + 'a')\n", "ask", NULL},
	{"kinds: a bit decides",
		"if 'a' in t:\n    mail.send(recipients=u, subject='s', body='b')\n", "allow", ""},
	{"kinds: a number decides",
		"for i in range(len(t)):\n    mail.send(recipients=u, subject='s', body='b')\n",
		"deny", NULL},
	{"kinds: bits in a loop are a number",
		"for i in ['a', 'b']:\n    if i in t:\n        break\n    mail.send(recipients=u, subject='s', body='b')\n",
		"deny", NULL},
	{"kinds: a text out of bits",
		"s = 'k'\nfor i in ['a', 'b']:\n    s = s + ('a' if i in t else 'b')\nbank.pay(recipient='bob@b.c', amount=s)\n",
		"ask", NULL},
	{"kinds: which of three is more than a bit",
		"x = 'f1'\nif 'a' in t:\n    x = 'f2'\nif 'b' in t:\n    x = 'k'\nif x == 'k':\n    mail.send(recipients=u, subject='s', body='b')\n",
		"allow", ""},
	{"payload may be anything", "mail.send(recipients=u, subject=t, body=t)\n", "allow", ""},
	{"recipient from the web", "mail.send(recipients=t, subject='s', body='b')\n", "depends",
		NULL},
	{"recipient by constant ending",
		"mail.send(recipients='zed@example.com', subject='s', body='b')\n", "allow", ""},
	{"recipient invented", "mail.send(recipients='zed@evil.com', subject='s', body='b')\n",
		"ask", "source 3 sink 3"},
	{"recipients all known",
		"mail.send(recipients=[u, 'zed@example.com'], subject='s', body='b')\n", "ask",
		NULL},
	{"approved", "x = approve(t, 'to whom?')\nmail.send(recipients=x, subject='s', body='b')\n",
		"allow", ""},
	{"approved, and more",
		"x = approve(t, 'to whom?')\nmail.send(recipients=[x, t], subject='s', body='b')\n",
		"depends", NULL},
	{"approved, then changed",
		"x = approve(t, 'to whom?')\nmail.send(recipients=x + 'a', subject='s', body='b')\n",
		"depends", NULL},
	{"approved list, then more",
		"x = approve([t], 'to whom?')\nx.append(t)\nmail.send(recipients=x, subject='s', body='b')\n",
		"depends", NULL},
	{"a copy was approved",
		"l = ['a']\nx = approve(l, 'to whom?')\nl.append(t)\nmail.send(recipients=l, subject='s', body='b')\n",
		"depends", NULL},
	{"approved under a guard",
		"x = u\nif 'a' in t:\n    x = approve(t, 'to whom?')\nmail.send(recipients=x, subject='s', body='b')\n",
		"depends", NULL},
	{"private mail to its reader",
		"m = mail.search(query='a')\nmail.send(recipients='bob@b.c', subject='s', body=m[0]['body'])\n",
		"depends", NULL},
	{"trusted tool", "c = contacts.search(query='a')\nfiles.delete(file_id=c)\n", "allow", ""},
	{"a trusted tool does not launder",
		"c = contacts.search(query=t)\nfiles.delete(file_id=c)\n", "deny",
		"source 1 through 3 sink 4"},
	{"nor under a guard",
		"c = 'f1'\nif t == 'a':\n    c = contacts.search(query='a')\nfiles.delete(file_id=c)\n",
		"deny", NULL},
	{"the text of an error",
		"r = try_call(contacts.search, query='a')\nfiles.delete(file_id=r.error)\n", "deny",
		NULL},
	{"whether there was an error",
		"r = try_call(contacts.search, query='a')\nif r.ok:\n    files.delete(file_id='f1')\n",
		"deny", NULL},
	{"whether there was an error, in the error of tainted data",
		"r = try_call(web.get, url=t)\nx = 'f1'\nif r.ok:\n    x = 'f2'\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"try_call is a call", "r = try_call(files.delete, file_id=t)\n", "deny", NULL},
	{"try_call by place is a call", "r = try_call(files.delete, t)\n", "deny", NULL},
	{"try_call of what is no tool", "r = try_call(len, t)\n", "refused", NULL},
	{"over the limit", "bank.pay(recipient='bob@b.c', amount=500)\n", "deny", NULL},
	{"a bool of the model is a bit",
		"b = ask('k', t, bool)\nif b:\n    mail.send(recipients=u, subject='s', body='b')\n",
		"allow", ""},
	{"a text of the model is not",
		"b = ask('k', t, str)\nif b:\n    mail.send(recipients=u, subject='s', body='b')\n",
		"allow", ""},
	{"a text of the model counts",
		"b = ask('k', t, str)\nfor x in b.split('a'):\n    mail.send(recipients=u, subject='s', body='b')\n",
		"deny", NULL},
	{"kinds: keys count", "bank.pay(recipient='bob@b.c', amount={t: 1})\n", "ask", NULL},
};

TEST(direct_flows)
{
	run_flows(direct, ARRAY_LEN(direct), TEST_POLICY);
}

TEST(flows_through_containers)
{
	run_flows(containers, ARRAY_LEN(containers), TEST_POLICY);
}

TEST(implicit_flows)
{
	run_flows(implicit, ARRAY_LEN(implicit), TEST_POLICY);
}

TEST(flows_through_functions)
{
	run_flows(functions, ARRAY_LEN(functions), TEST_POLICY);
}

TEST(kinds_endorsements_and_tools)
{
	run_flows(endorsed, ARRAY_LEN(endorsed), TEST_POLICY);
}

/* What the policy trusts is not all that went in. */
static const struct flow trusting[] = {
	{"a trusted model passes on", "x = ask('k', t, str)\nfiles.delete(file_id=x)\n", "deny",
		NULL},
	{"a trusted model", "x = ask('k', u, str)\nfiles.delete(file_id=x)\n", "allow", ""},
	{"a trusted error passes on",
		"r = try_call(contacts.search, query=t)\nfiles.delete(file_id=r.error)\n", "deny",
		NULL},
	{"a trusted error",
		"r = try_call(contacts.search, query='a')\nfiles.delete(file_id=r.error)\n",
		"allow", ""},
	{"what the plan invents", "files.delete(file_id='zzz')\n", "allow", ""},
};

TEST(trust_does_not_launder)
{
	run_flows(trusting, ARRAY_LEN(trusting),
		TEST_POLICY "trust(plan, model, error('contacts.search'))\n");
}

/* A call that is gone through many times is one call. */
TEST(calls_are_counted_by_place)
{
	static struct fixture f;
	set_up(&f,
		"def g(x):\n    return web.get(url=x)\nfor i in ['a', 'b']:\n    y = g(i)\n"
		"z = g('a')\nw = web.get(url='a')\n",
		TEST_POLICY, REQUEST);
	CHECK_INT(f.rc, 0);
	CHECK_INT(f.check.n_calls, 2);
	CHECK(f.check.n_calls == 2 && f.check.calls[0]->is_repeated &&
		!f.check.calls[1]->is_repeated);
	tear_down(&f);
}

/* What other systems let through: each with the way that is shown. */
static const struct flow holes[] = {
	{"a branch not taken leaks the guard",
		"y = 'f1'\nif t == 'a':\n    y = 'f2'\nelse:\n    pass\nfiles.delete(file_id=y)\n",
		"deny", "source 1 guard 4 sink 8"},
	{"a loop over an empty tainted list",
		"y = 'f1'\nfor c in mail.search(query='a'):\n    y = 'f2'\nfiles.delete(file_id=y)\n",
		"deny", "source 4 guard 4 sink 6"},
	{"the filter of a comprehension",
		"y = [i for i in ['f1', 'f2'] if t == i]\nfiles.delete(file_id=y)\n", "deny",
		"source 1 guard 3 sink 4"},
	{"[tainted] counts as trusted", "y = [t]\nfiles.delete(file_id=y)\n", "deny",
		"source 1 sink 4"},
	{"taint moves one variable each round, for more rounds than a cap",
		"a = 'f1'\nb = 'f1'\nd = 'f1'\ne = 'f1'\ng = 'f1'\nfor i in range(9):\n    g = e\n    e = d\n"
		"    d = b\n    b = a\n    a = t\nfiles.delete(file_id=g)\n",
		"deny", "source 1 sink 14"},
	{"an overwrite in a loop of no rounds",
		"x = t\nfor i in v.split():\n    x = 'f1'\nfiles.delete(file_id=x)\n", "deny",
		"source 1 sink 6"},
	{"an implicit flow", "x = 'f1'\nif len(t) > 1:\n    x = 'f2'\nfiles.delete(file_id=x)\n",
		"deny", "source 1 guard 4 sink 6"},
	{"all constants are the user's", "files.delete(file_id='f9')\n", "deny", "source 3 sink 3"},
	{"a trusted tool launders its inputs",
		"c = contacts.search(query=t)\nfiles.delete(file_id=c)\n", "deny",
		"source 1 through 3 sink 4"},
	{"the text of an error carries the payload",
		"r = try_call(contacts.search, query=t)\nfiles.delete(file_id=r.error)\n", "deny",
		"source 3 sink 4"},
};

/* What the property of test_plan_foreseen.c found. */
static const struct flow found[] = {
	{"a loop in a branch writes what was there already",
		"for c in ['f1', 'f2']:\n    pass\nif t == 'a':\n    for c in ['f1', 'f2']:\n"
		"        pass\nfiles.delete(file_id=c)\n",
		"deny", "source 1 guard 5 sink 8"},
	{"a list or a text is not that list",
		"r = t or ['ann@example.com']\nmail.send(recipients=r, subject='a', body='b')\n",
		"depends", NULL},
	{"not of a constant of the plan", "files.delete(file_id=not 0)\n", "deny", NULL},
	{"bool of a constant of the plan", "files.delete(file_id=bool(0))\n", "deny", NULL},
	{"what is called in a branch is of that branch only",
		"if t == 'a':\n    mail.send(recipients=[contacts.search(query='a')], subject='a', "
		"body='b')\n",
		"allow", NULL},
	{"and outside of it",
		"x = v\nif t == 'a':\n    x = contacts.search(query='a')\nfiles.delete(file_id=x)\n",
		"deny", NULL},
	{"what a function writes behind a break",
		"l = []\ndef add(x):\n    l.append(x)\nfor i in ['f1', 'f2']:\n    if t == i:\n"
		"        break\n    add('f1')\nfor x in l:\n    files.delete(file_id=x)\n",
		"deny", NULL},
	{"and behind a return",
		"l = []\ndef add(x):\n    l.append(x)\ndef run():\n    if t == 'a':\n        return\n"
		"    add('f1')\nrun()\nfor x in l:\n    files.delete(file_id=x)\n",
		"deny", NULL},
	{"setdefault leaves what is there",
		"d = {'k': t}\nd.setdefault('k', u)\nfiles.delete(file_id=d['k'])\n", "deny",
		"source 1 sink 5"},
};

/* The machine cannot wait for an answer within a built-in, so that is told before. */
static const struct flow within[] = {
	{"a tool", "x = sorted([u], key=lambda y: contacts.search(query=y))\n", "refused", NULL},
	{"in a function", "def f(y):\n    return ask('k', y, int)\nx = max([u, u], key=f)\n",
		"refused", NULL},
	{"approve", "l = [u]\nl.sort(key=lambda y: approve(y, 'r'))\n", "refused", NULL},
	{"try_call", "x = min([u, v], key=lambda y: try_call(web.get, url=y).ok)\n", "refused",
		NULL},
	{"in a comprehension", "x = [contacts.search(query=y) for y in sorted([u])]\n", "allow",
		NULL},
};

TEST(built_ins_cannot_wait)
{
	run_flows(within, ARRAY_LEN(within), TEST_POLICY);
}

TEST(found_at_random)
{
	run_flows(found, ARRAY_LEN(found), TEST_POLICY);
}

/* How much somebody can choose of a date, and of what is made of one. */
static const struct flow dated[] = {
	{"a date", "files.delete(file_id=date.parse(t))\n", "allow", NULL},
	{"a later one", "files.delete(file_id=date.add(date.parse(t), len(t)))\n", "allow", NULL},
	{"by its name", "files.delete(file_id=date.add(date=t, days=1))\n", "allow", NULL},
	{"how far", "files.delete(file_id=date.diff(t, '2026-11-22'))\n", "allow", NULL},
	{"written by the plan", "files.delete(file_id=date.format(t, '%d.%m.'))\n", "allow", NULL},
	{"written by data", "files.delete(file_id=date.format('2026-11-22', t))\n", "deny", NULL},
	{"with more behind it", "files.delete(file_id=date.parse(t) + 'x')\n", "deny", NULL},
	{"a text", "files.delete(file_id=t)\n", "deny", NULL},
};

TEST(dates_say_little)
{
	run_flows(dated, ARRAY_LEN(dated),
		"rule('web.get', effect = read)\nrule('contacts.search', effect = read)\n"
		"rule('files.delete', effect = destructive, file_id = control(allow = at_most(date)))\n");
}

/* The schema says how much an answer can say. */
static const struct flow asked[] = {
	{"one of two", "files.delete(file_id=ask('k', t, enum('a', 'b')))\n", "allow", NULL},
	{"one of a list", "files.delete(file_id=ask('k', t, ['a', 'b']))\n", "allow", NULL},
	{"one of four", "files.delete(file_id=ask('k', t, enum('a', 'b', 'c', 'd')))\n", "deny",
		NULL},
	{"one of what data says", "files.delete(file_id=ask('k', t, [t, 'b']))\n", "deny", NULL},
	{"a list that grew",
		"s = ['a', 'b']\nfor i in t.split():\n    s.append('c')\n"
		"files.delete(file_id=ask('k', t, s))\n",
		"deny", NULL},
	{"a bool", "files.delete(file_id=ask('k', t, schema=bool))\n", "allow", NULL},
	{"a text", "files.delete(file_id=ask('k', t, str))\n", "deny", NULL},
	{"an address", "bank.pay(recipient=ask('k', t, Email), amount='1')\n", "allow", NULL},
	{"addresses", "bank.pay(recipient=ask('k', t, [Email])[0], amount='1')\n", "allow", NULL},
	{"an address by its format", "bank.pay(recipient=ask('k', t, 'email'), amount='1')\n",
		"allow", NULL},
	{"a date", "bank.pay(recipient=ask('k', t, date), amount='1')\n", "allow", NULL},
	{"a number", "bank.pay(recipient=ask('k', t, float), amount='1')\n", "allow", NULL},
	{"another name", "bank.pay(recipient=ask('k', t, Url), amount='1')\n", "deny", NULL},
	{"fields", "bank.pay(recipient=ask('k', t, {'a': Email}), amount='1')\n", "deny", NULL},
	{"either", "bank.pay(recipient=ask('k', t, Email if v else str), amount='1')\n", "deny",
		NULL},
};

TEST(schemas_limit_answers)
{
	run_flows(asked, ARRAY_LEN(asked),
		"rule('web.get', effect = read)\nrule('contacts.search', effect = read)\n"
		"rule('files.delete', effect = destructive, when = at_most(text), file_id = control(allow = at_most(enum(3))))\n"
		"rule('bank.pay', effect = payment, recipient = control(allow = at_most(name('email'))),\n"
		"     amount = control(allow = trusted))\n");
}

/* Words of the request do not make others the user's, however a planner puts them together. */
#define X      "x = 'f1' if v == 'a' else 'f2'\n"
#define TODAY  "c = clock.today()\n"
#define EITHER TODAY "x = c if 'f1' in 'delete f1' else 'f1'\n"
static const struct flow spelled[] = {
	{"letters", "files.delete(file_id='delete'[0] + 'f1'[1])\n", "deny", "source 3 sink 3"},
	{"by lengths", "files.delete(file_id='delete'[len('a')])\n", "deny", NULL},
	{"letters one by one", "files.delete(file_id=[x for x in 'delete'.elems()][0])\n", "deny",
		NULL},
	{"words", "files.delete(file_id='f1' + 'f2')\n", "deny", "source 3 sink 3"},
	{"words in a form", "files.delete(file_id=f\"{'f1'}{'f2'}\")\n", "deny", NULL},
	{"a word in a form", "files.delete(file_id=f\"{'f1'} or f2\")\n", "deny", NULL},
	{"some times", "files.delete(file_id='f1' * 2)\n", "deny", NULL},
	{"joined", "files.delete(file_id='a'.join(['f1', 'f2']))\n", "deny", NULL},
	{"in capitals", "files.delete(file_id='f1'.upper())\n", "deny", NULL},
	{"split", "files.delete(file_id='delete f1'.split()[1])\n", "deny", NULL},
	{"of what a trusted tool gave", "files.delete(file_id=v[0] + v[1])\n", "deny", NULL},
	{"a part of that", "files.delete(file_id=v[0])\n", "allow", ""},
	{"a part of that or of a word", EITHER "files.delete(file_id=x[0])\n", "deny", NULL},
	{"a slice of either", EITHER "files.delete(file_id=x[1:])\n", "deny", NULL},
	{"a letter of either", EITHER "for c in x.elems():\n    files.delete(file_id=c)\n", "deny",
		NULL},
	{"either in a form", EITHER "files.delete(file_id=f'delete {x} or f2')\n", "deny", NULL},
	{"of a list of both", TODAY "files.delete(file_id=[c, 'f1'][len(c)].strip())\n", "deny",
		NULL},
	{"approved together", TODAY "files.delete(file_id=approve([c, 'f1'], 'k')[1][0])\n", "deny",
		NULL},
	{"what a tool gave",
		TODAY "x = c\nif 'f1' in 'delete f1':\n    x = c[1:]\n"
		      "files.delete(file_id=x[0])\n",
		"allow", ""},
	{"what it gave in a form", TODAY "files.delete(file_id=f'delete {c} or f2')\n", "allow",
		""},
	{"either, as it says",
		TODAY "x = c if c == 'a' else 'f1'\n"
		      "files.delete(file_id=f'delete {x} or f2')\n",
		"allow", ""},
	{"either, as it has said before",
		TODAY "if c == 'a':\n    x = 'f2' if c == 'a' else 'f1'\n"
		      "    files.delete(file_id=f'delete {x} or f2')\n",
		"deny", NULL},
	{"one of the words", "for x in ['f1', 'f2']:\n    files.delete(file_id=x)\n", "allow", ""},
	{"a form of the request", X "files.delete(file_id=f'delete {x} or f2')\n", "allow", ""},
	{"with two places", X "files.delete(file_id=f'{x} f1 or {x} with')\n", "allow", ""},
	{"with another word", X "files.delete(file_id=f'delete {x} and f2')\n", "deny", NULL},
	{"with two places in one", X "files.delete(file_id=f'delete {x}{x} or f2')\n", "deny",
		NULL},
	{"within an address", X "files.delete(file_id=f'{x}@b.c')\n", "deny", NULL},
	{"without a word", X "files.delete(file_id=f'{x}, {x}')\n", "deny", NULL},
};

TEST(words_of_the_request_spell_no_others)
{
	run_flows(spelled, ARRAY_LEN(spelled), TEST_POLICY);
}

/* Which of those that the user named is the plan's to say, and what it computed to say so is not in
 * it. */
static const struct flow planned[] = {
	{"by a computed place", "files.delete(file_id=['f1', 'f2'][len('f1') - 2])\n", "allow", ""},
	{"by a computed key", "files.delete(file_id={'f1': 'f2'}.get('f' + '1', 'f1'))\n", "allow",
		""},
	{"the first of an order", "files.delete(file_id=sorted(['f1', 'f2'], key=len)[0])\n",
		"allow", ""},
	{"an order made in place",
		"l = ['f1', 'f2']\nl.sort(key=lambda x: len(x))\nfiles.delete(file_id=l[0])\n",
		"allow", ""},
	{"the greatest", "files.delete(file_id=max(['f1', 'f2'], key=len))\n", "allow", ""},
	{"put in at a place",
		"l = ['f1']\nl.insert(len('f1') - 2, 'f2')\nfiles.delete(file_id=l[0])\n", "allow",
		""},
	{"behind one taken out",
		"l = ['f1', 'f2']\nl.pop(len('f1') - 2)\nfiles.delete(file_id=l[0])\n", "allow",
		""},
	{"a computed day", "files.delete(file_id=date.add('2026-11-22', 1))\n", "deny", NULL},
	{"a day of the request", "files.delete(file_id='2026-11-22')\n", "allow", ""},
};

TEST(which_one_is_the_plans_to_say)
{
	run_flows(planned, ARRAY_LEN(planned), TEST_POLICY);
}

/* What a plan asks of a value that is known is told before it runs. */
static const struct flow demanded[] = {
	{"a literal that is one of those", "files.delete(file_id=member('f1', ['f1', 'f2']))\n",
		"allow", ""},
	{"by name", "files.delete(file_id=member(list=('f1', 'f2'), value='f1'))\n", "allow", ""},
	{"a literal that is none", "files.delete(file_id=member('f1', ['f2', 1]))\n", "refused",
		NULL},
	{"one of none", "member('f1', [])\n", "refused", NULL},
	{"in a variable and a function",
		"def f(x):\n    return member(x, ['f2'])\ny = 'f1'\nf(y)\n", "refused", NULL},
	{"one of a list that may have grown",
		"l = ['f2']\nif t == 'a':\n    l.append('f1')\nmember('f1', l)\n", "allow", NULL},
	{"it stays whose it is", "files.delete(file_id=member('zzz', ['zzz']))\n", "deny",
		"source 3 sink 3"},
	{"of data it is told in the run", "files.delete(file_id=member(t, ['f1']))\n", "deny",
		NULL},
	{"of the form", "files.delete(file_id=matches('f1', 'f[0-9]'))\n", "allow", ""},
	{"of another form", "files.delete(file_id=matches('f1', '[a-z]+'))\n", "refused", NULL},
	{"of the form, by name", "files.delete(file_id=matches(pattern='f.', value='f1'))\n",
		"allow", ""},
	{"a pattern that is none ends the run", "web.get(url=matches('x', '('))\n", "allow", NULL},
	{"an ending is told then",
		"mail.send(recipients=matches('zed@example.com', '.+@.+'), subject='s', body='b')\n",
		"allow", ""},
	{"and what does not end so",
		"mail.send(recipients=matches('zed@evil.com', '.+@.+'), subject='s', body='b')\n",
		"ask", NULL},
};

TEST(demands_on_literals_are_told_before)
{
	run_flows(demanded, ARRAY_LEN(demanded), TEST_POLICY);
}

/* Who only chose has not made it; who chooses more and more has. `m` are items with owners. */
#define MAIL "m = mail.search(query='a')\n"
static const struct flow picked[] = {
	{"by an index", "files.delete(file_id=['f1', 'f2'][len(t)])\n", "allow", ""},
	{"by a key", "files.delete(file_id={'a': 'f1', 'b': 'f2'}[t])\n", "allow", ""},
	{"by a condition", "x = 'f1'\nif t == 'a':\n    x = 'f2'\nfiles.delete(file_id=x)\n",
		"allow", ""},
	{"by a filter", "files.delete(file_id=[x for x in ['f1', 'f2'] if x in t][0])\n", "allow",
		""},
	{"by a key function", "files.delete(file_id=max(['f1', 'f2'], key=lambda x: t.find(x)))\n",
		"allow", ""},
	{"of a trusted tool", "files.delete(file_id=v if t == 'a' else u)\n", "allow", ""},
	{"through a list",
		"l = ['f1']\nif t == 'a':\n    l.append('f2')\nfiles.delete(file_id=l)\n", "allow",
		""},
	{"all of it", "files.delete(file_id=t)\n", "deny", "source 1 sink 3"},
	{"a number", "files.delete(file_id=len(t))\n", "deny", NULL},
	{"a place", "files.delete(file_id=[i for i, x in enumerate(t.split('a'))][0])\n", "deny",
		NULL},
	{"the other one", "files.delete(file_id=t if u == 'a' else t)\n", "deny", NULL},
	{"the largest of data", "files.delete(file_id=max('f1', t))\n", "deny", NULL},
	{"what the plan made up", "files.delete(file_id=['f9', 'f8'][len(t)])\n", "deny", NULL},
	{"a text that grows",
		"s = 'k'\nfor c in t.elems():\n    s = s + 'a'\nfiles.delete(file_id=s)\n", "deny",
		NULL},
	{"a text of choices joined",
		"files.delete(file_id='k'.join(['a' if c == 'a' else 'b' for c in t.elems()]))\n",
		"deny", NULL},
	{"a text of two", "x = 'a' if t == 'a' else 'b'\nfiles.delete(file_id=x + x)\n", "deny",
		NULL},
	{"a part", "files.delete(file_id='f1'[len(t):])\n", "deny", NULL},
	{"a letter", "files.delete(file_id='f1'[len(t)])\n", "deny", NULL},
	{"a form with a place",
		"x = 'f1' if t == 'a' else 'f2'\nfiles.delete(file_id=f'delete {x}')\n", "allow",
		""},
	{"a form in a form",
		"x = 'f1' if t == 'a' else 'f2'\ny = f'delete {x}'\nfiles.delete(file_id=f'{y} {x}')\n",
		"deny", NULL},
	{"a form that grows",
		"s = 'k'\nfor c in t.elems():\n    if c == 'a':\n        s = f'{s}a'\n"
		"    else:\n        s = f'{s}b'\nfiles.delete(file_id=s)\n",
		"deny", NULL},
	{"a form of many",
		"l = ['a' if c == 'a' else 'b' for c in t.elems()]\nfiles.delete(file_id=f'{l}')\n",
		"deny", NULL},
	{"a form with data", "files.delete(file_id=f'delete {t}')\n", "deny", NULL},
	{"a form that the plan made up",
		"x = 'f1' if t == 'a' else 'f2'\nfiles.delete(file_id=f'zzz {x}')\n", "deny", NULL},
	{"a form with a number", "bank.pay(recipient=f'{len(t)}', amount=f'{len(t)} to k')\n",
		"deny", NULL},
	{"a number in a form", "bank.pay(recipient='k', amount=f'delete {len(t)} or f2')\n",
		"allow", ""},
	{"numbers upon numbers",
		"s = 'k'\nfor c in t.elems():\n    s = f'{s}{len(c)}'\n"
		"bank.pay(recipient='k', amount=s)\n",
		"deny", NULL},
	{"handed to a tool and back",
		"x = contacts.search(query='a' if t == 'a' else 'b')\n"
		"files.delete(file_id=x)\n",
		"deny", NULL},
	{"handed to the model and back",
		"x = ask('k', 'a' if t == 'a' else 'b', str)\nfiles.delete(file_id=x)\n", "deny",
		NULL},
	{"of items, by whose they are",
		MAIL "files.delete(file_id=[x['body'] for x in m if x['body'] in t][0])\n",
		"depends", NULL},
	{"of a tool that is named", "x = [t, 'k'][len(t)]\nbank.pay(recipient=x, amount=1)\n",
		"allow", ""},
};

TEST(who_chooses_does_not_make)
{
	run_flows(picked, ARRAY_LEN(picked),
		"trust(user, policy, tool('contacts.search'),\n"
		"      tool('mail.search', principals = ['@example.com']))\n"
		"rule('web.get', effect = read)\nrule('contacts.search', effect = read)\n"
		"rule('mail.search', effect = read, result = each(origin = 'sender'))\n"
		"rule('files.delete', effect = destructive, when = at_most(text), file_id = control(allow = chosen))\n"
		"rule('bank.pay', effect = payment, when = at_most(text),\n"
		"     recipient = control(allow = chosen(tool('web.get'))),\n"
		"     amount = control(allow = trusted | at_most(number)))\n");
}

/* A call of what may be anything, a tool as well, is the only one that the check refuses. */
TEST(the_checker_has_a_rule_for_all_built_ins)
{
	for (const struct native *b = builtins; b->name; b++) {
		bool is_method = b->of >= OF_STRING;
		if (!CHECK(b->model != MODEL_TOOL) ||
			!CHECK((b->model == MODEL_UNKNOWN) == (strcmp(b->name, "getattr") == 0)) ||
			!CHECK(!is_method || builtin_method(b->name)->model == b->model) ||
			!CHECK(is_method || b->of == OF_JSON || b->of == OF_DATE ||
				builtin_function(b->name) == b) ||
			!CHECK(is_method || b->model < MODEL_ADD))
			printf("# %s\n", b->name);
	}
	CHECK_INT(builtin_function("json.loads")->model, MODEL_ANY);
	CHECK_INT(builtin_function("date.add")->model, MODEL_DATE_MADE);
	CHECK(builtin_function("loads") == NULL && builtin_function("json") == NULL);
	CHECK(builtin_function("upper") == NULL && builtin_method("len") == NULL);
}

TEST(holes_of_others)
{
	run_flows(holes, ARRAY_LEN(holes), TEST_POLICY);
}

/* With too little of anything a plan is refused: what is denied is never allowed. */
/* Whoever asks for a check has others wait for it. */
TEST(a_check_has_bounds)
{
	static char plan[1 << 16];
	static struct fixture f;
	size_t n = (size_t)snprintf(plan, sizeof plan, "def f0(x): return x\n");
	for (int i = 1; i < 36; i++)
		n += (size_t)snprintf(plan + n, sizeof plan - n,
			"def f%d(x): return f%d(x) + f%d(x)\n", i, i - 1, i - 1);
	snprintf(plan + n, sizeof plan - n, "print(f35(1))\n");
	set_up(&f, plan, NULL, NULL);
	CHECK(f.rc < 0 && f.diags.n == 1);
	CHECK_INT(f.diags.item[0].code, P_TOO_MUCH);
	CHECK(strstr(f.diags.item[0].msg, "too many calling contexts") != NULL);
	CHECK(f.diags.item[0].hint[0] != '\0');
	CHECK(f.heap.used_bytes < 64 << 20);
	tear_down(&f);
	/* Objects that hold each other, in loops within loops. */
	n = (size_t)snprintf(plan, sizeof plan, "x = 1\n");
	for (int i = 0; i < 40; i++)
		n += (size_t)snprintf(plan + n, sizeof plan - n,
			"%*sfor a%d in [1, x]:\n%*sl%d = [a%d]\n%*sx = [x, l%d]\n", i, "", i, i + 1,
			"", i, i, i + 1, "", i);
	set_up(&f, plan, NULL, NULL);
	CHECK(f.rc < 0 && f.diags.n == 1);
	CHECK_INT(f.diags.item[0].code, P_TOO_MUCH);
	CHECK(strstr(f.diags.item[0].msg, "too much memory") != NULL ||
		strstr(f.diags.item[0].msg, "too long") != NULL);
	CHECK(f.heap.used_bytes < 80 << 20);
	tear_down(&f);
}

TEST(limits_refuse)
{
	static const char plan[] =
		"t = web.get(url='x')\nl = []\ndef f(x):\n    l.append([x, {'k': x}])\n    return l\n"
		"for i in ['a', 'b']:\n    y = sorted(f(t), key=lambda v: v[0])\n"
		"files.delete(file_id=y[0][1]['k'])\n";
	size_t n_refused = 0, n_denied = 0;
	for (size_t i = 1; i < 600; i++) {
		static struct fixture f;
		struct heap_limits limits = plenty;
		size_t label_bytes = LABELS_BYTES;
		if (i % 3 == 0)
			limits.bytes = i * 500;
		else if (i % 3 == 1)
			limits.fuel = i * 3;
		else
			label_bytes = 3000 + i * 40;
		set_up_within(&f, plan, TEST_POLICY, REQUEST, limits, label_bytes);
		n_refused += f.rc < 0;
		n_denied += f.rc == 0 && f.check.n_denied > 0;
		CHECK(f.rc < 0 || f.check.n_denied > 0);
		tear_down(&f);
	}
	CHECK(n_refused > 50 && n_denied > 50);
}
