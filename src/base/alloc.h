/* Memory for what is small and has a size that we choose. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stddef.h>

/*
 * The engine cannot go on without a struct or a name of its own, and loses nothing when it ends:
 * the journal brings its sessions back. So these never return NULL; without memory the process
 * writes a line to stderr and aborts. What an outsider can make large is allocated with malloc()
 * and answered with ERR_NO_MEMORY. Not for the warden, for init, or for plans, which have to answer
 * everything.
 *
 * Owns:    the caller, who calls free().
 */
#define xnew(type) ((type *)xcalloc(1, sizeof(type)))

/* @n zeroed elements. */
void *xcalloc(size_t n, size_t bytes) attr_must_use;

/* A copy of a short text. */
char *xstrdup(const char *text) attr_must_use;

/* Say that there was no memory for @what, and abort. */
void xdie(const char *what) attr_noreturn;
