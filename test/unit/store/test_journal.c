/* The journal: what is kept, found again and refused. SPDX-License-Identifier: Apache-2.0 */
#include "store/journal.h"

#include "shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int silent(void *user, const char *what, const char *why)
{
	(void)user;
	return printf("# %s: %s\n", what, why);
}

static void print(void *user, const char *what, const char *why)
{
	(void)silent(user, what, why);
}

static int64_t verify(struct journal *j)
{
	struct err err = {0};
	return journal_verify(j, print, NULL, &err);
}

TEST(digest_is_what_the_header_says)
{
	/* printf of the parts, lengths as 8 bytes, into sha256sum */
	struct journal_node n = {.code = "1+1", .code_bytes = 3, .record = "{}", .record_bytes = 2};
	char digest[DIGEST_BYTES];
	strcpy(n.runtime, "python");
	journal_digest(digest, &n);
	CHECK_STR(digest, "d3afed351f86c2787129213048aeb2b19b32c63b4b43d56351345de217d3b397");
}

TEST(a_step_is_there_after_reopening)
{
	SHELF;
	char sub[96], digest[DIGEST_BYTES] = "";
	struct stat st;
	snprintf(sub, sizeof sub, "%s/a/b", dir);
	struct journal *j = shelf_open(sub);
	CHECK_INT(stat(sub, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0700);
	CHECK_INT(shelf_session(j, "s-a", "one"), 0);
	CHECK_INT(shelf_step(j, "s-a", "", "print(42)", digest), 0);
	journal_close(j);
	JOURNAL k = shelf_open(sub);
	struct journal_node n;
	struct journal_session s;
	CHECK_INT(journal_node_get(k, digest, &n, &err), 0);
	CHECK_STR(n.digest, digest);
	CHECK_STR(n.code, "print(42)");
	CHECK_STR(n.session, "s-a");
	CHECK_STR(n.runtime, "python");
	CHECK_STR(n.status, "ok");
	CHECK_STR(n.outcome, "committed");
	CHECK_STR(n.extra, "{\"wall_ms\":1.5}");
	CHECK_STR(n.parent, "");
	CHECK(n.created_ms > 0 && n.seq == 1);
	journal_node_done(&n);
	CHECK_INT(journal_session_get(k, "one", &s, &err), 0);
	CHECK_STR(s.id, "s-a");
	CHECK_STR(s.head, digest);
	CHECK_STR(s.order, "{\"order\":1}");
	journal_session_done(&s);
	CHECK_INT(verify(k), 0);
	CHECK_INT(stat(sub, &st), 0);
}

TEST(files_are_for_the_owner_alone)
{
	static const char *const names[] = {
		"journal.db", "journal.db-wal", "journal.head", "journal.lock"};
	SHELF;
	char digest[DIGEST_BYTES], path[128];
	struct stat st;
	JOURNAL j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	CHECK_INT(shelf_step(j, "s-a", "", "1", digest), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		CHECK_INT(stat(path, &st), 0);
		CHECK_INT(st.st_mode & 0777, 0600);
	}
}

TEST(steps_are_found_by_their_beginning)
{
	SHELF;
	char digest[DIGEST_BYTES] = "", some[DIGEST_BYTES];
	JOURNAL j = shelf_open(dir);
	struct journal_node n;
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	/* 400 steps: two of them begin with the same four digits, nearly always */
	char all[400][DIGEST_BYTES], code[16];
	for (int i = 0; i < 400; i++) {
		snprintf(code, sizeof code, "x%d", i);
		CHECK_INT(shelf_step(j, "s-a", digest, code, all[i]), 0);
		memcpy(digest, all[i], sizeof digest);
	}
	for (int i = 0; i < 400; i++) {
		int n_same = 0;
		for (int k = 0; k < 400; k++)
			n_same += memcmp(all[i], all[k], 5) == 0;
		memcpy(some, all[i], 5);
		some[5] = '\0';
		int r = journal_node_get(j, some, &n, &err);
		if (n_same == 1) {
			CHECK_INT(r, 0);
			CHECK_STR(n.digest, all[i]);
			journal_node_done(&n);
		} else {
			CHECK_INT(err.code, ERR_USAGE);
			CHECK_HAS(err.msg, "more than one");
		}
	}
	static const struct {
		const char *digest;
		enum err_code code;
	} bad[] = {{"", ERR_USAGE}, {"abc", ERR_USAGE}, {"xyzw", ERR_USAGE}, {"abcd%", ERR_USAGE},
		{"ffffffffffff0", ERR_NOT_FOUND},
		{"00000000000000000000000000000000000000000000000000000000000000000", ERR_USAGE}};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK(journal_node_get(j, bad[i].digest, &n, &err) < 0);
		CHECK_INT(err.code, bad[i].code);
		CHECK(n.owned == NULL);
	}
}

TEST(the_same_step_twice_is_one)
{
	SHELF;
	char a[DIGEST_BYTES] = "", b[DIGEST_BYTES] = "", c[DIGEST_BYTES] = "";
	JOURNAL j = shelf_open(dir);
	struct journal_session s;
	struct journal_size size;
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	CHECK_INT(shelf_step(j, "s-a", "", "a", a), 0);
	CHECK_INT(shelf_step(j, "s-a", a, "b", b), 0);
	CHECK_INT(journal_session_move(j, "s-a", a, &err), 0);
	CHECK_INT(journal_session_get(j, "s-a", &s, &err), 0);
	CHECK_STR(s.head, a);
	journal_session_done(&s);
	CHECK_INT(shelf_step(j, "s-a", a, "b", c), 1);
	CHECK_STR(b, c);
	CHECK_INT(journal_session_get(j, "s-a", &s, &err), 0);
	CHECK_STR(s.head, b);
	journal_session_done(&s);
	CHECK_INT(journal_session_move(j, "s-a", "", &err), 0);
	CHECK_INT(journal_size(j, &size, &err), 0);
	CHECK_INT(size.n_nodes, 2);
	CHECK_INT(verify(j), 0);
}

struct list {
	char digest[64][DIGEST_BYTES];
	int n;
	struct journal *j;
	bool is_nested;
};

static int to_list(void *user, const struct journal_node *node, struct err *err)
{
	struct list *l = user, inner = {0};
	memcpy(l->digest[l->n++], node->digest, DIGEST_BYTES);
	if (l->is_nested && journal_children(l->j, node->digest, 0, to_list, &inner, err) < 0)
		return -1;
	return 0;
}

TEST(walks)
{
	SHELF;
	char at[DIGEST_BYTES] = "", root[DIGEST_BYTES], x[DIGEST_BYTES];
	char last[DIGEST_BYTES], code[16];
	JOURNAL j = shelf_open(dir);
	struct list l = {.j = j, .is_nested = true};
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	for (int i = 0; i < 10; i++) {
		snprintf(code, sizeof code, "%d", i);
		CHECK_INT(shelf_step(j, "s-a", at, code, at), 0);
		if (i == 0)
			memcpy(root, at, sizeof root);
	}
	memcpy(last, at, sizeof last);
	CHECK_INT(journal_ancestors(j, at, 0, to_list, &l, &err), 10);
	CHECK_STR(l.digest[0], at);
	CHECK_STR(l.digest[9], root);
	l.n = 0;
	CHECK_INT(journal_ancestors(j, at, 3, to_list, &l, &err), 3);
	l.n = 0;
	CHECK_INT(journal_brief(j, at, 3, to_list, &l, &err), 3);
	CHECK_INT(l.n, 3);
	CHECK_INT(journal_ancestors(j, "", 3, to_list, &l, &err), 0);
	CHECK(journal_ancestors(j, "ffffffff", 3, to_list, &l, &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	CHECK_INT(shelf_step(j, "s-a", root, "other", x), 0);
	CHECK_INT(shelf_step(j, "s-a", root, "third", x), 0);
	l.n = 0;
	CHECK_INT(journal_children(j, root, 0, to_list, &l, &err), 3);
	CHECK_STR(l.digest[2], x);
	l.n = 0;
	CHECK_INT(journal_children(j, root, 2, to_list, &l, &err), 2);
	CHECK_INT(journal_children(j, "", 0, to_list, &l, &err), 1);
	CHECK_INT(journal_children(j, last, 0, to_list, &l, &err), 0);
	CHECK(journal_children(j, "abcdef01", 0, to_list, &l, &err) < 0);
}

static int count_session(void *user, const struct journal_session *s, struct err *err)
{
	(void)s, (void)err;
	++*(int *)user;
	return 0;
}

TEST(sessions)
{
	SHELF;
	char a[DIGEST_BYTES];
	int n = 0;
	JOURNAL j = shelf_open(dir);
	struct journal_session s = {.id = "s-c", .parent = "s-a"};
	CHECK_INT(shelf_session(j, "s-a", "one"), 0);
	CHECK_INT(shelf_session(j, "s-b", ""), 0);
	CHECK(shelf_session(j, "s-b", "") < 0);
	CHECK(shelf_session(j, "s-x", "one") < 0);
	CHECK(shelf_session(j, "", "") < 0);
	CHECK_INT(shelf_step(j, "s-a", "", "a", a), 0);
	memcpy(s.fork, a, sizeof a);
	CHECK_INT(journal_session_add(j, &s, &err), 0);
	CHECK_STR(s.head, a);
	CHECK_INT(journal_session_get(j, "s-c", &s, &err), 0);
	CHECK_STR(s.parent, "s-a");
	CHECK_STR(s.fork, a);
	CHECK_STR(s.head, a);
	CHECK_INT(s.order_bytes, 0);
	journal_session_done(&s);
	CHECK(journal_session_rename(j, "s-b", "one", &err) < 0);
	CHECK_HAS(err.msg, "s-a");
	CHECK_INT(err.code, ERR_USAGE);
	CHECK_INT(journal_session_rename(j, "s-a", "one", &err), 0);
	CHECK_INT(journal_session_close(j, "s-a", "", &err), 0);
	CHECK_INT(journal_session_close(j, "s-a", "", &err), 0);
	CHECK_INT(journal_session_rename(j, "s-b", "one", &err), 0);
	CHECK_INT(journal_session_get(j, "one", &s, &err), 0);
	CHECK_STR(s.id, "s-b");
	journal_session_done(&s);
	CHECK(journal_session_get(j, "two", &s, &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	CHECK(journal_session_get(j, "", &s, &err) < 0);
	CHECK(journal_session_move(j, "s-a", a, &err) < 0);
	CHECK_HAS(err.msg, "closed");
	CHECK(shelf_step(j, "s-a", "", "b", a) < 0);
	CHECK(journal_session_move(j, "s-b", "0000", &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	CHECK(journal_session_move(j, "s-q", "", &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	CHECK_INT(journal_sessions(j, count_session, &n, &err), 3);
	CHECK_INT(n, 3);
	int64_t *numbers = NULL;
	CHECK_INT(journal_session_numbers(j, NULL, &numbers, &err), 2);
	CHECK_INT(numbers[0], journal_session_number(j, "s-b", &err));
	CHECK_INT(numbers[1], journal_session_number(j, "s-c", &err));
	CHECK_INT(journal_session_at(j, numbers[1], &s, &err), 1);
	CHECK_STR(s.id, "s-c");
	journal_session_done(&s);
	CHECK_INT(journal_session_at(j, journal_session_number(j, "s-a", &err), &s, &err), 0);
	CHECK_INT(journal_session_at(j, numbers[1] + 1, &s, &err), 0);
	free(numbers);
	CHECK_INT(journal_session_numbers(j, "ann", &numbers, &err), 0);
	free(numbers);
	CHECK(journal_session_number(j, "s-q", &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	CHECK_INT(verify(j), 0);
}

/* What was read while a step ran is used only when nothing has changed since. */
TEST(what_is_read_ahead_is_read_anew_after_a_change)
{
	SHELF;
	char a[DIGEST_BYTES], b[DIGEST_BYTES], c[DIGEST_BYTES];
	JOURNAL j = shelf_open(dir);
	struct journal_session s;
	struct journal_node n;
	journal_prepare(j, "s-a", ""); /* there is none yet */
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	CHECK_INT(shelf_session(j, "s-b", ""), 0);
	CHECK_INT(shelf_step(j, "s-a", "", "a", a), 0);
	journal_prepare(j, "s-a", a);
	CHECK_INT(shelf_step(j, "s-b", "", "b", b), 0);
	CHECK_INT(journal_session_rename(j, "s-a", "named", &err), 0);
	CHECK_INT(shelf_step(j, "s-a", a, "c", c), 0);
	CHECK_INT(journal_node_get(j, c, &n, &err), 0);
	CHECK_INT(n.seq, 3);
	CHECK_STR(n.parent, a);
	journal_node_done(&n);
	CHECK_INT(journal_session_get(j, "s-a", &s, &err), 0);
	CHECK_STR(s.name, "named");
	CHECK_STR(s.head, c);
	journal_session_done(&s);
	journal_prepare(j, "s-a", c);
	CHECK_INT(shelf_step(j, "s-b", c, "d", b), 0); /* another session */
	CHECK_INT(journal_session_get(j, "s-b", &s, &err), 0);
	CHECK_STR(s.head, b);
	journal_session_done(&s);
	journal_prepare(j, "s-a", c); /* and another parent */
	CHECK_INT(shelf_step(j, "s-a", a, "e", b), 0);
	CHECK_INT(journal_node_get(j, b, &n, &err), 0);
	CHECK_STR(n.parent, a);
	journal_node_done(&n);
	journal_prepare(j, "s-a", b);
	CHECK_INT(journal_session_close(j, "s-a", "", &err), 0);
	CHECK(shelf_step(j, "s-a", b, "f", c) < 0);
	journal_prepare(j, "s-a", b);
	CHECK(shelf_step(j, "s-a", b, "f", c) < 0);
	CHECK_INT(verify(j), 0);
}

/* What is refused leaves nothing behind, and the journal goes on. */
TEST(bad_steps_are_refused)
{
	SHELF;
	char digest[DIGEST_BYTES] = "";
	JOURNAL j = shelf_open(dir);
	struct journal_size size;
	struct journal_node n = {.session = "s-none"};
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	CHECK(journal_commit(j, &n, NULL, &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	strcpy(n.session, "s-a");
	memset(n.parent, 'a', 64);
	CHECK(journal_commit(j, &n, NULL, &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	memset(n.parent, 'A', 64);
	CHECK(journal_commit(j, &n, NULL, &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	strcpy(n.parent, "");
	CHECK(journal_commit(j, &n, "1234", &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	memset(digest, '1', 64);
	CHECK(journal_commit(j, &n, digest, &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	memset(n.runtime, 'r', sizeof n.runtime);
	CHECK(journal_commit(j, &n, NULL, &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	strcpy(n.runtime, "python");
	n.record = "x";
	n.record_bytes = JOURNAL_BLOB_MAX + 1;
	CHECK(journal_commit(j, &n, NULL, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK_INT(journal_size(j, &size, &err), 0);
	CHECK_INT(size.n_nodes, 0);
	n.record_bytes = 1;
	CHECK_INT(journal_commit(j, &n, "", &err), 0); /* rolled back: the head stays before it */
	struct journal_session s;
	CHECK_INT(journal_session_get(j, "s-a", &s, &err), 0);
	CHECK_STR(s.head, "");
	journal_session_done(&s);
	CHECK_INT(verify(j), 0);
}

TEST(large_texts_and_blobs)
{
	SHELF;
	const size_t bytes = 3 << 20;
	char *big = malloc(bytes + 1), *back = NULL, digest[DIGEST_BYTES];
	char again[DIGEST_BYTES];
	size_t n_back = 0;
	JOURNAL j = shelf_open(dir);
	struct journal_size size, more;
	struct journal_node n = {.session = "s-a",
		.code = big,
		.code_bytes = bytes,
		.record = big,
		.record_bytes = bytes};
	for (size_t i = 0; i < bytes; i++)
		big[i] = (char)(i * 31 >> 3);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	CHECK_INT(journal_commit(j, &n, NULL, &err), 0);
	memcpy(digest, n.digest, sizeof digest);
	CHECK_INT(journal_node_get(j, digest, &n, &err), 0);
	CHECK_INT(n.code_bytes, bytes);
	CHECK(memcmp(n.code, big, bytes) == 0 && memcmp(n.record, big, bytes) == 0);
	CHECK_INT(n.extra_bytes, 0);
	journal_node_done(&n);
	CHECK_INT(journal_size(j, &size, &err), 0);
	CHECK_INT(journal_blob_put(j, big, bytes, digest, &err), 0);
	CHECK_INT(journal_blob_put(j, big, bytes, again, &err), 0);
	CHECK_STR(again, digest);
	CHECK_INT(journal_size(j, &more, &err), 0);
	CHECK_INT(more.n_blobs, size.n_blobs);
	CHECK_INT(journal_blob_get(j, digest, &back, &n_back, &err), 0);
	CHECK(n_back == bytes && memcmp(back, big, bytes) == 0);
	free(back);
	CHECK(journal_blob_put(j, big, JOURNAL_BLOB_MAX + 1UL, again, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK_INT(journal_blob_put(j, NULL, 0, again, &err), 0);
	CHECK_INT(journal_blob_get(j, again, &back, &n_back, &err), 0);
	CHECK_INT(n_back, 0);
	free(back);
	again[0] = again[0] == '0' ? '1' : '0';
	CHECK(journal_blob_get(j, again, &back, &n_back, &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	CHECK(journal_blob_get(j, "zz", &back, &n_back, &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	CHECK_INT(verify(j), 0);
	free(big);
}

/* In another process: the same one, too, but that is how it happens. */
TEST(two_engines_on_one_directory)
{
	SHELF;
	char want[32];
	JOURNAL j = shelf_open(dir);
	pid_t child = fork();
	if (child == 0) {
		struct journal *k = NULL;
		int r = journal_open(&k, dir, &err);
		snprintf(want, sizeof want, "process %d ", getppid());
		_exit(r < 0 && !k && err.code == ERR_LIMIT && strstr(err.msg, want) && err.hint[0]
				? 0
				: 1);
	}
	int status = -1;
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
}

static void poke(const char *dir, const char *name, off_t at, const void *data, size_t bytes)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_RDWR);
	CHECK(fd >= 0 && pwrite(fd, data, bytes, at) == (ssize_t)bytes);
	(void)close(fd);
}

/* What an engine that is gone has left there, or a copy: the lock is somebody's else. */
TEST(who_does_not_hold_the_lock_is_not_named)
{
	SHELF;
	struct journal *other = NULL;
	JOURNAL j = shelf_open(dir);
	poke(dir, "journal.lock", 0, "1\n       ", 9);
	if (!CHECK(journal_open(&other, dir, &err) < 0))
		journal_close(other);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK_HAS(err.msg, "another process is using it");
	CHECK(j != NULL);
}

TEST(a_newer_version_is_told)
{
	SHELF;
	struct journal *j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	journal_close(j);
	poke(dir, "journal.db", 60, "\0\0\0\6", 4);
	CHECK(journal_open(&j, dir, &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	CHECK_HAS(err.msg, "version 6");
	CHECK_HAS(err.hint, "newer");
	poke(dir, "journal.db", 60, "\0\0\0\5", 4);
	j = shelf_open(dir);
	CHECK(j != NULL);
	journal_close(j);
}

TEST(a_file_is_a_step)
{
	SHELF;
	char at[DIGEST_BYTES] = "";
	struct journal_node node;
	struct file_step file;
	struct journal *k = shelf_open(dir);
	CHECK_INT(shelf_session(k, "s-a", ""), 0);
	CHECK_INT(shelf_step(k, "s-a", at, "a = 1", at), 0);
	CHECK_INT(shelf_file(k, "s-a", at, "a/b", "x", 1, at), 0);
	journal_close(k);
	JOURNAL j = shelf_open(dir);
	CHECK_INT(journal_node_get(j, at, &node, &err), 0);
	CHECK(file_step_is(&node));
	CHECK_INT(file_step_read(&file, &node, &err), 0);
	CHECK_STR(file.path, "a/b");
	CHECK_INT(file.size_bytes, 1);
	journal_node_done(&node);
}

TEST(what_a_file_step_must_say)
{
	static const char *const bad[] = {"", "[]", "{}", "{\"act\":\"write\",\"path\":\"a\"}",
		"{\"act\":\"remove\",\"path\":\"\"}", "{\"act\":\"remove\",\"path\":\"a\\u0000b\"}",
		"{\"act\":\"remove\",\"path\":\"a\",\"size\":1}",
		"{\"act\":\"link\",\"path\":\"a\",\"sha256\":\"\",\"size\":1}",
		"{\"act\":\"write\",\"path\":\"a\",\"sha256\":\"ab\",\"size\":1}",
		("{\"act\":\"write\",\"path\":\"a\",\"size\":-1,\"sha256\":"
		 "\"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\"}")};
	struct err err = {0};
	struct file_step file;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct journal_node node = {.record = bad[i], .record_bytes = strlen(bad[i])};
		CHECK(file_step_read(&file, &node, &err) < 0);
		CHECK_INT(err.code, ERR_DAMAGED);
	}
}

TEST(what_is_no_journal_is_told)
{
	SHELF;
	struct journal *j = NULL;
	char path[128];
	CHECK(journal_open(&j, "", &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	snprintf(path, sizeof path, "%s/journal.db", dir);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	CHECK(journal_open(&j, dir, &err) < 0); /* empty */
	CHECK_INT(err.code, ERR_DAMAGED);
	for (int i = 0; i < 100; i++)
		CHECK_INT(write(fd, "garbage, garbage, garbage, garbage\n", 35), 35);
	(void)close(fd);
	CHECK(journal_open(&j, dir, &err) < 0);
	CHECK_INT(err.code, ERR_DAMAGED);
	CHECK(j == NULL);
	snprintf(path, sizeof path, "%s/journal.db/x", dir);
	CHECK(journal_open(&j, path, &err) < 0); /* below a file */
	CHECK_INT(err.code, ERR_ACCESS);
}

TEST(a_database_that_is_gone_is_not_made_anew)
{
	SHELF;
	char path[128], digest[DIGEST_BYTES];
	struct journal *j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	CHECK_INT(shelf_step(j, "s-a", "", "1", digest), 0);
	journal_close(j);
	snprintf(path, sizeof path, "%s/journal.db", dir);
	CHECK_INT(unlink(path), 0);
	CHECK(journal_open(&j, dir, &err) < 0);
	CHECK_INT(err.code, ERR_DAMAGED);
	CHECK_HAS(err.msg, "gone");
}

/* The same of the log alone; but what it had can be brought to the database before that is told. */
TEST(a_log_that_goes_under_an_engine)
{
	SHELF;
	char path[128], command[256], first[DIGEST_BYTES], digest[DIGEST_BYTES];
	struct journal *j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	CHECK_INT(shelf_step(j, "s-a", "", "1", first), 0);
	snprintf(path, sizeof path, "%s/journal.db-wal", dir);
	CHECK_INT(unlink(path), 0);
	CHECK(shelf_step(j, "s-a", first, "2", digest) < 0);
	CHECK(journal_session_rename(j, "s-a", "b", &err) < 0);
	CHECK_INT(err.code, ERR_ACCESS);
	CHECK_HAS(err.msg, "journal.db-wal: it is not there any more");
	CHECK_HAS(err.hint, "restart the engine");
	CHECK_INT(journal_depth(j, first, &err), 1);
	/* What a killed engine would leave. */
	snprintf(command, sizeof command, "cd %s && mkdir copy && cp journal.* copy", dir);
	CHECK_INT(system(command), 0);
	journal_close(j);
	snprintf(path, sizeof path, "%s/copy", dir);
	j = shelf_open(path);
	CHECK(j != NULL);
	CHECK_INT(journal_depth(j, first, &err), 1);
	CHECK_INT(shelf_step(j, "s-a", first, "2", digest), 0);
	journal_close(j);
}

/* Behind a file that is gone, or is another now, or has a part only, nothing is acknowledged. */
TEST(a_database_that_changes_under_an_engine)
{
	static const struct {
		const char *command, *told;
		enum err_code code;
	} rows[] = {
		{"mv journal.db away", "journal.db: it is not there any more", ERR_ACCESS},
		{"cp journal.db new && mv -f new journal.db",
			"journal.db: it is not there any more", ERR_ACCESS},
		{"truncate -s -4096 journal.db", "journal.db: another program truncated it",
			ERR_DAMAGED},
		{"truncate -s 0 journal.db", "journal.db: another program truncated it",
			ERR_DAMAGED},
		{"cp /dev/null journal.db", "journal.db: another program truncated it",
			ERR_DAMAGED},
	};
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		SHELF;
		char command[256], first[DIGEST_BYTES], digest[DIGEST_BYTES];
		bool is_synced = i % 2;
		struct journal *j = shelf_open(dir);
		CHECK_INT(shelf_session(j, "s-a", ""), 0);
		CHECK_INT(shelf_step(j, "s-a", "", "1", first), 0);
		if (is_synced) { /* what is in the log comes to its pages */
			journal_close(j);
			j = shelf_open(dir);
		}
		snprintf(command, sizeof command, "cd %s && %s", dir, rows[i / 2].command);
		CHECK_INT(system(command), 0);
		CHECK(shelf_step(j, "s-a", first, "2", digest) < 0);
		CHECK(journal_session_rename(j, "s-a", "b", &err) < 0);
		CHECK_INT(err.code, rows[i / 2].code);
		CHECK_HAS(err.msg, rows[i / 2].told);
		CHECK(err.hint[0]);
		journal_close(j);
	}
}

/* Behind the gap nothing would be found again: so nothing is acknowledged, and what is lost is
 * told. */
TEST(a_log_that_is_cut_under_an_engine)
{
	SHELF;
	char path[128], command[256], first[DIGEST_BYTES], digest[DIGEST_BYTES];
	struct journal *j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	CHECK_INT(journal_idle(j, &err), 0);
	CHECK_INT(shelf_step(j, "s-a", "", "1", first), 0);
	snprintf(path, sizeof path, "%s/journal.db-wal", dir);
	CHECK_INT(truncate(path, 5000), 0);
	CHECK(shelf_step(j, "s-a", first, "2", digest) < 0);
	CHECK(journal_session_rename(j, "s-a", "b", &err) < 0);
	CHECK_INT(err.code, ERR_DAMAGED);
	CHECK_HAS(err.msg, "journal.db-wal: another program truncated it");
	CHECK_HAS(err.hint, "what is lost");
	/* What a killed engine would leave. */
	snprintf(command, sizeof command, "cd %s && mkdir copy && cp journal.* copy", dir);
	CHECK_INT(system(command), 0);
	journal_close(j);
	snprintf(path, sizeof path, "%s/copy", dir);
	CHECK(journal_open(&j, path, &err) < 0);
	CHECK_INT(err.code, ERR_DAMAGED);
	CHECK_HAS(err.msg, "journal.db-wal: change 1 is incomplete: 3 changes are missing");
	CHECK_HAS(err.hint, "from a copy"); /* there is nothing that could be gone on from */
}

/* What is written to a file without a name ends with the engine: nothing is acknowledged. */
TEST(a_directory_that_goes_under_an_engine)
{
	SHELF;
	char sub[96], away[96], new[96];
	char first[DIGEST_BYTES], digest[DIGEST_BYTES];
	snprintf(sub, sizeof sub, "%s/there", dir);
	snprintf(away, sizeof away, "%s/away", dir);
	snprintf(new, sizeof new, "%s/new", dir);
	struct journal *j = shelf_open(sub);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	CHECK_INT(shelf_step(j, "s-a", "", "1", first), 0);
	CHECK_INT(rename(sub, away), 0);
	CHECK(journal_session_rename(j, "s-a", "b", &err) < 0);
	CHECK_INT(err.code, ERR_ACCESS);
	CHECK_HAS(err.msg, "there/journal.db");
	CHECK_HAS(err.hint, "move it back");
	CHECK(shelf_step(j, "s-a", first, "2", digest) < 0);
	CHECK_INT(journal_depth(j, first, &err), 1); /* what there was can be read */
	/* Another engine's, in its place. */
	struct journal *other = shelf_open(sub);
	CHECK(other != NULL);
	CHECK(shelf_step(j, "s-a", first, "2", digest) < 0);
	journal_close(other);
	CHECK_INT(rename(sub, new), 0);
	CHECK_INT(rename(away, sub), 0);
	CHECK_INT(shelf_step(j, "s-a", first, "2", digest), 0);
	journal_close(j);
}

/* As nobody, below a directory that nobody may not write. */
TEST(a_directory_that_cannot_be_written)
{
	SHELF;
	char sub[96];
	snprintf(sub, sizeof sub, "%s/there", dir);
	struct journal *j = shelf_open(sub);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	journal_close(j);
	CHECK_INT(chmod(dir, 0755), 0);
	pid_t child = fork();
	if (child == 0) {
		if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(9);
		(void)chmod(dir, 0555);
		(void)chmod(sub, 0000);
		if (journal_open(&j, sub, &err) == 0 || err.code != ERR_ACCESS || !err.hint[0])
			_exit(1);
		snprintf(sub, sizeof sub, "%s/new", dir);
		if (journal_open(&j, sub, &err) == 0 || err.code != ERR_ACCESS)
			_exit(2);
		_exit(0);
	}
	int status = -1;
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	(void)chmod(dir, 0755);
	(void)chmod(sub, 0700);
	j = shelf_open(sub);
	CHECK(j != NULL);
	journal_close(j);
}

/* The database alone may not be written: nothing of it is changed. */
TEST(a_database_that_cannot_be_written)
{
	SHELF;
	char path[128];
	struct journal *j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	journal_close(j);
	snprintf(path, sizeof path, "%s/journal.db", dir);
	CHECK_INT(chmod(dir, 0777), 0);
	CHECK_INT(chmod(path, 0444), 0);
	pid_t child = fork();
	if (child == 0) {
		snprintf(path, sizeof path, "rm -f %s/journal.lock %s/journal.head", dir, dir);
		if (system(path) != 0 ||
			(getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0)))
			_exit(9);
		int r = journal_open(&j, dir, &err);
		if (r == 0) {
			struct journal_session s = {.id = "s-b"};
			r = journal_session_add(j, &s, &err);
		}
		printf("# %s\n", err.msg);
		(void)fflush(stdout);
		_exit(r < 0 && err.code == ERR_ACCESS && err.hint[0] ? 0 : 1);
	}
	int status = -1;
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

/* Commit until nothing more can be written. Returns: how many, or -1 when it ends in another way.
 */
static int fill(struct journal *j, char last[DIGEST_BYTES])
{
	struct err err = {0};
	int n = 0;
	char *code = calloc(1, 3000);
	struct journal_node node = {.session = "s-a", .code = code, .code_bytes = 3000};
	for (; n < 20000; n++) {
		snprintf(code, 16, "%d", n);
		memcpy(node.parent, last, sizeof node.parent);
		if (journal_commit(j, &node, NULL, &err) < 0)
			break;
		memcpy(last, node.digest, sizeof node.digest);
	}
	free(code);
	printf("# %d steps, then: %s\n", n, err.msg);
	return err.code == ERR_NO_SPACE && strstr(err.hint, "free") ? n : -1;
}

static int fill_and_look(const char *dir, void (*tight)(const char *), void (*wide)(const char *))
{
	char last[DIGEST_BYTES] = "";
	struct err err = {0};
	struct journal *j = shelf_open(dir);
	struct journal_session s;
	struct journal_size size;
	if (!j || shelf_session(j, "s-a", "") < 0)
		return 1;
	tight(dir);
	int n = fill(j, last);
	if (n < 5)
		return 2;
	/* All that was said to be kept is there; and with room again it goes on. */
	if (journal_session_get(j, "s-a", &s, &err) < 0 || strcmp(s.head, last) != 0)
		return 3;
	journal_session_done(&s);
	(void)journal_idle(j, &err);
	wide(dir);
	if (shelf_step(j, "s-a", last, "on", last) != 0 || verify(j) != 0)
		return 4;
	if (journal_size(j, &size, &err) < 0 || size.n_nodes != n + 1)
		return 5;
	journal_close(j);
	j = shelf_open(dir);
	if (!j || journal_session_get(j, "s-a", &s, &err) < 0 || strcmp(s.head, last) != 0)
		return 6;
	journal_session_done(&s);
	if (verify(j) != 0)
		return 7;
	journal_close(j);
	return 0;
}

static void limit_file(const char *dir)
{
	const struct rlimit limit = {400000, RLIM_INFINITY};
	(void)dir;
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)setrlimit(RLIMIT_FSIZE, &limit);
}

static void unlimit_file(const char *dir)
{
	const struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	(void)dir;
	(void)setrlimit(RLIMIT_FSIZE, &limit);
}

static void in_child(int (*fn)(const char *), const char *dir)
{
	pid_t child = fork();
	int status = -1;
	if (child == 0) {
		int r = fn(dir);
		(void)fflush(stdout);
		_exit(r);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		t_skip("no tmpfs can be mounted here");
	else
		CHECK_INT(status, 0);
}

static int with_file_limit(const char *dir)
{
	return fill_and_look(dir, limit_file, unlimit_file);
}

TEST(a_file_that_may_not_grow)
{
	SHELF;
	in_child(with_file_limit, dir);
}

static void stuff(const char *dir)
{
	char path[128], block[4096] = "x";
	snprintf(path, sizeof path, "%s/other", dir);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	int n = 0;
	while (write(fd, block, sizeof block) == sizeof block)
		n++;
	CHECK_INT(ftruncate(fd, (off_t)(n - 200) * 4096), 0);
	(void)close(fd);
}

static void unstuff(const char *dir)
{
	char path[128];
	snprintf(path, sizeof path, "%s/other", dir);
	(void)unlink(path);
}

static void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	ssize_t n = write(fd, text, strlen(text));
	(void)n; /* then mounting fails, and the test is skipped */
	(void)close(fd);
}

/* Mounts that nobody else sees, as root or as anybody where that is allowed. */
static bool own_mounts(void)
{
	char map[32];
	snprintf(map, sizeof map, "0 %d 1", (int)getuid());
	if (unshare(CLONE_NEWNS | (getuid() ? CLONE_NEWUSER : 0)) < 0)
		return false;
	if (getuid() != 0) {
		write_to("/proc/self/setgroups", "deny");
		write_to("/proc/self/uid_map", map);
		write_to("/proc/self/gid_map", map);
	}
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static int on_full_disk(const char *dir)
{
	if (!own_mounts() || mount("tmpfs", dir, "tmpfs", 0, "size=8m") < 0)
		return 77;
	return fill_and_look(dir, stuff, unstuff);
}

TEST(a_full_disk)
{
	SHELF;
	in_child(on_full_disk, dir);
}

static int made_on_full_disk(const char *dir)
{
	struct journal *j = NULL;
	struct err err = {0};
	char path[128];
	if (on_full_disk(dir) == 77)
		return 77;
	snprintf(path, sizeof path, "%s/new", dir);
	(void)mkdir(path, 0700);
	stuff(dir);
	char other[128];
	snprintf(other, sizeof other, "%s/other", dir);
	int fd = open(other, O_WRONLY | O_APPEND);
	while (write(fd, path, sizeof path) > 0)
		;
	(void)close(fd);
	if (journal_open(&j, path, &err) == 0 || err.code != ERR_NO_SPACE || !err.hint[0]) {
		printf("# %s\n", err.msg);
		return 1;
	}
	unstuff(dir);
	j = shelf_open(path);
	return j && shelf_session(j, "s-a", "") == 0 && verify(j) == 0 ? 0 : 2;
}

TEST(a_disk_that_is_full_from_the_start)
{
	SHELF;
	in_child(made_on_full_disk, dir);
}

static int read_only(const char *dir)
{
	struct journal *j = shelf_open(dir);
	struct err err = {0};
	journal_close(j);
	if (!own_mounts() || mount(dir, dir, NULL, MS_BIND, NULL) < 0 ||
		mount(dir, dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
			NULL) < 0)
		return 77;
	int r = journal_open(&j, dir, &err);
	printf("# %s\n", err.msg);
	return r < 0 && err.code == ERR_ACCESS && strstr(err.msg, "Read-only") ? 0 : 1;
}

TEST(a_read_only_file_system)
{
	SHELF;
	in_child(read_only, dir);
}

enum { LARGE_BYTES = 1 << 20 };

struct told {
	bool has_record, has_code;
};

static int look(void *user, const struct journal_node *node, struct err *why)
{
	struct told *told = user;
	(void)why;
	told->has_record = node->record && node->record_bytes == LARGE_BYTES;
	told->has_code = node->code_bytes == 1 && node->code[0] == '1';
	return 0;
}

TEST(a_long_record_is_left_out_where_steps_are_listed)
{
	SHELF;
	JOURNAL j = shelf_open(dir);
	char *record = malloc(LARGE_BYTES);
	struct step_name name;
	struct journal_node node = {
		.code = "1", .code_bytes = 1, .record = record, .record_bytes = LARGE_BYTES};
	struct told told = {0};
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	memset(record, '1', LARGE_BYTES);
	snprintf(node.session, sizeof node.session, "s-a");
	snprintf(node.runtime, sizeof node.runtime, "python");
	snprintf(node.status, sizeof node.status, "ok");
	snprintf(node.outcome, sizeof node.outcome, "committed");
	const struct step_texts texts = {
		"", "python", {node.code, node.code_bytes}, {node.record, node.record_bytes}};
	step_name(&name, &texts);
	node.name = &name;
	CHECK_INT(journal_commit(j, &node, NULL, &err), 0);
	CHECK_STR(node.digest, name.digest);
	CHECK_INT(journal_brief(j, node.digest, 0, look, &told, &err), 1);
	CHECK(!told.has_record && told.has_code);
	CHECK_INT(journal_ancestors(j, node.digest, 0, look, &told, &err), 1);
	CHECK(told.has_record && told.has_code);
	free(record);
}

TEST(an_idle_moment_empties_the_log)
{
	SHELF;
	char last[DIGEST_BYTES] = "", code[16];
	static char large[LARGE_BYTES + 1];
	int n_full = 0;
	JOURNAL j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	CHECK_INT(journal_fill(j), 0);
	memset(large, 'x', LARGE_BYTES);
	for (int i = 0; i < 200 && (n_full == 0 || journal_fill(j) == 100); i++) {
		snprintf(large, 16, "%d", i);
		large[strlen(large)] = 'x';
		CHECK_INT(shelf_step(j, "s-a", last, large, last), 0);
		n_full += journal_fill(j) == 100;
	}
	/* It is full from 16 MiB on, and at 64 a commit has done it. */
	CHECK(n_full >= 40 && n_full < 50);
	CHECK_INT(journal_fill(j), 0);
	for (int i = 0; i < 2000 && journal_fill(j) < 50; i++) {
		snprintf(code, sizeof code, "again %d", i);
		CHECK_INT(shelf_step(j, "s-a", last, code, last), 0);
	}
	CHECK_INT(journal_fill(j), 50);
	CHECK_INT(journal_idle(j, &err), 0);
	CHECK_INT(journal_fill(j), 0);
}

TEST(a_start_of_a_name_finds_a_session)
{
	SHELF;
	char id[JOURNAL_ID_BYTES];
	JOURNAL j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-abc1", ""), 0);
	CHECK_INT(shelf_session(j, "s-abd2", ""), 0);
	CHECK_INT(journal_session_begins(j, NULL, "s-abc", id, &err), 1);
	CHECK_STR(id, "s-abc1");
	CHECK_INT(journal_session_begins(j, NULL, "s-abd2", id, &err), 1);
	CHECK_STR(id, "s-abd2");
	CHECK_INT(journal_session_begins(j, NULL, "s-ab", id, &err), 2);
	CHECK_INT(journal_session_begins(j, NULL, "s-ac", id, &err), 0);
	CHECK_INT(journal_session_begins(j, NULL, "s-abd22", id, &err), 0);
	CHECK_INT(journal_session_begins(j, NULL, "%", id, &err), 0);
	CHECK_INT(journal_session_close(j, "s-abc1", "", &err), 0);
	CHECK_INT(journal_session_begins(j, NULL, "s-ab", id, &err), 1);
	CHECK_STR(id, "s-abd2");
	CHECK_INT(journal_session_begins(j, NULL, "s-abc", id, &err), 1);
	CHECK_STR(id, "s-abc1");
}

static int count_codes(void *user, const struct journal_node *node, struct err *err)
{
	char *out = user;
	(void)err;
	(void)strncat(out, node->code, 8);
	return 0;
}

TEST(steps_are_counted_and_told_by_session)
{
	SHELF;
	char a[DIGEST_BYTES] = "", b[DIGEST_BYTES], codes[64] = "";
	JOURNAL j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	CHECK_INT(shelf_session(j, "s-b", ""), 0);
	CHECK_INT(journal_depth(j, "", &err), 0);
	CHECK_INT(shelf_step(j, "s-a", "", "1", a), 0);
	CHECK_INT(shelf_step(j, "s-a", a, "2", b), 0);
	CHECK_INT(shelf_step(j, "s-b", a, "3", b), 0);
	CHECK_INT(journal_session_move(j, "s-a", a, &err), 0);
	CHECK_INT(shelf_step(j, "s-a", a, "4", b), 0);
	CHECK_INT(journal_depth(j, a, &err), 1);
	CHECK_INT(journal_depth(j, b, &err), 2);
	CHECK_INT(journal_session_steps(j, &(struct journal_attempts){.session = "s-a"}, 0,
			  count_codes, codes, &err),
		3);
	CHECK_STR(codes, "421");
	codes[0] = '\0';
	CHECK_INT(journal_session_steps(j, &(struct journal_attempts){.session = "s-a"}, 2,
			  count_codes, codes, &err),
		2);
	CHECK_STR(codes, "42");
	CHECK_INT(journal_session_move(j, "s-a", a, &err), 0);
	CHECK_INT(shelf_step(j, "s-a", a, "4", b), 1);
	codes[0] = '\0';
	CHECK_INT(journal_session_steps(j, &(struct journal_attempts){.session = "s-a"}, 0,
			  count_codes, codes, &err),
		4);
	CHECK_STR(codes, "4421");
	CHECK(journal_session_steps(j, &(struct journal_attempts){.session = "s-c"}, 0, count_codes,
		      codes, &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	CHECK(journal_depth(j, "12", &err) < 0);
}
