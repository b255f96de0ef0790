/* The option --secret: where its value comes from. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"

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

/* Read each of the texts of @options, and give it to @take, NULL: only check them. Returns: 0, or
 * what failed first. */
typedef int secret_take_fn(void *arg, const struct secret_given *s, struct err *err);
int secret_each(const struct opt_list *options, int flags, secret_take_fn *take, void *arg,
	struct err *err);
/* Make {"name", "value", "to"?}, a row of the parameter `secrets` of operations, and add it to
 * @arg, an array. */
int secret_add_row(void *arg, const struct secret_given *s, struct err *err);
