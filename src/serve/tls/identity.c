/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tls/identity.h"

#include "base/alloc.h"
#include "base/attr.h"
#include "serve/private_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct tls_identity {
	struct tls_library lib;
	char certificate_path[PATH_MAX], key_path[PATH_MAX];
	struct tls_credentials *now;
	/* Encrypts the state of sessions that clients resume. GnuTLS derives keys for a time from
	 * it. */
	gnutls_datum_t ticket_key;
};

static gnutls_datum_t datum(char *text)
{
	return (gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)};
}

/* Explain why GnuTLS does not take the files. */
static int explain(const struct tls_identity *id, int code, const char *key, struct err *err)
{
	if (code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		return err_fail(err, ERR_USAGE,
			"the server's own certificate comes first in the file, then its chain",
			"%.100s is not the key of the first certificate in %.100s", id->key_path,
			id->certificate_path);
	if (strstr(key, "ENCRYPTED"))
		return err_fail(err, ERR_USAGE, "openssl pkey -in FILE -out NEW writes it without",
			"the key %.150s has a password", id->key_path);
	if (!strstr(key, "PRIVATE KEY-----"))
		return err_fail(err, ERR_USAGE,
			"PEM: a text that begins with -----BEGIN PRIVATE KEY-----",
			"there is no key in %.150s", id->key_path);
	return err_fail(err, ERR_USAGE, "PEM: texts that begin with -----BEGIN CERTIFICATE-----",
		"certificate %.80s with key %.80s: %.60s", id->certificate_path, id->key_path,
		id->lib.strerror(code));
}

static int use(struct tls_identity *id, char *certificate, char *key, struct err *err)
{
	struct tls_credentials *c = xnew(struct tls_credentials);
	const gnutls_datum_t parts[] = {datum(certificate), datum(key)};
	*c = (struct tls_credentials){.n_refs = 1};
	if (id->lib.certificate_allocate_credentials(&c->of) < 0) {
		free(c);
		return err_set(err, ERR_NO_MEMORY, "no memory for a certificate");
	}
	int r = id->lib.certificate_set_x509_key_mem2(
		c->of, &parts[0], &parts[1], GNUTLS_X509_FMT_PEM, NULL, 0);
	struct tls_credentials *old = r < 0 ? c : id->now;
	if (r >= 0)
		id->now = c;
	if (old)
		tls_identity_give_back(id, old);
	return r < 0 ? explain(id, r, key, err) : 0;
}

int tls_identity_reload(struct tls_identity *id, struct err *err)
{
	static const struct private_file certificate_file = {.what = "certificate file",
		.form = "PEM: the server's certificate, then its chain",
		.max_bytes = TLS_FILE_BYTES,
		.is_public = true};
	static const struct private_file key_file = {.what = "key file",
		.form = "PEM: the key of the certificate",
		.spill = "chmod 600, and make a new key",
		.max_bytes = TLS_FILE_BYTES};
	char *certificate = NULL, *key = NULL;
	int r = private_file_read(&certificate_file, id->certificate_path, &certificate, err);
	if (r == 0)
		r = private_file_read(&key_file, id->key_path, &key, err);
	if (r == 0)
		r = use(id, certificate, key, err);
	private_file_free(certificate);
	private_file_free(key);
	return r;
}

int tls_identity_open(
	struct tls_identity **out, const char *certificate, const char *key, struct err *err)
{
	*out = NULL;
	struct tls_identity *id = xnew(struct tls_identity);
	*id = (struct tls_identity){0};
	snprintf(id->certificate_path, sizeof id->certificate_path, "%s", certificate);
	snprintf(id->key_path, sizeof id->key_path, "%s", key);
	int r = tls_library_load(&id->lib, err);
	if (r < 0) {
		free(id);
		return r;
	}
	if (id->lib.session_ticket_key_generate(&id->ticket_key) < 0)
		r = err_set(err, ERR_INTERNAL, "no key for the sessions of TLS");
	if (r == 0)
		r = tls_identity_reload(id, err);
	if (r == 0)
		*out = id;
	else
		tls_identity_close(id);
	return r;
}

static void say_when(time_t at, char text[static 32])
{
	struct tm tm;
	if (!gmtime_r(&at, &tm) || strftime(text, 32, "%Y-%m-%d %H:%M UTC", &tm) == 0)
		text[0] = '\0';
}

bool tls_identity_warn(const struct tls_identity *id, char text[TLS_WARNING_BYTES])
{
	const struct tls_library *lib = &id->lib;
	gnutls_datum_t der;
	gnutls_x509_crt_t crt;
	char when[32];
	text[0] = '\0';
	if (lib->certificate_get_crt_raw(id->now->of, 0, 0, &der) < 0 ||
		lib->x509_crt_init(&crt) < 0)
		return false;
	if (lib->x509_crt_import(crt, &der, GNUTLS_X509_FMT_DER) >= 0) {
		time_t now = time(NULL), from = lib->x509_crt_get_activation_time(crt),
		       until = lib->x509_crt_get_expiration_time(crt);
		say_when(until < now ? until : from, when);
		if (until < now || from > now)
			snprintf(text, TLS_WARNING_BYTES, "the certificate %.150s %s %s",
				id->certificate_path,
				until < now ? "has expired at" : "is not valid before", when);
	}
	lib->x509_crt_deinit(crt);
	return text[0] != '\0';
}

const struct tls_library *tls_identity_library(const struct tls_identity *id)
{
	return &id->lib;
}

int tls_identity_begin(
	struct tls_identity *id, gnutls_session_t *out, struct tls_credentials **credentials)
{
	static unsigned char http[] = "http/1.1";
	const gnutls_datum_t protocol = {http, sizeof http - 1};
	const struct tls_library *lib = &id->lib;
	int r = lib->init(out, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
	if (r < 0)
		return r;
	r = lib->set_default_priority_append(*out, "-VERS-TLS1.0:-VERS-TLS1.1", NULL, 0);
	if (r >= 0)
		r = lib->credentials_set(*out, GNUTLS_CRD_CERTIFICATE, id->now->of);
	/* A client that names other protocols only, such as HTTP/2, is refused. */
	if (r >= 0)
		r = lib->alpn_set_protocols(*out, &protocol, 1, GNUTLS_ALPN_MANDATORY);
	if (r >= 0)
		r = lib->session_ticket_enable_server(*out, &id->ticket_key);
	if (r < 0) {
		lib->deinit(*out);
		return r;
	}
	*credentials = id->now;
	id->now->n_refs++;
	return 0;
}

void tls_identity_give_back(const struct tls_identity *id, struct tls_credentials *credentials)
{
	if (--credentials->n_refs > 0)
		return;
	id->lib.certificate_free_credentials(credentials->of);
	free(credentials);
}

void tls_identity_close(struct tls_identity *id)
{
	if (!id)
		return;
	if (id->now)
		tls_identity_give_back(id, id->now);
	/* GnuTLS allocates by malloc() unless it is told otherwise. */
	if (id->ticket_key.data)
		explicit_bzero(id->ticket_key.data, id->ticket_key.size);
	free(id->ticket_key.data);
	free(id);
}
