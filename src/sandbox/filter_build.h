/* From the filter's table to a BPF program; used when building and in tests, never at run time.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/filter.h"

enum { FILTER_NUMBER_MAX = 1023, FILTER_GUARD_MAX = 8 };

/* Owns: nothing. `code` is as long as the kernel takes. */
struct filter_code {
	struct sock_filter code[BPF_MAXINSNS];
	size_t n;
};

/*
 * The number of a syscall; @arch is an AUDIT_ARCH_ constant. Names newer than the host's libseccomp
 * are known here when their number is the same everywhere (above 424).
 * Returns: the number, -ENOSYS when @arch has no such call, -ENOENT for a name nobody knows.
 */
int filter_number(uint32_t arch, const char *name);

/*
 * Compile one variant: a check of the architecture, a binary search over ranges of numbers with one
 * answer, and for each guarded syscall its rows in order. Arguments are loaded only there, so the
 * kernel can answer all other calls from its per-filter bitmap. Rows of calls that @arch does not
 * have are left out.
 * Limits:  syscall numbers up to FILTER_NUMBER_MAX, FILTER_GUARD_MAX guards each.
 * Errors:  ERR_USAGE for an architecture that is not supported; ERR_INTERNAL with the row when the
 *          table contradicts itself.
 */
int filter_build(
	struct filter_code *out, uint32_t arch, enum filter_variant variant, struct err *err);
