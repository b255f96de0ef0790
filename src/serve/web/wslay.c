/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/web/wslay.h"

#include "base/attr.h"
#include "base/library.h"

int wslay_load(struct wslay *w, struct err *err)
{
	static const char *const names[] = {"libwslay.so.1", NULL};
	static const char *const gnutls_names[] = {"libgnutls.so.30", NULL};
	static const struct library_symbol symbols[] = {
#define X(symbol) {"wslay_event_" #symbol, offsetof(struct wslay, symbol)},
		WSLAY_SYMBOLS(X)
#undef X
	};
	static const struct library_symbol gnutls_symbols[] = {
		{"gnutls_hash_fast", offsetof(struct wslay, hash_fast)}};
	static const struct library wslay = {.names = names,
		.symbols = symbols,
		.n_symbols = ARRAY_LEN(symbols),
		.hint = "install libwslay: on Debian and Ubuntu, apt install libwslay1"};
	static const struct library gnutls = {.names = gnutls_names,
		.symbols = gnutls_symbols,
		.n_symbols = ARRAY_LEN(gnutls_symbols),
		.hint = "install GnuTLS: on Debian and Ubuntu, apt install libgnutls30"};
	int r = library_load(&wslay, w, err);
	return r < 0 ? r : library_load(&gnutls, w, err);
}
