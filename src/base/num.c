/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"

#include "base/ascii.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NUM_SHOWN_BYTES = 64, FRACTION_DIGITS = 6, FRACTION_ONE = 1000000 };

struct unit {
	const char *name;
	uint64_t scale;
};

/* A kind of number, such as a size. `noun` and `hint` are texts for error messages. `format`
 * formats the bound that a number exceeds. */
struct kind {
	const char *noun;
	const char *hint;
	const struct unit *units; /* array, ended by a NULL name */
	bool any_case;
	struct num_text (*format)(uint64_t value);
};

static const struct unit byte_units[] = {
	{"", 1},
	{"b", 1},
	{"k", UINT64_C(1) << 10},
	{"kb", UINT64_C(1) << 10},
	{"kib", UINT64_C(1) << 10},
	{"m", UINT64_C(1) << 20},
	{"mb", UINT64_C(1) << 20},
	{"mib", UINT64_C(1) << 20},
	{"g", UINT64_C(1) << 30},
	{"gb", UINT64_C(1) << 30},
	{"gib", UINT64_C(1) << 30},
	{"t", UINT64_C(1) << 40},
	{"tb", UINT64_C(1) << 40},
	{"tib", UINT64_C(1) << 40},
	{NULL, 0},
};

static const struct unit ms_units[] = {
	{"", 1000},
	{"ms", 1},
	{"s", 1000},
	{"m", 60000},
	{"min", 60000},
	{"h", 3600000},
	{NULL, 0},
};

static const struct unit count_units[] = {{"", 1}, {NULL, 0}};
static const struct unit cpu_units[] = {{"", 1000}, {NULL, 0}};

static const struct kind bytes_kind = {
	"size", "write a number with k, m or g: 512m", byte_units, true, num_format_bytes};
static const struct kind ms_kind = {
	"duration", "write a number with ms, s, m or h: 30s", ms_units, false, num_format_ms};
static const struct kind count_kind = {
	"whole number", "write digits only", count_units, false, num_format_count};
static const struct kind cpu_kind = {
	"number of CPUs", "write a number: 1 or 0.5", cpu_units, false, num_format_cpu_milli};

struct decimal {
	uint64_t whole;
	uint64_t fraction; /* millionths */
	bool has_fraction;
	bool too_large; /* the whole part does not fit into 64 bits */
};

/*
 * Parse digits with at most one point.
 * Returns: the text after the number; NULL if @at does not begin with a number.
 */
static const char *read_decimal(const char *at, struct decimal *d)
{
	bool has_digit = ascii_is_digit(*at);
	*d = (struct decimal){0};
	for (; ascii_is_digit(*at); at++) {
		uint64_t digit = (uint64_t)(*at - '0');
		d->too_large |= __builtin_mul_overflow(d->whole, UINT64_C(10), &d->whole);
		d->too_large |= __builtin_add_overflow(d->whole, digit, &d->whole);
	}
	if (*at != '.')
		return has_digit ? at : NULL;
	at++;
	if (!ascii_is_digit(*at))
		return NULL;
	d->has_fraction = true;
	for (uint64_t place = FRACTION_ONE / 10; ascii_is_digit(*at); at++, place /= 10)
		d->fraction += (uint64_t)(*at - '0') * place;
	return at;
}

static uint64_t unit_scale(const struct kind *kind, const char *name)
{
	for (const struct unit *u = kind->units; u->name; u++)
		if ((kind->any_case ? strcasecmp(name, u->name) : strcmp(name, u->name)) == 0)
			return u->scale;
	return 0;
}

static int shown_bytes(const char *text)
{
	return (int)utf8_cut(text, strlen(text), NUM_SHOWN_BYTES);
}

/* Report that @text is not a number of this kind. The hint has an example. For a count, the
 * example is within @range. */
static int fail_kind(
	const struct kind *kind, const char *text, struct num_range range, struct err *err)
{
	enum { USUAL_COUNT = 3 };
	uint64_t count = MIN(MAX(USUAL_COUNT, range.min), range.max);
	(void)err_set(err, ERR_USAGE, "\"%.*s\" is not a %s", shown_bytes(text), text, kind->noun);
	if (kind == &count_kind)
		return err_hint(err, "%s, e.g. %s", kind->hint, kind->format(count).text);
	return err_hint(err, "%s", kind->hint);
}

static int fail_range(const char *text, const char *what, const char *bound_name,
	struct num_text bound, struct err *err)
{
	(void)err_set(err, ERR_USAGE, "\"%.*s\" is too %s", shown_bytes(text), text, what);
	return err_hint(err, "write %s %s", bound_name, bound.text);
}

static int parse(const struct kind *kind, const char *text, struct num_range range, uint64_t *out,
	struct err *err)
{
	struct decimal d;
	const char *rest = read_decimal(text, &d);
	if (!rest && kind == &count_kind && text[0] == '-' && read_decimal(text + 1, &d))
		return fail_range(text, "small", "at least", kind->format(range.min), err);
	if (!rest)
		return fail_kind(kind, text, range, err);
	if (rest[0] == ' ' && rest[1] != '\0')
		rest++;
	uint64_t scale = unit_scale(kind, rest);
	if (scale == 0 || (d.has_fraction && scale == 1))
		return fail_kind(kind, text, range, err);
	uint64_t value;
	bool too_large = d.too_large;
	too_large |= __builtin_mul_overflow(d.whole, scale, &value);
	too_large |= __builtin_add_overflow(value, d.fraction * scale / FRACTION_ONE, &value);
	if (too_large || value > range.max)
		return fail_range(text, "large", "at most", kind->format(range.max), err);
	if (value < range.min)
		return fail_range(text, "small", "at least", kind->format(range.min), err);
	*out = value;
	return 0;
}

int num_parse_bytes(const char *text, struct num_range range, uint64_t *bytes, struct err *err)
{
	return parse(&bytes_kind, text, range, bytes, err);
}

int num_parse_ms(const char *text, struct num_range range, uint64_t *ms, struct err *err)
{
	return parse(&ms_kind, text, range, ms, err);
}

int num_parse_count(const char *text, struct num_range range, uint64_t *count, struct err *err)
{
	return parse(&count_kind, text, range, count, err);
}

int num_parse_cpu_milli(const char *text, struct num_range range, uint64_t *milli, struct err *err)
{
	return parse(&cpu_kind, text, range, milli, err);
}

/* Format a number with at most @digits decimals and without trailing zeros: 12, 500000, 2
 * becomes "12.5". */
static struct num_text format_decimal(uint64_t whole, uint64_t millionths, int digits)
{
	struct num_text t;
	char fraction[8];
	snprintf(fraction, sizeof fraction, "%06u", (unsigned)(millionths % FRACTION_ONE));
	while (digits > 0 && fraction[digits - 1] == '0')
		digits--;
	snprintf(t.text, sizeof t.text, "%" PRIu64 "%s%.*s", whole, digits ? "." : "", digits,
		fraction);
	return t;
}

static struct num_text with_unit(struct num_text t, const char *unit)
{
	size_t bytes = strlen(t.text);
	snprintf(t.text + bytes, sizeof t.text - bytes, " %s", unit);
	return t;
}

struct num_text num_format_bytes(uint64_t bytes)
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	unsigned i = 0;
	while (i + 1 < ARRAY_LEN(names) && bytes >> (10 * (i + 1)) > 0)
		i++;
	uint64_t scale = UINT64_C(1) << (10 * i);
	uint64_t millionths = (bytes % scale >> (i > 1 ? 10 * (i - 1) : 0)) * FRACTION_ONE;
	millionths /= i > 1 ? 1024 : scale;
	return with_unit(format_decimal(bytes / scale, millionths, 2), names[i]);
}

struct num_text num_format_ms(uint64_t ms)
{
	if (ms > 0 && ms % 3600000 == 0)
		return with_unit(format_decimal(ms / 3600000, 0, 0), "h");
	if (ms > 0 && ms % 60000 == 0)
		return with_unit(format_decimal(ms / 60000, 0, 0), "min");
	if (ms >= 1000)
		return with_unit(format_decimal(ms / 1000, ms % 1000 * 1000, 3), "s");
	return with_unit(format_decimal(ms, 0, 0), "ms");
}

struct num_text num_format_count(uint64_t count)
{
	return format_decimal(count, 0, 0);
}

struct num_text num_format_cpu_milli(uint64_t milli)
{
	return format_decimal(milli / 1000, milli % 1000 * 1000, 3);
}
