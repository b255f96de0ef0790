/* A byte that changed is noticed and named. SPDX-License-Identifier: Apache-2.0 */
#include "shelf.h"
#include "store/page.h"
#include "store/seal.h"

#include <fcntl.h>
#include <sqlite3.h>

enum { N_STEPS = 40, LARGE_BYTES = 9000, NAMED_MAX = 64 };

struct bytes {
	unsigned char *data;
	size_t n;
};

static void path_of(char out[128], const char *dir, const char *name)
{
	snprintf(out, 128, "%s/%s", dir, name);
}

static struct bytes load(const char *dir, const char *name)
{
	char path[128];
	struct stat st;
	struct bytes b = {0};
	path_of(path, dir, name);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return b;
	b.data = malloc((size_t)st.st_size + 1);
	b.n = (size_t)read(fd, b.data, (size_t)st.st_size);
	(void)close(fd);
	return b;
}

static void store(const char *dir, const char *name, const struct bytes *b)
{
	char path[128];
	path_of(path, dir, name);
	(void)unlink(path);
	if (!b->data)
		return;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(write(fd, b->data, b->n) == (ssize_t)b->n);
	(void)close(fd);
}

/* The files of a journal as they were once, to be put back again and again. */
static const char *const names[] = {"journal.db", "journal.db-wal", "journal.head"};
enum { DB, WAL, HEAD, FILES };
struct picture {
	struct bytes file[FILES];
};

static struct picture take(const char *dir)
{
	struct picture p;
	for (int i = 0; i < FILES; i++)
		p.file[i] = load(dir, names[i]);
	return p;
}

static void put(const char *dir, const struct picture *p)
{
	for (int i = 0; i < FILES; i++)
		store(dir, names[i], &p->file[i]);
}

static void picture_done(struct picture *p)
{
	for (int i = 0; i < FILES; i++)
		free(p->file[i].data);
}

/* Two sessions, branched and undone, small and large texts. */
static void build(struct journal *j)
{
	struct err err = {0};
	char at[DIGEST_BYTES] = "", code[LARGE_BYTES + 1], blob[DIGEST_BYTES];
	CHECK_INT(shelf_session(j, "s-a", "one"), 0);
	for (int i = 0; i < N_STEPS; i++) {
		size_t n = i % 8 == 7 ? LARGE_BYTES : 20;
		memset(code, 'a' + i % 20, n);
		code[n] = '\0';
		code[0] = (char)('A' + i);
		CHECK_INT(shelf_step(j, "s-a", at, code, at), 0);
		if (i == 20) {
			struct journal_session s = {.id = "s-b", .name = "two", .parent = "s-a"};
			memcpy(s.fork, at, sizeof at);
			CHECK_INT(journal_session_add(j, &s, &err), 0);
		}
	}
	CHECK_INT(journal_session_move(j, "s-a", at, &err), 0);
	CHECK_INT(journal_session_rename(j, "s-b", "three", &err), 0);
	CHECK_INT(journal_blob_put(j, code, 5000, blob, &err), 0);
}

struct content {
	struct journal_node_list {
		char digest[DIGEST_BYTES];
	} step[N_STEPS];
	int n_steps;
	char text[1 << 16]; /* everything that is told of steps and sessions */
	size_t n;
};

static void add_text(struct content *c, const char *text)
{
	c->n += (size_t)snprintf(c->text + c->n, sizeof c->text - c->n, "%s|", text);
	if (c->n > sizeof c->text - 1)
		c->n = sizeof c->text - 1;
}

static int on_node(void *user, const struct journal_node *n, struct err *err)
{
	char numbers[64];
	(void)err;
	add_text(user, n->digest);
	add_text(user, n->parent);
	add_text(user, n->session);
	add_text(user, n->status);
	add_text(user, n->outcome);
	add_text(user, n->extra);
	snprintf(numbers, sizeof numbers, "%lld %lld %zu", (long long)n->seq,
		(long long)n->created_ms, n->code_bytes);
	add_text(user, numbers);
	return 0;
}

static int on_session(void *user, const struct journal_session *s, struct err *err)
{
	(void)err;
	add_text(user, s->id);
	add_text(user, s->name);
	add_text(user, s->parent);
	add_text(user, s->fork);
	add_text(user, s->head);
	add_text(user, s->order);
	return 0;
}

/* Read what a session layer reads. Returns: 0, or -1 when the journal says that it is damaged. */
static int read_all(struct journal *j, struct content *c, struct err *err)
{
	struct journal_session s;
	c->n = 0;
	if (journal_sessions(j, on_session, c, err) < 0 ||
		journal_session_get(j, "one", &s, err) < 0)
		return -1;
	int64_t n = journal_ancestors(j, s.head, 0, on_node, c, err);
	journal_session_done(&s);
	return n < 0 || journal_children(j, "", 0, on_node, c, err) < 0 ? -1 : 0;
}

struct named {
	char text[NAMED_MAX][128];
	int n;
};

static void on_damage(void *user, const char *what, const char *why)
{
	struct named *n = user;
	if (n->n < NAMED_MAX)
		snprintf(n->text[n->n++], 128, "%s: %.50s", what, why);
}

static bool has_named(const struct named *n, const char *what)
{
	for (int i = 0; i < n->n; i++)
		if (strstr(n->text[i], what))
			return true;
	for (int i = 0; i < n->n; i++)
		printf("# instead of %s: %s\n", what, n->text[i]);
	return false;
}

enum seen { SEEN_BY_OPEN = 1, SEEN_BY_READ = 2, SEEN_BY_VERIFY = 4, WRONG_ANSWER = 8 };

static unsigned look(const char *dir, const struct content *want, struct named *named)
{
	static struct content got;
	struct err err = {0};
	struct journal *j = NULL;
	unsigned seen = 0;
	named->n = 0;
	if (journal_open(&j, dir, &err) < 0) {
		on_damage(named, "open", err.msg);
		return err.code == ERR_DAMAGED || err.code == ERR_USAGE ? SEEN_BY_OPEN
									: WRONG_ANSWER;
	}
	if (read_all(j, &got, &err) < 0)
		seen |= err.code == ERR_DAMAGED ? SEEN_BY_READ
						: WRONG_ANSWER; /* "not found" is one */
	else if (got.n != want->n || memcmp(got.text, want->text, want->n) != 0)
		seen |= WRONG_ANSWER;
	int64_t n = journal_verify(j, on_damage, named, &err);
	if (n != 0)
		seen |= SEEN_BY_VERIFY;
	journal_close(j);
	return seen;
}

/* Reproducible: a failure is told with its offset, and comes again. */
static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* The n-th place to change: every kind of place in a page, then anywhere. */
static size_t place(size_t n, size_t bytes, uint32_t *state)
{
	static const size_t kinds[] = {0, 1, 3, 5, 7, 8, 9, 12, 16, 18, 19, 20, 21, 24, 28, 31, 36,
		44, 47, 52, 56, 60, 64, 68, 92, 96, 100, 101, 103, 105, 107, 108, 109, 2000, 4000,
		4079, 4080, 4095};
	size_t n_pages = bytes / PAGE_BYTES;
	if (n < n_pages * ARRAY_LEN(kinds))
		return n / ARRAY_LEN(kinds) * PAGE_BYTES + kinds[n % ARRAY_LEN(kinds)];
	return random_next(state) % bytes;
}

TEST(every_changed_byte_of_the_database_is_noticed)
{
	SHELF;
	static struct content want;
	struct named named;
	uint32_t state = 1;
	unsigned n_by[16] = {0}, n_bad = 0;
	struct journal *j = shelf_open(dir);
	build(j);
	CHECK_INT(read_all(j, &want, &err), 0);
	journal_close(j);
	cleanup(picture_done) struct picture p = take(dir);
	CHECK(p.file[DB].n > 10 * PAGE_BYTES && !p.file[WAL].data);
	CHECK_INT(look(dir, &want, &named), 0);
	for (size_t i = 0; i < 3000 && n_bad < 5; i++) {
		size_t at = place(i, p.file[DB].n, &state);
		unsigned char was = p.file[DB].data[at];
		p.file[DB].data[at] ^=
			(unsigned char)(i % 3 ? 1U << random_next(&state) % 8 : 0xff);
		put(dir, &p);
		unsigned seen = look(dir, &want, &named);
		n_by[seen]++;
		if (seen == 0 || seen & WRONG_ANSWER) {
			n_bad++;
			printf("# byte %zu from %02x to %02x: seen %u\n", at, was,
				p.file[DB].data[at], seen);
		}
		CHECK(named.n > 0);
		p.file[DB].data[at] = was;
	}
	CHECK_INT(n_bad, 0);
	printf("# noticed by open %u, by reading %u, by verify alone %u\n", n_by[SEEN_BY_OPEN],
		n_by[SEEN_BY_READ] + n_by[SEEN_BY_READ | SEEN_BY_VERIFY], n_by[SEEN_BY_VERIFY]);
	put(dir, &p);
	CHECK_INT(look(dir, &want, &named), 0);
}

/* As kill -9 leaves it: the last steps are in the write-ahead log. */
TEST(every_changed_byte_after_a_crash_is_noticed)
{
	SHELF;
	static struct content want;
	struct named named;
	uint32_t state = 7;
	unsigned n_bad = 0, n_same = 0;
	struct journal *j = shelf_open(dir);
	build(j);
	CHECK_INT(read_all(j, &want, &err), 0);
	cleanup(picture_done) struct picture p = take(dir);
	journal_close(j);
	CHECK(p.file[WAL].n > 10 * PAGE_BYTES);
	put(dir, &p);
	CHECK_INT(look(dir, &want, &named), 0);
	for (size_t i = 0; i < 1500 && n_bad < 5; i++) {
		struct bytes *f = &p.file[i % 8 == 0 ? HEAD : WAL];
		size_t at = i < 300 ? i * f->n / 300 : random_next(&state) % f->n;
		unsigned char was = f->data[at];
		f->data[at] ^= (unsigned char)(1U << random_next(&state) % 8);
		put(dir, &p);
		unsigned seen = look(dir, &want, &named);
		/* An older copy of a page that is there again later may change. */
		n_same += seen == 0;
		if (seen & WRONG_ANSWER) {
			n_bad++;
			printf("# byte %zu of %s: seen %u\n", at,
				f == &p.file[WAL] ? "wal" : "head", seen);
		}
		f->data[at] = was;
	}
	CHECK_INT(n_bad, 0);
	printf("# %u of 1500 changed nothing that is read\n", n_same);
	CHECK(n_same < 50);
}

/* Nothing of what a failed opening saw is touched: put right again, all is there. */
TEST(a_failed_opening_loses_nothing)
{
	SHELF;
	static struct content want;
	struct named named;
	struct journal *j = shelf_open(dir);
	build(j);
	CHECK_INT(read_all(j, &want, &err), 0);
	cleanup(picture_done) struct picture p = take(dir);
	journal_close(j);
	for (size_t at = 0; at < 64; at++) {
		p.file[WAL].data[at] ^= 0x10;
		put(dir, &p);
		p.file[WAL].data[at] ^= 0x10;
		CHECK_INT(look(dir, &want, &named), SEEN_BY_OPEN);
		struct bytes after = load(dir, "journal.db-wal");
		CHECK_INT(after.n, p.file[WAL].n);
		store(dir, "journal.db-wal", &p.file[WAL]);
		free(after.data);
		CHECK_INT(look(dir, &want, &named), 0);
	}
}

TEST(a_file_that_was_cut_is_noticed)
{
	SHELF;
	static struct content want;
	struct named named;
	struct journal *j = shelf_open(dir);
	build(j);
	CHECK_INT(read_all(j, &want, &err), 0);
	cleanup(picture_done) struct picture crashed = take(dir);
	journal_close(j);
	cleanup(picture_done) struct picture closed = take(dir);
	struct picture *const both[] = {&closed, &crashed};
	for (int k = 0; k < 2; k++) {
		struct bytes *f = &both[k]->file[k == 0 ? DB : WAL];
		size_t whole = f->n;
		for (size_t i = 0; i < 300; i++) {
			f->n = i < 100 ? whole - 1 - i : i * whole / 300;
			put(dir, both[k]);
			unsigned seen = look(dir, &want, &named);
			if (seen == 0 || seen & WRONG_ANSWER)
				printf("# %s cut to %zu of %zu: seen %u\n", names[k], f->n, whole,
					seen);
			CHECK(seen != 0 && !(seen & WRONG_ANSWER));
		}
		f->n = whole;
	}
}

/* Change rows with SQL and right page checksums, as nobody should: rows have seals of their own. */
static void edit(const char *dir, const char *sql)
{
	char path[128], *why = NULL;
	struct page_vfs vfs;
	sqlite3 *db = NULL;
	path_of(path, dir, "journal.db");
	CHECK_INT(page_vfs_init(&vfs), 0);
	CHECK_INT(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, vfs.name), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, &why), SQLITE_OK);
	if (why)
		printf("# %s\n", why);
	CHECK_INT(sqlite3_close(db), SQLITE_OK);
	page_vfs_done(&vfs);
}

static const struct {
	const char *sql, *named;
} edits[] = {
	{"UPDATE node SET code = 'x' WHERE seq = 3", "step "},
	{"UPDATE node SET record = 'x' WHERE seq = 3", "step "},
	{"UPDATE node SET extra = 'x' WHERE seq = 3", "step "},
	{"UPDATE node SET status = 'error' WHERE seq = 3", "step "},
	{"UPDATE node SET outcome = 'lost' WHERE seq = 3", "step "},
	{"UPDATE node SET created_ms = 5 WHERE seq = 3", "step "},
	{"UPDATE node SET session = 2 WHERE seq = 3", "step "},
	{"UPDATE node SET parent_seq = 1 WHERE seq = 3", "step "},
	{"UPDATE node SET parent = (SELECT digest FROM node WHERE seq = 1) WHERE seq = 3", "step "},
	{"UPDATE node SET digest = zeroblob(32) WHERE seq = 3", "step "},
	{"UPDATE node SET digest = x'00' WHERE seq = 3", "step "},
	{"UPDATE node SET seq = 999 WHERE seq = 3", "step "},
	{"UPDATE node SET large = 1 WHERE seq = 3", "step "},
	{"UPDATE node SET seal = NULL WHERE seq = 3", "step "},
	{"DELETE FROM node WHERE seq = 3", "step "},
	{"DELETE FROM node WHERE seq = 40", "step "},
	{"DELETE FROM node", "step "},
	{"UPDATE blob SET data = 'x' WHERE id = 2", "blob "},
	{"DELETE FROM blob WHERE id = 2", "blob "},
	{"UPDATE session SET head = (SELECT fork FROM session WHERE n = 2) WHERE n = 1",
		"session s-a"},
	{"UPDATE session SET name = 'x' WHERE n = 2", "session s-b"},
	{"UPDATE session SET id = 's-c' WHERE n = 2", "session s-c"},
	{"UPDATE session SET closed_ms = 1 WHERE n = 2", "session s-b"},
	{"UPDATE session SET parent = '' WHERE n = 2", "session s-b"},
	{"DELETE FROM session WHERE n = 2", "session number 2"},
	{"DELETE FROM session", "session number 1"},
	{"UPDATE change SET at_ms = at_ms + 1 WHERE seq = 5", "change 5"},
	{"UPDATE change SET kind = 2 WHERE seq = 5", "change 5"},
	{"UPDATE change SET digest = zeroblob(32) WHERE seq = 5", "change 5"},
	{"UPDATE change SET seal = zeroblob(16) WHERE seq = 5", "change 5"},
	{"DELETE FROM change WHERE seq = 5", "change 5"},
	{"DELETE FROM change WHERE seq = (SELECT max(seq) FROM change)", "open"},
	{"DELETE FROM change", "open"},
	{"UPDATE change SET chain = zeroblob(32) WHERE seq = (SELECT max(seq) FROM change)",
		"open"},
};

TEST(every_changed_row_is_noticed_and_named)
{
	SHELF;
	static struct content want;
	struct named named;
	struct journal *j = shelf_open(dir);
	build(j);
	CHECK_INT(read_all(j, &want, &err), 0);
	journal_close(j);
	cleanup(picture_done) struct picture p = take(dir);
	edit(dir, "UPDATE node SET status = status");
	CHECK_INT(look(dir, &want, &named), 0); /* editing as such is not what is noticed */
	for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
		put(dir, &p);
		edit(dir, edits[i].sql);
		unsigned seen = look(dir, &want, &named);
		bool is_seen = CHECK((seen & ~(unsigned)WRONG_ANSWER) != 0);
		if (!CHECK(has_named(&named, edits[i].named)) || !is_seen)
			printf("# after %s\n", edits[i].sql);
	}
}

/* An older database beside what was said since: some steps are missing. */
TEST(an_older_copy_is_noticed)
{
	SHELF;
	struct named named;
	static struct content want;
	char digest[DIGEST_BYTES];
	struct journal *j = shelf_open(dir);
	build(j);
	journal_close(j);
	struct picture old = take(dir);
	j = shelf_open(dir);
	CHECK_INT(read_all(j, &want, &err), 0);
	CHECK_INT(shelf_step(j, "s-b", "", "more", digest), 0);
	journal_close(j);
	store(dir, "journal.db", &old.file[DB]);
	CHECK_INT(look(dir, &want, &named), SEEN_BY_OPEN);
	CHECK(has_named(&named, "it ends with change "));
	char path[128];
	path_of(path, dir, "journal.head");
	CHECK_INT(unlink(path), 0); /* what the hint says */
	CHECK_INT(look(dir, &want, &named), 0);
	picture_done(&old);
}

/* Write journal.head as the machine's last start would have left it. */
static void other_boot(const char *dir)
{
	unsigned char sum[SEAL_BYTES];
	struct seal s;
	struct bytes head = load(dir, "journal.head");
	size_t body = head.n - 2 * SEAL_BYTES - 1;
	memset(head.data + 14, 'x', 36);
	head.data[head.n] = '\0';
	seal_begin(&s, "retort.head.1", sizeof sum);
	seal_bytes(&s, head.data, body);
	seal_end(&s, sum);
	(void)sodium_bin2hex((char *)head.data + body, 2 * SEAL_BYTES + 1, sum, sizeof sum);
	head.data[head.n - 1] = '\n';
	store(dir, "journal.head", &head);
	free(head.data);
}

/* Another start of the machine, and nothing synced: power was lost, and that is told. */
TEST(what_a_loss_of_power_took_is_counted)
{
	SHELF;
	char digest[DIGEST_BYTES], path[128];
	struct journal_size size;
	struct journal *j = shelf_open(dir);
	build(j);
	journal_close(j);
	j = shelf_open(dir);
	CHECK_INT(shelf_step(j, "s-b", "", "more", digest), 0);
	CHECK_INT(shelf_step(j, "s-b", digest, "more", digest), 0);
	struct picture p = take(dir);
	journal_close(j);
	put(dir, &p);
	picture_done(&p);
	path_of(path, dir, "journal.db-wal");
	CHECK_INT(unlink(path), 0);
	if (!CHECK(journal_open(&j, dir, &err) < 0))
		journal_close(j);
	CHECK_INT(err.code, ERR_DAMAGED);
	/* The checksum of journal.head depends on the boot id: make one by hand. */
	other_boot(dir);
	JOURNAL k = shelf_open(dir);
	if (!CHECK(k != NULL))
		return;
	CHECK_INT(journal_size(k, &size, &err), 0);
	CHECK_INT(size.n_lost, 2);
	CHECK_INT(size.n_nodes, N_STEPS);
}
