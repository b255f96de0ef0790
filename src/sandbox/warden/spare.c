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

/* Are those that are there of use, by the next of them? */
static bool is_fit(const struct spare *s, const struct limits *limits)
{
	return s->n > 0 && memcmp(&s->limits, limits, sizeof *limits) == 0 &&
		cgroup_leaf_is_there(&s->leaves[s->n - 1]);
}

int spare_take(struct spare *s, const struct cgroup_host *host, const struct limits *limits,
	struct cgroup_leaf *leaf, enum limit_by by[LIMIT_END_], struct err *err)
{
	if (!is_fit(s, limits))
		return make(s, host, limits, leaf, by, err);
	*leaf = s->leaves[--s->n];
	memcpy(by, s->by, sizeof s->by);
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

void spare_make(struct spare *s, const struct cgroup_host *host)
{
	struct err err;
	if (!s->is_due)
		return;
	if (!is_fit(s, &s->wanted))
		spare_done(s);
	s->limits = s->wanted;
	memset(s->by, 0, sizeof s->by);
	bool is_made =
		s->n < s->n_wanted && make(s, host, &s->limits, &s->leaves[s->n], s->by, &err) == 0;
	s->n += is_made;
	s->is_due = is_made && s->n < s->n_wanted;
}

void spare_done(struct spare *s)
{
	while (s->n > 0)
		cgroup_leaf_close(&s->leaves[--s->n]);
}
