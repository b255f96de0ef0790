/* Methods of strings that depend on the case and kind of characters. SPDX-License-Identifier:
 * Apache-2.0 */
#include "plan/builtin/inside.h"

#include "base/utf8.h"
#include "plan/machine/format.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <string.h>

bool char_is_space(int32_t c)
{
	return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f) || c == 0x85 ||
		c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
		c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Convert to upper case. Only Latin, Greek and Cyrillic letters are converted. */
/* NOLINTNEXTLINE(readability-function-cognitive-complexity): a list of cases */
static int32_t upper(int32_t c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 0xe0 && c <= 0xfe && c != 0xf7) ||
		(c >= 0x3b1 && c <= 0x3c9 && c != 0x3c2) || (c >= 0x430 && c <= 0x44f))
		return c - 32;
	if (c >= 0x450 && c <= 0x45f)
		return c - 80;
	if ((c >= 0x100 && c <= 0x137 && c != 0x131) || (c >= 0x14a && c <= 0x177) ||
		(c >= 0x1e00 && c <= 0x1e95) || (c >= 0x460 && c <= 0x481) ||
		(c >= 0x48a && c <= 0x4bf))
		return c & ~1;
	if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e))
		return c % 2 == 0 ? c - 1 : c;
	if (c >= 0x1c4 && c <= 0x1cc)
		return 0x1c4 + (c - 0x1c4) / 3 * 3;
	return c == 0xff ? 0x178 : c == 0x3c2 ? 0x3a3 : c == 0x131 ? 'I' : c;
}

int32_t char_lower(int32_t c)
{
	if ((c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7) ||
		(c >= 0x391 && c <= 0x3a9) || (c >= 0x410 && c <= 0x42f))
		return c + 32;
	if (c >= 0x400 && c <= 0x40f)
		return c + 80;
	if ((c >= 0x100 && c <= 0x137 && c != 0x130) || (c >= 0x14a && c <= 0x177) ||
		(c >= 0x1e00 && c <= 0x1e95) || (c >= 0x460 && c <= 0x481) ||
		(c >= 0x48a && c <= 0x4bf))
		return c | 1;
	if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e))
		return c % 2 == 1 ? c + 1 : c;
	if (c >= 0x1c4 && c <= 0x1cc)
		return 0x1c6 + (c - 0x1c4) / 3 * 3;
	return c == 0x178 ? 0xff : c;
}

/* Convert to title case. A character that consists of two letters, such as "dž", becomes the form
 * in which only the first letter is upper case. */
static int32_t title(int32_t c)
{
	return c >= 0x1c4 && c <= 0x1cc ? 0x1c5 + (c - 0x1c4) / 3 * 3 : upper(c);
}

static bool is_cased(int32_t c)
{
	return upper(c) != c || char_lower(c) != c || c == 0xdf;
}

static bool is_alpha(int32_t c)
{
	return (c < 0x80 && is_cased(c)) ||
		(c >= 0xaa && c != 0xd7 && c != 0xf7 && c != 0xab && c != 0xac && c != 0xad &&
			!(c >= 0xae && c <= 0xb4) && c != 0xb6 && c != 0xb7 && c != 0xb8 &&
			c != 0xb9 && !(c >= 0xbb && c <= 0xbf) && !(c >= 0x2000 && c <= 0x2bff) &&
			!(c >= 0x3000 && c <= 0x3004) && !(c >= 0xff00 && c <= 0xff20) &&
			c < 0x1f000);
}

static bool is_digit(int32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 0x660 && c <= 0x669) || (c >= 0xff10 && c <= 0xff19);
}

int32_t char_next(const struct str *s, size_t *at)
{
	int32_t c;
	*at += utf8_decode(s->data + *at, s->n_bytes - *at, &c);
	return c;
}

enum change { UPPER, LOWER, CAPITALIZE, TITLE, SWAP };

/* Change the case of eight ASCII characters at once. Only the 26 letters from @first on are
 * changed. Each byte is below 0x80, so no addition carries into the next byte. */
static uint64_t change_eight(uint64_t word, unsigned char first)
{
	const uint64_t each = 0x0101010101010101u;
	uint64_t is_from = word + each * (0x80u - first), is_past = is_from - each * 26;
	return word ^ (is_from & ~is_past & each * 0x80) >> 2;
}

/* Convert a string of ASCII characters to upper case, or to lower case if @is_up is false. */
static int change_plain(struct vm *vm, struct val self, bool is_up, struct val *out)
{
	char *to;
	uint64_t word;
	size_t n = self.str->n_bytes;
	if (heap_pay(vm->h, n / 16) < 0 || str_alloc(vm->h, T_STRING, n, &to, out) < 0)
		return -1;
	const char *from = self.str->data;
	unsigned char first = is_up ? 'a' : 'A';
	for (; n >= sizeof word; n -= sizeof word) {
		memcpy(&word, from, sizeof word);
		word = change_eight(word, first);
		memcpy(to, &word, sizeof word);
		from += sizeof word;
		to += sizeof word;
	}
	for (size_t i = 0; i < n; i++)
		to[i] = (char)change_eight((unsigned char)from[i], first);
	return 0;
}

static int change_case(struct vm *vm, struct val self, enum change how, struct val *out)
{
	if (self.str->n_bytes == self.str->n_chars && (how == UPPER || how == LOWER))
		return change_plain(vm, self, how == UPPER, out);
	struct text t = {.h = vm->h};
	bool is_first = true;
	for (size_t at = 0; at < self.str->n_bytes;) {
		int32_t c = char_next(self.str, &at);
		bool is_up = how == UPPER || ((how == CAPITALIZE || how == TITLE) && is_first) ||
			(how == SWAP && char_lower(c) != c ? false : how == SWAP);
		if (c == 0xdf && is_up && how != SWAP) {
			if (text_puts(&t, how == UPPER ? "SS" : "Ss") < 0)
				return -1;
		} else if (text_char(&t,
				   !is_up				 ? char_lower(c)
					   : how == UPPER || how == SWAP ? upper(c)
									 : title(c)) < 0) {
			return -1;
		}
		is_first = how == TITLE ? !is_alpha(c) : false;
	}
	return heap_pay(vm->h, self.str->n_bytes / 16) < 0 ? -1 : text_take(&t, T_STRING, out);
}

FN(s_upper)
{
	return change_case(vm, self, UPPER, out);
}

FN(s_lower)
{
	return change_case(vm, self, LOWER, out);
}

FN(s_capitalize)
{
	return change_case(vm, self, CAPITALIZE, out);
}

FN(s_title)
{
	return change_case(vm, self, TITLE, out);
}

FN(s_swapcase)
{
	return change_case(vm, self, SWAP, out);
}

/* Set *out to whether the string is not empty and the test @is holds for all characters. */
static int every(struct vm *vm, struct val self, bool (*is)(int32_t c), struct val *out)
{
	bool all = self.str->n_bytes > 0;
	for (size_t at = 0; all && at < self.str->n_bytes;)
		all = is(char_next(self.str, &at));
	*out = VAL_BOOL(all);
	return heap_pay(vm->h, self.str->n_bytes / 16);
}

static bool is_alnum(int32_t c)
{
	return is_alpha(c) || is_digit(c);
}

FN(s_isalnum)
{
	return every(vm, self, is_alnum, out);
}

FN(s_isalpha)
{
	return every(vm, self, is_alpha, out);
}

FN(s_isdigit)
{
	return every(vm, self, is_digit, out);
}

FN(s_isspace)
{
	return every(vm, self, char_is_space, out);
}

/* Set *out to whether the string contains cased letters, and all of them have the case to which
 * @same converts. */
static int is_case(struct vm *vm, struct val self, int32_t (*same)(int32_t c), struct val *out)
{
	bool has = false, all = true;
	for (size_t at = 0; all && at < self.str->n_bytes;) {
		int32_t c = char_next(self.str, &at);
		has |= is_cased(c);
		all = same(c) == c && !(c == 0xdf && same(0xe4) != 0xe4);
	}
	*out = VAL_BOOL(has && all);
	return heap_pay(vm->h, self.str->n_bytes / 16);
}

FN(s_isupper)
{
	return is_case(vm, self, upper, out);
}

FN(s_islower)
{
	return is_case(vm, self, char_lower, out);
}

FN(s_istitle)
{
	bool has = false, all = true, is_inside = false;
	for (size_t at = 0; all && at < self.str->n_bytes;) {
		int32_t c = char_next(self.str, &at);
		has |= is_cased(c);
		all = !is_cased(c) || (is_inside ? char_lower(c) == c : title(c) == c);
		is_inside = is_cased(c);
	}
	*out = VAL_BOOL(has && all);
	return heap_pay(vm->h, self.str->n_bytes / 16);
}
