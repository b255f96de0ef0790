/*
 * Format values with a template: "%d" % x, "{}".format(x), f"{x:>8}".
 *
 * format_spec() implements Python's format specification for all three: fill, alignment, sign,
 * width, grouping, precision and type. A conversion of % with flags, width or precision is
 * translated to such a specification. Width and precision are bounded, so that a short template
 * cannot produce a huge text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/machine/format.h"

#include "base/utf8.h"
#include "plan/value/int.h"
#include "plan/value/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PRECISION_MAX = 300, WIDTH_MAX = 10000 };

static int float_text(struct text *t, double f, char kind, int precision)
{
	char format[8], out[800];
	if (!isfinite(f))
		return format_float(t, f, t->h->is_python);
	snprintf(format, sizeof format, "%%.*%c", kind);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(out, sizeof out, format, precision, f);
#pragma GCC diagnostic pop
	return text_puts(t, out);
}

static int whole(struct vm *vm, struct val v, char kind, struct val *out)
{
	if (val_is_int(v)) {
		*out = v;
		return 0;
	}
	if (v.type == T_FLOAT && (kind == 'd' || !vm->dialect.python_names))
		return int_from_float(vm->h, v.f, out);
	return heap_fail(vm->h, "%%%c format requires integer: got %s", kind, val_type_name(v));
}

static int percent_number(struct vm *vm, struct text *t, char kind, struct val v)
{
	double f;
	struct val n;
	if (strchr("eEfFgG", kind)) {
		if (!val_is_int(v) && v.type != T_FLOAT)
			return heap_fail(vm->h, "%%%c format requires float, not %s", kind,
				val_type_name(v));
		if (int_to_float(vm->h, v, &f) < 0)
			return -1;
		/* In Starlark, %g writes the same text as str(). */
		if (kind == 'g' && !vm->dialect.python_names)
			return format_float(t, f, false);
		return float_text(t, f, kind, 6);
	}
	if (whole(vm, v, kind, &n) < 0)
		return -1;
	if (kind != 'X')
		return int_write(t, n, kind == 'o' ? 8 : kind == 'x' ? 16 : 10);
	size_t from = t->n;
	if (int_write(t, n, 16) < 0)
		return -1;
	for (; from < t->n; from++)
		if (t->data[from] >= 'a' && t->data[from] <= 'f')
			t->data[from] -= 32;
	return 0;
}

static int percent_char(struct vm *vm, struct text *t, struct val v)
{
	if (v.type == T_STRING && v.str->n_chars == 1)
		return text_add(t, v.str->data, v.str->n_bytes);
	if (v.type == T_STRING)
		return heap_fail(vm->h, "%%c format requires a single-character string");
	if (v.type != T_INT)
		return heap_fail(vm->h,
			"%%c format requires int or single-character string, not %s",
			val_type_name(v));
	if (v.i < 0 || v.i > 0x10ffff || (v.i >= 0xd800 && v.i <= 0xdfff))
		return heap_fail(vm->h, "%%c format requires a valid Unicode code point, got %lld",
			(long long)v.i);
	return text_char(t, (int32_t)v.i);
}

static int percent_one(struct vm *vm, struct text *t, char kind, struct val v)
{
	switch (kind) {
	case 's':
		return format_value(vm, t, v, false);
	case 'r':
		return format_value(vm, t, v, true);
	case 'c':
		return percent_char(vm, t, v);
	case 'd':
	case 'i':
	case 'o':
	case 'x':
	case 'X':
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
		return percent_number(vm, t, kind == 'i' ? 'd' : kind, v);
	default:
		return heap_fail(vm->h, "unknown conversion %%%.1s", (const char[]){kind, 0});
	}
}

/* Look up the key of "%(key)s" in the dict @args. */
static int percent_key(
	struct vm *vm, struct val args, const char **at, const char *end, struct val *out)
{
	struct val key;
	const char *close = memchr(*at, ')', (size_t)(end - *at));
	if (!close)
		return heap_fail(vm->h, "incomplete format key");
	if (args.type != T_DICT)
		return heap_fail(vm->h, "format requires a mapping");
	if (str_new(vm->h, *at + 1, (size_t)(close - *at - 1), &key) < 0)
		return -1;
	*at = close + 1;
	return op_index(vm, args, key, out);
}

/*
 * Translate the flags, width and precision of a conversion such as "%-8.2f" to a format
 * specification of Python.
 * Returns: 1; 0 if the conversion has none of them; -1 on failure.
 */
static int percent_flags(struct vm *vm, const char **at, const char *end, char *spec, size_t room)
{
	const char *from = *at;
	size_t n = 0;
	bool is_left = false, is_zero = false, is_plus = false;
	while (*at < end && strchr("-0+ #", **at)) {
		is_left |= **at == '-';
		is_zero |= **at == '0';
		is_plus |= **at == '+';
		(*at)++;
	}
	const char *digits = *at;
	while (*at < end && strchr("0123456789.", **at))
		(*at)++;
	if (*at == from)
		return 0;
	if (!vm->dialect.python_names || *at - digits > 8)
		return heap_fail(vm->h, "unknown conversion %%%.1s", from);
	n = (size_t)snprintf(spec, room, "%s%s%s%.*s",
		is_left		  ? "<"
			: is_zero ? ""
				  : ">",
		is_plus ? "+" : "", is_zero && !is_left ? "0" : "", (int)(*at - digits), digits);
	return n < room - 2;
}

/* NOLINTNEXTLINE(readability-function-cognitive-complexity): the cases of one small grammar */
int format_percent(struct vm *vm, struct val format, struct val args, struct val *out)
{
	struct text t = {.h = vm->h};
	const char *at = format.str->data, *end = at + format.str->n_bytes;
	size_t n = args.type == T_TUPLE ? args.tuple->n : 1, used = 0;
	const struct val *item = args.type == T_TUPLE ? args.tuple->item : &args;
	bool is_named = false;
	while (at < end) {
		char spec[40];
		struct val v;
		const char *next = memchr(at, '%', (size_t)(end - at));
		if (text_add(&t, at, (size_t)((next ? next : end) - at)) < 0)
			return -1;
		if (!next)
			break;
		at = next + 1;
		if (at == end)
			return heap_fail(vm->h, "incomplete format");
		if (*at == '%') {
			if (text_add(&t, at++, 1) < 0)
				return -1;
			continue;
		}
		bool is_key = *at == '(';
		is_named |= is_key;
		if (is_key && percent_key(vm, args, &at, end, &v) < 0)
			return -1;
		int has_flags = percent_flags(vm, &at, end, spec, sizeof spec);
		if (has_flags < 0 || at == end)
			return has_flags < 0 ? -1 : heap_fail(vm->h, "incomplete format");
		if (!is_key && used == n)
			return heap_fail(vm->h, "not enough arguments for format string");
		if (!is_key)
			v = item[used++];
		char kind = *at++;
		if (has_flags) {
			size_t len = strlen(spec);
			if (kind != 's' && kind != 'r')
				spec[len++] = kind == 'i' ? 'd' : kind;
			else if (format_part(vm, v, kind, NULL, &v) < 0)
				return -1;
			if ((kind == 'd' && v.type == T_FLOAT && whole(vm, v, 'd', &v) < 0) ||
				format_spec(vm, &t, v, spec, len) < 0)
				return -1;
		} else if (percent_one(vm, &t, kind, v) < 0) {
			return -1;
		}
	}
	if (!is_named && used < n && !(n == 1 && args.type == T_DICT))
		return heap_fail(vm->h, "too many arguments for format string");
	return text_take(&t, T_STRING, out);
}

struct spec {
	char fill[5], align, sign, kind;
	bool is_zero, is_alt, has_comma;
	char grouping;
	int width, precision;
};

static int read_number(struct vm *vm, const char **at, const char *end, int max, int *out)
{
	*out = 0;
	while (*at < end && **at >= '0' && **at <= '9') {
		*out = *out * 10 + (*(*at)++ - '0');
		if (*out > max)
			return heap_fail(
				vm->h, "format: a width or precision of more than %d", max);
	}
	return 0;
}

static int read_spec(struct vm *vm, const char *at, size_t bytes, struct spec *s)
{
	const char *end = at + bytes;
	int32_t c = 0;
	*s = (struct spec){.fill = " ", .precision = -1};
	size_t n = utf8_decode(at, bytes, &c);
	if (n > 0 && at + n < end && strchr("<>=^", at[n])) {
		memcpy(s->fill, at, n);
		s->fill[n] = '\0';
		s->align = at[n];
		at += n + 1;
	} else if (at < end && strchr("<>=^", *at)) {
		s->align = *at++;
	}
	if (at < end && strchr("+- ", *at))
		s->sign = *at++;
	if (at < end && *at == '#')
		s->is_alt = *at++ == '#';
	if (at < end && *at == '0') {
		s->is_zero = true;
		at++;
	}
	if (read_number(vm, &at, end, WIDTH_MAX, &s->width) < 0)
		return -1;
	if (at < end && (*at == ',' || *at == '_'))
		s->grouping = *at++;
	if (at < end && *at == '.') {
		at++;
		if (read_number(vm, &at, end, PRECISION_MAX, &s->precision) < 0)
			return -1;
	}
	if (at < end)
		s->kind = *at++;
	if (s->is_zero && !s->align) {
		s->align = '=';
		memcpy(s->fill, "0", 2);
	}
	return at < end ? heap_fail(vm->h, "invalid format specifier") : 0;
}

/* Append digits with a separator between groups of @every digits: 3, or 4 in hexadecimal. */
static int grouped(struct text *t, const char *digits, size_t n, char sep, size_t every)
{
	size_t whole_n = 0;
	while (whole_n < n &&
		((digits[whole_n] >= '0' && digits[whole_n] <= '9') ||
			(every == 4 && digits[whole_n] >= 'a')))
		whole_n++;
	for (size_t i = 0; i < n; i++)
		if ((i > 0 && i < whole_n && (whole_n - i) % every == 0 &&
			    text_add(t, &sep, 1) < 0) ||
			text_add(t, digits + i, 1) < 0)
			return -1;
	return 0;
}

/* NOLINTNEXTLINE(readability-function-cognitive-complexity): the cases of one small grammar */
static int number_body(struct vm *vm, struct text *t, struct val v, const struct spec *s)
{
	double f;
	if (strchr("dboxXn", s->kind ? s->kind : (val_is_int(v) ? 'd' : 'q'))) {
		if (!val_is_int(v))
			return heap_fail(vm->h, "unknown format code '%c' for %s", s->kind,
				val_type_name(v));
		if (s->precision >= 0)
			return heap_fail(vm->h, "precision is not allowed in an integer format");
		if (s->is_alt && s->kind != 'd' &&
			text_puts(t,
				s->kind == 'x'		 ? "0x"
					: s->kind == 'X' ? "0X"
					: s->kind == 'o' ? "0o"
							 : "0b") < 0)
			return -1;
		int r = int_write(t, v,
			s->kind == 'b'				     ? 2
				: s->kind == 'o'		     ? 8
				: (s->kind | 0x20) == 'x' && s->kind ? 16
								     : 10);
		for (size_t i = 0; r == 0 && s->kind == 'X' && i < t->n; i++)
			t->data[i] = (char)(t->data[i] -
				(t->data[i] >= 'a' && t->data[i] <= 'f' ? 32 : 0));
		return r;
	}
	if (int_to_float(vm->h, v, &f) < 0)
		return -1;
	if (!s->kind && s->precision < 0)
		return format_float(t, f, true);
	if (!strchr("eEfFgG%", s->kind ? s->kind : 'g'))
		return heap_fail(
			vm->h, "unknown format code '%c' for %s", s->kind, val_type_name(v));
	int precision = s->precision < 0 ? 6 : s->precision;
	if (s->kind == '%')
		return float_text(t, f * 100, 'f', precision) < 0 ? -1 : text_puts(t, "%");
	return float_text(t, f, s->kind ? s->kind : 'g', precision);
}

static int padded(
	struct text *t, const struct spec *s, const char *sign, const char *body, size_t n)
{
	size_t n_sign = strlen(sign), chars = utf8_count(body, n) + n_sign,
	       n_fill = strlen(s->fill);
	int64_t pad = s->width > (int64_t)chars ? s->width - (int64_t)chars : 0;
	int64_t left = s->align == '>' ? pad
		: s->align == '^'      ? pad / 2
				       : 0,
		middle = s->align == '=' ? pad : 0;
	if (text_fill(t, s->fill, n_fill, left) < 0 || text_add(t, sign, n_sign) < 0 ||
		text_fill(t, s->fill, n_fill, middle) < 0 || text_add(t, body, n) < 0)
		return -1;
	return text_fill(t, s->fill, n_fill, pad - left - middle);
}

/* NOLINTNEXTLINE(readability-function-cognitive-complexity): the cases of one small grammar */
int format_spec(struct vm *vm, struct text *t, struct val v, const char *text, size_t bytes)
{
	struct spec s;
	struct text body = {.h = vm->h}, all = {.h = vm->h};
	bool is_number = val_is_int(v) || v.type == T_FLOAT;
	if (read_spec(vm, text, bytes, &s) < 0)
		return -1;
	if (bytes == 0 || !is_number) {
		if (bytes > 0 && (s.align == '=' || (s.kind && s.kind != 's') || s.grouping))
			return heap_fail(vm->h, "unknown format code '%c' for %s",
				s.kind		  ? s.kind
					: s.align ? s.align
						  : ',',
				val_type_name(v));
		if (format_value(vm, &body, v, false) < 0)
			return -1;
		size_t n = body.n;
		if (s.precision >= 0 && utf8_count(body.data, n) > (size_t)s.precision)
			for (n = 0; s.precision > 0; s.precision--) {
				int32_t c;
				n += utf8_decode(body.data + n, body.n - n, &c);
			}
		s.align = s.align ? s.align : '<';
		return padded(t, &s, "", body.data ? body.data : "", n);
	}
	if (number_body(vm, &body, v, &s) < 0)
		return -1;
	bool is_negative = body.n > 0 && body.data[0] == '-';
	const char *digits = body.data + is_negative;
	size_t n = body.n - is_negative;
	if (s.grouping) {
		if (grouped(&all, digits, n, s.grouping, (s.kind | 0x20) == 'x' && s.kind ? 4 : 3) <
			0)
			return -1;
		digits = all.data;
		n = all.n;
	}
	s.align = s.align ? s.align : '>';
	return padded(t, &s,
		is_negative		? "-"
			: s.sign == '+' ? "+"
			: s.sign == ' ' ? " "
					: "",
		digits, n);
}

struct fields {
	struct vm *vm;
	const struct args *args;
	size_t next;
	bool is_auto, is_manual;
};

/* Find the value that a replacement field names: by position, by number or by keyword. */
static int field_value(struct fields *f, const char *name, size_t n, struct val *out)
{
	struct vm *vm = f->vm;
	bool is_number = n > 0 && strspn(name, "0123456789") >= n;
	size_t at = f->next;
	if (n > 0 && memchr(name, '.', n))
		return heap_fail(vm->h,
			"format: attribute syntax x.y is not supported in replacement fields: %.*s",
			(int)MIN(n, (size_t)60), name);
	if (n > 0 && (memchr(name, '[', n) || memchr(name, ']', n)))
		return heap_fail(vm->h,
			"format: element syntax a[i] is not supported in replacement fields: %.*s",
			(int)MIN(n, (size_t)60), name);
	if (n > 0 && !is_number) {
		for (size_t i = 0; i < f->args->n_named; i++)
			if (f->args->names[i].str->n_bytes == n &&
				memcmp(f->args->names[i].str->data, name, n) == 0) {
				*out = f->args->named[i];
				return 0;
			}
		return heap_fail(
			vm->h, "format: keyword %.*s not found", (int)MIN(n, (size_t)80), name);
	}
	f->is_auto |= n == 0;
	f->is_manual |= n > 0;
	if (f->is_auto && f->is_manual)
		return heap_fail(vm->h,
			f->next > 0 && n > 0
				? "format: cannot switch from automatic field numbering to manual field specification"
				: "format: cannot switch from manual field specification to automatic field numbering");
	if (n > 0) {
		at = 0;
		for (size_t i = 0; i < n && at < 100000; i++)
			at = at * 10 + (size_t)(name[i] - '0');
	} else {
		f->next++;
	}
	if (at >= f->args->n)
		return heap_fail(vm->h, "format: tuple index out of range");
	*out = f->args->item[at];
	return 0;
}

static int field(struct fields *f, struct text *t, const char *at, const char *end)
{
	struct vm *vm = f->vm;
	struct val v, part;
	const char *colon = memchr(at, ':', (size_t)(end - at)),
		   *bang = memchr(at, '!', (size_t)((colon ? colon : end) - at));
	const char *stop = bang ? bang : colon ? colon : end;
	int conversion = 0;
	if (memchr(at, '{', (size_t)(end - at)))
		return heap_fail(vm->h, "format: nested replacement fields not supported");
	if (field_value(f, at, (size_t)(stop - at), &v) < 0)
		return -1;
	if (bang) {
		const char *last = colon ? colon : end;
		if (last != bang + 2 || (bang[1] != 's' && bang[1] != 'r'))
			return heap_fail(vm->h, "format: unknown conversion '!%.*s'",
				(int)MIN(last - bang - 1, 20), bang + 1);
		conversion = bang[1] == 's' ? 's' : 'r';
	}
	if (colon && !vm->dialect.python_names && colon + 1 < end)
		return heap_fail(vm->h,
			"format spec features not supported in replacement fields: %.*s",
			(int)MIN(end - colon - 1, 40), colon + 1);
	struct val spec = VAL_UNSET;
	if (colon && str_new(vm->h, colon + 1, (size_t)(end - colon - 1), &spec) < 0)
		return -1;
	if (format_part(vm, v, conversion, colon ? &spec : NULL, &part) < 0)
		return -1;
	return text_add(t, part.str->data, part.str->n_bytes);
}

int format_braces(struct vm *vm, struct val format, const struct args *args, struct val *out)
{
	struct text t = {.h = vm->h};
	struct fields f = {.vm = vm, .args = args};
	const char *at = format.str->data, *end = at + format.str->n_bytes;
	while (at < end) {
		const char *next = at;
		while (next < end && *next != '{' && *next != '}')
			next++;
		if (text_add(&t, at, (size_t)(next - at)) < 0)
			return -1;
		if (next == end)
			break;
		if (next + 1 < end && next[1] == *next) {
			if (text_add(&t, next, 1) < 0)
				return -1;
			at = next + 2;
			continue;
		}
		if (*next == '}')
			return heap_fail(vm->h, "format: single '}' in format");
		const char *close = memchr(next, '}', (size_t)(end - next));
		if (!close)
			return heap_fail(vm->h, "format: unmatched '{' in format");
		if (field(&f, &t, next + 1, close) < 0 || heap_pay(vm->h, 1) < 0)
			return -1;
		at = close + 1;
	}
	return text_take(&t, T_STRING, out);
}
