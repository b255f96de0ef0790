/* Certificates of names, signed by the engine's authority. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "gateway/gnutls.h"

enum { LEAVES_MAX = 256 };

struct leaves;

/* A certificate of one name, and its key, as the callbacks of GnuTLS return them. */
struct leaf {
	gnutls_pcert_st certificate;
	gnutls_privkey_t key; /* that of all leaves */
};

/* Take the authority in PEM. @g is borrowed. Owns: the caller frees with leaves_free(), after all
 * leaves were let go. Errors: ERR_PROTOCOL for what is no authority; ERR_NO_MEMORY, ERR_INTERNAL.
 */
int leaves_new(struct leaves **out, const struct gnutls *g, const char *certificate,
	const char *key, struct err *err);
void leaves_free(struct leaves *l);

/*
 * Give the certificate of @host, a name as rule_name() makes it. At most LEAVES_MAX are kept: that
 * which was asked for longest ago is dropped. A certificate that is about to expire is made anew.
 *
 * A session of GnuTLS asks for its certificate once, and uses it until its handshake is over. When
 * that is, the client decides: it may be asked for its first message again (HelloRetryRequest).
 * Meanwhile others can have the leaf dropped, so each caller holds it.
 *
 * Owns:    the caller, who calls leaf_let_go() when the session has ended; NULL does nothing there.
 * Returns: 0, or a negative code of GnuTLS.
 */
int leaves_get(struct leaves *l, const char *host, struct leaf **out);
void leaf_let_go(struct leaves *l, struct leaf *leaf);
