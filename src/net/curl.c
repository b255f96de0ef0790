/* SPDX-License-Identifier: Apache-2.0 */
#include "net/curl.h"

#include "base/attr.h"
#include "base/library.h"

int curl_load(struct curl *c, struct err *err)
{
	/* Both files have the same interface: one uses OpenSSL, the other GnuTLS. */
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
	static const struct library_symbol symbols[] = {
#define X(symbol) {"curl_" #symbol, offsetof(struct curl, symbol)},
		CURL_SYMBOLS(X)
#undef X
	};
	static const struct library library = {.names = names,
		.symbols = symbols,
		.n_symbols = ARRAY_LEN(symbols),
		.hint = "install libcurl: on Debian and Ubuntu, apt install libcurl4"};
	struct curl out = {0};
	int r = library_load(&library, &out, err);
	if (r == 0 && out.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		r = err_set(err, ERR_NO_MEMORY, "libcurl does not start");
	if (r == 0)
		*c = out;
	return r;
}

void curl_unload(struct curl *c)
{
	if (c->global_cleanup)
		c->global_cleanup();
	*c = (struct curl){0};
}
