/* GnuTLS, loaded when it is first needed. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

/* The functions of GnuTLS that are used, without the prefix "gnutls_". */
#define GNUTLS_SYMBOLS(X)                                                                          \
	X(pcert_deinit)                                                                            \
	X(pcert_import_x509)                                                                       \
	X(privkey_deinit)                                                                          \
	X(privkey_import_x509)                                                                     \
	X(privkey_init)                                                                            \
	X(rnd)                                                                                     \
	X(server_name_get)                                                                         \
	X(strerror)                                                                                \
	X(transport_get_int)                                                                       \
	X(x509_crt_deinit)                                                                         \
	X(x509_crt_export)                                                                         \
	X(x509_crt_get_ca_status)                                                                  \
	X(x509_crt_get_key_id)                                                                     \
	X(x509_crt_get_subject_key_id)                                                             \
	X(x509_crt_import)                                                                         \
	X(x509_crt_init)                                                                           \
	X(x509_crt_set_activation_time)                                                            \
	X(x509_crt_set_authority_key_id)                                                           \
	X(x509_crt_set_basic_constraints)                                                          \
	X(x509_crt_set_dn_by_oid)                                                                  \
	X(x509_crt_set_expiration_time)                                                            \
	X(x509_crt_set_key)                                                                        \
	X(x509_crt_set_key_purpose_oid)                                                            \
	X(x509_crt_set_key_usage)                                                                  \
	X(x509_crt_set_serial)                                                                     \
	X(x509_crt_set_subject_alt_name)                                                           \
	X(x509_crt_set_subject_key_id)                                                             \
	X(x509_crt_set_version)                                                                    \
	X(x509_crt_sign2)                                                                          \
	X(x509_privkey_deinit)                                                                     \
	X(x509_privkey_export)                                                                     \
	X(x509_privkey_generate)                                                                   \
	X(x509_privkey_get_key_id)                                                                 \
	X(x509_privkey_import)                                                                     \
	X(x509_privkey_init)

struct gnutls {
#define X(symbol) typeof(gnutls_##symbol) *symbol;
	GNUTLS_SYMBOLS(X)
#undef X
};

/*
 * Load the library and find its functions. Only boxes with rules for requests need it, and with the
 * libraries that it needs, it would add to every start.
 *
 * Errors: ERR_NOT_FOUND with a hint, when GnuTLS is missing or too old.
 */
int gnutls_load(struct gnutls *g, struct err *err);
