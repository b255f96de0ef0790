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

/* The file of the authority's certificate in the directory: the hash of its subject, by which
 * OpenSSL looks for it. */
#define AUTHORITY_FILE "9e38d0e7.0"
/* The file of all certificates, and where boxes see the directory. */
#define AUTHORITY_BUNDLE "ca-certificates.crt"
#define AUTHORITY_DIR	 "/etc/ssl/certs"

/* Both texts in PEM, NUL-terminated. */
struct authority {
	char certificate[AUTHORITY_PEM_BYTES];
	char key[AUTHORITY_PEM_BYTES];
};

/* Make a new authority, which is valid for ten years. Owns: the caller wipes the key. Errors:
 * ERR_NOT_FOUND with a hint, if GnuTLS is missing; ERR_INTERNAL. */
int authority_make(struct authority *out, struct err *err);

/* Where a host has the certificates that it trusts. */
struct authority_host {
	const char *certs; /* a directory, such as /etc/ssl/certs */
	/* Files of all certificates, ended by NULL: the first that can be read counts. */
	const char *const *bundles;
};

/* The places of the distributions. */
extern const struct authority_host authority_host;

/*
 * Write the directory @dir, which must exist and gets the mode 0755: AUTHORITY_FILE,
 * AUTHORITY_BUNDLE with the bundle of @host and @a's certificate at its end, and what is in the
 * directory of @host. What is there already is replaced, file by file: a reader sees the old or the
 * new one.
 *
 * A link to another file of the directory, or to one below /usr, which boxes see too, stays a link;
 * of others, the content is copied. A file is left out if not everybody may read it, since
 * everybody can read the copy; if it has a private key in it; and beyond the limits. Directories
 * are left out, and so are names that begin with ".".
 *
 * @host:   NULL: there is nothing but @a's certificate. What is missing is left out.
 * Limits:  4096 entries; 4 MiB for a file, 16 MiB for all.
 * Errors:  those of file_code().
 */
int authority_publish(const struct authority *a, const char *dir, const struct authority_host *host,
	struct err *err);
/* Remove all that authority_publish() may have written from the directory @dir, a descriptor: also
 * if it was interrupted. */
void authority_remove(int dir);
