/* Prints JSON. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* Print @json and a newline to @to. Characters that a terminal would interpret, or not show, are
 * written as \uNNNN, since the texts may be anybody's. @flags: of json_dumps(). Returns: 0; 1 if
 * writing fails, or there is no memory. */
int json_print(FILE *to, const json_t *json, size_t flags);
