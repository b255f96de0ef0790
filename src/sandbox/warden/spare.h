/*
 * Spare cgroup leaves. The warden makes them ahead, so that a branch need not wait for its leaf: in
 * v1 a leaf takes four directories and six files.
 * Spare leaves have the limits of the last box, since the next box mostly has the same limits.
 * The number of spare leaves is the number of leaves that were recently taken in quick succession,
 * at most SPARE_MAX. For example, a client that has made eight branches may soon make eight more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "sandbox/cgroup.h"

#include <stdbool.h>
#include <stdint.h>

enum { SPARE_MAX = 8 };

struct spare {
	struct spare_leaf {
		struct cgroup_leaf leaf;
		enum limit_by by[LIMIT_END_];
	} leaves[SPARE_MAX];
	unsigned n, n_wanted;
	/* `limits` are those of the spare leaves that exist, `wanted` those of the leaves to make
	 * next */
	struct limits limits, wanted;
	bool is_due;
	unsigned n_made; /* number of the next leaf, for its name */
};

/*
 * Take a leaf for a box with @limits: a spare one if it exists, otherwise a new one.
 * Owns: the caller closes @leaf. Returns, errors: as cgroup_leaf_open().
 */
int spare_take(struct spare *s, const struct cgroup_host *host, const struct limits *limits,
	struct cgroup_leaf *leaf, enum limit_by by[LIMIT_END_], struct err *err);

/* Plan one more spare leaf, since another box with these limits may follow. */
void spare_want(struct spare *s, const struct cgroup_host *host, const struct limits *limits);

/* If spare_want() has planned spare leaves, make one of them. But first remove the existing
 * spare leaves if their limits are not the planned ones. Call this when the warden is idle. */
void spare_make(struct spare *s, const struct cgroup_host *host);

/* Remove all spare leaves. */
void spare_done(struct spare *s);
