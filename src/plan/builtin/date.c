/* The module `date`. Days are counted from 0001-01-01, which is day 0. SPDX-License-Identifier:
 * Apache-2.0 */
#include "plan/builtin/date.h"

#include "plan/builtin/inside.h"
#include "plan/value/str.h"

#include <stdio.h>
#include <string.h>

enum { DAYS_MAX = 3652059, DAY_S = 86400, FORMAT_MAX_BYTES = 4096 };

/* A point in time. A date without a time of day is midnight. */
struct moment {
	int64_t day;
	int64_t second; /* seconds since midnight */
	bool has_time;
};

struct civil {
	int64_t year, month, day;
};

static bool is_leap(int64_t y)
{
	return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}

static int64_t month_days(int64_t y, int64_t m)
{
	static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	return days[m - 1] + (m == 2 && is_leap(y));
}

static int64_t before_year(int64_t y)
{
	y--;
	return y * 365 + y / 4 - y / 100 + y / 400;
}

static int64_t day_of_year(struct civil c)
{
	int64_t n = c.day;
	for (int64_t m = 1; m < c.month; m++)
		n += month_days(c.year, m);
	return n;
}

static struct civil civil_of(int64_t day)
{
	struct civil c = {.year = day / 366 + 1, .month = 1};
	while (before_year(c.year + 1) <= day)
		c.year++;
	c.day = day - before_year(c.year) + 1;
	while (c.day > month_days(c.year, c.month))
		c.day -= month_days(c.year, c.month++);
	return c;
}

/* Read a number of exactly @n digits. */
static bool digits(const char **at, int n, int64_t *out)
{
	*out = 0;
	for (int i = 0; i < n; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		*out = *out * 10 + (**at - '0');
	}
	return true;
}

static bool read_day(const char **at, struct moment *out)
{
	struct civil c;
	if (!digits(at, 4, &c.year) || *(*at)++ != '-' || !digits(at, 2, &c.month) ||
		*(*at)++ != '-' || !digits(at, 2, &c.day) || c.year < 1 || c.month < 1 ||
		c.month > 12 || c.day < 1 || c.day > month_days(c.year, c.month))
		return false;
	out->day = before_year(c.year) + day_of_year(c) - 1;
	return true;
}

static bool read_time(const char **at, struct moment *out)
{
	int64_t h, m, s = 0;
	if (!digits(at, 2, &h) || *(*at)++ != ':' || !digits(at, 2, &m))
		return false;
	if (**at == ':') {
		(*at)++;
		if (!digits(at, 2, &s))
			return false;
		if (**at == '.') {
			size_t n = strspn(++*at, "0123456789");
			*at += n;
			if (n == 0 || n > 9)
				return false;
		}
	}
	out->second = h * 3600 + m * 60 + s;
	out->has_time = true;
	return h < 24 && m < 60 && s < 60;
}

/* Read an optional zone, such as "Z" or "+01:00", and convert the moment to UTC. */
static bool read_zone(const char **at, struct moment *m)
{
	int64_t h, min, sign = **at == '-' ? 1 : -1;
	if (**at == 'Z') {
		(*at)++;
		return true;
	}
	if (**at != '+' && **at != '-')
		return true;
	(*at)++;
	if (!digits(at, 2, &h) || *(*at)++ != ':' || !digits(at, 2, &min) || h > 23 || min > 59)
		return false;
	m->second += sign * (h * 3600 + min * 60);
	int64_t over = m->second < 0 ? -1 : m->second / DAY_S;
	m->day += over;
	m->second -= over * DAY_S;
	return m->day >= 0 && m->day < DAYS_MAX;
}

static bool parse_moment(const struct str *s, struct moment *out)
{
	const char *at = s->data;
	*out = (struct moment){0};
	bool is_good = s->n_bytes < 64 && read_day(&at, out);
	if (is_good && (*at == 'T' || *at == ' ')) {
		at++;
		is_good = read_time(&at, out) && read_zone(&at, out);
	}
	return is_good && at == s->data + s->n_bytes;
}

bool date_is(struct val v)
{
	struct moment m;
	return v.type == T_STRING && parse_moment(v.str, &m);
}

static int read_moment(struct vm *vm, const char *what, struct val v, struct moment *out)
{
	if (arg_string(vm, what, v) < 0)
		return -1;
	if (parse_moment(v.str, out))
		return 0;
	return heap_fail(vm->h,
		"%s: no such date: \"2026-11-22\" or \"2026-11-22T09:30:00\", years 1 to 9999",
		what);
}

static int write_moment(struct vm *vm, const struct moment *m, struct val *out)
{
	char text[64];
	struct civil c = civil_of(m->day);
	int n = snprintf(
		text, sizeof text, "%04d-%02d-%02d", (int)c.year, (int)c.month, (int)c.day);
	if (m->has_time)
		snprintf(text + n, sizeof text - (size_t)n, "T%02d:%02d:%02d",
			(int)(m->second / 3600), (int)(m->second / 60 % 60), (int)(m->second % 60));
	return str_of(vm->h, text, out);
}

FN(date_parse)
{
	struct moment m;
	return read_moment(vm, "date.parse", arg[0], &m) < 0 ? -1 : write_moment(vm, &m, out);
}

FN(date_add)
{
	struct moment m;
	int64_t days = 0;
	if (read_moment(vm, "date.add", arg[0], &m) < 0 ||
		arg_int(vm, "date.add", arg[1], &days) < 0)
		return -1;
	if (days < -DAYS_MAX || days > DAYS_MAX || m.day + days < 0 || m.day + days >= DAYS_MAX)
		return heap_fail(vm->h, "date.add: years go from 1 to 9999");
	m.day += days;
	return write_moment(vm, &m, out);
}

static int read_two(
	struct vm *vm, const char *what, const struct val *arg, struct moment *a, struct moment *b)
{
	return read_moment(vm, what, arg[0], a) < 0 ? -1 : read_moment(vm, what, arg[1], b);
}

/* Return the number of whole days from the second date to the first, rounded down as in Python's
 * timedelta.days. */
FN(date_diff)
{
	struct moment a, b;
	if (read_two(vm, "date.diff", arg, &a, &b) < 0)
		return -1;
	*out = VAL_INT(a.day - b.day - (a.second < b.second));
	return 0;
}

FN(date_compare)
{
	struct moment a, b;
	if (read_two(vm, "date.compare", arg, &a, &b) < 0)
		return -1;
	int64_t gap = a.day != b.day ? a.day - b.day : a.second - b.second;
	*out = VAL_INT(gap > 0 ? 1 : gap < 0 ? -1 : 0);
	return 0;
}

/* Return the day of the week; Monday is 0. Day 0 of the calendar is a Monday. */
FN(date_weekday)
{
	struct moment m;
	if (read_moment(vm, "date.weekday", arg[0], &m) < 0)
		return -1;
	*out = VAL_INT(m.day % 7);
	return 0;
}

/* Write one directive of strftime, such as %Y or %B, always in English. Returns: the number of
 * bytes in @out; 0 if the directive is unknown. */
static int directive(char c, const struct moment *m, char *out, size_t room)
{
	static const char *const days[] = {
		"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
	static const char *const months[] = {"January", "February", "March", "April", "May", "June",
		"July", "August", "September", "October", "November", "December"};
	struct civil d = civil_of(m->day);
	const char *day = days[m->day % 7], *month = months[d.month - 1];
	int hour = (int)(m->second / 3600);
	const struct {
		char c;
		int width, n;
	} rows[] = {{'Y', 4, (int)d.year}, {'y', 2, (int)(d.year % 100)}, {'m', 2, (int)d.month},
		{'d', 2, (int)d.day}, {'H', 2, hour}, {'I', 2, (hour + 11) % 12 + 1},
		{'M', 2, (int)(m->second / 60 % 60)}, {'S', 2, (int)(m->second % 60)},
		{'j', 3, (int)day_of_year(d)}, {'w', 1, (int)((m->day + 1) % 7)}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].c == c)
			return snprintf(out, room, "%0*d", rows[i].width, rows[i].n);
	switch (c) {
	case 'A':
		return snprintf(out, room, "%s", day);
	case 'a':
		return snprintf(out, room, "%.3s", day);
	case 'B':
		return snprintf(out, room, "%s", month);
	case 'b':
		return snprintf(out, room, "%.3s", month);
	case 'p':
		return snprintf(out, room, "%s", hour < 12 ? "AM" : "PM");
	case '%':
		return snprintf(out, room, "%%");
	default:
		return 0;
	}
}

FN(date_format)
{
	struct moment m;
	struct text t = {.h = vm->h};
	char one[32];
	if (read_moment(vm, "date.format", arg[0], &m) < 0 ||
		arg_string(vm, "date.format", arg[1]) < 0)
		return -1;
	const char *at = arg[1].str->data, *end = at + arg[1].str->n_bytes;
	if (arg[1].str->n_bytes > FORMAT_MAX_BYTES)
		return heap_fail(vm->h, "date.format: the format is too long");
	for (; at < end; at++) {
		size_t n = 1;
		const char *from = at;
		if (*at == '%') {
			at++;
			n = at < end ? (size_t)directive(*at, &m, one, sizeof one) : 0;
			from = one;
		}
		if (n == 0)
			return heap_fail(vm->h,
				"date.format: of directives there are %%Y %%y %%m %%d %%H %%I %%M %%S %%p %%j %%w %%A %%a %%B %%b %%%%");
		if (text_add(&t, from, n) < 0)
			return -1;
	}
	return text_take(&t, T_STRING, out);
}
