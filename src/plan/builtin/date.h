/* The module `date`: days and times as values, without a clock. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "plan/builtin/builtin.h"

/*
 * parse, add, diff, compare, weekday, format; ended by a row without a name. A date is a text,
 * "2026-11-22" or "2026-11-22T09:30:00", so that tools take and give it as it is.
 *
 * Limits:  years 1 to 9999. Seconds are whole: what is behind the point is cut off.
 * Source:  ISO 8601 and RFC 3339, in part; results are those of CPython's datetime.
 */
extern const struct native date_functions[];

/* Is it a text that date.parse() reads? */
bool date_is(struct val v);
