/* The keys that detach from a program at a terminal. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { KEYS_MAX = 8 };

/* A sequence of keys, and how many of them were typed last. */
struct keys {
	char key[KEYS_MAX];
	size_t n, n_typed;
};

/*
 * Parse a list such as "ctrl-p,ctrl-q" or "ctrl-a,d". A key is one character, or ctrl- and one of
 * a-z @ [ \ ] ^ _. An empty text is a sequence that nobody can type.
 * Errors: ERR_USAGE with a hint.
 */
int keys_parse(const char *text, struct keys *out, struct err *err);

/*
 * Look for the sequence in what was typed. A key that may begin the sequence is held back until the
 * next key decides.
 * @out: gets what the program shall have; has room for @bytes + KEYS_MAX.
 * Returns: the number of bytes in @out. *@is_found: the sequence was typed; what follows is left
 * out.
 */
size_t keys_filter(struct keys *k, const char *data, size_t bytes, char *out, bool *is_found);
