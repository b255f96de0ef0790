/* Files with secrets, such as tokens and keys. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct private_file {
	const char *what;  /* what messages call it, such as "token file" */
	const char *form;  /* a hint: what has to be in it */
	const char *spill; /* a hint for a file that others may read: what to do */
	size_t max_bytes;
	bool is_public; /* it has no secrets: anyone may own and read it */
};

/*
 * Read a file that only the engine's user may read. If it belongs to root, its group may read it,
 * because systemd passes credentials in this form.
 * Owns:    the caller frees *@text, which ends in a NUL and has no other, with private_file_free().
 * Errors:  ERR_NOT_FOUND; ERR_ACCESS: others may read it, or it is another user's; ERR_LIMIT;
 *          ERR_USAGE: it is not a text; ERR_IO.
 */
int private_file_read(
	const struct private_file *file, const char *path, char **text, struct err *err);

/* Clear and free a text. */
void private_file_free(char *text);
