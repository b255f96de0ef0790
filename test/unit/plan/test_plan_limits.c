/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "plan/program/program.h"
#include "plan/value/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char printed[1 << 16];
static size_t n_printed;

static int print_out(void *ctx, const char *text, size_t bytes)
{
	(void)ctx;
	if (bytes >= sizeof printed - n_printed)
		return -1;
	memcpy(printed + n_printed, text, bytes);
	n_printed += bytes;
	printed[n_printed] = '\0';
	return 0;
}

static struct program p;

/* Run @text. Returns: the code of its first diagnostic, 0 when it is done. */
static int run_with(
	const char *text, size_t bytes, struct heap_limits limits, struct dialect dialect)
{
	const struct source src = {"plan", text, bytes};
	const struct vm_host host = {.print = print_out};
	const uint64_t seed[2] = {7, 9};
	struct val out;
	n_printed = 0;
	printed[0] = '\0';
	if (program_load(&p, &src, &dialect, &limits, seed) == 0)
		(void)program_run(&p, &host, &out);
	int code = p.diags.n > 0 ? p.diags.item[0].code : 0;
	program_done(&p);
	return code;
}

static int run_plan(const char *text)
{
	const struct heap_limits limits = {.fuel = 10000000, .bytes = 64 << 20, .depth = 100};
	struct dialect dialect = DIALECT_PLAN;
	dialect.while_loops = dialect.recursion = true;
	return run_with(text, strlen(text), limits, dialect);
}

TEST(fuel_ends_what_does_not_end)
{
	CHECK_INT(run_plan("while True:\n    pass\n"), 602);
	CHECK_INT(run_plan("for i in range(10000000000):\n    pass\n"), 602);
	CHECK_INT(run_plan("x = 'a' * 10000000\nfor i in range(100000):\n    'b' in x\n"), 602);
	CHECK_INT(run_plan("x = list(range(100000))\nfor i in range(1000):\n    -1 in x\n"), 602);
	CHECK_INT(run_plan("print('done')\n"), 0);
	CHECK_STR(printed, "done\n");
}

TEST(memory_ends_what_grows)
{
	CHECK_INT(run_plan("x = [1]\nwhile True:\n    x = x + x\n"), 603);
	CHECK_INT(run_plan("x = 'a'\nwhile True:\n    x = x * 2\n"), 603);
	CHECK_INT(run_plan("x = 2\nwhile True:\n    x = x * x\n"), 603);
	CHECK_INT(run_plan("[0] * 100000000000\n"), 603);
	CHECK_INT(run_plan("'%s' % ('a' * 10000000000)\n"), 603);
	CHECK_INT(run_plan("1 << 100000000\n"), 601);
	CHECK_INT(run_plan("10 ** 10000000\n"), 603);
	CHECK_INT(run_plan("d = {}\nfor i in range(10000000):\n    d[i] = i\n"), 603);
}

TEST(depth_ends_what_nests)
{
	CHECK_INT(run_plan("def f(n):\n    return f(n + 1)\nf(0)\n"), 604);
	CHECK_INT(run_plan("x = []\nfor i in range(100000):\n    x = [x]\nprint(x)\n"), 604);
	CHECK_INT(run_plan("x = []\nx.append(x)\ny = []\ny.append(y)\nx == y\n"), 604);
	CHECK_INT(run_plan("x = ()\nfor i in range(100000):\n    x = (x,)\nd = {x: 1}\n"), 604);
	CHECK_INT(run_plan("def f(x):\n    return sorted([1, 2], key=f)\nf(1)\n"), 604);
	CHECK_INT(run_plan("x = []\nx.append(x)\nprint(x)\n"), 0);
	CHECK_STR(printed, "[[...]]\n");
}

/* A source of @n times @part between @before and @after. */
static int run_repeated(const char *before, const char *part, size_t n, const char *after)
{
	size_t room = strlen(before) + strlen(part) * n + strlen(after) + 1;
	char *text = malloc(room), *at = text;
	at = stpcpy(at, before);
	for (size_t i = 0; i < n; i++)
		at = stpcpy(at, part);
	at = stpcpy(at, after);
	int code = run_with(text, (size_t)(at - text), PROGRAM_LIMITS, DIALECT_PLAN);
	free(text);
	return code;
}

TEST(sources_that_nest_are_errors)
{
	CHECK_INT(run_repeated("", "(", 100000, ""), 109);
	CHECK_INT(run_repeated("x = ", "[", 199, ""), 103);
	CHECK_INT(run_repeated("x = ", "not ", 100000, "1"), 109);
	CHECK_INT(run_repeated("x = ", "-", 100000, "1"), 109);
	CHECK_INT(run_repeated("x = ", "lambda: ", 100000, "1"), 109);
	CHECK_INT(run_repeated("x = ", "1 + ", 100000, "1"), 109);
	CHECK_INT(run_repeated("x = ", "1 if 1 else ", 100000, "1"), 109);
	CHECK_INT(run_repeated("x = 1\nx", ".x", 100000, "\n"), 109);
	CHECK_INT(run_repeated("x = 1\n", "if x: ", 100000, "pass\n"), 110);
}

TEST(sources_that_are_long_are_read)
{
	CHECK_INT(run_repeated("x = '", "a", 1 << 20, "'\nprint(len(x))\n"), 0);
	CHECK_STR(printed, "1048576\n");
	CHECK_INT(run_repeated("x = [", "1,", 1 << 19, "]\nprint(len(x))\n"), 0);
	CHECK_STR(printed, "524288\n");
	CHECK_INT(run_repeated("x = ", "9", 1 << 21, "\n"), 104);
	CHECK_INT(run_repeated("", "x = 1\n", 100000, "print(x)\n"), 0);
	CHECK_INT(run_repeated(
			  "x = 0\nif x: pass\n", "elif x == 1: pass\n", 10000, "else: print(3)\n"),
		0);
	CHECK_STR(printed, "3\n");
}

TEST(no_allocation_may_fail_badly)
{
	static const char text[] =
		"def f(x, *a, k=1, **kw):\n    return [y * 2 for y in a] + [x, k, kw]\n"
		"d = {i: str(i) for i in range(100)}\nprint(f(1, 2, z=3), sorted(d.items())[:3],"
		" f'{len(d):>5}', 2 ** 200, 'a,b'.split(','))\n";
	int n_failed = 0;
	for (size_t bytes = 0; bytes < 1 << 19; bytes += 997) {
		struct heap_limits limits = {.fuel = 100000, .bytes = bytes, .depth = 50};
		int code = run_with(text, sizeof text - 1, limits, DIALECT_PLAN);
		CHECK(code == 0 || code == 603 || code == 109);
		n_failed += code != 0;
	}
	CHECK(n_failed > 10);
}

TEST(fuel_is_the_same_each_time)
{
	static const char text[] = "x = [str(i) for i in range(1000)]\nprint(sorted(x)[5])\n";
	struct heap_limits low = {.fuel = 1, .bytes = 1 << 22, .depth = 50};
	while (run_with(text, sizeof text - 1, low, DIALECT_PLAN) == 602)
		low.fuel++;
	low.fuel--;
	CHECK_INT(run_with(text, sizeof text - 1, low, DIALECT_PLAN), 602);
	CHECK(low.fuel > 1000);
}
