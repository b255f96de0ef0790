/*
 * The password of the front "jupyter": some clients know no token, only a password, which is a
 * token here. They get a page with a cookie "_xsrf", send the password with it, and then get
 * another cookie, which they send from then on, with the header X-XSRFToken.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/jupyter/server.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "serve/http/credential.h"

#include <stdio.h>
#include <string.h>

enum { FORM_BYTES = 8 << 10, COOKIE_BYTES = 128 + 3 * CREDENTIAL_BYTES };

/* SameSite: a page of another site sends no cookies. */
#define COOKIE_RULES "; Path=/; SameSite=Strict"

static void set_xsrf(const struct front_call *c)
{
	char id[SERVER_ID_BYTES], cookie[COOKIE_BYTES];
	server_make_id(id);
	snprintf(cookie, sizeof cookie, "_xsrf=%s" COOKIE_RULES, id);
	if (c->x)
		(void)http_set_header(c->x, "Set-Cookie", cookie);
}

void server_start_login_page(struct front_call *c)
{
	set_xsrf(c);
	front_answer(c, 200, json_pack("{s:s}", "message", "POST a password: a token"));
}

/* Find @name in a form, and append its value. Source: URL Standard, 5.1. */
static bool read_field(struct buf *out, const char *form, size_t bytes, const char *name)
{
	const char *end = form + bytes, *at = form;
	size_t n = strlen(name);
	while (at < end && !((size_t)(end - at) > n && memcmp(at, name, n) == 0 && at[n] == '=')) {
		const char *next = memchr(at, '&', (size_t)(end - at));
		at = next ? next + 1 : end;
	}
	if (at == end)
		return false;
	for (at += n + 1; at < end && *at != '&';) {
		int high = *at == '%' && end - at > 2 ? ascii_hex_value(at[1]) : -1;
		int low = high >= 0 ? ascii_hex_value(at[2]) : -1;
		char byte = low >= 0 ? (char)(high * 16 + low) : *at == '+' ? ' ' : *at;
		buf_append(out, &byte, 1);
		at += low >= 0 ? 3 : 1;
	}
	return buf_error(out) == 0;
}

/* Return whether the request has the cookie _xsrf, and its value in a header or in the form. */
static bool has_xsrf(const struct front_call *c)
{
	char expected[CREDENTIAL_BYTES];
	cleanup_buf struct buf echo = BUF_INIT(FORM_BYTES);
	const char *cookies = http_header(c->x, "Cookie");
	const char *header = http_header(c->x, "X-XSRFToken");
	if (!cookies || !credential_read_cookie(cookies, "_xsrf", expected))
		return false;
	return header ? strcmp(header, expected) == 0
		      : read_field(&echo, http_body(c->x), http_body_bytes(c->x), "_xsrf") &&
			strcmp(buf_str(&echo), expected) == 0;
}

void server_start_login(struct front_call *c)
{
	char cookie[COOKIE_BYTES], bearer[CREDENTIAL_BYTES + 16];
	cleanup_wipe_buf struct buf password = BUF_INIT(CREDENTIAL_BYTES);
	if (!c->x || http_body_bytes(c->x) > FORM_BYTES || !has_xsrf(c)) {
		server_refuse(c, 403, "'_xsrf' argument missing from POST");
		return;
	}
	bool is_read = read_field(&password, http_body(c->x), http_body_bytes(c->x), "password") &&
		strlen(buf_str(&password)) == password.bytes;
	snprintf(bearer, sizeof bearer, "Bearer %s", is_read ? buf_str(&password) : "");
	if (!is_read || (http_has_tokens(c->x) && !http_has_token(c->x, bearer))) {
		explicit_bzero(bearer, sizeof bearer);
		server_refuse(c, 401, "Invalid credentials");
		return;
	}
	explicit_bzero(bearer, sizeof bearer);
	snprintf(cookie, sizeof cookie, SERVER_COOKIE "=%s; HttpOnly" COOKIE_RULES,
		buf_str(&password));
	(void)http_set_header(c->x, "Set-Cookie", cookie);
	explicit_bzero(cookie, sizeof cookie);
	front_answer_empty(c);
}
