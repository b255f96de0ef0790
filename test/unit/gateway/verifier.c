/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/gateway/verifier.h"

#include "base/library.h"
#include "t.h"

#include <stdint.h>

struct verifier verifier_new(void)
{
	static const char *const names[] = {"libgnutls.so.30", NULL};
	static const struct library_symbol symbols[] = {
#define X(symbol) {"gnutls_" #symbol, offsetof(struct verifier, symbol)},
		VERIFIER_SYMBOLS(X)
#undef X
	};
	static const struct library library = {
		.names = names, .symbols = symbols, .n_symbols = ARRAY_LEN(symbols), .hint = ""};
	struct verifier v = {0};
	struct err err = {0};
	CHECK_INT(library_load(&library, &v, &err), 0);
	CHECK_STR(err.msg, "");
	return v;
}

struct said verifier_read(const struct verifier *v, gnutls_x509_crt_t crt)
{
	struct said s = {.path_length = -2};
	size_t name_bytes = sizeof s.name, purpose_bytes = sizeof s.purpose;
	s.serial_bytes = sizeof s.serial;
	s.own_id_bytes = sizeof s.own_id;
	s.issuer_id_bytes = sizeof s.issuer_id;
	CHECK_INT(v->x509_crt_get_dn_by_oid(
			  crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, s.name, &name_bytes),
		0);
	CHECK(v->x509_crt_get_basic_constraints(crt, NULL, &s.is_authority, &s.path_length) >= 0);
	CHECK_INT(v->x509_crt_get_key_usage(crt, &s.usage, NULL), 0);
	CHECK_INT(v->x509_crt_get_serial(crt, s.serial, &s.serial_bytes), 0);
	CHECK_INT(v->x509_crt_get_subject_key_id(crt, s.own_id, &s.own_id_bytes, NULL), 0);
	if (v->x509_crt_get_authority_key_id(crt, s.issuer_id, &s.issuer_id_bytes, NULL) < 0)
		s.issuer_id_bytes = 0;
	if (v->x509_crt_get_key_purpose_oid(crt, 0, s.purpose, &purpose_bytes, NULL) < 0)
		s.purpose[0] = '\0';
	s.key_algorithm = v->x509_crt_get_pk_algorithm(crt, &s.key_bits);
	s.from = v->x509_crt_get_activation_time(crt);
	s.until = v->x509_crt_get_expiration_time(crt);
	return s;
}

gnutls_x509_crt_t verifier_import(
	const struct verifier *v, const void *data, size_t bytes, gnutls_x509_crt_fmt_t format)
{
	const gnutls_datum_t text = {(unsigned char *)(uintptr_t)data, (unsigned)bytes};
	gnutls_x509_crt_t crt = NULL;
	CHECK_INT(v->x509_crt_init(&crt), 0);
	CHECK_INT(v->x509_crt_import(crt, &text, format), 0);
	return crt;
}
