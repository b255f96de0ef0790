/* The option --secret: where its value comes from. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* A secret as it was given, with its value. */
struct secret_given {
	char *name, *to, *value;
};

/* What secret_given_read() does: read a text with a host, or one without; and get the value. */
enum { SECRET_HAS_HOST = 1, SECRET_GET_VALUE = 2 };

/*
 * Split NAME=SOURCE@HOST… or NAME=SOURCE. With SECRET_GET_VALUE, get the value from SOURCE:
 *
 *   env:VARIABLE     the environment of this command
 *   file:PATH        a file, without the line break at its end
 *   command:COMMAND  what a shell command prints, without the line break at its end
 *
 * If there is a host, the last "@" begins it. Owns: the caller ends @out with secret_given_done(),
 * also after an error. Errors: ERR_USAGE, ERR_NOT_FOUND, ERR_ACCESS, ERR_LIMIT, ERR_NO_MEMORY. No
 * message shows a value.
 */
int secret_given_read(struct secret_given *out, const char *text, int flags, struct err *err);
void secret_given_done(struct secret_given *s);
