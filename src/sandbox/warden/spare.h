/*
 * Cgroup leaves that are made ahead, so that a branch need not wait for its leaf: on v1 that is
 * four directories and six files. They have the limits of the last box, which the next box mostly
 * has too. As many are kept as were recently taken in quick succession: a client that has made
 * eight branches may do so again.
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
	struct limits limits, wanted; /* limits of the spare leaves; limits of the next ones */
	bool is_due;
	unsigned n_made; /* the number of the next leaf */
};

/*
 * Get the leaf for a box with @limits: a spare one if it still exists, or a new one.
 * Owns: the caller closes @leaf. Returns, errors: as cgroup_leaf_open().
 */
int spare_take(struct spare *s, const struct cgroup_host *host, const struct limits *limits,
	struct cgroup_leaf *leaf, enum limit_by by[LIMIT_END_], struct err *err);

/* Another box with these limits may follow: plan one more leaf. */
void spare_want(struct spare *s, const struct cgroup_host *host, const struct limits *limits);

/* When idle: make one of the planned leaves. Leaves with other limits are removed. */
void spare_make(struct spare *s, const struct cgroup_host *host);

/* Remove all spare leaves. */
void spare_done(struct spare *s);
