/* What a program has printed. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

/* Return what the program of @record has printed: stdout, and in SQL the rows of all queries, as
 * sqlite3 prints them: one per line, with "|" between the columns. Owns: the caller decrefs. */
json_t *printed_stdout(const json_t *record);
