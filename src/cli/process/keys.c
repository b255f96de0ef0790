/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/process/keys.h"

#include <ctype.h>
#include <string.h>

/* Parse one key of @bytes characters. Returns: the byte that the terminal sends, or -1. */
static int parse_key(const char *text, size_t bytes)
{
	static const char prefix[] = "ctrl-";
	const size_t n = sizeof prefix - 1;
	if (bytes == 1 && (unsigned char)text[0] < 0x80)
		return text[0];
	if (bytes != n + 1 || strncmp(text, prefix, n) != 0)
		return -1;
	int c = toupper((unsigned char)text[n]);
	return c >= '@' && c <= '_' ? c - '@' : -1;
}

int keys_parse(const char *text, struct keys *out, struct err *err)
{
	struct keys k = {0};
	const char *at = text;
	while (*at) {
		/* A comma can be a key, too: then a second one follows, or the end. */
		size_t bytes = at[0] == ',' ? 1 : strcspn(at, ",");
		int key = parse_key(at, bytes);
		bool is_last = !at[bytes];
		if (key < 0 || k.n == KEYS_MAX || (!is_last && !at[bytes + 1]))
			return err_fail(err, ERR_USAGE,
				"for example ctrl-p,ctrl-q, or \"\" for no keys",
				"--detach-keys \"%.60s\" is no list of up to %d keys", text,
				KEYS_MAX);
		k.key[k.n++] = (char)key;
		at += bytes + !is_last;
	}
	*out = k;
	return 0;
}

size_t keys_filter(struct keys *k, const char *data, size_t bytes, char *out, bool *is_found)
{
	size_t n_out = 0;
	*is_found = false;
	for (size_t i = 0; i < bytes; i++) {
		if (k->n > 0 && data[i] == k->key[k->n_typed]) {
			k->n_typed++;
			*is_found = k->n_typed == k->n;
			if (*is_found) {
				k->n_typed = 0;
				return n_out;
			}
			continue;
		}
		/* What was held back was not the sequence. The sequence may begin anew within it:
		 * drop keys from its front until the rest, with this key, is a beginning. */
		size_t n_held = k->n_typed, n_drop = 1;
		char held[KEYS_MAX + 1];
		memcpy(held, k->key, n_held);
		held[n_held] = data[i];
		while (n_drop <= n_held && memcmp(held + n_drop, k->key, n_held + 1 - n_drop) != 0)
			n_drop++;
		memcpy(out + n_out, held, n_drop);
		n_out += n_drop;
		k->n_typed = n_held + 1 - n_drop;
	}
	return n_out;
}
