/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/seal.h"

#include "base/id.h"
#include "base/json.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_MAX_BYTES = 1 << 20, VARIANT = sodium_base64_VARIANT_URLSAFE_NO_PADDING };

void mcp_seal_init(struct mcp_seal *seal)
{
	id_random(seal->key, sizeof seal->key);
}

void mcp_id_make(char out[MCP_ID_BYTES])
{
	unsigned char raw[(MCP_ID_BYTES - 1) / 2];
	id_random(raw, sizeof raw);
	(void)sodium_bin2hex(out, MCP_ID_BYTES, raw, sizeof raw);
}

static json_t *borrowed(const json_t *json)
{
	return json ? json_incref(json_unconst(json)) : json_null();
}

/* Compute a MAC over @text, the principal and the request. Only the text is sent to the client; the
 * principal and the request are known when it comes back. */
static bool authenticate(const struct mcp_seal *seal, const char *text, const char *principal,
	const json_t *bound_to, unsigned char mac[crypto_auth_BYTES])
{
	json_t *all = json_pack("[s, s?, o]", text, principal, borrowed(bound_to));
	char *canonical = all ? json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	json_decref(all);
	if (!canonical)
		return false;
	(void)crypto_auth(mac, (const unsigned char *)canonical, strlen(canonical), seal->key);
	free(canonical);
	return true;
}

static char *base64(const void *data, size_t bytes)
{
	size_t room = sodium_base64_encoded_len(bytes, VARIANT);
	char *out = malloc(room);
	if (out)
		(void)sodium_bin2base64(out, room, data, bytes, VARIANT);
	return out;
}

static char *join(const char *text, const char *tag)
{
	size_t room = strlen(text) + strlen(tag) + 2;
	char *out = malloc(room);
	if (out)
		snprintf(out, room, "%s.%s", text, tag);
	return out;
}

char *mcp_seal_write(const struct mcp_seal *seal, const json_t *state, const char *principal,
	const json_t *bound_to)
{
	unsigned char mac[crypto_auth_BYTES];
	json_t *inner = json_pack("{s:I, s:o}", "until", (json_int_t)time(NULL) + MCP_SEAL_SECONDS,
		"state", borrowed(state));
	char *plain = inner ? json_dumps(inner, JSON_COMPACT) : NULL;
	char *text = plain ? base64(plain, strlen(plain)) : NULL;
	char *tag = NULL;
	if (text && authenticate(seal, text, principal, bound_to, mac))
		tag = base64(mac, sizeof mac);
	char *out = tag ? join(text, tag) : NULL;
	json_decref(inner);
	free(plain);
	free(text);
	free(tag);
	return out;
}

/* Decode @text, which is @bytes of base64, and parse the JSON in it. */
static json_t *load(const char *text, size_t bytes)
{
	unsigned char *plain = malloc(bytes + 1);
	size_t n = 0;
	json_t *inner = NULL;
	if (plain && sodium_base642bin(plain, bytes, text, bytes, NULL, &n, NULL, VARIANT) == 0)
		inner = json_loadb((const char *)plain, n, JSON_ALLOW_NUL, NULL);
	free(plain);
	return inner;
}

json_t *mcp_seal_read(const struct mcp_seal *seal, const char *text, const char *principal,
	const json_t *bound_to)
{
	unsigned char want[crypto_auth_BYTES], got[crypto_auth_BYTES];
	const char *dot = strrchr(text, '.');
	size_t n = 0;
	if (!dot || strlen(text) > TEXT_MAX_BYTES ||
		sodium_base642bin(
			got, sizeof got, dot + 1, strlen(dot + 1), NULL, &n, NULL, VARIANT) != 0 ||
		n != sizeof got)
		return NULL;
	char *head = strndup(text, (size_t)(dot - text));
	bool is_ours = head && authenticate(seal, head, principal, bound_to, want) &&
		sodium_memcmp(want, got, sizeof got) == 0;
	json_t *inner = is_ours ? load(head, strlen(head)) : NULL;
	json_t *state = NULL;
	if (json_integer_value(json_object_get(inner, "until")) >= (json_int_t)time(NULL))
		state = json_incref(json_object_get(inner, "state"));
	free(head);
	json_decref(inner);
	return state;
}
