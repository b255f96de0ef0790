/* The module `date`: days and times as values, without a clock. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "plan/builtin/builtin.h"

/*
 * Return whether @v is a text that date.parse() accepts. A date is a text, such as "2026-11-22" or
 * "2026-11-22T09:30:00", so that tools accept and return dates unchanged.
 *
 * Limits:  years 1 to 9999. Seconds are whole: a fraction is cut off.
 * Source:  ISO 8601 and RFC 3339, in part; results are those of CPython's datetime.
 */
bool date_is(struct val v);
