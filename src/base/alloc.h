/* Allocation of small objects whose size we choose. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stddef.h>

/*
 * The engine cannot work without its own structs and names. If memory for one of them cannot be
 * allocated, these functions write a line to stderr and abort the process, so they never return
 * NULL. The next engine restores the sessions from the journal.
 *
 * Objects whose size an outsider chooses are allocated with malloc() instead, and a failure is
 * reported as ERR_NO_MEMORY. The warden, init and plans do not use these functions, because they
 * must respond to every request.
 *
 * Owns: the caller, who calls free().
 */
#define xnew(type) ((type *)xcalloc(1, sizeof(type)))

/* Allocate @n zeroed elements of @bytes each. */
void *xcalloc(size_t n, size_t bytes) attr_must_use;

/* Copy a short text, such as a name. */
char *xstrdup(const char *text) attr_must_use;

/* Report that @what could not be allocated, and abort. */
void xdie(const char *what) attr_noreturn;
