/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/grounding.h"

#include "agent/number.h"
#include "base/attr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 256 };

void grounding_done(struct grounding *g)
{
	free(g->values);
	free(g->longs);
	*g = (struct grounding){0};
}

static int put(struct grounding *g, double value)
{
	if (g->n_values == GROUNDING_NUMBERS_MAX) {
		g->is_full = true;
		return 0;
	}
	if (g->n_values == g->room) {
		size_t room = g->room ? g->room * 2 : ROOM_MIN;
		double *values = realloc(g->values, room * sizeof *values);
		if (!values)
			return -ENOMEM;
		g->values = values;
		g->room = room;
	}
	g->values[g->n_values++] = value;
	g->is_sorted = false;
	return 0;
}

static int put_long(struct grounding *g, uint64_t digits)
{
	if (!g->longs)
		g->longs = calloc(GROUNDING_LONG_MAX, sizeof *g->longs);
	if (!g->longs)
		return -ENOMEM;
	if (g->n_longs < GROUNDING_LONG_MAX)
		g->longs[g->n_longs++] = digits;
	else
		g->is_full = true;
	return 0;
}

/* "100,200" in an output is two numbers as well as one. */
static int add_pieces(struct grounding *g, const char *text, size_t bytes)
{
	const char *comma;
	int r = 0;
	while (r == 0 && (comma = memchr(text, ',', bytes)) != NULL) {
		struct number n;
		size_t at = 0, length = (size_t)(comma - text);
		if (number_next(text, length, &at, &n))
			r = put(g, n.readings[0].value);
		text += length + 1;
		bytes -= length + 1;
		struct number last;
		at = 0;
		if (r == 0 && !memchr(text, ',', bytes) && number_next(text, bytes, &at, &last))
			r = put(g, last.readings[0].value);
	}
	return r;
}

int grounding_add(struct grounding *g, const char *text, size_t bytes)
{
	struct number n;
	size_t at = 0;
	int r = 0;
	while (r == 0 && number_next(text, bytes, &at, &n)) {
		for (size_t i = 0; i < n.n_readings && r == 0; i++)
			r = put(g, n.readings[i].value);
		if (r == 0 && n.digits)
			r = put_long(g, n.digits);
		if (r == 0)
			r = add_pieces(g, text + n.at, n.bytes);
	}
	return r;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Is there a value that rounds to @r? */
static bool has_value(const struct grounding *g, struct reading r)
{
	/* Both ways of rounding a half, and what a double cannot hold exactly. */
	double most = r.unit * 0.5000001 + fabs(r.value) * 1e-15;
	size_t low = 0, high = g->n_values;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (g->values[middle] < r.value - most)
			low = middle + 1;
		else
			high = middle;
	}
	return low < g->n_values && g->values[low] <= r.value + most;
}

static bool is_grounded(const struct grounding *g, const struct number *n)
{
	if (n->digits) {
		for (size_t i = 0; i < g->n_longs; i++)
			if (g->longs[i] == n->digits)
				return true;
		return false;
	}
	for (size_t i = 0; i < n->n_readings; i++) {
		struct reading r = n->readings[i], below = {-r.value, r.unit};
		if (has_value(g, r) || (!n->has_sign && has_value(g, below)))
			return true;
	}
	return false;
}

/* "3, 4" written as "3,4": each for itself. */
static bool has_pieces(const struct grounding *g, const char *text, size_t bytes)
{
	size_t n_pieces = 0;
	while (bytes > 0) {
		const char *comma = memchr(text, ',', bytes);
		size_t length = comma ? (size_t)(comma - text) : bytes, at = 0;
		struct number n;
		if (!number_next(text, length, &at, &n) || !is_grounded(g, &n))
			return false;
		n_pieces++;
		text += comma ? length + 1 : length;
		bytes -= comma ? length + 1 : length;
	}
	return n_pieces > 1;
}

/* The end of the fenced block that begins at @at; @at when none does. */
static size_t skip_block(const char *text, size_t bytes, size_t at)
{
	if (bytes - at < 3 || memcmp(text + at, "```", 3) != 0)
		return at;
	const char *end = memmem(text + at + 3, bytes - at - 3, "\n```", 4);
	return end ? (size_t)(end - text) + 4 : bytes;
}

static size_t check_stretch(struct grounding *g, const char *text, size_t first, size_t last,
	struct grounding_gap *gaps, size_t max)
{
	size_t at = 0, n_gaps = 0;
	struct number n;
	while (number_next(text + first, last - first, &at, &n)) {
		if (!n.is_claim || is_grounded(g, &n) ||
			has_pieces(g, text + first + n.at, n.bytes))
			continue;
		if (n_gaps < max)
			gaps[n_gaps] = (struct grounding_gap){first + n.at, n.bytes};
		n_gaps++;
	}
	return n_gaps;
}

size_t grounding_check(
	struct grounding *g, const char *text, size_t bytes, struct grounding_gap *gaps, size_t max)
{
	size_t n_gaps = 0;
	if (!g->is_sorted && g->n_values > 0)
		qsort(g->values, g->n_values, sizeof *g->values, compare);
	g->is_sorted = true;
	for (size_t at = 0; at < bytes;) {
		const char *block = memmem(text + at, bytes - at, "```", 3);
		size_t last = block ? (size_t)(block - text) : bytes;
		n_gaps += check_stretch(
			g, text, at, last, gaps + MIN(n_gaps, max), max - MIN(n_gaps, max));
		at = skip_block(text, bytes, last);
	}
	return n_gaps;
}
