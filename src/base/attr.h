/* Attributes and small macros: the only macro header. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#define ARRAY_LEN(a)			(sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define attr_printf(fmt, args) __attribute__((format(printf, fmt, args)))
#define attr_fallthrough       __attribute__((fallthrough))
#define attr_noinline	       __attribute__((noinline))
#define attr_unused	       __attribute__((unused))
#define attr_noreturn	       __attribute__((noreturn))
#define attr_must_use	       __attribute__((warn_unused_result))

#define cleanup(fn) __attribute__((cleanup(fn)))

/* Return the pointer @p and set it to NULL, so that its cleanup attribute frees nothing. */
#define take_ptr(p)                                                                                \
	({                                                                                         \
		typeof(p) taken_ = (p);                                                            \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#ifndef MIN /* <sys/param.h>, which libuv's header includes, defines MIN and MAX */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
