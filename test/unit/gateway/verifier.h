/* What certificates say, and whether they are valid, by functions of GnuTLS that only tests need.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <time.h>

#define VERIFIER_SYMBOLS(X)                                                                        \
	X(hash_fast)                                                                               \
	X(privkey_export_x509)                                                                     \
	X(x509_crt_check_hostname)                                                                 \
	X(x509_crt_deinit)                                                                         \
	X(x509_crt_get_activation_time)                                                            \
	X(x509_crt_get_authority_key_id)                                                           \
	X(x509_crt_get_basic_constraints)                                                          \
	X(x509_crt_get_dn_by_oid)                                                                  \
	X(x509_crt_get_expiration_time)                                                            \
	X(x509_crt_get_key_purpose_oid)                                                            \
	X(x509_crt_get_key_usage)                                                                  \
	X(x509_crt_get_pk_algorithm)                                                               \
	X(x509_crt_get_serial)                                                                     \
	X(x509_crt_get_subject_key_id)                                                             \
	X(x509_crt_import)                                                                         \
	X(x509_crt_init)                                                                           \
	X(x509_crt_list_verify)                                                                    \
	X(x509_privkey_deinit)                                                                     \
	X(x509_privkey_export)

struct verifier {
#define X(symbol) typeof(gnutls_##symbol) *symbol;
	VERIFIER_SYMBOLS(X)
#undef X
};

struct verifier verifier_new(void);

enum { VERIFIER_ID_BYTES = 20, VERIFIER_SERIAL_BYTES = 20 };

/* What a certificate says. */
struct said {
	char name[65], purpose[64];
	unsigned is_authority, usage, key_bits;
	int path_length, key_algorithm;
	unsigned char serial[VERIFIER_SERIAL_BYTES];
	size_t serial_bytes;
	unsigned char own_id[VERIFIER_ID_BYTES], issuer_id[VERIFIER_ID_BYTES];
	size_t own_id_bytes, issuer_id_bytes;
	time_t from, until;
};
struct said verifier_read(const struct verifier *v, gnutls_x509_crt_t crt);

/* Owns: the caller frees with x509_crt_deinit(). */
gnutls_x509_crt_t verifier_import(
	const struct verifier *v, const void *data, size_t bytes, gnutls_x509_crt_fmt_t format);
