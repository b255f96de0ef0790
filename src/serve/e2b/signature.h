/* Signatures of URLs of the front "e2b". SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/digest.h"

#include <stdbool.h>
#include <stddef.h>

/* Length of a signature, "v1_" and a digest in base64 without padding, with its NUL. */
enum { E2B_SIGNATURE_BYTES = 47 };

/* The beginning of the signed text, which is the same for all tokens: a URL does not say which
 * sandbox it is for, so it is compared with the signatures of many. */
struct e2b_signing {
	struct digest_state begun;
	const char *expiration;
};

/*
 * Begin signatures of a path, an action ("read" or "write") and a user, all as in the query of the
 * URL. @expiration: NULL, or the text of signature_expiration; it must stay valid.
 * Source: e2b-dev/infra, packages/envd/internal/api/auth.go.
 */
void e2b_sign_begin(struct e2b_signing *s, const char *path, const char *action, const char *user,
	const char *expiration);
/* Write the signature with a token. */
void e2b_sign(const struct e2b_signing *s, const char *token, char out[E2B_SIGNATURE_BYTES]);

/* Return whether the time @expiration, in seconds since 1970, is over at @now_s; true if it is no
 * number. */
bool e2b_is_expired(const char *expiration, unsigned long long now_s);
