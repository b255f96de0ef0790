/* SPDX-License-Identifier: Apache-2.0 */
#include "net/microhttpd.h"

#include "base/attr.h"
#include "base/library.h"

int microhttpd_load(struct microhttpd *m, struct err *err)
{
	static const char *const names[] = {"libmicrohttpd.so.12", NULL};
	static const struct library_symbol symbols[] = {
#define X(symbol) {"MHD_" #symbol, offsetof(struct microhttpd, symbol)},
		MICROHTTPD_SYMBOLS(X)
#undef X
	};
	static const struct library library = {.names = names,
		.symbols = symbols,
		.n_symbols = ARRAY_LEN(symbols),
		.hint = "install libmicrohttpd: on Debian and Ubuntu, apt install libmicrohttpd12"};
	return library_load(&library, m, err);
}
