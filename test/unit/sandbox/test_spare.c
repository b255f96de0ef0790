/* Cgroup leaves that are made ahead, in trees of plain files. SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/warden/spare.h"

#include "t.h"
#include "tree.h"

#include <stdio.h>
#include <unistd.h>

#define V1 "/sys/fs/cgroup"

static const struct limits small = {.value = {[LIMIT_memory_bytes] = 64 << 20, [LIMIT_pids] = 10}},
			   large = {.value = {[LIMIT_memory_bytes] = 96 << 20, [LIMIT_pids] = 10}};

static void open_host(struct tree *t, struct cgroup_host *host)
{
	tree_put(t, "/proc/self/cgroup", "4:memory:/m\n0::/\n");
	tree_put(t, "/proc/self/mountinfo",
		"32 31 0:30 / " V1 "/memory rw - cgroup cgroup rw,memory\n");
	tree_put(t, V1 "/memory/m/tasks", "");
	cgroup_host_open(host, t->root, -1);
	CHECK_INT(host->kind, CGROUP_V1);
}

/* The memory limit of leaf @number, or NULL when there is no such leaf. */
static const char *limit_of(struct tree *t, unsigned number)
{
	char name[CGROUP_NAME_BYTES], path[256];
	cgroup_leaf_name(name, number);
	snprintf(path, sizeof path, V1 "/memory/m/%s/memory.limit_in_bytes", name);
	return tree_has(t, path) ? tree_get(t, path) : NULL;
}

/* The same, and a spare leaf there. */
static void open_with_one(struct tree *t, struct cgroup_host *host, struct spare *s)
{
	open_host(t, host);
	spare_want(s, host, &small);
	spare_make(s, host);
	CHECK_INT(s->n, 1);
}

TEST(made_when_wanted)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct spare s = {0};
	open_host(&t, &host);
	spare_make(&s, &host);
	CHECK_INT(s.n, 0);
	spare_want(&s, &host, &small);
	CHECK(s.is_due && !limit_of(&t, 0)); /* not at once */
	spare_make(&s, &host);
	CHECK(!s.is_due);
	CHECK_STR(limit_of(&t, 0), "67108864");
	spare_want(&s, &host, &small);
	spare_make(&s, &host);
	CHECK(!limit_of(&t, 1)); /* one is enough */
	struct cgroup_leaf leaf;
	enum limit_by by[LIMIT_END_] = {0};
	struct err err;
	CHECK_INT(spare_take(&s, &host, &small, &leaf, by, &err), 0);
	CHECK_INT(by[LIMIT_memory_bytes], LIMIT_BY_CGROUP_V1); /* and is what it was */
	cgroup_leaf_close(&leaf);
	spare_done(&s);
	CHECK(!limit_of(&t, 0));
	cgroup_host_close(&host);
}

TEST(as_many_as_were_taken)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	enum limit_by by[LIMIT_END_] = {0};
	struct spare s = {0};
	struct err err;
	open_with_one(&t, &host, &s);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(spare_take(&s, &host, &small, &leaf, by, &err), 0);
		spare_want(&s, &host, &small);
		cgroup_leaf_close(&leaf);
	}
	for (unsigned i = 1; i <= 3; i++) {
		CHECK(s.is_due);
		spare_make(&s, &host); /* one at a time: somebody may come */
		CHECK_INT(s.n, i);
	}
	CHECK(!s.is_due);
	for (int i = 0; i < 3 * SPARE_MAX; i++)
		spare_want(&s, &host, &small);
	for (int i = 0; i < 3 * SPARE_MAX; i++)
		spare_make(&s, &host);
	CHECK_INT(s.n, SPARE_MAX);
	CHECK_STR(limit_of(&t, s.n_made - 1), "67108864");
	spare_done(&s);
	for (unsigned i = 0; i < s.n_made; i++)
		CHECK(!limit_of(&t, i));
	cgroup_host_close(&host);
}

TEST(taken_once)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf first, second;
	enum limit_by by[LIMIT_END_] = {0};
	struct spare s = {0};
	struct err err;
	open_with_one(&t, &host, &s);
	CHECK_INT(spare_take(&s, &host, &small, &first, by, &err), 0);
	CHECK_INT(by[LIMIT_memory_bytes], LIMIT_BY_CGROUP_V1);
	CHECK(!limit_of(&t, 1));
	CHECK_INT(spare_take(&s, &host, &small, &second, by, &err), 0);
	CHECK_STR(limit_of(&t, 1), "67108864");
	spare_done(&s);
	CHECK_STR(limit_of(&t, 0), "67108864"); /* a box's now */
	cgroup_leaf_close(&first);
	cgroup_leaf_close(&second);
	cgroup_host_close(&host);
}

TEST(other_limits)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	enum limit_by by[LIMIT_END_] = {0};
	struct spare s = {0};
	struct err err;
	open_with_one(&t, &host, &s);
	CHECK_INT(spare_take(&s, &host, &large, &leaf, by, &err), 0);
	CHECK_STR(limit_of(&t, 1), "100663296");
	CHECK_STR(limit_of(&t, 0), "67108864");
	spare_want(&s, &host, &large);
	spare_make(&s, &host);
	CHECK(!limit_of(&t, 0)); /* nobody has asked for that any more */
	CHECK_STR(limit_of(&t, 2), "100663296");
	spare_done(&s);
	cgroup_leaf_close(&leaf);
	cgroup_host_close(&host);
}

TEST(removed_by_somebody)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	enum limit_by by[LIMIT_END_] = {0};
	struct spare s = {0};
	struct err err;
	open_with_one(&t, &host, &s);
	struct cgroup_leaf gone = s.leaves[0].leaf;
	cgroup_leaf_close(&gone);
	CHECK_INT(spare_take(&s, &host, &small, &leaf, by, &err), 0);
	CHECK_STR(limit_of(&t, 1), "67108864");
	spare_want(&s, &host, &small);
	spare_make(&s, &host);
	CHECK_STR(limit_of(&t, 2), "67108864"); /* the one that is gone counts for none */
	spare_done(&s);
	cgroup_leaf_close(&leaf);
	cgroup_host_close(&host);
}

TEST(none_without_cgroups)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct spare s = {0};
	cgroup_host_open(&host, t.root, CGROUP_NONE);
	spare_want(&s, &host, &small);
	CHECK(!s.is_due);
}
