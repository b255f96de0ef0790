/* Parsing of dates and times. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdint.h>

/*
 * Parse the whole of @text: a date, a date and a time, or seconds since 1970. On failure *@ns is
 * unchanged.
 *
 * Shape: "2026-11-22", "2026-11-22T09:30", "2026-11-22 09:30:00.25+01:00", "1795339800.5". Without
 * a zone ("Z", "+01:00", "-0530") the time is UTC. Leap seconds, and a year without a month, are
 * refused. Digits of a fraction after the ninth are ignored.
 * Units: nanoseconds since 1970.
 * Limits: from 1970 to the end of 2199. A 64-bit count of nanoseconds overflows in 2262, so a clock
 * that starts at the limit can run for 62 years.
 * Errors: ERR_USAGE with a hint.
 * Source: ISO 8601 and RFC 3339, in part.
 */
int when_parse(const char *text, int64_t *ns, struct err *err);
