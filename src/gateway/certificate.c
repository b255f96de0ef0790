/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/certificate.h"

#include "base/attr.h"

#include <string.h>

enum { VERSION = 3, SERIAL_BYTES = 16 };

int certificate_new_key(const struct gnutls *g, gnutls_x509_privkey_t *out)
{
	const unsigned curve = GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1);
	gnutls_x509_privkey_t key;
	int r = g->x509_privkey_init(&key);
	if (r < 0)
		return r;
	r = g->x509_privkey_generate(key, GNUTLS_PK_ECDSA, curve, 0);
	if (r < 0)
		g->x509_privkey_deinit(key);
	else
		*out = key;
	return r;
}

/* A serial number is positive, and its first byte must not be 0. */
static int set_serial(const struct gnutls *g, gnutls_x509_crt_t crt)
{
	unsigned char serial[SERIAL_BYTES];
	int r = g->rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
	serial[0] = (serial[0] & 0x3f) | 0x40;
	return r < 0 ? r : g->x509_crt_set_serial(crt, serial, sizeof serial);
}

static int set_key(const struct gnutls *g, gnutls_x509_crt_t crt, gnutls_x509_privkey_t key)
{
	unsigned char id[CERTIFICATE_ID_BYTES];
	size_t bytes = sizeof id;
	int r = g->x509_crt_set_key(crt, key);
	if (r >= 0)
		r = g->x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA1, id, &bytes);
	return r < 0 ? r : g->x509_crt_set_subject_key_id(crt, id, bytes);
}

int certificate_new(const struct gnutls *g, gnutls_x509_crt_t *out, gnutls_x509_privkey_t key,
	const char *name, time_t now, int days)
{
	const unsigned bytes = (unsigned)MIN(strlen(name), (size_t)CERTIFICATE_NAME_BYTES);
	gnutls_x509_crt_t crt;
	int r = g->x509_crt_init(&crt);
	if (r < 0)
		return r;
	r = g->x509_crt_set_version(crt, VERSION);
	if (r >= 0)
		r = set_serial(g, crt);
	if (r >= 0)
		r = g->x509_crt_set_activation_time(crt, now - CERTIFICATE_EARLY_S);
	if (r >= 0)
		r = g->x509_crt_set_expiration_time(crt, now + (time_t)days * CERTIFICATE_DAY_S);
	if (r >= 0)
		r = g->x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, bytes);
	if (r >= 0)
		r = set_key(g, crt, key);
	if (r < 0)
		g->x509_crt_deinit(crt);
	else
		*out = crt;
	return r;
}
