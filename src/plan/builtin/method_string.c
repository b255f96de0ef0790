/* Methods of strings, and the conversion of a string by int(). SPDX-License-Identifier:
 * Apache-2.0 */
#include "plan/builtin/inside.h"

#include "base/utf8.h"
#include "plan/machine/format.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <string.h>

/* Convert the arguments start and end, which count characters, to byte offsets. Returns: 0 or
 * -1. */
static int span(struct vm *vm, struct val self, const struct val *arg, size_t *from, size_t *to)
{
	*from = 0;
	*to = self.str->n_bytes;
	if (arg[0].type == T_UNSET && arg[1].type == T_UNSET)
		return heap_pay(vm->h, self.str->n_bytes / 64);
	int64_t n = val_len(self), start = 0, end = n;
	if (arg_int(vm, "start", arg[0], &start) < 0 || arg_int(vm, "end", arg[1], &end) < 0)
		return -1;
	start = start < 0 ? MAX(0, start + n) : start;
	end = end < 0 ? MAX(0, end + n) : MIN(end, n);
	*from = start > n	       ? self.str->n_bytes + 1u
		: self.type == T_BYTES ? (size_t)start
				       : str_offset(self, (size_t)start);
	*to = self.type == T_BYTES ? (size_t)end : str_offset(self, (size_t)end);
	return heap_pay(vm->h, self.str->n_bytes / 64);
}

static int find(struct vm *vm, struct val self, const struct val *arg, bool is_last,
	const char *what, struct val *out)
{
	size_t from, to;
	if (arg_string(vm, what, arg[0]) < 0 || span(vm, self, arg + 1, &from, &to) < 0)
		return -1;
	int64_t at = from > self.str->n_bytes ? -1
		: is_last		      ? str_rfind(self.str, arg[0].str, from, to)
					      : str_find(self.str, arg[0].str, from, to);
	if (at > 0 && self.str->n_chars != self.str->n_bytes)
		at = (int64_t)utf8_count(self.str->data, (size_t)at);
	*out = VAL_INT(at);
	return 0;
}

FN(s_find)
{
	return find(vm, self, arg, false, "find", out);
}

FN(s_rfind)
{
	return find(vm, self, arg, true, "rfind", out);
}

FN(s_index)
{
	if (find(vm, self, arg, false, "index", out) < 0)
		return -1;
	return out->i < 0 ? heap_fail(vm->h, "index: substring not found") : 0;
}

FN(s_rindex)
{
	if (find(vm, self, arg, true, "rindex", out) < 0)
		return -1;
	return out->i < 0 ? heap_fail(vm->h, "rindex: substring not found") : 0;
}

FN(s_count)
{
	size_t from, to;
	int64_t n = 0, at;
	if (arg_string(vm, "count", arg[0]) < 0 || span(vm, self, arg + 1, &from, &to) < 0)
		return -1;
	if (arg[0].str->n_bytes == 0 && from <= to)
		n = (int64_t)utf8_count(self.str->data + from, to - from) + 1;
	while (arg[0].str->n_bytes > 0 && from <= to &&
		(at = str_find(self.str, arg[0].str, from, to)) >= 0) {
		n++;
		from = (size_t)at + arg[0].str->n_bytes;
	}
	*out = VAL_INT(n);
	return 0;
}

static bool has_edge(
	const struct str *s, const struct str *part, size_t from, size_t to, bool is_start)
{
	if (from > to || to - from < part->n_bytes)
		return false;
	return memcmp(s->data + (is_start ? from : to - part->n_bytes), part->data,
		       part->n_bytes) == 0;
}

static int edge(
	struct vm *vm, struct val self, const struct val *arg, bool is_start, struct val *out)
{
	size_t from, to, n = arg[0].type == T_TUPLE ? arg[0].tuple->n : 1;
	const struct val *item = arg[0].type == T_TUPLE ? arg[0].tuple->item : &arg[0];
	bool has = false;
	if (span(vm, self, arg + 1, &from, &to) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (item[i].type != self.type)
			return heap_fail(vm->h, "%s: got %s, want %s",
				is_start ? "startswith" : "endswith", val_type_name(item[i]),
				val_type_name(self));
		has |= has_edge(self.str, item[i].str, from, to, is_start);
	}
	*out = VAL_BOOL(has);
	return 0;
}

FN(s_startswith)
{
	return edge(vm, self, arg, true, out);
}

FN(s_endswith)
{
	return edge(vm, self, arg, false, out);
}

FN(s_removeprefix)
{
	if (arg_string(vm, "removeprefix", arg[0]) < 0)
		return -1;
	bool has = has_edge(self.str, arg[0].str, 0, self.str->n_bytes, true);
	return str_part(vm->h, self, has ? arg[0].str->n_bytes : 0, self.str->n_bytes, out);
}

FN(s_removesuffix)
{
	if (arg_string(vm, "removesuffix", arg[0]) < 0)
		return -1;
	bool has = has_edge(self.str, arg[0].str, 0, self.str->n_bytes, false);
	return str_part(vm->h, self, 0, self.str->n_bytes - (has ? arg[0].str->n_bytes : 0), out);
}

static int elems(struct vm *vm, struct val self, enum elems_kind kind, struct val *out)
{
	struct elems *e = heap_alloc(vm->h, sizeof *e);
	if (!e)
		return -1;
	*e = (struct elems){self.str, kind};
	*out = VAL_PTR(T_ELEMS, e);
	return 0;
}

FN(s_elems)
{
	return elems(vm, self, ELEMS_CHARS, out);
}

FN(s_ords)
{
	return elems(vm, self, ELEMS_ORDS, out);
}

FN(s_points)
{
	return elems(vm, self, ELEMS_POINTS, out);
}

FN(s_point_ords)
{
	return elems(vm, self, ELEMS_POINT_ORDS, out);
}

FN(bytes_elems)
{
	return elems(vm, self, ELEMS_BYTES, out);
}

RAW(s_format)
{
	return format_braces(vm, self, args, out);
}

static int justify(struct vm *vm, struct val self, const struct val *arg, int side, struct val *out)
{
	int64_t width = 0, n = val_len(self);
	struct text t = {.h = vm->h};
	const char *fill = arg[1].type == T_STRING ? arg[1].str->data : " ";
	size_t n_fill = arg[1].type == T_STRING ? arg[1].str->n_bytes : 1;
	if (arg_int(vm, "width", arg[0], &width) < 0)
		return -1;
	if (arg[1].type != T_UNSET && (arg[1].type != T_STRING || arg[1].str->n_chars != 1))
		return heap_fail(vm->h, "the fill character must be one character");
	int64_t pad = MAX(0, width - n),
		left = side < 0 ? 0
		: side > 0	? pad
				: pad / 2 + (pad & width & 1);
	if (text_fill(&t, fill, n_fill, left) < 0 ||
		text_add(&t, self.str->data, self.str->n_bytes) < 0 ||
		text_fill(&t, fill, n_fill, pad - left) < 0)
		return -1;
	return text_take(&t, T_STRING, out);
}

FN(s_ljust)
{
	return justify(vm, self, arg, -1, out);
}

FN(s_rjust)
{
	return justify(vm, self, arg, 1, out);
}

FN(s_center)
{
	return justify(vm, self, arg, 0, out);
}

FN(s_zfill)
{
	struct text t = {.h = vm->h};
	int64_t width = 0;
	const struct str *s = self.str;
	size_t sign = s->n_bytes > 0 && (s->data[0] == '-' || s->data[0] == '+');
	if (arg_int(vm, "zfill", arg[0], &width) < 0 || text_add(&t, s->data, sign) < 0 ||
		text_fill(&t, "0", 1, width - s->n_chars) < 0 ||
		text_add(&t, s->data + sign, s->n_bytes - sign) < 0)
		return -1;
	return text_take(&t, T_STRING, out);
}

/* Parse the first argument of int("0x1f", 16): sign, prefix and digits. */
static int parse_int(struct vm *vm, struct val s, int base, struct val *out)
{
	static const struct {
		char letter;
		int base;
	} prefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
	const char *at = s.str->data, *end = at + s.str->n_bytes;
	int found = 0;
	bool is_python = vm->dialect.python_names;
	while (is_python && at < end && char_is_space((unsigned char)*at))
		at++;
	while (is_python && end > at && char_is_space((unsigned char)end[-1]))
		end--;
	bool is_negative = at < end && *at == '-';
	at += at < end && (*at == '-' || *at == '+');
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (end - at > 2 && *at == '0' && (at[1] | 0x20) == prefixes[i].letter &&
			(base == 0 || base == prefixes[i].base))
			found = prefixes[i].base;
	at += found ? 2 : 0;
	bool has_zero = !found && base == 0 && end - at > 1 && *at == '0' &&
		strspn(at, "0") < (size_t)(end - at);
	int r = has_zero ? 1
			 : int_parse(vm->h, at, (size_t)(end - at),
				   found	  ? found
					   : base ? base
						  : 10,
				   out);
	if (r > 0)
		return heap_fail(
			vm->h, "int: invalid literal with base %d: %.80s", base, s.str->data);
	return r == 0 && is_negative ? int_negate(vm->h, *out, out) : r;
}

int b_int(struct vm *vm, struct val self, const struct val *arg, struct val *out)
{
	(void)self;
	struct val x = arg[0];
	int64_t base = 10;
	if (x.type != T_STRING && arg[1].type != T_UNSET)
		return heap_fail(vm->h, "int: can't convert non-string with explicit base");
	if (arg[1].type == T_NONE || arg_int(vm, "int: for base", arg[1], &base) < 0)
		return heap_fail(vm->h, "int: for base, got %s, want int", val_type_name(arg[1]));
	if (base != 0 && (base < 2 || base > 36))
		return heap_fail(
			vm->h, "int: invalid base %lld (want 0 or 2 to 36)", (long long)base);
	if (x.type == T_STRING)
		return parse_int(vm, x, (int)base, out);
	*out = x.type == T_BOOL ? VAL_INT(x.i) : x;
	if (x.type == T_FLOAT)
		return int_from_float(vm->h, x.f, out);
	return x.type == T_BOOL || val_is_int(x)
		? 0
		: heap_fail(vm->h, "int: got %s, want string, number or bool", val_type_name(x));
}
