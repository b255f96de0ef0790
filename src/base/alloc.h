/* Allocation of small objects whose size we choose. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stddef.h>

/*
 * The engine cannot go on without a struct or a name of its own, and loses nothing when it ends:
 * the journal brings its sessions back. So these never return NULL; without memory the process
 * writes a line to stderr and aborts. Objects whose size an outsider chooses are allocated with
 * malloc(), and failure is answered with ERR_NO_MEMORY. The warden, init and plans do not use
 * these functions: they must answer every request.
 *
 * Owns:    the caller, who calls free().
 */
#define xnew(type) ((type *)xcalloc(1, sizeof(type)))

/* @n zeroed elements. */
void *xcalloc(size_t n, size_t bytes) attr_must_use;

/* A copy of a short text. */
char *xstrdup(const char *text) attr_must_use;

/* Report that @what could not be allocated, and abort. */
void xdie(const char *what) attr_noreturn;
