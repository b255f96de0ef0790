/* Match regular expressions without backtracking, by following all possible states at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/value/pattern.h"

#include "base/utf8.h"

#include <string.h>

/*
 * The pattern is compiled to a program of at most STATES_MAX instructions (states). The text is
 * read once; for each character, the set of all possible states is updated. Source: Thompson 1968;
 * Pike's virtual machine.
 */
enum { STATES_MAX = 2000, NESTED_MAX = 40, REPEAT_MAX = 200 };
enum step { STEP_CHAR, STEP_ANY, STEP_CLASS, STEP_SPLIT, STEP_JUMP, STEP_END };

struct state {
	enum step step;
	int32_t low, high; /* for STEP_CHAR: the character; both members are equal */
	/*
	 * What `to` and `or` are:
	 * STEP_SPLIT: the two next states.
	 * STEP_JUMP: the next state; both members are equal.
	 * STEP_CLASS: the offsets in the pattern at which the text of the class begins and ends.
	 */
	uint32_t to, or ;
};

struct regex {
	struct heap *h;
	const char *text;
	size_t at, bytes;
	struct state *state;
	uint32_t n;
	int depth;
};

static int bad(const struct regex *r, const char *what)
{
	return heap_fail(r->h, "matches: at offset %zu of the pattern: %s", r->at, what);
}

static int add(struct regex *r, struct state s)
{
	if (r->n == STATES_MAX)
		return bad(r, "it is too large");
	r->state[r->n] = s;
	return (int)r->n++;
}

static int peek(const struct regex *r)
{
	return r->at < r->bytes ? (unsigned char)r->text[r->at] : -1;
}

static bool is_class(int32_t c, int name)
{
	bool is_digit = c >= '0' && c <= '9';
	bool is_word = is_digit || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
	bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
	switch (name) {
	case 'd':
		return is_digit;
	case 'w':
		return is_word;
	case 's':
		return is_space;
	case 'D':
		return !is_digit;
	case 'W':
		return !is_word;
	default:
		return !is_space;
	}
}

/* Read one character or escape sequence of the pattern at *at. Returns: 0 with the character in *c;
 * 1 for a class such as \d, with its letter in *c; -1 if the escape sequence is unknown. */
static int read_char(const struct regex *r, size_t *at, int32_t *c)
{
	*at += utf8_decode(r->text + *at, r->bytes - *at, c);
	if (*c != '\\')
		return 0;
	if (*at == r->bytes)
		return -1;
	*at += utf8_decode(r->text + *at, r->bytes - *at, c);
	if (*c > 0 && strchr("dwsDWS", *c < 128 ? *c : '?'))
		return 1;
	*c = *c == 'n' ? '\n' : *c == 't' ? '\t' : *c == 'r' ? '\r' : *c;
	return *c < 128 && ((*c | 0x20) >= 'a' && (*c | 0x20) <= 'z') ? -1 : 0;
}

/* Return whether @c is in the bracketed class whose text is at [@from, @to) of the pattern, such as
 * "^a-z". */
static bool in_class(const struct regex *r, size_t from, size_t to, int32_t c)
{
	bool is_not = from < to && r->text[from] == '^', is = false;
	for (size_t at = from + is_not; at < to && !is;) {
		int32_t low, high;
		if (read_char(r, &at, &low) == 1) {
			is = is_class(c, low);
			continue;
		}
		high = low;
		if (at + 1 < to && r->text[at] == '-') {
			at++;
			(void)read_char(r, &at, &high);
		}
		is = c >= low && c <= high;
	}
	return is != is_not;
}

static int read_class(struct regex *r)
{
	size_t from = ++r->at, at = from + (peek(r) == '^');
	for (bool is_first = true; at < r->bytes && (is_first || r->text[at] != ']');
		is_first = false) {
		int32_t c;
		if (read_char(r, &at, &c) < 0)
			return bad(r, "no such escape");
	}
	if (at >= r->bytes)
		return bad(r, "\"]\" is missing");
	r->at = at + 1;
	return add(r, (struct state){.step = STEP_CLASS, .to = (uint32_t)from, .or = (uint32_t)at});
}

static int read_either(struct regex *r);

/* Read a character, class or group. Returns: the index of its first state; -1. */
static int read_atom(struct regex *r)
{
	int c = peek(r);
	int32_t one;
	uint32_t start = r->n;
	if (c == '[')
		return read_class(r);
	if (c == '(') {
		r->at++;
		if (peek(r) == '?' && r->at + 1 < r->bytes && r->text[r->at + 1] == ':')
			r->at += 2;
		if (++r->depth > NESTED_MAX)
			return bad(r, "it is nested too deeply");
		if (read_either(r) < 0)
			return -1;
		r->depth--;
		if (peek(r) != ')')
			return bad(r, "\")\" is missing");
		r->at++;
		return (int)start;
	}
	if (c == '.') {
		r->at++;
		return add(r, (struct state){.step = STEP_ANY});
	}
	if (c > 0 && strchr("*+?{", c))
		return bad(r, "nothing is there to be repeated");
	if (c == '^' || c == '$')
		return bad(r, "the whole value is compared: leave ^ and $ out");
	size_t from = r->at;
	int kind = read_char(r, &r->at, &one);
	if (kind < 0)
		return bad(r, "no such escape");
	if (kind == 1)
		return add(r,
			(struct state){
				.step = STEP_CLASS, .to = (uint32_t)from, .or = (uint32_t)r->at});
	return add(r, (struct state){.step = STEP_CHAR, .low = one, .high = one});
}

/* Append a copy of the states [@from, @to), and adjust the jumps in the copy. */
static int copy(struct regex *r, uint32_t from, uint32_t to)
{
	uint32_t by = r->n - from;
	for (uint32_t i = from; i < to; i++) {
		struct state s = r->state[i];
		if (s.step == STEP_SPLIT || s.step == STEP_JUMP) {
			s.to += by;
			s.or += by;
		}
		if (add(r, s) < 0)
			return -1;
	}
	return 0;
}

/* Insert an empty state at @at. Later states move by one, and jumps to them are adjusted. */
static int insert(struct regex *r, uint32_t at)
{
	if (add(r, (struct state){0}) < 0)
		return -1;
	memmove(&r->state[at + 1], &r->state[at], (r->n - 1 - at) * sizeof *r->state);
	for (uint32_t i = at + 1; i < r->n; i++)
		if (r->state[i].step == STEP_SPLIT || r->state[i].step == STEP_JUMP) {
			r->state[i].to++;
			r->state[i].or ++;
		}
	return 0;
}

/* Make the states from @from on optional, as "?" does. With @again, make them repeatable too, as
 * "*" does. */
static int optional(struct regex *r, uint32_t from, bool again)
{
	if (insert(r, from) < 0)
		return -1;
	if (again && add(r, (struct state){.step = STEP_JUMP, .to = from, .or = from}) < 0)
		return -1;
	r->state[from] = (struct state){.step = STEP_SPLIT, .to = from + 1, .or = r->n};
	return 0;
}

static int read_count(struct regex *r, uint32_t *out)
{
	*out = 0;
	if (peek(r) < '0' || peek(r) > '9')
		return -1;
	while (peek(r) >= '0' && peek(r) <= '9' && *out <= REPEAT_MAX)
		*out = *out * 10 + (uint32_t)(r->text[r->at++] - '0');
	return *out > REPEAT_MAX ? -1 : 0;
}

/* Read "{2}", "{2,}" or "{2,5}", and repeat the states from @from on accordingly. */
static int read_braces(struct regex *r, uint32_t from)
{
	uint32_t least, most, to = r->n;
	bool is_open = false;
	r->at++;
	if (read_count(r, &least) < 0)
		return bad(r, "{2}, {2,} or {2,5}, up to 200");
	most = least;
	if (peek(r) == ',') {
		r->at++;
		is_open = peek(r) == '}';
		if (!is_open && (read_count(r, &most) < 0 || most < least))
			return bad(r, "{2}, {2,} or {2,5}, up to 200");
	}
	if (peek(r) != '}')
		return bad(r, "\"}\" is missing");
	r->at++;
	uint32_t n = to - from;
	/*
	 * The states from @from on match one repetition. The code below appends copies of them:
	 * - one copy for each further repetition that is required
	 * - without a maximum, as in "{2,}", one copy that may match any number of times
	 * - with a maximum, one optional copy for each repetition that is allowed but not required.
	 * If no repetition is required, the return statement makes the states from @from on
	 * optional. If `most` is 0, too, it removes all these states.
	 */
	for (uint32_t i = 1; i < least; i++)
		if (copy(r, from, to) < 0)
			return -1;
	if (is_open) {
		uint32_t first = r->n;
		if (copy(r, from, to) < 0 || optional(r, first, true) < 0)
			return -1;
	}
	for (uint32_t i = MAX(least, 1u); i < most; i++) {
		uint32_t first = r->n;
		if (copy(r, from, from + n) < 0 || optional(r, first, false) < 0)
			return -1;
	}
	return least == 0 ? (most == 0 ? (r->n = from, 0) : optional(r, from, false)) : 0;
}

static int read_piece(struct regex *r)
{
	uint32_t from = r->n;
	if (read_atom(r) < 0)
		return -1;
	int c = peek(r);
	if (c == '{')
		return read_braces(r, from);
	if (c != '*' && c != '+' && c != '?')
		return 0;
	r->at++;
	if (c == '+')
		return add(r, (struct state){.step = STEP_SPLIT, .to = from, .or = r->n + 1}) < 0
			? -1
			: 0;
	return optional(r, from, c == '*');
}

static int read_either(struct regex *r)
{
	uint32_t from = r->n;
	while (peek(r) >= 0 && peek(r) != ')' && peek(r) != '|')
		if (read_piece(r) < 0)
			return -1;
	if (peek(r) != '|')
		return 0;
	r->at++;
	if (insert(r, from) < 0)
		return -1;
	int jump = add(r, (struct state){.step = STEP_JUMP});
	if (jump < 0)
		return -1;
	r->state[from] = (struct state){.step = STEP_SPLIT, .to = from + 1, .or = r->n};
	if (++r->depth > NESTED_MAX * 4)
		return bad(r, "it has too many branches");
	if (read_either(r) < 0)
		return -1;
	r->depth--;
	r->state[jump].to = r->state[jump].or = r->n;
	return 0;
}

/* The states that are possible at one place of the text. `item` contains the indexes of these
 * states, and `n` is their number. The places are numbered in ascending order, and mark[i] is
 * the number of the place at which enter() last visited the state i. So enter() visits no state
 * twice at the same place. */
struct states {
	uint32_t *item, n;
	uint32_t *mark;
};

static void enter(
	const struct regex *r, struct states *set, uint32_t *stack, uint32_t at, uint32_t mark)
{
	uint32_t n = 0;
	stack[n++] = at;
	while (n > 0) {
		at = stack[--n];
		if (set->mark[at] == mark)
			continue;
		set->mark[at] = mark;
		if (r->state[at].step == STEP_JUMP || r->state[at].step == STEP_SPLIT) {
			stack[n++] = r->state[at].to;
			if (r->state[at].step == STEP_SPLIT)
				stack[n++] = r->state[at].or ;
		} else {
			set->item[set->n++] = at;
		}
	}
}

static bool fits(const struct regex *r, const struct state *s, int32_t c)
{
	if (s->step == STEP_ANY)
		return c != '\n';
	return s->step == STEP_CHAR ? c == s->low
				    : s->step == STEP_CLASS &&
			(r->text[s->to] == '\\' && s->or == s->to + 2
					? is_class(c, r->text[s->to + 1])
					: in_class(r, s->to, s->or, c));
}

static int run(struct regex *r, const char *text, size_t bytes)
{
	uint32_t *room = heap_zero(r->h, 5 * (STATES_MAX + 1) * sizeof *room);
	if (!room)
		return -1;
	struct states now = {room, 0, room + STATES_MAX + 1},
		      next = {room + 2 * (STATES_MAX + 1), 0, room + 3 * (STATES_MAX + 1)};
	uint32_t *stack = heap_alloc(r->h, 2 * (STATES_MAX + 1) * sizeof *stack), mark = 1;
	if (!stack)
		return -1;
	enter(r, &now, stack, 0, mark);
	for (size_t at = 0; at < bytes && now.n > 0;) {
		int32_t c;
		at += utf8_decode(text + at, bytes - at, &c);
		if (heap_pay(r->h, 1 + now.n / 8) < 0)
			return -1;
		mark++;
		next.n = 0;
		for (uint32_t i = 0; i < now.n; i++)
			if (fits(r, &r->state[now.item[i]], c))
				enter(r, &next, stack, now.item[i] + 1, mark);
		struct states swap = now;
		now = next;
		next = swap;
	}
	for (uint32_t i = 0; i < now.n; i++)
		if (r->state[now.item[i]].step == STEP_END)
			return 1;
	return 0;
}

int pattern_matches(
	struct heap *h, const char *pattern, size_t pattern_bytes, const char *text, size_t bytes)
{
	struct regex r = {.h = h, .text = pattern, .bytes = pattern_bytes};
	r.state = heap_alloc(h, STATES_MAX * sizeof *r.state);
	if (!r.state || read_either(&r) < 0)
		return -1;
	if (r.at < r.bytes)
		return bad(&r, "\"(\" is missing");
	return add(&r, (struct state){.step = STEP_END}) < 0 ? -1 : run(&r, text, bytes);
}
