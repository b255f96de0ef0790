/* Keys and certificates of the authority and of names: what both have in common.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gateway/gnutls.h"

#include <time.h>

/* The longest name that the subject of a certificate holds. Source: ub-common-name of RFC 5280. */
enum { CERTIFICATE_NAME_BYTES = 64, CERTIFICATE_ID_BYTES = 20 };

/* Seconds. A certificate is valid from before it was made, since clocks differ. */
enum { CERTIFICATE_EARLY_S = 60 * 60, CERTIFICATE_DAY_S = 24 * 60 * 60 };

/*
 * Make a key on the curve P-256.
 * Owns:    the caller frees it with x509_privkey_deinit().
 * Returns: 0, or a negative code of GnuTLS.
 */
int certificate_new_key(const struct gnutls *g, gnutls_x509_privkey_t *out);

/*
 * Begin a certificate of @key: with a random serial number, the subject @name, cut at
 * CERTIFICATE_NAME_BYTES, the key's id, and valid from CERTIFICATE_EARLY_S before @now until @days
 * after it. What it is for, and the signature, are the caller's to add.
 * Owns:    the caller frees it with x509_crt_deinit().
 * Returns: 0, or a negative code of GnuTLS.
 */
int certificate_new(const struct gnutls *g, gnutls_x509_crt_t *out, gnutls_x509_privkey_t key,
	const char *name, time_t now, int days);
