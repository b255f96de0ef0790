/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/credential.h"

#include "base/base64.h"

#include <string.h>
#include <strings.h>

static bool keep(const char *token, size_t bytes, char out[CREDENTIAL_BYTES])
{
	if (bytes == 0 || bytes >= CREDENTIAL_BYTES || memchr(token, '\0', bytes))
		return false;
	memcpy(out, token, bytes);
	out[bytes] = '\0';
	return true;
}

/* Return what stands behind the name of @scheme, or NULL if @value has another one. */
static const char *after_scheme(const char *value, const char *scheme)
{
	size_t bytes = strlen(scheme);
	if (strncasecmp(value, scheme, bytes) != 0 || value[bytes] != ' ')
		return NULL;
	return value + bytes + strspn(value + bytes, " ");
}

/* "USER:PASSWORD" in base64; the password is the token. */
static bool read_basic(const char *text, char out[CREDENTIAL_BYTES])
{
	struct err err;
	cleanup_buf struct buf plain = BUF_INIT(2 * CREDENTIAL_BYTES);
	if (base64_read(&plain, text, strlen(text), &err) < 0 || plain.bytes == 0)
		return false;
	const char *colon = memchr(plain.data, ':', plain.bytes);
	return colon && keep(colon + 1, plain.bytes - (size_t)(colon + 1 - plain.data), out);
}

bool credential_read_authorization(const char *value, bool is_basic, char out[CREDENTIAL_BYTES])
{
	const char *bearer = after_scheme(value, "Bearer");
	const char *basic = is_basic ? after_scheme(value, "Basic") : NULL;
	return bearer ? keep(bearer, strlen(bearer), out) : basic && read_basic(basic, out);
}

/* Decode base64url without padding. */
static bool read_url64(const char *text, size_t bytes, char out[CREDENTIAL_BYTES])
{
	char padded[2 * CREDENTIAL_BYTES];
	struct err err;
	cleanup_buf struct buf plain = BUF_INIT(CREDENTIAL_BYTES);
	if (bytes + 4 > sizeof padded)
		return false;
	for (size_t i = 0; i < bytes; i++)
		padded[i] = (char)(text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
	while (bytes % 4 != 0)
		padded[bytes++] = '=';
	return base64_read(&plain, padded, bytes, &err) == 0 &&
		keep(buf_str(&plain), plain.bytes, out);
}

static const char prefix[] = "base64url.bearer.retort.";

const char *credential_find_protocol(const char *value, size_t *bytes)
{
	for (const char *at = value; *at; at += strspn(at, " \t,")) {
		*bytes = strcspn(at, " \t,");
		if (*bytes >= sizeof prefix && strncmp(at, prefix, sizeof prefix - 1) == 0)
			return at;
		at += *bytes;
	}
	return NULL;
}

bool credential_read_protocols(const char *value, char out[CREDENTIAL_BYTES])
{
	size_t bytes;
	const char *found = credential_find_protocol(value, &bytes);
	return found && read_url64(found + sizeof prefix - 1, bytes - (sizeof prefix - 1), out);
}

bool credential_read_scheme(const char *value, const char *scheme, char out[CREDENTIAL_BYTES])
{
	const char *token = after_scheme(value, scheme);
	return token && keep(token, strlen(token), out);
}

bool credential_read_word(const char *value, char out[CREDENTIAL_BYTES])
{
	return !strchr(value, ' ') && keep(value, strlen(value), out);
}

/* Some clients send a cookie twice. If its values differ, it counts as none: another host of the
 * same site may have set one. */
bool credential_read_cookie(const char *value, const char *name, char out[CREDENTIAL_BYTES])
{
	char again[CREDENTIAL_BYTES];
	size_t bytes = strlen(name);
	bool has_one = false;
	for (const char *at = value; *at; at += strspn(at, "; \t")) {
		const char *word = at;
		size_t length = strcspn(at, ";");
		at += length;
		if (length <= bytes || strncmp(word, name, bytes) != 0 || word[bytes] != '=')
			continue;
		if (!keep(word + bytes + 1, length - bytes - 1, has_one ? again : out) ||
			(has_one && strcmp(again, out) != 0))
			return false;
		has_one = true;
	}
	return has_one;
}
