/* Sessions forgotten. SPDX-License-Identifier: Apache-2.0 */
#include "store/prune.h"

#include "shelf.h"
#include "store/account.h"

static void print(void *user, const char *what, const char *why)
{
	(void)user;
	printf("# %s: %s\n", what, why);
}

/* Forget all closed ones but @keep. Returns: what was removed. */
static struct journal_pruned prune(struct journal *j, uint64_t keep)
{
	struct err err = {0};
	struct journal_prune *p = NULL;
	const struct prune_which all = {.before_ms = INT64_MAX, .keep = keep};
	CHECK(journal_forget(j, &all, false, &err) >= 0);
	CHECK_INT(journal_prune_begin(&p, j, &err), 0);
	struct journal_prune *second = NULL;
	CHECK(journal_prune_begin(&second, j, &err) < 0);
	int r = 1;
	while (r > 0)
		r = journal_prune_part(p, &err);
	CHECK_INT(r, 0);
	if (r < 0)
		printf("# %s\n", err.msg);
	return journal_prune_end(p);
}

static int64_t damage(struct journal *j)
{
	struct err err = {0};
	return journal_verify(j, print, NULL, &err);
}

/* A text that is kept beside its step. */
static const char *large(int c)
{
	static char text[26][9001];
	char *at = text[c - 'a'];
	memset(at, c, sizeof text[0] - 1);
	return at;
}

static int64_t bytes_of(const char *dir)
{
	char path[128];
	struct stat st;
	snprintf(path, sizeof path, "%s/journal.db", dir);
	return stat(path, &st) == 0 ? st.st_size : -1;
}

TEST(what_nobody_has_any_more_goes)
{
	SHELF;
	char a[DIGEST_BYTES] = "", b[DIGEST_BYTES] = "", c[DIGEST_BYTES];
	struct journal_size size;
	struct journal_node node;
	JOURNAL j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", "a"), 0);
	CHECK_INT(shelf_session(j, "s-b", "b"), 0);
	for (int i = 0; i < 20; i++)
		CHECK(shelf_record(j, "s-a", a, i % 2 ? "x" : large('p'), large('a' + i % 3), a) >=
			0);
	CHECK(shelf_file(j, "s-a", a, "f", large('f'), 9000, a) >= 0);
	CHECK(shelf_calls(j, "s-a", a, large('q'), a) >= 0);
	CHECK(shelf_record(j, "s-b", b, "y", large('a'), b) >= 0);
	CHECK(shelf_file(j, "s-b", b, "g", large('g'), 9000, b) >= 0);
	CHECK(shelf_calls(j, "s-b", b, large('r'), c) >= 0);
	CHECK(journal_account(j, "", &err) > 9000);
	/* Open ones stay. */
	CHECK_INT(prune(j, 0).n_sessions, 0);
	CHECK_INT(journal_session_close(j, "s-a", "", &err), 0);
	CHECK_INT(prune(j, 1).n_sessions, 0);
	struct journal_pruned done = prune(j, 0);
	CHECK_INT(done.n_sessions, 1);
	CHECK_INT(done.n_steps, 22);
	CHECK_INT(done.n_blobs, 5); /* b, c, f, p, q: the other has a */
	CHECK_INT(damage(j), 0);
	CHECK_INT(journal_size(j, &size, &err), 0);
	CHECK_INT(size.n_sessions, 1);
	CHECK_INT(size.n_nodes, 3);
	/* All of the other is there, and goes on. */
	CHECK_INT(journal_node_get(j, c, &node, &err), 0);
	journal_node_done(&node);
	CHECK(shelf_record(j, "s-b", c, "z", large('z'), c) >= 0);
	journal_close(j);
	j = shelf_open(dir);
	CHECK_INT(damage(j), 0);
	CHECK_INT(journal_session_close(j, "s-b", "", &err), 0);
	CHECK_INT(prune(j, 0).n_steps, 4);
	CHECK_INT(damage(j), 0);
	CHECK_INT(journal_size(j, &size, &err), 0);
	CHECK_INT(size.n_nodes + size.n_sessions + size.n_blobs, 0);
	CHECK_INT(journal_account(j, "", &err), 0);
}

TEST(what_another_session_stands_on_stays)
{
	SHELF;
	char root[DIGEST_BYTES] = "", a[DIGEST_BYTES], side[DIGEST_BYTES];
	char b[DIGEST_BYTES], same[DIGEST_BYTES] = "";
	struct journal_size size;
	JOURNAL j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", "a"), 0);
	CHECK(shelf_step(j, "s-a", "", "1", root) >= 0);
	CHECK(shelf_step(j, "s-a", root, "2", a) >= 0);
	CHECK(shelf_step(j, "s-a", root, "3", side) >= 0);
	struct journal_session child = {
		.order = "{}", .order_bytes = 2, .id = "s-c", .parent = "s-a"};
	memcpy(child.fork, a, sizeof a);
	CHECK_INT(journal_session_add(j, &child, &err), 0);
	/* Another came to the same by itself. */
	CHECK_INT(shelf_session(j, "s-d", "d"), 0);
	CHECK(shelf_step(j, "s-d", "", "1", same) >= 0);
	CHECK_STR(same, root);
	CHECK_INT(journal_session_close(j, "s-a", "", &err), 0);
	CHECK_INT(prune(j, 0).n_steps, 1); /* `side` */
	CHECK_INT(damage(j), 0);
	struct journal_session none;
	CHECK(journal_session_get(j, "s-a", &none, &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	CHECK(shelf_step(j, "s-c", a, "4", b) >= 0);
	CHECK_INT(journal_depth(j, b, &err), 3);
	/* Then the branch goes, and what it stood on; but for what the other has, too. */
	CHECK_INT(journal_session_close(j, "s-c", "", &err), 0);
	struct journal_pruned done = prune(j, 0);
	CHECK_INT(done.n_steps, 2);
	CHECK_INT(damage(j), 0);
	CHECK(shelf_step(j, "s-d", same, "5", same) >= 0);
	CHECK_INT(journal_session_close(j, "s-d", "", &err), 0);
	CHECK_INT(prune(j, 0).n_steps, 2);
	CHECK_INT(damage(j), 0);
	CHECK_INT(journal_size(j, &size, &err), 0);
	CHECK_INT(size.n_nodes + size.n_sessions + size.n_blobs, 0);
}

/* The file of a step is put before the step is kept: in between it is nobody's. */
TEST(what_is_put_and_not_yet_kept_stays)
{
	SHELF;
	char digest[DIGEST_BYTES], mid[DIGEST_BYTES], *data = NULL;
	size_t bytes;
	struct journal_prune *p = NULL;
	JOURNAL j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", "a"), 0);
	CHECK_INT(journal_blob_put(j, "one", 3, digest, &err), 0);
	CHECK_INT(journal_prune_begin(&p, j, &err), 0);
	CHECK_INT(journal_blob_put(j, "two", 3, mid, &err), 0);
	while (journal_prune_part(p, &err) > 0)
		;
	CHECK_INT(journal_prune_end(p).n_blobs, 0);
	CHECK_INT(journal_blob_get(j, digest, &data, &bytes, &err), 0);
	free(data);
	CHECK_INT(journal_blob_get(j, mid, &data, &bytes, &err), 0);
	free(data);
	/* When the engine is started anew nothing is under way. */
	journal_close(j);
	j = shelf_open(dir);
	CHECK_INT(prune(j, 0).n_blobs, 2);
	CHECK_INT(damage(j), 0);
}

TEST(room_is_given_back)
{
	SHELF;
	enum { BYTES = 4 << 20 };
	char a[DIGEST_BYTES] = "", *text = calloc(1, BYTES);
	JOURNAL j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", "a"), 0);
	for (int i = 0; i < 4; i++) {
		memset(text, 'a' + i, BYTES - 1);
		CHECK(shelf_record(j, "s-a", a, "x", text, a) >= 0);
	}
	free(text);
	CHECK_INT(journal_session_close(j, "s-a", "", &err), 0);
	CHECK_INT(journal_idle(j, &err), 0);
	CHECK(bytes_of(dir) > 4 * (BYTES - 1));
	CHECK_INT(prune(j, 0).n_blobs, 5); /* and what it was made with */
	CHECK(bytes_of(dir) < BYTES);
	CHECK_INT(damage(j), 0);
	CHECK_INT(shelf_session(j, "s-b", "b"), 0);
	CHECK(shelf_step(j, "s-b", "", "1", a) >= 0);
	journal_close(j);
	j = shelf_open(dir);
	CHECK_INT(damage(j), 0);
}

TEST(many_are_forgotten_some_at_a_time)
{
	enum { MADE = PRUNE_FORGET_MAX + 20, KEPT = 7 };
	SHELF;
	const struct prune_which all = {.before_ms = INT64_MAX, .keep = KEPT};
	JOURNAL j = shelf_open(dir);
	for (int i = 0; i < MADE; i++) {
		char id[16];
		snprintf(id, sizeof id, "s-%d", i);
		CHECK_INT(shelf_session(j, id, ""), 0);
		CHECK_INT(journal_session_close(j, id, "", &err), 0);
	}
	CHECK_INT(journal_forget(j, &all, true, &err), MADE - KEPT);
	CHECK_INT(journal_forget(j, &all, false, &err), PRUNE_FORGET_MAX);
	CHECK_INT(journal_forget(j, &all, false, &err), MADE - KEPT - PRUNE_FORGET_MAX);
	CHECK_INT(journal_forget(j, &all, false, &err), 0);
}

/* A death at any point leaves a journal that is whole, and the next time does the rest. */
TEST(it_may_end_anywhere)
{
	for (int parts = 0; parts < 12; parts++) {
		SHELF;
		char a[DIGEST_BYTES] = "";
		struct journal_prune *p = NULL;
		struct journal_size size;
		const struct prune_which all = {.before_ms = INT64_MAX};
		JOURNAL j = shelf_open(dir);
		CHECK_INT(shelf_session(j, "s-a", "a"), 0);
		for (int i = 0; i < 150; i++)
			CHECK(shelf_record(j, "s-a", a, i % 2 ? "x" : "y",
				      i % 9 ? "{}" : large('b'), a) >= 0);
		CHECK_INT(journal_session_close(j, "s-a", "", &err), 0);
		CHECK_INT(journal_forget(j, &all, true, &err), 1);
		CHECK_INT(journal_forget(j, &all, false, &err), 1);
		CHECK_INT(journal_prune_begin(&p, j, &err), 0);
		for (int i = 0; i < parts; i++)
			CHECK(journal_prune_part(p, &err) >= 0);
		(void)journal_prune_end(p);
		journal_close(j);
		j = shelf_open(dir);
		CHECK_INT(damage(j), 0);
		(void)prune(j, 0);
		CHECK_INT(damage(j), 0);
		CHECK_INT(journal_size(j, &size, &err), 0);
		CHECK_INT(size.n_nodes + size.n_sessions + size.n_blobs, 0);
	}
}
