/* Read JSON. SPDX-License-Identifier: Apache-2.0 */
#include "plan/builtin/json.h"

#include "base/ascii.h"
#include "base/utf8.h"
#include "plan/machine/format.h"
#include "plan/value/int.h"
#include "plan/value/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct heap *h;
	const char *data;
	size_t at, bytes;
};

static int bad(const struct reader *r, const char *what)
{
	return heap_fail(r->h, "json: at offset %zu: %s", r->at, what);
}

static int peek(const struct reader *r)
{
	return r->at < r->bytes ? (unsigned char)r->data[r->at] : -1;
}

static int next_token(struct reader *r)
{
	int c = peek(r);
	while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
		r->at++;
		c = peek(r);
	}
	return c;
}

static int read_hex(struct reader *r, uint32_t *out)
{
	*out = 0;
	for (int i = 0; i < 4; i++, r->at++) {
		int digit = ascii_hex_value(peek(r));
		if (digit < 0)
			return bad(r, "four hexadecimal digits are needed behind \\u");
		*out = *out * 16 + (uint32_t)digit;
	}
	return 0;
}

static int read_escape(struct reader *r, struct text *t)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	uint32_t high, low;
	int c = peek(r);
	const char *plain = c > 0 ? strchr(from, c) : NULL;
	r->at += c >= 0;
	if (plain)
		return text_add(t, &into[plain - from], 1);
	if (c != 'u')
		return bad(r, "no such escape");
	if (read_hex(r, &high) < 0)
		return -1;
	if (high >= 0xdc00 && high <= 0xdfff)
		return bad(r, "half a surrogate pair");
	if (high < 0xd800 || high > 0xdfff)
		return text_char(t, (int32_t)high);
	if (r->bytes - r->at < 2 || memcmp(r->data + r->at, "\\u", 2) != 0)
		return bad(r, "half a surrogate pair");
	r->at += 2;
	if (read_hex(r, &low) < 0)
		return -1;
	if (low < 0xdc00 || low > 0xdfff)
		return bad(r, "half a surrogate pair");
	return text_char(t, (int32_t)(0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff))));
}

static int read_string(struct reader *r, struct val *out)
{
	struct text t = {.h = r->h};
	size_t from = ++r->at;
	bool has_escape = false;
	for (;;) {
		int c = peek(r);
		if (c < 0x20)
			return bad(r,
				c < 0 ? "a string without end" : "a control character in a string");
		if (c == '"')
			break;
		if (c != '\\') {
			r->at++;
			continue;
		}
		if (text_add(&t, r->data + from, r->at - from) < 0)
			return -1;
		r->at++;
		has_escape = true;
		if (read_escape(r, &t) < 0)
			return -1;
		from = r->at;
	}
	int rc = has_escape ? text_add(&t, r->data + from, r->at - from) : 0;
	if (rc == 0)
		rc = has_escape ? text_take(&t, T_STRING, out)
				: str_new(r->h, r->data + from, r->at - from, out);
	r->at++;
	return rc;
}

static size_t digits(struct reader *r)
{
	size_t from = r->at;
	while (peek(r) >= '0' && peek(r) <= '9')
		r->at++;
	return r->at - from;
}

static int read_float(struct reader *r, size_t from, struct val *out)
{
	char text[1100];
	size_t n = r->at - from;
	if (n >= sizeof text)
		return bad(r, "a number of too many digits");
	memcpy(text, r->data + from, n);
	text[n] = '\0';
	double f = strtod(text, NULL);
	if (!isfinite(f))
		return bad(r, "a number that is too large for a float");
	*out = VAL_FLOAT(f);
	return 0;
}

static int read_number(struct reader *r, struct val *out)
{
	size_t from = r->at;
	bool is_negative = peek(r) == '-', is_float = false;
	r->at += is_negative;
	size_t first = r->at;
	bool is_zero = peek(r) == '0';
	size_t n = digits(r);
	if (n == 0 || (is_zero && n > 1))
		return bad(r, n == 0 ? "no such value" : "a number begins with 0");
	if (peek(r) == '.') {
		r->at++;
		is_float = true;
		if (digits(r) == 0)
			return bad(r, "digits are needed behind the point");
	}
	if (peek(r) == 'e' || peek(r) == 'E') {
		r->at++;
		is_float = true;
		r->at += peek(r) == '+' || peek(r) == '-';
		if (digits(r) == 0)
			return bad(r, "digits are needed in the exponent");
	}
	if (is_float)
		return read_float(r, from, out);
	int rc = int_parse(r->h, r->data + first, r->at - first, 10, out);
	if (rc > 0)
		return bad(r, "no such number");
	return rc == 0 && is_negative ? int_negate(r->h, *out, out) : rc;
}

static int read_word(struct reader *r, struct val *out)
{
	static const struct {
		const char *word;
		struct val value;
	} words[] = {{"null", {.type = T_NONE}}, {"true", {.type = T_BOOL, .i = 1}},
		{"false", {.type = T_BOOL}}};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i].word);
		if (r->bytes - r->at >= n && memcmp(r->data + r->at, words[i].word, n) == 0) {
			r->at += n;
			*out = words[i].value;
			return 0;
		}
	}
	return bad(r, "no such value");
}

static int read_value(struct reader *r, struct val *out);

/* Read the separator after an element. Returns: 1 for ","; 0 for the closing bracket @end; -1 for
 * anything else. */
static int is_more(struct reader *r, int end)
{
	int c = next_token(r);
	if (c != ',' && c != end)
		return bad(r, end == ']' ? "\",\" or \"]\" is needed" : "\",\" or \"}\" is needed");
	r->at++;
	return c == ',';
}

static int read_list(struct reader *r, struct val *out)
{
	struct val one = VAL_NONE;
	int more = 1;
	r->at++;
	if (list_new(r->h, 0, out) < 0)
		return -1;
	if (next_token(r) == ']') {
		r->at++;
		return 0;
	}
	while (more > 0)
		more = read_value(r, &one) < 0 || list_append(r->h, out->list, one) < 0
			? -1
			: is_more(r, ']');
	return more;
}

static int read_dict(struct reader *r, struct val *out)
{
	struct val name = VAL_NONE, value = VAL_NONE;
	int more = 1;
	r->at++;
	if (table_new(r->h, T_DICT, 0, out) < 0)
		return -1;
	if (next_token(r) == '}') {
		r->at++;
		return 0;
	}
	while (more > 0) {
		if (next_token(r) != '"')
			return bad(r, "a name in quotes is needed");
		if (read_string(r, &name) < 0)
			return -1;
		if (next_token(r) != ':')
			return bad(r, "\":\" is needed");
		r->at++;
		more = read_value(r, &value) < 0 || table_put(r->h, out->table, name, value) < 0
			? -1
			: is_more(r, '}');
	}
	return more;
}

static int read_value(struct reader *r, struct val *out)
{
	int c = next_token(r), rc;
	if (heap_pay(r->h, 1) < 0)
		return -1;
	if (c == '"')
		return read_string(r, out);
	if (c != '[' && c != '{')
		return c == '-' || (c >= '0' && c <= '9') ? read_number(r, out) : read_word(r, out);
	if (heap_enter(r->h) < 0)
		return -1;
	rc = c == '[' ? read_list(r, out) : read_dict(r, out);
	heap_leave(r->h);
	return rc;
}

int json_read(struct heap *h, const char *data, size_t bytes, struct val *out)
{
	struct reader r = {.h = h, .data = data, .bytes = bytes};
	struct val v = VAL_NONE;
	if (!utf8_is_valid(data, bytes))
		return heap_fail(h, "json: it is not valid UTF-8");
	if (heap_pay(h, bytes / 64) < 0 || read_value(&r, &v) < 0)
		return -1;
	if (next_token(&r) >= 0)
		return bad(&r, "something stands behind the value");
	*out = v;
	return 0;
}
