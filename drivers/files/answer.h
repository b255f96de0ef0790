/* What the program answers, and how errors of the kernel become errors of an operation.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* Write @json, whose reference is taken, as a line. Blocks until it is written. A NULL, from a lack
 * of memory, is an error. Errors: ERR_NO_MEMORY, ERR_IO. */
int answer_line(int fd, json_t *json, struct err *err);

/* Fail with the errno @sys: "PATH: no such file". Returns: negative errno. */
int answer_fail(struct err *err, int sys, const char *path);

/* Make a string of @text. Bytes that are not UTF-8 become U+FFFD, and *@is_inexact becomes true. */
json_t *answer_text(const char *text, bool *is_inexact);
