/* Write values as JSON texts. This file also implements the functions of the module `json`, such
 * as json.encode() and json.decode(). SPDX-License-Identifier: Apache-2.0 */
#include "plan/builtin/json.h"

#include "plan/builtin/inside.h"
#include "base/utf8.h"
#include "plan/machine/format.h"
#include "plan/value/int.h"
#include "plan/value/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writer {
	struct text *t;
	const struct json_style *style;
	int64_t level;
};

static int write_value(struct writer *w, struct val v);

int json_write_text(struct text *t, const struct str *s, bool is_ascii)
{
	static const char from[] = "\"\\\b\f\n\r\t", into[] = "\"\\bfnrt";
	if (text_puts(t, "\"") < 0)
		return -1;
	for (size_t i = 0; i < s->n_bytes;) {
		int32_t c;
		char esc[16] = "";
		size_t n = utf8_decode(s->data + i, s->n_bytes - i, &c);
		const char *plain = c > 0 ? strchr(from, c < 128 ? c : 1) : NULL;
		if (plain)
			snprintf(esc, sizeof esc, "\\%c", into[plain - from]);
		else if (c > 0xffff && is_ascii)
			snprintf(esc, sizeof esc, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (c >> 10)),
				(unsigned)(0xdc00 + (c & 0x3ff)));
		else if (c < 0x20 || (c > 0x7e && is_ascii))
			snprintf(esc, sizeof esc, "\\u%04x", (unsigned)c);
		if ((esc[0] ? text_puts(t, esc) : text_add(t, s->data + i, n)) < 0)
			return -1;
		i += n;
	}
	return text_puts(t, "\"");
}

static int new_line(struct writer *w)
{
	return w->style->indent < 0 || text_puts(w->t, "\n") < 0
		? 0
		: text_fill(w->t, " ", 1, w->level * w->style->indent);
}

static int write_items(struct writer *w, const struct val *item, size_t n)
{
	int r = text_puts(w->t, "[");
	w->level++;
	for (size_t i = 0; i < n && r == 0; i++)
		r = (i > 0 && text_puts(w->t, w->style->comma) < 0) || new_line(w) < 0
			? -1
			: write_value(w, item[i]);
	w->level--;
	if (r == 0 && n > 0)
		r = new_line(w);
	return r < 0 ? -1 : text_puts(w->t, "]");
}

static int write_member(struct writer *w, struct val name, struct val value, bool is_first)
{
	if (name.type != T_STRING)
		return heap_fail(
			w->t->h, "json: the key of a dict is %s, want string", val_type_name(name));
	if ((!is_first && text_puts(w->t, w->style->comma) < 0) || new_line(w) < 0 ||
		json_write_text(w->t, name.str, w->style->is_ascii) < 0 ||
		text_puts(w->t, w->style->colon) < 0)
		return -1;
	return write_value(w, value);
}

static int by_name(const void *a, const void *b)
{
	const struct str *x = ((const struct val *)a)->str, *y = ((const struct val *)b)->str;
	int r = memcmp(x->data, y->data, MIN(x->n_bytes, y->n_bytes));
	return r ? r : (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes);
}

/* Write an object. @pairs has 2 * @n values: name, value, name, value, … */
static int write_pairs(struct writer *w, struct val *pairs, size_t n)
{
	int r = text_puts(w->t, "{");
	for (size_t i = 0; i < n && w->style->is_sorted; i++)
		if (pairs[2 * i].type != T_STRING)
			return write_member(w, pairs[2 * i], VAL_NONE, true);
	if (w->style->is_sorted)
		qsort(pairs, n, 2 * sizeof *pairs, by_name);
	w->level++;
	for (size_t i = 0; i < n && r == 0; i++)
		r = write_member(w, pairs[2 * i], pairs[2 * i + 1], i == 0);
	w->level--;
	if (r == 0 && n > 0)
		r = new_line(w);
	return r < 0 ? -1 : text_puts(w->t, "}");
}

static int write_dict(struct writer *w, struct val v)
{
	size_t n = v.type == T_DICT ? v.table->n_live : v.record->n, i = 0;
	struct val *pairs = heap_alloc(w->t->h, 2 * n * sizeof *pairs);
	const struct entry *e;
	uint32_t at = 0;
	if (!pairs)
		return -1;
	if (v.type == T_DICT)
		while ((e = table_next(v.table, &at))) {
			pairs[i++] = e->key;
			pairs[i++] = e->value;
		}
	for (size_t k = 0; v.type == T_STRUCT && k < n; k++) {
		pairs[i++] = v.record->names[k];
		pairs[i++] = v.record->values[k];
	}
	int r = write_pairs(w, pairs, n);
	heap_release(w->t->h, pairs, 2 * n * sizeof *pairs);
	return r;
}

static int write_number(struct writer *w, struct val v)
{
	if (v.type != T_FLOAT)
		return int_write(w->t, v, 10);
	if (!isfinite(v.f))
		return heap_fail(
			w->t->h, "json: JSON has no number %s", isnan(v.f) ? "nan" : "inf");
	return format_float(w->t, v.f, true);
}

static int write_inside(struct writer *w, struct val v)
{
	if (v.type == T_LIST)
		return write_items(w, v.list->item, v.list->n);
	return v.type == T_TUPLE ? write_items(w, v.tuple->item, v.tuple->n) : write_dict(w, v);
}

static int write_value(struct writer *w, struct val v)
{
	struct heap *h = w->t->h;
	if (heap_pay(h, 1) < 0)
		return -1;
	switch (v.type) {
	case T_NONE:
		return text_puts(w->t, "null");
	case T_BOOL:
		return text_puts(w->t, v.i ? "true" : "false");
	case T_INT:
	case T_BIG:
	case T_FLOAT:
		return write_number(w, v);
	case T_STRING:
		return json_write_text(w->t, v.str, w->style->is_ascii);
	case T_LIST:
	case T_TUPLE:
	case T_DICT:
	case T_STRUCT:
		break;
	default:
		return heap_fail(h, "json: a value of type %s cannot be written", val_type_name(v));
	}
	if (heap_enter(h) < 0)
		return -1;
	int r = write_inside(w, v);
	heap_leave(h);
	return r;
}

int json_write(struct text *t, struct val v, const struct json_style *style)
{
	struct writer w = {.t = t, .style = style};
	return write_value(&w, v);
}

static int written(struct vm *vm, struct val v, const struct json_style *style, struct val *out)
{
	struct text t = {.h = vm->h};
	return json_write(&t, v, style) < 0 ? -1 : text_take(&t, T_STRING, out);
}

FN(j_encode)
{
	return written(vm, arg[0], &JSON_CANONICAL, out);
}

FN(j_dumps)
{
	struct json_style style = {", ", ": ", val_truth(arg[2]), true, -1};
	if (arg_int(vm, "json.dumps", arg[1], &style.indent) < 0)
		return -1;
	style.indent = MIN(style.indent, 64);
	if (style.indent >= 0)
		style.comma = ",";
	if (arg[3].type != T_UNSET)
		style.is_ascii = val_truth(arg[3]);
	return written(vm, arg[0], &style, out);
}

FN(j_decode)
{
	if (arg_string(vm, "json.decode", arg[0]) < 0)
		return -1;
	if (json_read(vm->h, arg[0].str->data, arg[0].str->n_bytes, out) == 0)
		return 0;
	if (arg[1].type == T_UNSET || vm->h->kind != FAIL_ERROR)
		return -1;
	vm->h->kind = FAIL_NONE;
	*out = arg[1];
	return 0;
}

FN(j_loads)
{
	return j_decode(vm, self, (struct val[]){arg[0], VAL_UNSET}, out);
}
