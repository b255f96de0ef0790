/* The ways in which a request carries its caller's token. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/http/token.h"

#include <stdbool.h>

/* Where the token of a request was found. */
enum credential {
	CREDENTIAL_MISSING,
	CREDENTIAL_AUTHORIZATION, /* Authorization: Bearer TOKEN, or Basic with the token as
				     password */
	CREDENTIAL_HEADER,	  /* X-Retort-Token: TOKEN */
	/* Sec-WebSocket-Protocol: …, base64url.bearer.retort.TOKEN, the only header that a web page
	 * can set for a WebSocket. TOKEN is in base64url without padding. */
	CREDENTIAL_PROTOCOL,
	CREDENTIAL_QUERY,  /* …?token=TOKEN, on routes that allow it */
	CREDENTIAL_COOKIE, /* Cookie: NAME=TOKEN, on routes that allow it */
};

#define CREDENTIAL_HEADER_NAME "X-Retort-Token"

enum { CREDENTIAL_BYTES = TOKEN_CHARS_MAX + 1 };

/*
 * Read the token from @value, a header's value: credential_read_authorization() from Authorization,
 * where Basic counts only with @is_basic; credential_read_protocols() from Sec-WebSocket-Protocol;
 * credential_read_scheme() from Authorization with another scheme, such as "token";
 * credential_read_word() takes all of it; credential_read_cookie() takes that called @name.
 * Source:  RFC 6750, 2.1; RFC 7617, 2; RFC 6455, 11.3.4; RFC 6265, 4.2.1.
 * Returns: false if it has no token, or one that is too long.
 */
bool credential_read_authorization(const char *value, bool is_basic, char out[CREDENTIAL_BYTES]);
bool credential_read_protocols(const char *value, char out[CREDENTIAL_BYTES]);
bool credential_read_scheme(const char *value, const char *scheme, char out[CREDENTIAL_BYTES]);
bool credential_read_word(const char *value, char out[CREDENTIAL_BYTES]);
bool credential_read_cookie(const char *value, const char *name, char out[CREDENTIAL_BYTES]);

/* Find the subprotocol that has the token. A client that has offered subprotocols expects that one
 * of them is chosen, so it is chosen if there is no other. Returns: the beginning of it in @value,
 * and
 * *@bytes; or NULL. */
const char *credential_find_protocol(const char *value, size_t *bytes);
