/*
 * Literal grounding. A planner may invent a recipient; a user who wrote "send it to
 * ann@example.com" has chosen one. So a literal of the plan that occurs in the user's request gets
 * the user's origin, and any other literal the origin "plan".
 *
 * A literal occurs in the request if its words are whole words there, after folding case and
 * spaces. Whole words matter, because "not-evil.com" in the request must not ground "evil.com"
 * (is_edge()). Numbers are compared by value, so "1,000" grounds 1000. An f-string is grounded as a
 * text with placeholders: each placeholder matches any one word of the request; the values
 * themselves keep their own labels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/policy/ground.h"

#include "plan/value/int.h"
#include "plan/value/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX_BYTES = 64 };

static bool is_space(unsigned char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

/* Return whether @c is a letter, a digit, an underscore, or a byte of a character beyond ASCII. */
static bool is_word(unsigned char c)
{
	unsigned char low = c | 0x20;
	return is_digit(c) || (low >= 'a' && low <= 'z') || c == '_' || c >= 0x80;
}

/* Fold a text: convert it to lower case, and each run of spaces to one space. @out must have
 * room for @bytes bytes. Returns: the length of the folded text. */
static size_t fold(const char *text, size_t bytes, char *out)
{
	size_t n = 0;
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];
		if (!is_space(c))
			out[n++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
		else if (n > 0 && out[n - 1] != ' ')
			out[n++] = ' ';
	}
	return n > 0 && out[n - 1] == ' ' ? n - 1 : n;
}

/*
 * Return whether the character at @at is a word boundary. @step is 1 if a word ends before @at, and
 * -1 if a word begins after @at. Addresses, paths, dates and numbers contain no boundaries: "13" is
 * not a word of "2024-05-13", and "example" is not a word of "ann@example.com".
 */
static bool is_edge(const struct ground *g, size_t at, int step)
{
	if (at >= g->bytes)
		return true;
	if (is_word((unsigned char)g->text[at]))
		return false;
	size_t beyond = at + (size_t)step;
	return !strchr("@-./:,+%#=&?~", g->text[at]) || beyond >= g->bytes ||
		!is_word((unsigned char)g->text[beyond]);
}

static bool is_in_request(const struct ground *g, const char *word, size_t bytes)
{
	bool has_word = false;
	for (size_t i = 0; i < bytes; i++)
		has_word |= is_word((unsigned char)word[i]);
	const char *from = g->text, *at;
	size_t left = g->bytes;
	while (has_word && left >= bytes && (at = memmem(from, left, word, bytes))) {
		size_t start = (size_t)(at - g->text);
		/* If start is 0, start - 1 is (size_t)-1, which is_edge() treats as a boundary. */
		if (is_edge(g, start - 1, -1) && is_edge(g, start + bytes, 1))
			return true;
		left -= (size_t)(at - from) + 1;
		from = at + 1;
	}
	return false;
}

/* Return whether the word that a placeholder matches may end at @at: at a word boundary, or
 * before a suffix such as "-th" in "k-th". */
static bool is_place_end(const struct ground *g, size_t at)
{
	return is_edge(g, at, 1) ||
		(g->text[at] == '-' && is_word((unsigned char)g->text[at + 1]) &&
			!is_digit((unsigned char)g->text[at + 1]));
}

/* Skip the part of the request that a placeholder matches: one word, or {text in braces}.
 * Returns: the offset after it; @at if the placeholder matches nothing there. */
static size_t skip_word(const struct ground *g, size_t at)
{
	size_t end = at;
	if (at < g->bytes && g->text[at] == '{') {
		const char *close = memchr(g->text + at, '}', g->bytes - at);
		end = close ? (size_t)(close - g->text) + 1 : at;
	}
	while (end < g->bytes && is_word((unsigned char)g->text[end]))
		end++;
	return is_edge(g, at - 1, -1) && is_place_end(g, end) ? end : at;
}

/* Return whether the text @form, which may contain placeholders, matches the request at the
 * offset @at. */
static bool is_form_at(const struct ground *g, size_t at, const char *form, size_t bytes)
{
	bool has_edge = is_edge(g, at - 1, -1);
	for (size_t i = 0; i < bytes; i++) {
		size_t next = form[i]		       ? at + 1
			: i > 0 && form[i - 1] == '\0' ? at
						       : skip_word(g, at);
		if (next == at || next > g->bytes || (form[i] && form[i] != g->text[at]))
			return false;
		at = next;
	}
	return has_edge && is_edge(g, at, 1);
}

static bool is_form_in_request(const struct ground *g, const char *form, size_t bytes)
{
	bool has_word = false;
	for (size_t i = 0; i < bytes; i++)
		has_word |= is_word((unsigned char)form[i]);
	for (size_t at = 0; has_word && at < g->bytes; at++)
		if (is_form_at(g, at, form, bytes))
			return true;
	return false;
}

/* Copy the next number of the request from the offset @at on, such as "1,000.50", without its
 * commas. Returns: the offset after the number. */
static size_t next_number(const struct ground *g, size_t at, char out[NUMBER_MAX_BYTES])
{
	size_t n = 0;
	while (at < g->bytes && (!is_digit((unsigned char)g->text[at]) || !is_edge(g, at - 1, -1)))
		at++;
	if (at > 0 && at < g->bytes && g->text[at - 1] == '-')
		out[n++] = '-';
	for (; at < g->bytes && n < NUMBER_MAX_BYTES - 1; at++) {
		bool is_next_digit = at + 1 < g->bytes && is_digit((unsigned char)g->text[at + 1]);
		if (is_digit((unsigned char)g->text[at]) || (g->text[at] == '.' && is_next_digit))
			out[n++] = g->text[at];
		else if (g->text[at] != ',' || !is_next_digit)
			break;
	}
	out[n] = '\0';
	return at;
}

/* Read the next number of the request from the offset *at on, and advance *at past it. Returns:
 * false if no number is left, or if what begins like a number is not one, such as "5th". */
static bool read_number(
	const struct ground *g, size_t *at, char text[NUMBER_MAX_BYTES], double *out)
{
	char *end;
	*at = next_number(g, *at, text);
	*out = strtod(text, &end);
	return *end == '\0' && end != text && is_edge(g, *at, 1);
}

static int read_numbers(struct ground *g, struct heap *h)
{
	char text[NUMBER_MAX_BYTES];
	size_t room = 0;
	double x;
	for (size_t at = 0; at < g->bytes; at += at < g->bytes) {
		if (!read_number(g, &at, text, &x))
			continue;
		if (g->n_numbers == room) {
			room = room ? room * 2 : 16;
			double *now = heap_regrow(h, g->number, g->n_numbers, room, sizeof *now);
			if (!now)
				return -1;
			g->number = now;
		}
		g->number[g->n_numbers++] = x;
		g->numbers |= number_bit(x);
	}
	return 0;
}

static bool has_number(const struct ground *g, struct val v)
{
	char text[NUMBER_MAX_BYTES], want[NUMBER_MAX_BYTES];
	struct heap none = {0};
	double x = v.f;
	if (v.type == T_BIG || (v.type == T_INT && int_to_float(&none, v, &x) < 0))
		return false;
	bool is_small = v.type != T_INT || (v.i > -(INT64_C(1) << 53) && v.i < INT64_C(1) << 53);
	if (is_small) {
		for (size_t i = 0; (g->numbers & number_bit(x)) && i < g->n_numbers; i++)
			if (g->number[i] == x)
				return true;
		return false;
	}
	snprintf(want, sizeof want, "%lld", (long long)v.i);
	for (size_t at = 0; at < g->bytes; at += at < g->bytes)
		if (read_number(g, &at, text, &x) && strcmp(text, want) == 0)
			return true;
	return false;
}

static bool is_of_policy(const struct ground *g, struct val v)
{
	struct val all = g->policy->literals;
	for (uint32_t i = 0; all.type == T_TUPLE && v.type == T_STRING && i < all.tuple->n; i++)
		if (str_equal(all.tuple->item[i].str, v.str))
			return true;
	return false;
}

static uint32_t label_of(const struct policy *p, const char *origin, enum label_kind rank)
{
	uint32_t atom = label_atom(p->labels, origin, strlen(origin));
	struct label l = {.origins = label_set(p->labels, atom),
		.readers = LABEL_ALL,
		.kind = {.rank = rank}};
	return labels_has_failed(p->labels) ? LABEL_FAILED : label_intern(p->labels, &l);
}

int ground_init(struct ground *g, struct heap *h, const char *request, const struct policy *policy)
{
	*g = (struct ground){.policy = policy, .text = ""};
	g->user = label_of(policy, "user", KIND_CONST);
	g->by_policy = label_of(policy, "policy", KIND_CONST);
	for (int i = 0; i <= KIND_TEXT; i++)
		g->planned[i] = label_of(policy, "plan", (enum label_kind)i);
	if (request) {
		size_t bytes = strlen(request);
		char *text = heap_alloc(h, bytes + 1);
		if (!text)
			return -1;
		g->bytes = fold(request, bytes, text);
		g->text = text;
		if (read_numbers(g, h) < 0)
			return -1;
	}
	return labels_has_failed(policy->labels) ? -1 : 0;
}

static bool is_users(const struct ground *g, struct val v)
{
	char small[256];
	if (v.type == T_INT || v.type == T_FLOAT || v.type == T_BIG)
		return has_number(g, v);
	/* Apart from numbers, only a text can occur in the request. */
	if (v.type != T_STRING || v.str->n_bytes == 0)
		return false;
	char *word = v.str->n_bytes <= sizeof small ? small : malloc(v.str->n_bytes);
	size_t n = word ? fold(v.str->data, v.str->n_bytes, word) : 0;
	bool is_there = n > 0 &&
		(memchr(word, '\0', n) ? is_form_in_request(g, word, n)
				       : is_in_request(g, word, n));
	if (word != small)
		free(word);
	return is_there;
}

uint32_t ground_label(const struct ground *g, struct val v)
{
	if (v.type == T_NONE || v.type == T_UNSET)
		return LABEL_BOTTOM;
	if (is_of_policy(g, v))
		return g->by_policy;
	if (is_users(g, v))
		return g->user;
	switch ((int)v.type) {
	case T_BOOL:
		return g->planned[KIND_BOOL];
	case T_INT:
	case T_BIG:
	case T_FLOAT:
		return g->planned[KIND_NUMBER];
	default:
		return g->planned[KIND_TEXT];
	}
}

bool ground_says(const void *ground, struct val word)
{
	return is_users(ground, word);
}
