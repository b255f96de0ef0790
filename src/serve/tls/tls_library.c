/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tls/tls_library.h"

#include "base/attr.h"
#include "base/library.h"

int tls_library_load(struct tls_library *lib, struct err *err)
{
	static const char *const names[] = {"libgnutls.so.30", NULL};
	static const struct library_symbol symbols[] = {
#define X(symbol) {"gnutls_" #symbol, offsetof(struct tls_library, symbol)},
		TLS_SYMBOLS(X)
#undef X
	};
	static const struct library library = {.names = names,
		.symbols = symbols,
		.n_symbols = ARRAY_LEN(symbols),
		.hint = "install GnuTLS: on Debian and Ubuntu, apt install libgnutls30"};
	return library_load(&library, lib, err);
}
