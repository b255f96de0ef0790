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

/* Move the object out of an owning pointer, so that the cleanup attribute frees nothing. */
#define take_ptr(p)                                                                                \
	({                                                                                         \
		typeof(p) taken_ = (p);                                                            \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#ifndef MIN /* libuv's header includes <sys/param.h>, which defines them */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
