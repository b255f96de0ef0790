/* Certificates of names, signed by the engine's authority. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "gateway/gnutls.h"

enum { LEAVES_MAX = 256 };

struct leaves;

/* Take the authority in PEM. Owns: the caller frees with leaves_free(). Errors: ERR_NOT_FOUND with a
 * hint, if GnuTLS is missing; ERR_PROTOCOL for what is no authority; ERR_INTERNAL. */
int leaves_new(struct leaves **out, const char *certificate, const char *key, struct err *err);
void leaves_free(struct leaves *l);

/*
 * Give the certificate of @host, and its key, which all certificates share. At most LEAVES_MAX are
 * kept: that which was asked for longest ago is dropped. A certificate that is about to expire is
 * made anew.
 * Owns:    both belong to @l, and are valid until the next call.
 * Returns: 0, or a negative code of GnuTLS.
 */
int leaves_get(struct leaves *l, const char *host, gnutls_pcert_st **certificate,
	gnutls_privkey_t *key);
