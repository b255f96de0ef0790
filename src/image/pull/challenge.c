/* SPDX-License-Identifier: Apache-2.0 */
#include "image/pull/challenge.h"

#include "base/attr.h"
#include "base/buf.h"
#include "image/reference.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 32 };

static const char *skip_spaces(const char *at)
{
	return at + strspn(at, " \t,");
}

/* Read a value, which may be quoted. Returns: what is behind it; NULL: it is wrong, or too long. */
static const char *read_value(const char *at, char out[CHALLENGE_VALUE_BYTES])
{
	size_t n = 0;
	bool is_quoted = *at == '"';
	at += is_quoted;
	while (*at && (is_quoted ? *at != '"' : !strchr(" \t,", *at))) {
		at += is_quoted && *at == '\\' && at[1];
		if (n + 1 >= CHALLENGE_VALUE_BYTES)
			return NULL;
		out[n++] = *at++;
	}
	out[n] = '\0';
	return is_quoted && *at != '"' ? NULL : at + is_quoted;
}

static const char *read_param(struct challenge *out, const char *at)
{
	char name[NAME_BYTES], value[CHALLENGE_VALUE_BYTES];
	size_t n = strcspn(at, "= \t,");
	if (at[n] != '=' || n == 0 || n >= sizeof name)
		return NULL;
	memcpy(name, at, n);
	name[n] = '\0';
	at = read_value(at + n + 1, value);
	if (!at)
		return NULL;
	char *to = strcasecmp(name, "realm") == 0  ? out->realm
		: strcasecmp(name, "service") == 0 ? out->service
		: strcasecmp(name, "scope") == 0   ? out->scope
						   : NULL;
	if (to)
		memcpy(to, value, sizeof value);
	return at;
}

int challenge_read(struct challenge *out, const char *header, struct err *err)
{
	size_t n = strcspn(header, " \t");
	*out = (struct challenge){.is_bearer = n == 6 && strncasecmp(header, "Bearer", 6) == 0};
	if (!out->is_bearer && !(n == 5 && strncasecmp(header, "Basic", 5) == 0))
		return err_set(
			err, ERR_AUTH, "the registry wants a login of a kind that is not known");
	for (const char *at = skip_spaces(header + n); *at; at = skip_spaces(at)) {
		size_t word = strcspn(at, "= \t,");
		if (at[word] == ' ' || at[word] == '\t')
			break; /* another kind of login, which is not taken */
		at = read_param(out, at);
		if (!at)
			return err_set(err, ERR_UNREACHABLE,
				"the registry sent a header WWW-Authenticate that cannot be read");
	}
	if (out->is_bearer && !out->realm[0])
		return err_set(err, ERR_UNREACHABLE, "the registry does not say who gives tokens");
	return 0;
}

static void add_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;
		if (isalnum(byte) || strchr("-._~/:,", byte))
			(void)buf_append(out, text, 1);
		else
			(void)buf_addf(out, "%%%02X", byte);
	}
}

bool challenge_is_here(const char *url)
{
	char host[IMAGE_HOST_BYTES];
	const char *slashes = strstr(url, "://");
	if (!slashes)
		return false;
	size_t n = strcspn(slashes + 3, "/?#");
	snprintf(host, sizeof host, "%.*s", (int)MIN(n, sizeof host), slashes + 3);
	return n < sizeof host && !strchr(host, '@') && image_host_is_local(host);
}

bool challenge_is_safe(const char *url, bool is_local)
{
	return strncasecmp(url, "https://", 8) == 0 ||
		(is_local && strncasecmp(url, "http://", 7) == 0 && challenge_is_here(url));
}

int challenge_url(const struct challenge *c, const char *path, bool is_local, char *out,
	size_t out_bytes, struct err *err)
{
	cleanup_buf struct buf url = BUF_INIT(out_bytes - 1);
	if (!challenge_is_safe(c->realm, is_local))
		return err_set(err, ERR_UNREACHABLE,
			"the registry wants a token from \"%.100s\", which is no https URL",
			c->realm);
	(void)buf_addf(&url, "%s%c", c->realm, strchr(c->realm, '?') ? '&' : '?');
	if (c->service[0]) {
		(void)buf_add(&url, "service=");
		add_escaped(&url, c->service);
		(void)buf_add(&url, "&");
	}
	(void)buf_add(&url, "scope=");
	if (c->scope[0]) {
		add_escaped(&url, c->scope);
	} else {
		(void)buf_add(&url, "repository:");
		add_escaped(&url, path);
		(void)buf_add(&url, ":pull");
	}
	if (buf_error(&url) < 0)
		return err_set(err, ERR_UNREACHABLE, "the registry sent a URL that is too long");
	memcpy(out, buf_str(&url), url.bytes + 1);
	return 0;
}
