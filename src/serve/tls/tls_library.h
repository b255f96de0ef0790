/* GnuTLS for the HTTP server, loaded when a certificate is given. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

/* The functions that we use, without the prefix "gnutls_". */
#define TLS_SYMBOLS(X)                                                                             \
	X(alert_send_appropriate)                                                                  \
	X(alpn_set_protocols)                                                                      \
	X(bye)                                                                                     \
	X(certificate_allocate_credentials)                                                        \
	X(certificate_free_credentials)                                                            \
	X(certificate_get_crt_raw)                                                                 \
	X(certificate_set_x509_key_mem2)                                                           \
	X(credentials_set)                                                                         \
	X(deinit)                                                                                  \
	X(error_is_fatal)                                                                          \
	X(handshake)                                                                               \
	X(init)                                                                                    \
	X(record_get_direction)                                                                    \
	X(record_recv)                                                                             \
	X(record_send)                                                                             \
	X(session_ticket_enable_server)                                                            \
	X(session_ticket_key_generate)                                                             \
	X(set_default_priority_append)                                                             \
	X(strerror)                                                                                \
	X(transport_set_int2)                                                                      \
	X(x509_crt_deinit)                                                                         \
	X(x509_crt_get_activation_time)                                                            \
	X(x509_crt_get_expiration_time)                                                            \
	X(x509_crt_import)                                                                         \
	X(x509_crt_init)

struct tls_library {
#define X(symbol) typeof(gnutls_##symbol) *symbol;
	TLS_SYMBOLS(X)
#undef X
};

/* Load the library. Errors: ERR_NOT_FOUND with a hint. */
int tls_library_load(struct tls_library *lib, struct err *err);
