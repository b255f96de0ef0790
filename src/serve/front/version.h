/* Ranges of versions, such as "3.x" and "^10.2". SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * Return whether @version, "3.11.2", is in @range: any number of parts that all must hold, each an
 * operator (=, <, <=, >, >=, ^, ~; or none) and a version, of which "x", "*" or missing numbers
 * stand for any. Alternatives are separated by "||".
 * Source: the ranges of npm's semver, without "1.2 - 2.3" and without names of prereleases.
 * Returns: false for a range that is not valid, too.
 */
bool version_is_in(const char *version, const char *range);
