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

/* Return whether the spare leaves have the limits @limits and still exist. Only the leaf that would
 * be taken next is checked for existence. */
static bool is_fit(const struct spare *s, const struct limits *limits)
{
	return s->n > 0 && memcmp(&s->limits, limits, sizeof *limits) == 0 &&
		cgroup_leaf_is_there(&s->leaves[s->n - 1].leaf);
}

int spare_take(struct spare *s, const struct cgroup_host *host, const struct limits *limits,
	struct cgroup_leaf *leaf, enum limit_by by[LIMIT_END_], struct err *err)
{
	if (!is_fit(s, limits))
		return make(s, host, limits, leaf, by, err);
	const struct spare_leaf *spare = &s->leaves[--s->n];
	*leaf = spare->leaf;
	memcpy(by, spare->by, sizeof spare->by);
	return 0;
}

void spare_want(struct spare *s, const struct cgroup_host *host, const struct limits *limits)
{
	if (!s->is_due)
		s->n_wanted = 0;
	s->wanted = *limits;
	s->n_wanted = MIN(s->n_wanted + 1, (unsigned)SPARE_MAX);
	s->is_due = host->kind != CGROUP_NONE;
}

static int make_one(struct spare *s, const struct cgroup_host *host)
{
	struct spare_leaf *spare = &s->leaves[s->n];
	struct err err;
	memset(spare->by, 0, sizeof spare->by);
	int r = make(s, host, &s->limits, &spare->leaf, spare->by, &err);
	s->n += r == 0;
	return r;
}

void spare_make(struct spare *s, const struct cgroup_host *host)
{
	if (!s->is_due)
		return;
	if (!is_fit(s, &s->wanted))
		spare_done(s);
	s->limits = s->wanted;
	s->is_due = s->n < s->n_wanted && make_one(s, host) == 0 && s->n < s->n_wanted;
}

void spare_done(struct spare *s)
{
	while (s->n > 0)
		cgroup_leaf_close(&s->leaves[--s->n].leaf);
}
