/* What a registry asks for when it answers with status 401. Makes no system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { CHALLENGE_VALUE_BYTES = 1024 };

struct challenge {
	bool is_bearer;			   /* a token from the server at `realm`; otherwise Basic */
	char realm[CHALLENGE_VALUE_BYTES]; /* a URL */
	char service[CHALLENGE_VALUE_BYTES], scope[CHALLENGE_VALUE_BYTES];
};

/* Read the value of a header WWW-Authenticate. Source: RFC 9110, 11.6.1; distribution, "Token
 * Authentication Specification". Errors: ERR_AUTH: it asks for something else; ERR_UNREACHABLE. */
int challenge_read(struct challenge *out, const char *header, struct err *err);

/* Return whether the host of a URL is this host. */
bool challenge_is_here(const char *url);
/* Return whether a registry may send on to a URL: over TLS to everybody; if the registry @is_local,
 * also without TLS, but only to this host. */
bool challenge_is_safe(const char *url, bool is_local);

/*
 * Write the URL of the token: the realm, the service, and the scope. If the registry has named no
 * scope, it is that of reading @path.
 * Errors: ERR_UNREACHABLE: it is too long, or not safe.
 */
int challenge_url(const struct challenge *c, const char *path, bool is_local, char *out,
	size_t out_bytes, struct err *err);
