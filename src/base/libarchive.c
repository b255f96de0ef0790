/* SPDX-License-Identifier: Apache-2.0 */
#include "base/libarchive.h"

#include "base/attr.h"
#include "base/library.h"

#include <locale.h>

int libarchive_load(struct libarchive *lib, struct err *err)
{
	static const char *const names[] = {"libarchive.so.13", NULL};
	static const struct library_symbol symbols[] = {
#define X(symbol) {"archive_" #symbol, offsetof(struct libarchive, symbol)},
		LIBARCHIVE_SYMBOLS(X)
#undef X
	};
	static const struct library library = {.names = names,
		.symbols = symbols,
		.n_symbols = ARRAY_LEN(symbols),
		.hint = "install libarchive: on Debian and Ubuntu, apt install libarchive13"};
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	return library_load(&library, lib, err);
}
