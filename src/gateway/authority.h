/*
 * The authority that boxes with rules for requests trust.
 *
 * The engine makes it once, when the first such box is made: a key, and a certificate that signs
 * others. The certificate goes into a directory which such boxes see as /etc/ssl/certs. The gateway
 * gets both, and signs a certificate for each name whose TLS ends there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"

enum { AUTHORITY_PEM_BYTES = 4096 };

/* Both texts in PEM, NUL-terminated. */
struct authority {
	char certificate[AUTHORITY_PEM_BYTES];
	char key[AUTHORITY_PEM_BYTES];
};

/* Make a new authority. Errors: ERR_NOT_FOUND with a hint, if GnuTLS is missing; ERR_INTERNAL. */
int authority_make(struct authority *out, struct err *err);

/*
 * Write the directory @dir, which must exist: each file of the host's @certs (a directory such as
 * /etc/ssl/certs; NULL or missing: none), ca-certificates.crt of the host's bundle with @a's
 * certificate at the end, and @a's certificate as the file that OpenSSL looks for, HASH.0. What is
 * there already is replaced, file by file: a reader sees the old or the new one.
 * Errors: ERR_IO.
 */
int authority_publish(const struct authority *a, const char *dir, const char *certs,
	struct err *err);
