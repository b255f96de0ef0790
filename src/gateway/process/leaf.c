/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/leaf.h"

#include "base/attr.h"
#include "gateway/certificate.h"
#include "gateway/rule/rule.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DAYS = 30, DAYS_LEFT = 1 };

struct kept {
	struct leaf leaf;
	unsigned n_holders; /* callers, and the table */
	uint64_t used;	    /* when it was asked for, as a count of questions */
	time_t begin, end;  /* when it is given out */
	char host[RULE_HOST_BYTES];
};

struct leaves {
	const struct gnutls *gnutls;
	gnutls_x509_crt_t authority;
	gnutls_x509_privkey_t authority_key;
	unsigned char authority_id[CERTIFICATE_ID_BYTES];
	size_t authority_id_bytes;
	gnutls_x509_privkey_t leaf_key;
	gnutls_privkey_t key; /* the same, as sessions want it */
	uint64_t n_questions;
	size_t n;
	struct kept *rows[LEAVES_MAX];
};

/* ---- the authority ---- */

static int read_authority(struct leaves *l, const char *certificate, const char *key)
{
	const struct gnutls *g = l->gnutls;
	const gnutls_datum_t crt_pem = {
		(unsigned char *)(uintptr_t)certificate, (unsigned)strlen(certificate)};
	const gnutls_datum_t key_pem = {(unsigned char *)(uintptr_t)key, (unsigned)strlen(key)};
	int r = g->x509_crt_init(&l->authority);
	if (r >= 0)
		r = g->x509_privkey_init(&l->authority_key);
	if (r >= 0)
		r = g->x509_crt_import(l->authority, &crt_pem, GNUTLS_X509_FMT_PEM);
	if (r >= 0)
		r = g->x509_privkey_import(l->authority_key, &key_pem, GNUTLS_X509_FMT_PEM);
	if (r < 0)
		return r;
	l->authority_id_bytes = sizeof l->authority_id;
	return g->x509_crt_get_subject_key_id(
		l->authority, l->authority_id, &l->authority_id_bytes, NULL);
}

/* Return whether the certificate is one that signs others, and of this key. */
static bool is_authority(const struct leaves *l)
{
	const struct gnutls *g = l->gnutls;
	unsigned char crt_id[CERTIFICATE_ID_BYTES], key_id[CERTIFICATE_ID_BYTES];
	size_t n_crt = sizeof crt_id, n_key = sizeof key_id;
	const unsigned flags = GNUTLS_KEYID_USE_SHA1;
	return g->x509_crt_get_ca_status(l->authority, NULL) > 0 &&
		g->x509_crt_get_key_id(l->authority, flags, crt_id, &n_crt) >= 0 &&
		g->x509_privkey_get_key_id(l->authority_key, flags, key_id, &n_key) >= 0 &&
		n_crt == n_key && memcmp(crt_id, key_id, n_crt) == 0;
}

static int make_key(struct leaves *l)
{
	const struct gnutls *g = l->gnutls;
	int r = certificate_new_key(g, &l->leaf_key);
	if (r >= 0)
		r = g->privkey_init(&l->key);
	return r < 0 ? r : g->privkey_import_x509(l->key, l->leaf_key, 0);
}

static int open_authority(
	struct leaves *l, const char *certificate, const char *key, struct err *err)
{
	int r = read_authority(l, certificate, key);
	if (r < 0)
		return err_set(err, ERR_PROTOCOL, "not an authority: %s", l->gnutls->strerror(r));
	if (!is_authority(l))
		return err_set(err, ERR_PROTOCOL,
			"not an authority: the certificate signs nothing, or has another key");
	r = make_key(l);
	return r < 0
		? err_set(err, ERR_INTERNAL, "no key for certificates: %s", l->gnutls->strerror(r))
		: 0;
}

int leaves_new(struct leaves **out, const struct gnutls *g, const char *certificate,
	const char *key, struct err *err)
{
	struct leaves *l = calloc(1, sizeof *l);
	if (!l)
		return err_set(err, ERR_NO_MEMORY, "no memory for certificates");
	l->gnutls = g;
	int r = open_authority(l, certificate, key, err);
	if (r < 0)
		leaves_free(l);
	else
		*out = l;
	return r;
}

void leaves_free(struct leaves *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		leaf_let_go(l, &l->rows[i]->leaf);
	if (l->key)
		l->gnutls->privkey_deinit(l->key);
	if (l->leaf_key)
		l->gnutls->x509_privkey_deinit(l->leaf_key);
	if (l->authority_key)
		l->gnutls->x509_privkey_deinit(l->authority_key);
	if (l->authority)
		l->gnutls->x509_crt_deinit(l->authority);
	free(l);
}

/* ---- one leaf ---- */

static int sign(const struct leaves *l, gnutls_x509_crt_t crt, const char *host)
{
	const struct gnutls *g = l->gnutls;
	int r = g->x509_crt_set_basic_constraints(crt, 0, -1);
	if (r >= 0)
		r = g->x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE);
	if (r >= 0)
		r = g->x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0);
	if (r >= 0)
		r = g->x509_crt_set_subject_alt_name(
			crt, GNUTLS_SAN_DNSNAME, host, (unsigned)strlen(host), GNUTLS_FSAN_SET);
	if (r >= 0)
		r = g->x509_crt_set_authority_key_id(crt, l->authority_id, l->authority_id_bytes);
	return r < 0 ? r
		     : g->x509_crt_sign2(crt, l->authority, l->authority_key, GNUTLS_DIG_SHA256, 0);
}

static int make_certificate(
	const struct leaves *l, gnutls_pcert_st *out, const char *host, time_t now)
{
	const struct gnutls *g = l->gnutls;
	gnutls_x509_crt_t crt;
	int r = certificate_new(g, &crt, l->leaf_key, host, now, DAYS);
	if (r < 0)
		return r;
	r = sign(l, crt, host);
	if (r >= 0)
		r = g->pcert_import_x509(out, crt, 0);
	g->x509_crt_deinit(crt);
	return r;
}

static int make_leaf(const struct leaves *l, struct kept **out, const char *host, time_t now)
{
	struct kept *k = calloc(1, sizeof *k);
	if (!k)
		return GNUTLS_E_MEMORY_ERROR;
	int r = make_certificate(l, &k->leaf.certificate, host, now);
	if (r < 0) {
		free(k);
		return r;
	}
	k->leaf.key = l->key;
	k->n_holders = 1;
	k->begin = now - CERTIFICATE_EARLY_S;
	k->end = now + (time_t)(DAYS - DAYS_LEFT) * CERTIFICATE_DAY_S;
	memcpy(k->host, host, strlen(host) + 1);
	*out = k;
	return 0;
}

void leaf_let_go(struct leaves *l, struct leaf *leaf)
{
	struct kept *k = leaf ? container_of(leaf, struct kept, leaf) : NULL;
	if (!k || --k->n_holders > 0)
		return;
	l->gnutls->pcert_deinit(&k->leaf.certificate);
	free(k);
}

/* ---- the table ---- */

/* Return the row of @host, else a new one, else that which was asked for longest ago. */
static size_t row_for(const struct leaves *l, const char *host)
{
	size_t oldest = 0;
	for (size_t i = 0; i < l->n; i++) {
		const struct kept *k = l->rows[i];
		if (strcmp(k->host, host) == 0)
			return i;
		if (k->used < l->rows[oldest]->used)
			oldest = i;
	}
	return l->n < LEAVES_MAX ? l->n : oldest;
}

static bool is_usable(const struct kept *k, const char *host, time_t now)
{
	return k && strcmp(k->host, host) == 0 && now >= k->begin && now <= k->end;
}

int leaves_get(struct leaves *l, const char *host, struct leaf **out)
{
	const time_t now = time(NULL);
	if (!host[0] || strlen(host) >= RULE_HOST_BYTES)
		return GNUTLS_E_INVALID_REQUEST;
	size_t i = row_for(l, host);
	if (!is_usable(l->rows[i], host, now)) {
		struct kept *made;
		int r = make_leaf(l, &made, host, now);
		if (r < 0)
			return r;
		if (l->rows[i])
			leaf_let_go(l, &l->rows[i]->leaf);
		else
			l->n++;
		l->rows[i] = made;
	}
	l->rows[i]->used = ++l->n_questions;
	l->rows[i]->n_holders++;
	*out = &l->rows[i]->leaf;
	return 0;
}
