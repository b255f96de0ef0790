/* Allocation of small objects whose size we choose. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stddef.h>

/*
 * The engine cannot continue without its own structs and names, and loses nothing when it ends: the
 * journal restores its sessions. So these functions never return NULL; without memory the process
 * writes a line to stderr and aborts. Objects whose size an outsider chooses are allocated with
 * malloc(), and a failure is reported as ERR_NO_MEMORY. The warden, init and plans do not use these
 * functions, because they must respond to every request.
 *
 * Owns: the caller, who calls free().
 */
#define xnew(type) ((type *)xcalloc(1, sizeof(type)))

/* Allocate @n zeroed elements. */
void *xcalloc(size_t n, size_t bytes) attr_must_use;

/* Copy a short text. */
char *xstrdup(const char *text) attr_must_use;

/* Report that @what could not be allocated, and abort. */
void xdie(const char *what) attr_noreturn;
