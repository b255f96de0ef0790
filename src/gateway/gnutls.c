/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/gnutls.h"

#include "base/attr.h"
#include "base/library.h"

int gnutls_load(struct gnutls *g, struct err *err)
{
	static const char *const names[] = {"libgnutls.so.30", NULL};
	static const struct library_symbol symbols[] = {
#define X(symbol) {"gnutls_" #symbol, offsetof(struct gnutls, symbol)},
		GNUTLS_SYMBOLS(X)
#undef X
	};
	static const struct library library = {.names = names,
		.symbols = symbols,
		.n_symbols = ARRAY_LEN(symbols),
		.hint = "install GnuTLS: on Debian and Ubuntu, apt install libgnutls30"};
	return library_load(&library, g, err);
}
