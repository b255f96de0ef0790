/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/libzmq.h"

#include "base/attr.h"
#include "base/library.h"

int libzmq_load(struct libzmq *lib, struct err *err)
{
	static const char *const names[] = {"libzmq.so.5", NULL};
	static const struct library_symbol symbols[] = {
#define X(symbol) {"zmq_" #symbol, offsetof(struct libzmq, symbol##_)},
		LIBZMQ_SYMBOLS(X)
#undef X
	};
	static const struct library library = {.names = names,
		.symbols = symbols,
		.n_symbols = ARRAY_LEN(symbols),
		.hint = "install libzmq: on Debian and Ubuntu, apt install libzmq5"};
	return library_load(&library, lib, err);
}
