/* The certificate and the key with which the HTTP server proves who it is.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/tls/tls_library.h"

#include <stdbool.h>

enum { TLS_FILE_BYTES = 1 << 20, TLS_WARNING_BYTES = 256 };

struct tls_identity;

/* The certificate and the key as a session uses them. They live until the last session is over,
 * also when others have been read. */
struct tls_credentials {
	gnutls_certificate_credentials_t of;
	unsigned n_refs;
};

/*
 * Load GnuTLS, and read a certificate with its chain, and its key, both as PEM.
 * Owns:    the caller closes *@out, which is NULL after an error.
 * Errors:  those of private_file_read(): only the engine's user may read the key; ERR_NOT_FOUND
 *          also if GnuTLS is missing; ERR_USAGE: a file is not PEM, or the key is that of another
 *          certificate.
 */
int tls_identity_open(
	struct tls_identity **out, const char *certificate, const char *key, struct err *err);

/* Read both files again, for sessions that begin from now on. After an error, the certificate and
 * the key are unchanged. */
int tls_identity_reload(struct tls_identity *id, struct err *err);

/* Say what clients will not like about the certificate: that it is not valid any more, or not yet.
 * Returns: whether @text has something to say. */
bool tls_identity_warn(const struct tls_identity *id, char text[TLS_WARNING_BYTES]);

/* Return the functions of GnuTLS, which live as long as @id. */
const struct tls_library *tls_identity_library(const struct tls_identity *id);

/* Make a session of a server, with TLS 1.2 or later and HTTP/1.1. Owns: the caller ends *@out with
 * deinit(), and gives *@credentials back after that. Returns: 0, or a negative code of GnuTLS. */
int tls_identity_begin(
	struct tls_identity *id, gnutls_session_t *out, struct tls_credentials **credentials);
void tls_identity_give_back(const struct tls_identity *id, struct tls_credentials *credentials);

/* To be called after all sessions are over. NULL: do nothing. */
void tls_identity_close(struct tls_identity *id);
