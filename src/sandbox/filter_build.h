/* Compilation of the filter's table to BPF programs, at build time and in tests, never at run time.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/filter.h"

enum { FILTER_NUMBER_MAX = 1023, FILTER_GUARD_MAX = 8 };

/* A compiled filter. `code` has room for the longest program that the kernel accepts. */
struct filter_code {
	struct sock_filter code[BPF_MAXINSNS];
	size_t n;
};

/*
 * Find the number of a syscall on @arch, an AUDIT_ARCH_ constant. If the host's libseccomp is too
 * old to know @name, the number comes from a list in filter_build.c. One list suffices, since new
 * syscalls (from number 424 on) have the same number on all architectures.
 * Returns: the number; -ENOSYS when @arch lacks the call; -ENOENT for an unknown name.
 */
int filter_number(uint32_t arch, const char *name);

/*
 * Compile the filter of one variant to a BPF program. This is how the program works:
 * - It checks the architecture.
 * - By binary search, it finds the range of syscall numbers that contains the number of the call.
 * - Most ranges have one answer. But a syscall with guards is a range of its own, and the program
 *   tries the rows of the syscall in order.
 * Only guards load arguments of a call. So the kernel can answer the calls without guards from the
 * bitmap that it keeps for each filter.
 * Rows for syscalls that @arch lacks are left out.
 * Limits:  syscall numbers up to FILTER_NUMBER_MAX, FILTER_GUARD_MAX guards each.
 * Errors:  ERR_USAGE if @arch is not supported; ERR_INTERNAL with the row if the table is wrong.
 */
int filter_build(
	struct filter_code *out, uint32_t arch, enum filter_variant variant, struct err *err);
