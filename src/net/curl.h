/* libcurl, loaded when it is first needed. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Disable libcurl's macros that check argument types: they do not work with function pointers. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

/* The functions of libcurl that are used, without the prefix "curl_". */
#define CURL_SYMBOLS(X)                                                                            \
	X(easy_cleanup)                                                                            \
	X(easy_getinfo)                                                                            \
	X(easy_init)                                                                               \
	X(easy_pause)                                                                              \
	X(easy_setopt)                                                                             \
	X(easy_strerror)                                                                           \
	X(global_cleanup)                                                                          \
	X(global_init)                                                                             \
	X(multi_add_handle)                                                                        \
	X(multi_assign)                                                                            \
	X(multi_cleanup)                                                                           \
	X(multi_info_read)                                                                         \
	X(multi_init)                                                                              \
	X(multi_remove_handle)                                                                     \
	X(multi_setopt)                                                                            \
	X(multi_socket_action)                                                                     \
	X(slist_append)                                                                            \
	X(slist_free_all)

struct curl {
#define X(symbol) typeof(curl_##symbol) *symbol;
	CURL_SYMBOLS(X)
#undef X
};

/*
 * Load the library and find its functions. retort is not linked with libcurl, because the thirty
 * libraries that libcurl needs would add 5 to 15 ms to every start, and most runs do not need the
 * network.
 *
 * Owns:    the caller, until curl_unload(). The library itself stays in the process.
 * Errors:  ERR_NOT_FOUND with a hint, when libcurl is missing or too old; ERR_NO_MEMORY.
 */
int curl_load(struct curl *c, struct err *err);
void curl_unload(struct curl *c);
