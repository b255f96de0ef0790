/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/when.h"

#include "base/ascii.h"

#include <stdbool.h>
#include <string.h>

static const int64_t ns_per_s = 1000000000;
static const int64_t end_s = 7258118400; /* 2200-01-01 */

/* Parse exactly @n digits. */
static bool take_digits(const char **at, int n, int64_t *out)
{
	int64_t value = 0;
	for (int i = 0; i < n; i++) {
		if (!ascii_is_digit((*at)[i]))
			return false;
		value = value * 10 + ((*at)[i] - '0');
	}
	*at += n;
	*out = value;
	return true;
}

static bool take_char(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/* Parse a fraction such as ".25", or nothing. */
static bool take_fraction(const char **at, int64_t *ns)
{
	int64_t scale = ns_per_s / 10;
	*ns = 0;
	if (!take_char(at, '.'))
		return true;
	if (!ascii_is_digit(**at))
		return false;
	for (; ascii_is_digit(**at); (*at)++, scale /= 10)
		*ns += scale * (**at - '0');
	return true;
}

static bool is_leap(int64_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t days_of_month(int64_t year, int64_t month)
{
	static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	return days[month - 1] + (month == 2 && is_leap(year));
}

/* Parse YYYY-MM-DD into days since 1970. */
static bool take_date(const char **at, int64_t *days)
{
	int64_t year, month, day;
	bool is_good = take_digits(at, 4, &year) && take_char(at, '-') &&
		take_digits(at, 2, &month) && take_char(at, '-') && take_digits(at, 2, &day) &&
		year >= 1970 && year < 2200 && month >= 1 && month <= 12 && day >= 1 &&
		day <= days_of_month(year, month);
	if (!is_good)
		return false;
	*days = day - 1;
	for (int64_t y = 1970; y < year; y++)
		*days += 365 + is_leap(y);
	for (int64_t m = 1; m < month; m++)
		*days += days_of_month(year, m);
	return true;
}

/* Parse HH:MM, HH:MM:SS or HH:MM:SS.fraction. */
static bool take_clock(const char **at, int64_t *seconds, int64_t *ns)
{
	int64_t hours, minutes, s = 0;
	*ns = 0;
	bool is_good = take_digits(at, 2, &hours) && take_char(at, ':') &&
		take_digits(at, 2, &minutes) && hours < 24 && minutes < 60;
	if (is_good && take_char(at, ':'))
		is_good = take_digits(at, 2, &s) && s < 60 && take_fraction(at, ns);
	*seconds = is_good ? (hours * 60 + minutes) * 60 + s : 0;
	return is_good;
}

/* Parse a zone: Z, +HH:MM, +HHMM, +HH, or nothing. */
static bool take_zone(const char **at, int64_t *seconds)
{
	int64_t hours, minutes = 0;
	char sign = **at;
	*seconds = 0;
	if (take_char(at, 'Z') || (sign != '+' && sign != '-'))
		return true;
	(*at)++;
	bool is_good = take_digits(at, 2, &hours) && hours < 24;
	if (is_good && (take_char(at, ':') || ascii_is_digit(**at)))
		is_good = take_digits(at, 2, &minutes) && minutes < 60;
	if (is_good)
		*seconds = (sign == '-' ? -1 : 1) * (hours * 60 + minutes) * 60;
	return is_good;
}

static bool take_iso(const char *at, int64_t *seconds, int64_t *ns)
{
	int64_t days, clock = 0, zone = 0;
	*ns = 0;
	if (!take_date(&at, &days))
		return false;
	if (*at &&
		!((take_char(&at, 'T') || take_char(&at, ' ')) && take_clock(&at, &clock, ns) &&
			take_zone(&at, &zone)))
		return false;
	*seconds = days * 86400 + clock - zone;
	return *at == '\0';
}

static bool take_seconds(const char *at, int64_t *seconds, int64_t *ns)
{
	int n = 0;
	while (n < 12 && ascii_is_digit(at[n]))
		n++;
	bool is_good = n > 0 && take_digits(&at, n, seconds) && take_fraction(&at, ns);
	/* Refuse a year alone, such as "2026": as seconds it would be a time in 1970. */
	return is_good && *at == '\0' && !(n == 4 && *seconds >= 1970 && *seconds < 2200);
}

int when_parse(const char *text, int64_t *ns, struct err *err)
{
	int64_t seconds, rest;
	bool is_good = take_iso(text, &seconds, &rest) || take_seconds(text, &seconds, &rest);
	if (is_good && seconds >= 0 && seconds < end_s) {
		*ns = seconds * ns_per_s + rest;
		return 0;
	}
	return err_fail(err, ERR_USAGE, "write a date, 2026-11-22T09:30:00Z, or seconds since 1970",
		is_good ? "\"%.100s\" is not between 1970 and 2199" : "\"%.100s\" is not a time",
		text);
}
