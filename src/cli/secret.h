/* The option --secret: where its value comes from. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"

#include <jansson.h>
#include <stdbool.h>

/* A secret as it was given, with its value. */
struct secret_given {
	char *name, *to, *value;
};

/* What secret_each() does: read texts with a host, or without one; and get the values. */
enum { SECRET_HAS_HOST = 1, SECRET_GET_VALUE = 2 };

typedef int secret_take_fn(void *arg, const struct secret_given *s, struct err *err);

/*
 * Split each of the texts of @options, NAME=SOURCE@HOST… or NAME=SOURCE, and give it to @take,
 * NULL: only check them. With SECRET_GET_VALUE, get the value from SOURCE:
 *
 *   env:VARIABLE     the environment of this command
 *   file:PATH        a file, without the line break at its end
 *   command:COMMAND  what a shell command prints, without the line break at its end
 *
 * If there is a host, the last "@" begins it. Values are wiped afterwards.
 * Returns: 0, or what failed first. Errors: ERR_USAGE, ERR_NOT_FOUND, ERR_ACCESS, ERR_LIMIT (a
 * value is too long), ERR_NO_MEMORY. No message shows a value.
 */
int secret_each(const struct opt_list *options, int flags, secret_take_fn *take, void *arg,
	struct err *err);
/* Make {"name", "value", "to"?}, a row of the parameter `secrets` of operations, and add it to
 * @arg, an array. */
int secret_add_row(void *arg, const struct secret_given *s, struct err *err);
/* Return whether @given, a row of the options, is the secret @kept of a session, as `session.net`
 * tells it: of the same name, for the same host, port and places. */
bool secret_is_same(const json_t *given, const json_t *kept);
