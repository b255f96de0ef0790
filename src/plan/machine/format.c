/*
 * Write values as text: str(), repr() and the shortest decimal of a float.
 *
 * In the Python dialect, the text is the one that CPython writes. In the Starlark dialect, it is
 * the one that the specification of Starlark requires. Tests compare both.
 *
 * A container may contain itself. The chain of containers that are being written (struct outer)
 * detects this.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/machine/format.h"

#include "base/utf8.h"
#include "plan/value/int.h"
#include "plan/value/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The chain of containers around a value that is being written. A container inside itself is
 * written as "...". */
struct outer {
	const struct outer *outer;
	const void *p;
};

/* Write the shortest decimal digits that read back as @f, and the position of the decimal point.
 * Returns: the number of digits. */
static int shortest(double f, char *digits, int *point)
{
	char text[40];
	int precision = 0;
	do
		snprintf(text, sizeof text, "%.*e", precision, f);
	while (++precision < 18 && strtod(text, NULL) != f);
	int n = 0;
	const char *at = text;
	for (; *at && *at != 'e'; at++)
		if (*at >= '0' && *at <= '9')
			digits[n++] = *at;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	digits[n] = '\0';
	*point = atoi(at + 1) + 1;
	return n;
}

int format_float(struct text *t, double f, bool is_python)
{
	char digits[40], out[80];
	int point;
	if (isnan(f))
		return text_puts(t, "nan");
	if (isinf(f))
		return text_puts(t, f < 0 ? "-inf" : is_python ? "inf" : "+inf");
	if (signbit(f) && text_puts(t, "-") < 0)
		return -1;
	int n = shortest(fabs(f), digits, &point);
	int most = is_python ? 16 : MAX(n, 6) > 6 ? (point <= n ? 17 : 6) : 6;
	if (f != 0 && (point <= -4 || point > (is_python ? 16 : most))) {
		snprintf(out, sizeof out, "%c%s%se%c%02d", digits[0], n > 1 ? "." : "", digits + 1,
			point > 0 ? '+' : '-', abs(point - 1));
		return text_puts(t, out);
	}
	if (point <= 0)
		snprintf(out, sizeof out, "0.%.*s%s", -point, "0000", digits);
	else if (n > point)
		snprintf(out, sizeof out, "%.*s.%s", point, digits, digits + point);
	else
		snprintf(out, sizeof out, "%s%.*s.0", digits, point - n, "0000000000000000");
	return text_puts(t, out);
}

static int quote(struct text *t, const struct str *s, bool is_bytes)
{
	static const char from[] = "\n\r\t\"\\\a\b\f\v", into[] = "nrt\"\\abfv";
	bool is_python = t->h->is_python, has_single = memchr(s->data, '\'', s->n_bytes);
	bool has_double = memchr(s->data, '"', s->n_bytes);
	char mark = is_python && (!has_single || has_double) ? '\'' : '"';
	size_t n_plain = t->h->is_python ? 3 : 9;
	if ((is_bytes && text_puts(t, "b") < 0) || text_add(t, &mark, 1) < 0)
		return -1;
	for (size_t i = 0; i < s->n_bytes;) {
		int32_t c;
		char esc[16];
		size_t n = utf8_decode(s->data + i, s->n_bytes - i, &c);
		const char *plain = c > 0 && c < 128 ? memchr(from, c, n_plain) : NULL;
		esc[0] = '\0';
		if (plain && !(c == '"' && t->h->is_python))
			snprintf(esc, sizeof esc, "\\%c", into[plain - from]);
		else if (c == '\\' || c == mark)
			snprintf(esc, sizeof esc, "\\%c", c);
		else if (c < 32 || c == 127 || (is_bytes && c >= 128 && t->h->is_python) || c < 0)
			snprintf(esc, sizeof esc, "\\x%02x", (unsigned char)s->data[i]), n = 1;
		if ((esc[0] ? text_puts(t, esc) : text_add(t, s->data + i, n)) < 0)
			return -1;
		i += n;
	}
	return text_add(t, &mark, 1);
}

static int value(
	struct vm *vm, struct text *t, struct val v, bool is_repr, const struct outer *outer);

static int items(
	struct vm *vm, struct text *t, const struct val *item, size_t n, const struct outer *outer)
{
	for (size_t i = 0; i < n; i++)
		if ((i > 0 && text_puts(t, ", ") < 0) || value(vm, t, item[i], true, outer) < 0)
			return -1;
	return 0;
}

static int table(struct vm *vm, struct text *t, struct val v, const struct outer *outer)
{
	const struct entry *e;
	uint32_t at = 0;
	bool is_dict = v.type == T_DICT, is_first = true, is_python = vm->dialect.python_names;
	if (!is_dict && v.table->n_live == 0)
		return text_puts(t, is_python ? "set()" : "set([])");
	if (text_puts(t, is_dict || is_python ? "{" : "set([") < 0)
		return -1;
	while ((e = table_next(v.table, &at))) {
		if ((!is_first && text_puts(t, ", ") < 0) || value(vm, t, e->key, true, outer) < 0)
			return -1;
		if (is_dict && (text_puts(t, ": ") < 0 || value(vm, t, e->value, true, outer) < 0))
			return -1;
		is_first = false;
	}
	return text_puts(t, is_dict || is_python ? "}" : "])");
}

static int record(struct vm *vm, struct text *t, const struct record *r, const struct outer *outer)
{
	if (text_add(t, r->constructor.str->data, r->constructor.str->n_bytes) < 0 ||
		text_puts(t, "(") < 0)
		return -1;
	for (uint32_t i = 0; i < r->n; i++)
		if ((i > 0 && text_puts(t, ", ") < 0) ||
			text_add(t, r->names[i].str->data, r->names[i].str->n_bytes) < 0 ||
			text_puts(t, vm->dialect.python_names ? "=" : " = ") < 0 ||
			value(vm, t, r->values[i], true, outer) < 0)
			return -1;
	return text_puts(t, ")");
}

static int range_text(struct text *t, const struct range *r)
{
	char out[96];
	if (r->step != 1)
		snprintf(out, sizeof out, "range(%lld, %lld, %lld)", (long long)r->start,
			(long long)r->stop, (long long)r->step);
	else
		snprintf(out, sizeof out, "range(%lld, %lld)", (long long)r->start,
			(long long)r->stop);
	return text_puts(t, out);
}

static int named(struct text *t, const char *kind, const char *name, size_t bytes)
{
	return text_puts(t, kind) < 0 || text_add(t, name, bytes) < 0 ? -1 : text_puts(t, ">");
}

static int elems(struct text *t, const struct elems *e)
{
	static const char *const ends[] = {
		".elems()", ".elem_ords()", ".elems()", ".codepoints()", ".codepoint_ords()"};
	return quote(t, e->str, e->kind == ELEMS_BYTES) < 0 ? -1 : text_puts(t, ends[e->kind]);
}

static int nested(struct vm *vm, struct text *t, struct val v, const struct outer *outer)
{
	struct outer here = {outer, v.p};
	for (const struct outer *o = outer; o; o = o->outer)
		if (o->p == v.p && v.type != T_TUPLE)
			return text_puts(t, v.type == T_LIST ? "[...]" : "{...}");
	if (v.type == T_STRUCT)
		return record(vm, t, v.record, &here);
	if (v.type == T_DICT || v.type == T_SET)
		return table(vm, t, v, &here);
	bool is_list = v.type == T_LIST;
	const struct val *item = is_list ? v.list->item : v.tuple->item;
	size_t n = is_list ? v.list->n : v.tuple->n;
	if (text_puts(t, is_list ? "[" : "(") < 0 || items(vm, t, item, n, &here) < 0)
		return -1;
	return text_puts(t, is_list ? "]" : n == 1 ? ",)" : ")");
}

static int plain(struct text *t, struct val v, bool is_repr)
{
	switch (v.type) {
	case T_NONE:
		return text_puts(t, "None");
	case T_BOOL:
		return text_puts(t, v.i ? "True" : "False");
	case T_INT:
	case T_BIG:
		return int_write(t, v, 10);
	case T_FLOAT:
		return format_float(t, v.f, t->h->is_python);
	case T_STRING:
		return is_repr ? quote(t, v.str, false) : text_add(t, v.str->data, v.str->n_bytes);
	case T_BYTES:
		if (is_repr || t->h->is_python)
			return quote(t, v.str, true);
		return utf8_is_valid(v.str->data, v.str->n_bytes)
			? text_add(t, v.str->data, v.str->n_bytes)
			: -2;
	case T_RANGE:
		return range_text(t, v.range);
	case T_FUNCTION:
		return named(t, "<function ", v.function->code->name.str->data,
			v.function->code->name.str->n_bytes);
	case T_NATIVE:
		return named(t, "<built-in function ", v.native->name, strlen(v.native->name));
	case T_BOUND:
		return text_puts(t, "<built-in method ") < 0 ||
				text_puts(t, v.bound->native->name) < 0 || text_puts(t, " of ") < 0
			? -1
			: named(t, val_type_name(v.bound->self), " value", 6);
	case T_ELEMS:
		return elems(t, v.elems);
	default:
		return text_puts(t, "?");
	}
}

/* Decode bytes as UTF-8; an invalid byte becomes U+FFFD. */
static int decoded(struct text *t, const struct str *s)
{
	for (size_t i = 0; i < s->n_bytes;) {
		int32_t c;
		i += utf8_decode(s->data + i, s->n_bytes - i, &c);
		if (text_char(t, c < 0 ? UTF8_REPLACEMENT : c) < 0)
			return -1;
	}
	return 0;
}

static int value(
	struct vm *vm, struct text *t, struct val v, bool is_repr, const struct outer *outer)
{
	int r;
	if (heap_pay(vm->h, 1) < 0)
		return -1;
	switch (v.type) {
	case T_LIST:
	case T_TUPLE:
	case T_DICT:
	case T_SET:
	case T_STRUCT:
		if (heap_enter(vm->h) < 0)
			return -1;
		r = nested(vm, t, v, outer);
		heap_leave(vm->h);
		return r;
	default:
		r = plain(t, v, is_repr);
		return r == -2 ? decoded(t, v.str) : r;
	}
}

int format_value(struct vm *vm, struct text *t, struct val v, bool is_repr)
{
	return value(vm, t, v, is_repr, NULL);
}

int format_join(struct vm *vm, const struct val *item, size_t n, struct val *out)
{
	struct text t = {.h = vm->h};
	for (size_t i = 0; i < n; i++) {
		if (item[i].type != T_INT && item[i].type != T_STRING)
			return heap_fail(
				vm->h, "internal error: a piece of an f-string is not a string");
		if ((item[i].type == T_INT
				    ? int_write(&t, item[i], 10)
				    : text_add(&t, item[i].str->data, item[i].str->n_bytes)) < 0)
			return -1;
	}
	return text_take(&t, T_STRING, out);
}

int format_part(
	struct vm *vm, struct val v, int conversion, const struct val *spec, struct val *out)
{
	struct text t = {.h = vm->h};
	if (conversion) {
		if (format_value(vm, &t, v, conversion == 'r') < 0 ||
			text_take(&t, T_STRING, &v) < 0)
			return -1;
	} else if (v.type == T_STRING && !spec) {
		*out = v;
		return 0;
	}
	t = (struct text){.h = vm->h};
	int r = spec ? format_spec(vm, &t, v, spec->str->data, spec->str->n_bytes)
		     : format_value(vm, &t, v, false);
	return r < 0 ? -1 : text_take(&t, T_STRING, out);
}
