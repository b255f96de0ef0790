/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/e2b/signature.h"

#include "base/base64.h"
#include "base/num.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define VERSION "v1_"

static void add(struct digest_state *s, const char *text)
{
	digest_add(s, text, strlen(text));
}

void e2b_sign_begin(struct e2b_signing *s, const char *path, const char *action, const char *user,
	const char *expiration)
{
	s->expiration = expiration;
	digest_begin(&s->begun);
	add(&s->begun, path);
	add(&s->begun, ":");
	add(&s->begun, action);
	add(&s->begun, ":");
	add(&s->begun, user);
	add(&s->begun, ":");
}

void e2b_sign(const struct e2b_signing *s, const char *token, char out[E2B_SIGNATURE_BYTES])
{
	struct digest_state state = s->begun;
	unsigned char raw[DIGEST_RAW_BYTES];
	char text[DIGEST_BYTES], encoded[DIGEST_RAW_BYTES * 2];
	add(&state, token);
	if (s->expiration) {
		add(&state, ":");
		add(&state, s->expiration);
	}
	digest_end(&state, text);
	(void)digest_read(raw, text);
	base64_encode(encoded, raw, sizeof raw);
	size_t n = base64_bytes(sizeof raw);
	while (n > 0 && encoded[n - 1] == '=')
		n--;
	snprintf(out, E2B_SIGNATURE_BYTES, VERSION "%.*s", (int)n, encoded);
}

bool e2b_is_expired(const char *expiration, unsigned long long now_s)
{
	uint64_t end;
	struct err err;
	return num_parse_count(expiration, NUM_ANY, &end, &err) < 0 || end < now_s;
}
