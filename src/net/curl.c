/* SPDX-License-Identifier: Apache-2.0 */
#include "net/curl.h"

#include <dlfcn.h>
#include <string.h>

/* The same interface, with OpenSSL and with GnuTLS. */
static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

static const struct {
	const char *name;
	size_t offset;
} symbols[] = {
#define X(symbol) {"curl_" #symbol, offsetof(struct curl, symbol)},
	CURL_SYMBOLS(X)
#undef X
};

static int find_all(struct curl *c, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
		void *found = dlsym(c->library, symbols[i].name);
		if (!found) {
			(void)err_set(err, ERR_NOT_FOUND, "libcurl has no %s", symbols[i].name);
			return err_hint(err, "libcurl 7.74 or newer is needed");
		}
		/* POSIX lets dlsym() give functions, ISO C has no cast for it. */
		memcpy((char *)c + symbols[i].offset, &found, sizeof found);
	}
	return 0;
}

int curl_load(struct curl *c, struct err *err)
{
	struct curl out = {0};
	for (size_t i = 0; i < ARRAY_LEN(names) && !out.library; i++)
		out.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!out.library) {
		(void)err_set(err, ERR_NOT_FOUND, "%s is not on this host", names[0]);
		return err_hint(err, "install libcurl: on Debian and Ubuntu, apt install libcurl4");
	}
	int r = find_all(&out, err);
	if (r == 0 && (!out.global_init || out.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK))
		r = err_set(err, ERR_NO_MEMORY, "libcurl does not start");
	if (r < 0) {
		(void)dlclose(out.library);
		return r;
	}
	*c = out;
	return 0;
}

void curl_unload(struct curl *c)
{
	/* Not dlclose(): its libraries have at-exit handlers and thread-local memory. */
	if (c->library)
		c->global_cleanup();
	*c = (struct curl){0};
}
