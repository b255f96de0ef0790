/* CGROUP_NONE: processes join nothing, and no limit is enforced. proc_usage.h counts the usage.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/cgroup_ops.h"

static int none_find(struct cgroup_host *host, const struct cgroup_self *self)
{
	(void)host;
	(void)self;
	return 1;
}

static int none_join_fds(const struct cgroup_leaf *leaf, int fds[CGROUP_JOIN_FDS])
{
	(void)leaf;
	(void)fds;
	return 0;
}

const struct cgroup_ops cgroup_ops_none = {
	.by = LIMIT_BY_NONE,
	.find = none_find,
	.join_fds = none_join_fds,
};
