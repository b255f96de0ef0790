/*
 * A cgroup leaf that is made ahead. Who waits for a branch would wait for it, too: on v1 it is four
 * directories and six files. It has the limits of the last box, which are mostly those of the next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "sandbox/cgroup.h"

#include <stdbool.h>
#include <stdint.h>

struct spare {
	struct cgroup_leaf leaf;
	struct limits limits, wanted; /* its own; those of the next */
	enum limit_by by[LIMIT_END_];
	bool is_there, is_due;
	unsigned n_made; /* of all leaves: the number of the next */
};

/*
 * The leaf for a box with @limits: the spare one if it is still there, or a new one.
 * Owns: the caller closes @leaf. Returns, errors: as cgroup_leaf_open().
 */
int spare_take(struct spare *s, const struct cgroup_host *host, const struct limits *limits,
	struct cgroup_leaf *leaf, enum limit_by by[LIMIT_END_], struct err *err);

/* Another such box may follow: one is due. */
void spare_want(struct spare *s, const struct cgroup_host *host, const struct limits *limits);

/* There is time: make the one that is due. One with other limits goes. */
void spare_make(struct spare *s, const struct cgroup_host *host);

/* None any more. */
void spare_done(struct spare *s);
