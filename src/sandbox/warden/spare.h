/*
 * Cgroup leaves that are made ahead. Who waits for a branch would wait for its leaf, too: on v1 it
 * is four directories and six files. They have the limits of the last box, which are mostly those
 * of the next, and are as many as were taken one soon after another: who has made eight branches
 * may do so again.
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
	struct limits limits, wanted; /* theirs; those of the next */
	bool is_due;
	unsigned n_made; /* of all leaves: the number of the next */
};

/*
 * The leaf for a box with @limits: a spare one if that is still there, or a new one.
 * Owns: the caller closes @leaf. Returns, errors: as cgroup_leaf_open().
 */
int spare_take(struct spare *s, const struct cgroup_host *host, const struct limits *limits,
	struct cgroup_leaf *leaf, enum limit_by by[LIMIT_END_], struct err *err);

/* Another such box may follow: one more is due. */
void spare_want(struct spare *s, const struct cgroup_host *host, const struct limits *limits);

/* There is time: make one of those that are due. Those with other limits go. */
void spare_make(struct spare *s, const struct cgroup_host *host);

/* None any more. */
void spare_done(struct spare *s);
