/* What the check says of a plan holds in every run of it: each label of the run is below the label
 * that the check gave to the place. SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "label/foreseen.h"

#include "maker.h"
#include "plan/check/check.h"
#include "plan/machine/flow.h"
#include "plan/machine/format.h"
#include "plan/program/call.h"

#include <stdio.h>
#include <string.h>

static const struct tool_type words = {.shape = TOOL_STRING, .kind = {.rank = KIND_TEXT}},
			      number = {.shape = TOOL_INT, .kind = {.rank = KIND_NUMBER}},
			      flag = {.shape = TOOL_BOOL, .kind = {.rank = KIND_BOOL}},
			      address = {.shape = TOOL_STRING,
				      .kind = {.rank = KIND_NAME},
				      .name = "email"},
			      numbers = {.shape = TOOL_LIST, .item = &number};
static const struct tool_field mail_fields[] = {{"sender", &address, true}, {"body", &words, true},
	{"size", &number, true}, {"read", &flag, false}};
static const struct tool_type mail = {.shape = TOOL_DICT, .field = mail_fields, .n_fields = 4},
			      mails = {.shape = TOOL_LIST, .item = &mail};
static const struct tool_field query[] = {{"q", NULL, false}}, log_params[] = {{"v", NULL, true}};
/* What comes from this tool comes from these hosts, too. */
static const char *const mail_host[] = {"mail.example"}, *const web_hosts[] = {"*.example", "any"};
static const struct tool tools[] = {
	{.name = "log", .param = log_params, .n_params = 1, .is_read_only = true},
	{.name = "mail.get",
		.param = query,
		.n_params = 1,
		.result = &mails,
		.host = mail_host,
		.n_hosts = 1,
		.is_read_only = true},
	{.name = "nums.get",
		.param = query,
		.n_params = 1,
		.result = &numbers,
		.is_read_only = true},
	{.name = "one.get", .param = query, .n_params = 1, .result = &mail, .is_read_only = true},
	{.name = "thing.get", .param = query, .n_params = 1, .is_read_only = true},
	{.name = "web.get",
		.param = query,
		.n_params = 1,
		.result = &words,
		.host = web_hosts,
		.n_hosts = 2,
		.is_read_only = true},
};
static const struct tool_set set = {tools, ARRAY_LEN(tools)};

/* "%e" a number, "%s" a text, "%c" a condition; lists hold numbers. */
static const struct forms forms[] = {
	FORMS('v', "a", "b", "c"),
	FORMS('t', "s", "t"),
	FORMS('l', "l", "m"),
	FORMS('e', "%v", "%v", "1", "2", "7", "(%v + %e)", "len(%l)", "len(%s)",
		"(%e if %c else %e)", "sum(%l)", "min(%e, %e)", "(nums.get(q=%s) + [1])[0]",
		"sum([x for x in %l if x < %e])", "d.get(%e, 0)", "len(g.get(%e, []))", "f(%e, %l)",
		"h(%e)", "max(%l + [%e])", "(%v * %e)", "(%c and %e or 1)", "len(sorted(%l))",
		"len(set(%l))", "len(z)", "(%l + [0])[0]", "[0, 1, 2][min(max(%v, 0), 2)]",
		"struct(x=%e, y=%e).x", "%s.find('a')", "%s.count(%s)", "ask('how many?', %s, int)",
		"one.get(q=%s)['size']", "abs(%e)", "approve(%l + [%e], 'r')[0]", "(-%v)",
		"(%e, %e)[1]", "{'x': %e, 'y': %e}['x']", "len(w)", "round(%e)", "ord('a')",
		"len(list(zip(%l, w)))", "sum([i for i, x in enumerate(%l)])", "date.weekday(%y)",
		"date.diff(%y, %y)", "max(%e, *%l)",
		"sum([i * x for i, x in enumerate(iterable=%l, start=%e)])"),
	FORMS('s', "%t", "%t", "'ann'", "'bob'", "(%s + %s)", "%s.upper()", "%s[1:]", "str(%e)",
		"f'{%t}-{%v}'", "('%%s' %% %s)", "'-'.join([%s, %s])", "(%s.split('a') + ['x'])[0]",
		"%s.replace('a', %s)", "web.get(q=%s)", "approve([%s, %s], 'r')[0]",
		"approve({'k': %s}, 'r')['k']", "approve(%s, 'r')[0:2]",
		"(w + [{'body': 'b', 'sender': 'c'}])[0]['body']",
		"(mail.get(q=%s) + [{'sender': 'me'}])[0]['sender']", "ask('who?', %s, str)",
		"ask('mail?', %s, Email)", "ask('mails?', w, [Email])[0]",
		"ask('which?', w, ['ann', 'bob'])", "json.dumps(%l)", "repr(%l)", "%s.strip()",
		"'{}'.format(%s)", "approve(%s, 'r')", "sorted([%s, %s])[0]", "max(%s, %s)",
		"k(%s)", "e(%e)", "q['k']", "q.get(%s, 'z')", "(%s if %c else %s)", "(%s or %s)",
		"str(thing.get(q=%e))", "one.get(q=%s)['body']",
		"(try_call(web.get, q=%s).error or 'e')", "str(try_call(web.get, q=%s).ok)",
		"member(%s, ['ann', 'bob', 'x', ''])", "type(%e)",
		"','.join([x['body'] for x in w])", "{'k': %s}.get(%s, %s)", "chr(97)",
		"('a' * %v)", "str(w)", "%y", "date.format(%y, '%%d.%%m.')", "date.format(%y, %s)",
		"sorted(*[[%s, %s]], key=lambda x: x)[0]", "list(dict(ann=1))[0]",
		"list(dict(zoe=%e, bob=%s))[0]", "max(dict(eve=%e, **{'x': 1}))",
		"dir(struct(eve=1))[0]", "(lambda **kw: [*kw][0])(ann=%e, zed=2)",
		"dict(k=%s)['k']", "max([%s, %s], key=lambda x: len([y for y in %l if y == x]))",
		"sorted([%s, %s], key=len, reverse=%c)[0]", "'ann bob'.split(' ')[min(%v, 1)]",
		"(lambda x: x if %c else %s)(%s)", "[p for p in dict(ann=%s, bob=2)][0]"),
	FORMS('y', "'2026-11-22'", "date.add(%y, %e)", "ask('when?', %s, date)",
		"date.parse((w + [{'body': '2026-11-22'}])[0]['body'])"),
	FORMS('c', "%v", "(%e == %e)", "%v < %e", "%e in %l", "%l", "not %e", "%e in d",
		"%v < %e < 3", "%c and %c", "%c or %c", "any(%l)", "%l == %l", "%s == %s",
		"'a' in %s", "%s.startswith('a')", "w", "ask('is it?', %s, bool)",
		"isinstance(%e, int)", "1 == 1", "len(w) > 1"),
	/* Statements. */
	FORMS('x', "%v = %e", "%v = %e", "%t = %s", "%t = %s", "%v += %e", "%t += %s",
		"%l = [%e, %e]", "%l.append(%e)", "%l += [%e]", "%l = %l if %c else %l", "l = m",
		"d[%e] = %e", "d = {}", "g.setdefault(%e, []).append(%e)", "g[%e] = list(%l)",
		"%l.insert(0, %e)", "(a, b) = (%e, %e)", "%l.extend(%l[:2])", "%l.sort()",
		"%l = %l[1:]", "d.update({%e: %e})", "d[%e] = d.get(%e, 0) + 1", "%l.clear()",
		"w = mail.get(q=%s)", "w = [x for x in w if x['size'] > %e]",
		"%l = [x['size'] for x in w]", "%l = nums.get(q=%s)", "[a, *m] = [%e, %e, %e]",
		"d.pop(%e, 0)", "%l = sorted(%l, key=lambda x: x * %v)",
		"w = sorted(w, key=lambda x: x['body'])", "%l = list(d.keys())",
		"%l = list(d.values())", "%l = [x for x, y in d.items() if y == %e]",
		"%l = list(reversed(%l))", "%l = list(range(min(%e, 5)))",
		"%l = ask('which?', %s, [int])", "q[%s] = %s", "q['k'] = %s", "q.pop(%s + 'y', 0)",
		"q.update({%s: %s})", "z.add(%e)", "z.update(%l)", "z |= set(%l)",
		"z.difference_update(%l)", "z.intersection_update(%l + [%e])", "z = set(%l)",
		"z.discard(%e)", "%l = list(z)", "q = {'k': %s, 'ann': 'x'}",
		"q.setdefault(%s, %s)", "%l = sum([%l, %l], start=[])", "sum([], %l).append(%e)",
		"max(*[%l, %l]).append(%e)", "max([], default=%l).append(%e)",
		"json.decode(%s, %l).append(%e)", "%l = ask(*['which?', %s, [int]])",
		"l.append(max(m, *[m], key=len)[0])",
		"sorted(*[%l], key=lambda x: m.append(x) or x)",
		"sorted([%l, [1], %l], key=lambda x: x.append(%e) or 0)",
		"%l = max([%l, m], key=lambda x: len([y for y in x if y < %e]))",
		"%v = len(max([[%e], l], key=lambda x: x.append(%v) or len(x)))",
		"sorted([3, %e], key=l.append)",
		"d = {y: 1 for y in sorted(%l, key=lambda x: sum([p for p in l if p != x]))}",
		"sorted([1], key=lambda x, y=m.append(%e): x)", "d.update(a=%e, ann=%e)",
		"q.update(k=%s)", "q |= dict(ann=%s)", "m = %l[:2]; m *= 2", "%l = %l * min(%e, 3)",
		"%l = [%e, %e] * 2", "l += m", "z &= set(%l)", "z -= set(%l)", "z ^= set(%l)",
		"z |= set(m)", "m = l", "%v = int('1') + %e", "%v = [*range(9)][min(%e, 2)]",
		"%v = hash('ann') // hash('ann')", "%l = [*enumerate(%l, %e)][-1:]",
		"%v = f(%e, [1, *%l])", "g[1] = l", "g[%e] = m", "w = w[:2] * 2", "%v *= 2",
		"%v -= %e"),
	FORMS('o', "log(v=[%v, [%s]])", "log(v={'k': [%s, %e]})", "log(v=1 + %v)", "log(v=%v)",
		"log(v=%l)", "log(v=%t)", "log(v=w)", "log(v=d)", "log(v=g)", "log(v=%e)",
		"log(v=%s)", "log(v=%c)", "log(v=[x for x in %l if %c])"),
	FORMS('h', "if %c:", "for c in range(3):", "for b in %l:", "for a in [1, %e]:",
		"if %v == %e:", "for a in d:", "for t in [x['body'] for x in w]:"),
	{0},
};

static void make_block(struct maker *m, int depth);

static void make_line(struct maker *m, int depth)
{
	for (int i = 0; i < depth; i++)
		put(m, " ");
	if (m->in_loop && pick(m, 8) == 0) {
		make(m, forms, pick(m, 2) ? "if %c: break" : "if %c: continue", 1);
	} else if (depth < 3 && pick(m, 3) == 0) {
		size_t at = m->n;
		make(m, forms, "%h", 0);
		bool is_loop = m->text[at] == 'f';
		m->in_loop += is_loop;
		make_block(m, depth + 1);
		m->in_loop -= is_loop;
		return;
	} else {
		make(m, forms, pick(m, 3) ? "%x" : "%o", 0);
	}
	put(m, "\n");
}

static void make_block(struct maker *m, int depth)
{
	put(m, "\n");
	for (unsigned i = 0, n = 1 + pick(m, 3); i < n; i++)
		make_line(m, depth);
}

static void make_program(struct maker *m, uint64_t seed)
{
	*m = (struct maker){.state = seed * 7919};
	put(m, "def h(x):\n if x == 1:\n  return 2\n return x\n");
	put(m, "def k(x):\n for c in x.elems():\n  if c == 'a': return web.get(q=x)\n return 'k'\n");
	put(m, "def e(x):\n y = 'ann'\n if x == 2:\n  return y\n return 'ann'\n");
	put(m, "def f(x, y):\n z = 1\n");
	put(m, pick(m, 2) ? " if x == 2:\n  return 3\n" : "");
	put(m, pick(m, 2) ? " y.append(x)\n" : "");
	put(m, " for i in y:\n  if i == x:\n   z += 1\n   break\n return z\n");
	put(m,
		"a = 1\nb = 2\nc = 0\nl = []\nm = [1]\nd = {}\ng = {}\ns = 'ann'\nt = 'zoe'\nw = []\n"
		"q = {'k': 'bob'}\nz = set()\n");
	for (unsigned i = 0, n = 3 + pick(m, 12); i < n; i++)
		make_line(m, 0);
	put(m,
		"log(v=a)\nlog(v=b)\nlog(v=c)\nlog(v=l)\nlog(v=m)\nlog(v=d)\nlog(v=g)\nlog(v=s)\n"
		"log(v=t)\nlog(v=w)\nlog(v=q['k'])\nlog(v=q)\nlog(v=z)\n");
}

/* What is said of results differs from policy to policy. */
static const struct forms parts[] = {
	FORMS('r', ", result = value(kind = number)", "", ", result = value(readers = ['ann'])",
		", result = value(readers = ['ann', 'bob'], kind = text)", ", launder = True"),
	FORMS('m', "", ", result = each(origin = 'sender')",
		", result = each(origin = 'sender', readers = ['sender'])",
		", result = each(readers = ['sender', 'body'])",
		", result = each(origin = 'sender', says = ['body'])"),
	FORMS('t', "", "trust(tool('web.get'))\n",
		"trust(tool('web.get'), tool('net:*.example'), tool('net:any'))\n",
		"trust(tool('net:mail.example'))\n",
		"trust(tool('mail.get', principals = ['n']))\n", "trust(plan)\n", "trust(model)\n"),
	FORMS('a', "trusted", "trusted | approved", "at_most(number)", "trusted | at_most(bool)",
		"ends_with(['n', 'b'])", "member(['ann', 1, 2])"),
	FORMS('v', "%a", "%a", "%a", "chosen(tool('mail.get'), tool('net:mail.example'))"),
	FORMS('d', "", ", deny = member(['bob', 7])", ", deny = ends_with(['x', '@b.c'])"),
	{0},
};

static void make_policy(struct maker *m)
{
	m->n = 0;
	make(m, parts,
		"%trule('thing.get', effect = read%m)\nrule('mail.get', effect = read%m)\n"
		"rule('nums.get', effect = read%r)\nrule('one.get', effect = read%m)\n"
		"rule('web.get', effect = read%r)\n"
		"rule('log', effect = write, when = %a, v = control(allow = %v%d))\n",
		0);
}

/* The call of @tool at that place. */
static const struct check_call *call_at(const struct check *c, const struct plan_call *call)
{
	const struct check_call *best = NULL;
	for (uint32_t i = 0; i < c->n_calls; i++) {
		const struct check_call *one = c->calls[i];
		if (one->tool == call->tool && one->node->start <= call->at &&
			call->at < one->node->end &&
			(!best ||
				one->node->end - one->node->start <
					best->node->end - best->node->start))
			best = one;
	}
	return best;
}

static void show_label(struct labels *all, const char *name, uint32_t id)
{
	struct label l = label_get(all, id);
	uint32_t atom;
	fprintf(stderr, "#  %s: kind %d/%u/%u from", name, l.kind.rank, l.kind.size, l.kind.type);
	for (size_t i = 0; (atom = label_nth(all, l.origins, i)); i++)
		fprintf(stderr, " %s", label_text(all, atom));
	fprintf(stderr, "; given by");
	for (size_t i = 0; (atom = label_nth(all, label_givers(all, id), i)); i++)
		fprintf(stderr, " %s", label_text(all, atom));
	fprintf(stderr, "; for %s", l.readers == LABEL_ALL ? "all" : "");
	for (size_t i = 0; (atom = label_nth(all, l.readers, i)); i++)
		fprintf(stderr, " %s", label_text(all, atom));
	fprintf(stderr, " endorsed %s", l.endorsements == LABEL_ALL ? "all" : "");
	for (size_t i = 0; (atom = label_nth(all, l.endorsements, i)); i++)
		fprintf(stderr, " %s", label_text(all, atom));
	fprintf(stderr, "\n");
}

enum { LOGGED_MAX = 2000 };

/* One plan with one policy: what the check says, then a run. */
struct trial {
	struct labels *all;
	struct policy policy;
	struct diags policy_diags, diags;
	struct ground ground;
	struct program p;
	struct check check;
	struct maker choice; /* of what tools answer */
	size_t n_calls, n_wrong;
	uint32_t own;  /* origins of the plan itself */
	bool is_ended; /* the run */
	struct labels_seen {
		uint32_t run, check;
	} last; /* argument of log */
	struct logged {
		uint32_t at;
		size_t text; /* in `texts` */
		bool is_clean;
		bool is_decided; /* by something of tools, as far as the labels say */
	} logged[LOGGED_MAX];
	size_t n_logged;
	struct buf texts;
};

static uint32_t of_literal(void *ctx, struct val v)
{
	return ground_label(ctx, v);
}

static bool has_origin(const struct labels *all, uint32_t set_of, const char *text)
{
	size_t bytes = strlen(text);
	uint32_t atom;
	for (size_t i = 0; (atom = label_nth(all, set_of, i)); i++) {
		const char *one = label_text(all, atom);
		if (strncmp(one, text, bytes) == 0 && (one[bytes] == '\0' || one[bytes] == '#'))
			return true;
	}
	return set_of == LABEL_ALL;
}

/* Return whether each host is where its tool is, as an origin and as a giver. */
static bool has_hosts(struct labels *all, uint32_t label)
{
	static const char *const rows[][2] = {{"tool:mail.get", "tool:net:mail.example"},
		{"tool:web.get", "tool:net:*.example"}, {"tool:web.get", "tool:net:any"}};
	const uint32_t sets[] = {label_get(all, label).origins, label_givers(all, label)};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t k = 0; k < ARRAY_LEN(sets); k++)
			if (has_origin(all, sets[k], rows[i][0]) !=
				has_origin(all, sets[k], rows[i][1]))
				return false;
	return true;
}

static bool expect(struct trial *t, const struct plan_call *call, const char *what, uint32_t run,
	uint32_t check)
{
	uint32_t line, column;
	if (label_is_foreseen(t->all, run, check) && has_hosts(t->all, run) &&
		has_hosts(t->all, check))
		return true;
	source_place(&t->p.src, call->at, &line, &column);
	fprintf(stderr, "# %s of %s at line %u, %u is not as foreseen\n", what, call->tool->name,
		line, column);
	show_label(t->all, "run", run);
	show_label(t->all, "check", check);
	t->n_wrong++;
	return false;
}

/* What was proved before is not refuted now. */
static void compare_rulings(
	struct trial *t, const struct plan_call *call, const struct check_call *of)
{
	struct policy_answer answer[POLICY_ANSWERS_MAX];
	const struct policy_call question = {
		.tool = call->tool, .arg = call->arg, .guard = call->guard};
	size_t n = policy_decide(&t->policy, &question, answer);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < of->n_findings; k++) {
			const struct policy_answer *before = &of->finding[k].answer;
			if (before->check != answer[i].check || before->param != answer[i].param ||
				before->proof != POLICY_PROVED || answer[i].proof == POLICY_PROVED)
				continue;
			fprintf(stderr, "# at %u: question %d was proved, and does not hold\n",
				call->at, before->check);
			t->n_wrong++;
		}
}

static bool is_own(const struct trial *t, uint32_t label)
{
	return label_is_subset(t->all, label_get(t->all, label).origins, t->own);
}

static void keep_logged(struct trial *t, const struct plan_call *call, const struct check_call *of)
{
	struct text one = {.h = &t->p.heap};
	if (strcmp(call->tool->name, "log") != 0)
		return;
	t->last = (struct labels_seen){call->arg[0].label, of->arg[0].label};
	if (t->n_logged == LOGGED_MAX)
		return;
	t->logged[t->n_logged++] = (struct logged){
		call->at, t->texts.bytes, is_own(t, call->arg[0].label), !is_own(t, call->guard)};
	if (format_value(&t->p.vm, &one, call->arg[0].value, true) == 0)
		(void)buf_append(&t->texts, one.data, one.n);
	(void)buf_append(&t->texts, "", 1);
	text_done(&one);
}

/*
 * Was every call that nothing of tools decided made in the other run as well, in this order, and
 * with the same value when that is clean in one of them?
 */
static bool is_within(const struct trial *one, const struct trial *other, size_t *n_clean)
{
	size_t k = 0;
	for (size_t i = 0; i < one->n_logged; i++) {
		const struct logged *a = &one->logged[i];
		if (a->is_decided)
			continue;
		for (; k < other->n_logged; k++) {
			const struct logged *b = &other->logged[k];
			bool is_same = strcmp(buf_str(&one->texts) + a->text,
					       buf_str(&other->texts) + b->text) == 0;
			if (a->at == b->at && (is_same || (!a->is_clean && !b->is_clean)))
				break;
		}
		if (k++ == other->n_logged) {
			uint32_t line, column;
			source_place(&one->p.src, a->at, &line, &column);
			fprintf(stderr, "# line %u, %s%s: not in the other run\n", line,
				buf_str(&one->texts) + a->text, a->is_clean ? "" : " (not clean)");
			return CHECK(false);
		}
		*n_clean += a->is_clean;
	}
	return true;
}

static void compare(struct trial *t, const struct plan_call *call)
{
	const struct check_call *of = call_at(&t->check, call);
	t->n_calls++;
	if (!CHECK(of != NULL) || !expect(t, call, "what guards the call", call->guard, of->guard))
		return;
	for (uint32_t i = 0; i < call->tool->n_params; i++)
		if (call->arg[i].is_given &&
			!expect(t, call, call->tool->param[i].name, call->arg[i].label,
				of->arg[i].label))
			return;
	compare_rulings(t, call, of);
	keep_logged(t, call, of);
}

/* What tools and the model give. */
static const struct forms results[] = {
	FORMS('t', "\"a\"", "\"bab\"", "\"ann\"", "\"\""),
	FORMS('n', "0", "1", "2", "7"),
	FORMS('b', "true", "false"),
	FORMS('l', "[]", "[%n]", "[%n, %n, %n]"),
	FORMS('s', "\"ann\"", "\"bob\"", "\"zoe\""),
	FORMS('m', "{\"sender\": %s, \"body\": %t, \"size\": %n, \"read\": %b}",
		"{\"sender\": %s, \"body\": %t, \"size\": %n, \"more\": [%t]}"),
	FORMS('w', "[]", "[%m]", "[%m, %m]", "[%m, %m, %m]"),
	FORMS('a', "%t", "%n", "%l", "%m", "%w", "null", "%b"),
	FORMS('e', "\"ann\"", "\"bob\""),
	FORMS('q', "\"ann@b.c\"", "\"bob@b.c\""),
	FORMS('d', "\"2026-11-22\"", "\"2026-11-23T10:00:00\""),
	{0},
};

/* JSON of the type that the tool declares, or that the model is asked for. */
static const char *result_of(struct maker *m, const struct plan_call *call)
{
	const char *form = "null";
	m->n = 0;
	if (call->kind == CALL_ASK)
		form = strstr(call->text.str->data, "mails")   ? "[%q]"
			: strstr(call->text.str->data, "mail") ? "%q"
			: strstr(call->text.str->data, "when") ? "%d"
			: strstr(call->text.str->data, "how")  ? "%n"
			: strstr(call->text.str->data, "who")  ? "%t"
			: strstr(call->text.str->data, "is")   ? "%b"
			: call->kind_most.rank == KIND_ENUM    ? "%e"
							       : "%l";
	else if (call->tool->result)
		form = call->tool->result == &words    ? "%t"
			: call->tool->result == &mail  ? "%m"
			: call->tool->result == &mails ? "%w"
						       : "%l";
	else if (strcmp(call->tool->name, "thing.get") == 0)
		form = "%a";
	make(m, results, form, 0);
	return m->text;
}

/* Returns: 0 the machine goes on, -1 it fails. */
static int answer(struct trial *t)
{
	struct plan_call call;
	if (call_read(&t->p, &call) < 0)
		return -1;
	if (call.kind == CALL_APPROVE)
		return call_yes(&t->p, &call);
	if (call.kind == CALL_TOOL)
		compare(t, &call);
	if (call.is_try && pick(&t->choice, 2))
		return call_error(&t->p, &call, &t->policy, "no", 2);
	const char *json = result_of(&t->choice, &call);
	return call_answer(&t->p, &call, &t->policy, json, strlen(json));
}

static void try_one(struct trial *t, const char *plan, const char *policy, uint64_t seed)
{
	static const char *const own[] = {"plan", "user", "policy"};
	const struct source src = {"plan", plan, strlen(plan)},
			    rules = {"rules", policy, strlen(policy)};
	const struct heap_limits limits = {.fuel = 1000000, .bytes = 64 << 20, .depth = 60};
	const struct vm_host host = {0};
	const uint64_t seeds[2] = {7, 9};
	struct dialect dialect = DIALECT_PLAN;
	struct val result;
	*t = (struct trial){
		.all = labels_new(16 << 20), .choice = {.state = seed}, .texts = BUF_INIT(1 << 20)};
	if (!CHECK(policy_parse(&t->policy, &rules, &set, t->all, &t->policy_diags) == 0)) {
		fprintf(stderr, "# %s\n%s\n", t->policy_diags.item[0].msg, policy);
		t->n_wrong++;
		return;
	}
	(void)ground_init(&t->ground, &t->policy.heap, "tell ann and bob of 1", &t->policy);
	struct program_setup setup = {.tools = &set,
		.labels = t->all,
		.literals = {.ctx = &t->ground, .label = of_literal, .numbers = t->ground.numbers}};
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		setup.quiet = label_union(t->all, setup.quiet,
			label_set(t->all, label_atom(t->all, own[i], strlen(own[i]))));
	if (!CHECK(program_load_with(&t->p, &src, &dialect, &limits, seeds, &setup) == 0)) {
		fprintf(stderr, "# %s\n", t->p.diags.item[0].msg);
		t->n_wrong++;
		return;
	}
	t->check = (struct check){.heap = &t->p.heap,
		.src = src,
		.tree = t->p.tree,
		.policy = &t->policy,
		.request = "tell ann and bob of 1",
		.diags = &t->diags};
	if (check_plan(&t->check) < 0)
		return;
	t->own = setup.quiet;
	t->p.checked = t->check.calls;
	t->p.n_checked = t->check.n_calls;
	enum vm_state state = program_run(&t->p, &host, &result);
	while (state == VM_CALLED)
		state = answer(t) < 0 ? program_fail(&t->p) : program_resume(&t->p, &result);
	t->is_ended = state == VM_DONE;
}

static void trial_done(struct trial *t)
{
	buf_done(&t->texts);
	program_done(&t->p);
	policy_done(&t->policy);
	labels_free(t->all);
}

static void make_both(struct maker *plan, struct maker *policy, uint64_t seed)
{
	make_program(plan, seed);
	policy->state = seed;
	make_policy(policy);
}

static void show_plan(const struct maker *plan, const struct maker *policy, uint64_t seed)
{
	fprintf(stderr, "# RETORT_FIRST=%llu\n%s\n%s\n", (unsigned long long)seed, policy->text,
		plan->text);
	CHECK(false);
}

/* Of what was computed, of what a branch may have written, and of what guards calls. */
TEST(every_label_of_a_run_is_foreseen)
{
	static struct maker plan, policy;
	static struct trial t;
	uint64_t from = number_of("RETORT_FIRST", 1), n_plans = number_of("RETORT_PLANS", 2000),
		 n_ended = 0, n_calls = 0, n_refused = 0;
	bool is_wrong = false;
	for (uint64_t seed = from; seed < from + n_plans && !is_wrong; seed++) {
		make_both(&plan, &policy, seed);
		try_one(&t, plan.text, policy.text, seed);
		n_ended += t.is_ended;
		n_calls += t.n_calls;
		n_refused += t.diags.n > 0;
		is_wrong = t.n_wrong > 0;
		if (is_wrong)
			show_plan(&plan, &policy, seed);
		trial_done(&t);
	}
	/* It says something only when plans are checked, call, and end. */
	CHECK(n_ended > n_plans / 2 && n_calls > 10 * n_plans && n_refused < n_plans / 10);
}

static bool is_endorsed(const struct trial *t, uint32_t label)
{
	struct label l = label_get(t->all, label);
	return l.endorsements != 0 && l.endorsements != LABEL_ALL;
}

/* Who approves sees that value: it moves about and is put into lists, but nothing is made of it. */
TEST(what_is_made_of_approved_values_is_not_approved)
{
	static const char *const kept[] = {"s", "[s, s]", "[s][0]", "{'k': s}['k']", "(s, 1)[0]",
		"s if True else s", "[x for x in l][0]", "l", "l[0]", "n", "[n, s]",
		"struct(x=s).x", "min(l)", "d['k']", "d.get('k')", "list(l)[0]"};
	static const char *const lost[] = {"s[1:]", "s[0]", "s + s", "s * 2", "s.upper()", "f'{s}'",
		"'%s' % s", "s.split('n')", "s.split('n')[0]", "' '.join(l)", "str(s)", "str(n)",
		"n + n", "n * 2.0", "-n", "n - 1", "n % 5", "n // 2", "n < 5", "not n", "s == s",
		"len(s)", "len(l)", "sum([n, n])", "json.dumps(l)", "json.loads(str(n))",
		"int(str(n))", "abs(n)", "repr(d)", "l[0][0]", "l[1][:1]", "s.find('n')",
		"s.replace('n', 'm')", "chr(n)", "bool(n)", "l + [s[1:]]", "[x.lower() for x in l]",
		"n & 1", "~n", "1 < n < 9", "'{}'.format(s)", "s.strip()", "sorted(l)", "set(l)",
		"int(s) if n == 0 else s.title()", "range(n)", "hash(s)", "s in l",
		"date.add(y, 1)"};
	static struct trial t;
	for (size_t i = 0; i < ARRAY_LEN(kept) + ARRAY_LEN(lost); i++) {
		bool is_kept = i < ARRAY_LEN(kept);
		const char *form = is_kept ? kept[i] : lost[i - ARRAY_LEN(kept)];
		char plan[400];
		snprintf(plan, sizeof plan,
			"w = one.get(q='a')\ns = approve(w['body'], 'r')\nn = approve(w['size'], 'r')\n"
			"l = approve([w['body'], 'x'], 'r')\nd = approve({'k': w['body']}, 'r')\n"
			"y = approve(ask('when?', s, date), 'r')\nlog(v=%s)\n",
			form);
		try_one(&t, plan, "rule('one.get', effect = read)\nrule('log', effect = read)\n",
			5);
		bool ok = CHECK(t.is_ended && t.n_wrong == 0);
		ok &= CHECK_INT(is_endorsed(&t, t.last.run), is_kept);
		ok &= CHECK_INT(is_endorsed(&t, t.last.check), is_kept);
		if (!ok)
			fprintf(stderr, "# %s\n", form);
		trial_done(&t);
	}
}

/*
 * A run presumes that what it does not know may have changed the list, so that it may decide how
 * often there is a round. The check knows better. What the same data decides within is none the
 * less said of what is written, returned or left there.
 */
TEST(what_decides_within_is_not_lost_with_what_is_presumed_around)
{
	static const char *const within[] = {
		" log(v=k(t))\n",
		" log(v='ann' if t == 'x' else 'bob')\n",
		" z = 'ann'\n if t == 'x':\n  z = 'bob'\n log(v=z)\n",
		" z = 'ann'\n for c in [1]:\n  if t == 'x': break\n  z = 'bob'\n log(v=z)\n",
		" z = []\n for c in [1]:\n  if t == 'x': continue\n  z.append('bob')\n log(v=z)\n",
		" log(v=same(one.get(q='x')['body']))\n",
	};
	static struct trial t;
	for (size_t i = 0; i < ARRAY_LEN(within); i++) {
		char plan[400];
		snprintf(plan, sizeof plan,
			"def g():\n return 0\ndef k(x):\n if x == 'x':\n  return 'bob'\n return 'ann'\n"
			"def same(x):\n return x\n"
			"l = ['x']\nh = [g]\nt = web.get(q='x')\nif t == 'x':\n h[0]()\nfor i in l:\n%s",
			within[i]);
		try_one(&t, plan,
			"rule('web.get', effect = read)\nrule('one.get', effect = read)\n"
			"rule('log', effect = read)\n",
			5);
		bool ok = CHECK(t.is_ended && t.n_wrong == 0);
		ok &= CHECK(t.n_logged == 1 && !t.logged[0].is_decided && !t.logged[0].is_clean);
		if (!ok)
			fprintf(stderr, "# %s\n", plan);
		trial_done(&t);
	}
}

/* Where check and run together find nothing of tools, whatever those give makes no difference. */
TEST(what_is_called_clean_stays_the_same)
{
	static struct maker plan, policy;
	static struct trial one, other;
	uint64_t from = number_of("RETORT_FIRST", 1), n_plans = number_of("RETORT_PLANS", 2000),
		 n_ended = 0;
	size_t n_clean = 0;
	bool is_wrong = false;
	for (uint64_t seed = from; seed < from + n_plans && !is_wrong; seed++) {
		make_both(&plan, &policy, seed);
		try_one(&one, plan.text, policy.text, seed);
		try_one(&other, plan.text, policy.text, seed + 1000000007);
		bool is_told = one.is_ended && other.is_ended;
		n_ended += is_told;
		is_wrong = is_told &&
			(!is_within(&one, &other, &n_clean) || !is_within(&other, &one, &n_clean));
		is_wrong |= one.n_wrong + other.n_wrong > 0;
		if (is_wrong)
			show_plan(&plan, &policy, seed);
		trial_done(&one);
		trial_done(&other);
	}
	CHECK(n_ended > n_plans / 2 && n_clean > 10 * n_plans);
}
