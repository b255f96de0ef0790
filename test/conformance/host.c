/*
 * One chunk of a suite: runs it with what the suites expect to be there, says what happened as
 * lines of words with tabs between. run.py judges. SPDX-License-Identifier: Apache-2.0
 */
#include "plan/program/program.h"

#include "base/fd.h"
#include "plan/machine/format.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOURCE_MAX_BYTES = 1 << 22 };

static struct program program;
static struct predeclared names[32];
static size_t n_names;

static void say(const char *word, uint32_t line, const char *a, const char *b)
{
	printf("%s\t%u\t", word, line);
	for (const char *const *p = (const char *const[]){a, b, NULL}; *p; p++) {
		for (const char *c = *p; *c; c++)
			if (*c == '\n' || *c == '\t' || *c == '\\')
				printf("\\%c", *c == '\n' ? 'n' : *c == '\t' ? 't' : '\\');
			else
				putchar(*c);
		putchar('\t');
	}
	putchar('\n');
}

static uint32_t line_now(const struct vm *vm)
{
	const struct frame *f = &vm->frames[vm->n_frames - 1];
	size_t at = (size_t)(f->pc - f->code->ins);
	uint32_t line, column;
	source_place(&program.src, f->code->at[at > 0 ? at - 1 : 0], &line, &column);
	return line;
}

static char *text_of(struct vm *vm, struct val v, bool is_repr)
{
	struct text t = {.h = vm->h};
	struct val out;
	if (format_value(vm, &t, v, is_repr) < 0 || text_take(&t, T_STRING, &out) < 0)
		return (char *)(uintptr_t) "?";
	char *copy = heap_zero(vm->h, out.str->n_bytes + 1u);
	memcpy(copy, out.str->data, out.str->n_bytes);
	return copy;
}

#define FN(name)                                                                                   \
	static int name(struct vm *vm, struct val self attr_unused, const struct val *arg,         \
		struct val *out attr_unused)

static bool is_close(struct val a, struct val b)
{
	double x, y;
	if (a.type != T_FLOAT && b.type != T_FLOAT)
		return false;
	x = a.type == T_FLOAT ? a.f : (double)a.i;
	y = b.type == T_FLOAT ? b.f : (double)b.i;
	return nextafter(x, y) == y;
}

FN(h_eq)
{
	int r = val_equal(vm->h, arg[0], arg[1]);
	if (r == 0 && !is_close(arg[0], arg[1]))
		say("ERROR", line_now(vm), text_of(vm, arg[0], true), text_of(vm, arg[1], true));
	return r < 0 ? -1 : 0;
}

FN(h_ne)
{
	int r = val_equal(vm->h, arg[0], arg[1]);
	if (r > 0)
		say("ERROR", line_now(vm), "equal:", text_of(vm, arg[0], true));
	return r < 0 ? -1 : 0;
}

FN(h_true)
{
	if (!val_truth(arg[0]))
		say("ERROR", line_now(vm), "not true",
			arg[1].type == T_STRING ? arg[1].str->data : "");
	return 0;
}

FN(h_lt)
{
	bool is;
	if (op_compare(vm, 2, arg[0], arg[1], &is) < 0)
		return -1;
	if (!is)
		say("ERROR", line_now(vm), "not less", text_of(vm, arg[0], true));
	return 0;
}

FN(h_contains)
{
	bool is;
	if (op_in(vm, arg[1], arg[0], &is) < 0)
		return -1;
	if (!is)
		say("ERROR", line_now(vm), "not in", text_of(vm, arg[1], true));
	return 0;
}

FN(h_error)
{
	say("ERROR", line_now(vm), "error", text_of(vm, arg[0], false));
	return 0;
}

static bool caught(struct vm *vm, struct val fn, struct val *msg)
{
	struct args none = {0};
	struct val out;
	uint32_t n = vm->n_frames;
	if (vm_call(vm, fn, &none, &out) == 0)
		return false;
	char copy[FAIL_MSG_BYTES];
	memcpy(copy, vm->h->msg, sizeof copy);
	vm_unwind(vm, n);
	(void)str_of(vm->h, copy, msg);
	return true;
}

FN(h_fails)
{
	struct val msg;
	uint32_t line = line_now(vm);
	if (caught(vm, arg[0], &msg))
		say("FAILS", line, text_of(vm, arg[1], false), text_of(vm, msg, false));
	else
		say("ERROR", line, "succeeded, want", text_of(vm, arg[1], false));
	return 0;
}

FN(h_catch)
{
	(void)caught(vm, arg[0], out);
	return 0;
}

FN(h_freeze)
{
	*out = arg[0];
	return val_freeze(vm->h, arg[0]);
}

static const struct native natives[] = {
	{"eq", "x y", .fn = h_eq},
	{"ne", "x y", .fn = h_ne},
	{"true", "cond msg?", .fn = h_true},
	{"lt", "x y", .fn = h_lt},
	{"contains", "x y", .fn = h_contains},
	{"fail", "msg?", .fn = h_error},
	{"fails", "f pattern", .fn = h_fails},
	{"freeze", "x", .fn = h_freeze},
	{"catch", "f", .fn = h_catch},
	{NULL},
};

static struct val native_of(const char *name)
{
	for (const struct native *n = natives; n->name; n++)
		if (strcmp(n->name, name) == 0)
			return VAL_PTR(T_NATIVE, (void *)(uintptr_t)n);
	return VAL_UNSET;
}

/* load("assert.star", …): the module's names are natives here. */
static int load(void *ctx, struct vm *vm, struct val module, struct val name, struct val *out)
{
	(void)ctx;
	if (str_is(module, "assert.star") && str_is(name, "freeze")) {
		*out = native_of("freeze");
		return 0;
	}
	if (!str_is(module, "assert.star") || !str_is(name, "asserts"))
		return heap_fail(vm->h, "name %.60s not found in module %.60s", name.str->data,
			module.str->data);
	struct record *r = heap_zero(vm->h, sizeof *r);
	if (!r || str_of(vm->h, "assert", &r->constructor) < 0)
		return -1;
	r->names = heap_alloc(vm->h, sizeof natives);
	r->values = heap_alloc(vm->h, sizeof natives);
	for (const struct native *n = natives; n->name; n++) {
		if (str_of(vm->h, n->name, &r->names[r->n]) < 0)
			return -1;
		r->values[r->n++] = VAL_PTR(T_NATIVE, (void *)(uintptr_t)n);
	}
	*out = VAL_PTR(T_STRUCT, r);
	return 0;
}

static void option(struct dialect *d, const char *name)
{
	const struct {
		const char *name;
		bool *at;
	} rows[] = {{"globalreassign", &d->global_reassign},
		{"toplevelcontrol", &d->top_level_control}, {"while", &d->while_loops},
		{"recursion", &d->recursion}, {"f_strings", &d->f_strings},
		{"annotations", &d->annotations}, {"layout", &d->python_layout},
		{"star", &d->star_targets}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			*rows[i].at = true;
}

static int print_out(void *ctx, const char *text, size_t bytes)
{
	(void)ctx;
	(void)text;
	(void)bytes;
	return 0;
}

static void predeclare(const char *name, const char *native)
{
	names[n_names++] = (struct predeclared){name, native_of(native)};
}

int main(int argc, char **argv)
{
	static char text[SOURCE_MAX_BYTES];
	struct dialect dialect = DIALECT_STARLARK;
	bool runs = true;
	const uint64_t seed[2] = {1, 2};
	const struct heap_limits limits = {.fuel = 100000000, .bytes = 1u << 29, .depth = 200};
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--check") == 0)
			runs = false;
		else if (strncmp(argv[i], "--name=", 7) == 0)
			names[n_names++] = (struct predeclared){argv[i] + 7, VAL_NONE};
		else
			option(&dialect, argv[i]);
	ssize_t n = fd_read_all(STDIN_FILENO, text, sizeof text);
	struct source src = {"chunk", text, n > 0 ? (size_t)n : 0};
	predeclare("assert_eq", "eq");
	predeclare("assert_ne", "ne");
	predeclare("assert_", "true");
	predeclare("assert_fails", "fails");
	struct vm_host host = {.print = print_out, .load = load};
	struct val out;
	bool is_loaded =
		program_load_with(&program, &src, &dialect, &limits, seed,
			&(const struct program_setup){.names = names, .n_names = n_names}) == 0;
	if (is_loaded && runs)
		(void)program_run(&program, &host, &out);
	for (size_t i = 0; i < program.diags.n; i++) {
		const struct diag *d = &program.diags.item[i];
		say(d->code >= 600 ? "STOPPED" : "INVALID", d->line, d->msg, "");
		/* An error is expected at the line that calls, or at the one that fails. */
		for (size_t k = 1; d->code >= 600 && k < program.vm.n_trace; k++) {
			uint32_t line, column;
			source_place(&src, program.vm.trace[k].at, &line, &column);
			say("FROM", line, "", "");
		}
	}
	program_done(&program);
	return 0;
}
