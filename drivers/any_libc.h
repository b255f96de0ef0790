/*
 * Included before all else: it keeps libc's headers from names that only a new glibc has. Python's
 * headers ask for large files, but too late for that. Source: features.h
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#undef _FILE_OFFSET_BITS
#undef _TIME_BITS
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <features.h>

/* strtol() and sscanf() of C23, which have other names in glibc 2.38 and later */
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0
