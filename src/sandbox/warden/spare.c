/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/spare.h"

#include <string.h>

static int make(struct spare *s, const struct cgroup_host *host, const struct limits *limits,
	struct cgroup_leaf *leaf, enum limit_by by[LIMIT_END_], struct err *err)
{
	char name[CGROUP_NAME_BYTES];
	cgroup_leaf_name(name, s->n_made++);
	return cgroup_leaf_open(leaf, host, name, limits, by, err);
}

static bool is_fit(const struct spare *s, const struct limits *limits)
{
	return s->is_there && memcmp(&s->limits, limits, sizeof *limits) == 0 &&
		cgroup_leaf_is_there(&s->leaf);
}

int spare_take(struct spare *s, const struct cgroup_host *host, const struct limits *limits,
	struct cgroup_leaf *leaf, enum limit_by by[LIMIT_END_], struct err *err)
{
	if (!is_fit(s, limits))
		return make(s, host, limits, leaf, by, err);
	*leaf = s->leaf;
	memcpy(by, s->by, sizeof s->by);
	s->is_there = false;
	return 0;
}

void spare_want(struct spare *s, const struct cgroup_host *host, const struct limits *limits)
{
	s->wanted = *limits;
	s->is_due = host->kind != CGROUP_NONE;
}

void spare_make(struct spare *s, const struct cgroup_host *host)
{
	struct err err;
	if (!s->is_due)
		return;
	s->is_due = false;
	if (is_fit(s, &s->wanted))
		return;
	spare_done(s);
	s->limits = s->wanted;
	memset(s->by, 0, sizeof s->by);
	s->is_there = make(s, host, &s->limits, &s->leaf, s->by, &err) == 0;
}

void spare_done(struct spare *s)
{
	if (s->is_there)
		cgroup_leaf_close(&s->leaf);
	s->is_there = false;
}
