/* Sessions with owners and lifetimes in the journal, and journals that knew neither.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/db.h"

#include "shelf.h"

#include <fcntl.h>

static int add(struct journal *j, const char *owner, const char *id, const char *name)
{
	struct err err = {0};
	struct journal_session s = {
		.order = "{}", .order_bytes = 2, .ttl_ms = 3000, .idle_ms = owner[0] ? 70 : 0};
	snprintf(s.id, sizeof s.id, "%s", id);
	snprintf(s.name, sizeof s.name, "%s", name);
	snprintf(s.owner, sizeof s.owner, "%s", owner);
	return journal_session_add(j, &s, &err);
}

static int say(void *user, const char *what, const char *why)
{
	(void)user;
	return printf("# %s: %s\n", what, why);
}

static void print(void *user, const char *what, const char *why)
{
	(void)say(user, what, why);
}

/* Which session @owner finds as @name: its id, or the word of the error. */
static const char *find(struct journal *j, const char *owner, const char *name)
{
	static char id[JOURNAL_ID_BYTES];
	struct err err = {0};
	struct journal_session s;
	if (journal_session_of(j, owner, name, &s, &err) < 0)
		return err_word(err.code);
	memcpy(id, s.id, sizeof id);
	journal_session_done(&s);
	return id;
}

TEST(what_is_anothers_is_not_there)
{
	SHELF;
	char id[JOURNAL_ID_BYTES];
	JOURNAL j = shelf_open(dir);
	CHECK_INT(add(j, "ann", "s-aaaa1", "work"), 0);
	CHECK_INT(add(j, "bob", "s-aaaa2", "work"), 0);
	CHECK_INT(add(j, "bob", "s-bbbb3", "other"), 0);
	CHECK_STR(find(j, "ann", "work"), "s-aaaa1");
	CHECK_STR(find(j, "bob", "work"), "s-aaaa2");
	CHECK_STR(find(j, "ann", "s-aaaa1"), "s-aaaa1");
	CHECK_STR(find(j, "ann", "s-aaaa2"), "not_found");
	CHECK_STR(find(j, "ann", "other"), "not_found");
	CHECK_STR(find(j, "", "work"), "not_found");
	/* Whoever runs the engine has to say which, until there is one without owner. */
	CHECK_STR(find(j, NULL, "work"), "usage");
	CHECK_STR(find(j, NULL, "other"), "s-bbbb3");
	CHECK_STR(find(j, NULL, "s-aaaa2"), "s-aaaa2");
	CHECK_INT(add(j, "", "s-cccc4", "work"), 0);
	CHECK_STR(find(j, NULL, "work"), "s-cccc4");
	CHECK_STR(find(j, "bob", "work"), "s-aaaa2");
	/* The start of an id is not made ambiguous by those of others. */
	CHECK_INT(journal_session_begins(j, "ann", "s-aaaa", id, &err), 1);
	CHECK_STR(id, "s-aaaa1");
	CHECK_INT(journal_session_begins(j, "ann", "s-bbbb", id, &err), 0);
	CHECK_INT(journal_session_begins(j, NULL, "s-aaaa", id, &err), 2);
	CHECK_INT(journal_session_count(j, "bob", &err), 2);
	CHECK_INT(journal_session_close(j, "s-bbbb3", "", &err), 0);
	CHECK_INT(journal_session_count(j, "bob", &err), 1);
	/* One owner's names are one of a kind. */
	CHECK(add(j, "ann", "s-dddd5", "work") < 0);
	CHECK_INT(journal_session_rename(j, "s-aaaa2", "mine", &err), 0);
	CHECK_INT(journal_session_rename(j, "s-aaaa1", "mine", &err), 0);
	CHECK_INT(journal_verify(j, print, NULL, &err), 0);
}

TEST(owner_and_lifetime_are_kept)
{
	SHELF;
	struct journal_session s;
	char id[JOURNAL_ID_BYTES];
	struct journal *k = shelf_open(dir);
	CHECK_INT(add(k, "ann", "s-a", "work"), 0);
	CHECK_INT(journal_session_close(k, "s-a", "idle", &err), 0);
	CHECK_INT(add(k, "", "s-b", ""), 0);
	journal_close(k);
	JOURNAL j = shelf_open(dir);
	CHECK_INT(journal_session_get(j, "s-a", &s, &err), 0);
	CHECK_STR(s.owner, "ann");
	CHECK_STR(s.ended, "idle");
	CHECK_INT(s.ttl_ms, 3000);
	CHECK_INT(s.idle_ms, 70);
	CHECK(s.closed_ms > 0);
	/* What lived too long is still known by its name, to its owner. */
	CHECK_INT(journal_session_ended(j, "ann", "work", id, &err), 1);
	CHECK_STR(id, "s-a");
	CHECK_INT(journal_session_ended(j, NULL, "work", id, &err), 1);
	CHECK_INT(journal_session_ended(j, "bob", "work", id, &err), 0);
	journal_session_done(&s);
	CHECK_INT(journal_session_get(j, "s-b", &s, &err), 0);
	CHECK_INT(s.ttl_ms, 3000);
	CHECK_STR(s.ended, "");
	journal_session_done(&s);
	CHECK_INT(journal_verify(j, print, NULL, &err), 0);
}

/* Make of the journal what retort made before there were owners, or taints. */
static void make_old(const char *dir, int version)
{
	char text[512];
	struct journal *j = shelf_open(dir);
	CHECK_INT(sqlite3_exec(j->db,
			  "DROP TABLE account; DROP INDEX change_session; DROP INDEX change_blob;"
			  "DROP INDEX session_fork; DROP INDEX session_forgotten;"
			  "ALTER TABLE session DROP COLUMN forgotten",
			  NULL, NULL, NULL),
		SQLITE_OK);
	if (version < 4)
		CHECK_INT(sqlite3_exec(j->db, "ALTER TABLE session DROP COLUMN tainted", NULL, NULL,
				  NULL),
			SQLITE_OK);
	if (version >= 3)
		snprintf(text, sizeof text, "PRAGMA user_version = %d", version);
	else
		snprintf(text, sizeof text,
			"BEGIN; DROP INDEX session_name; DROP INDEX session_owner; DROP INDEX session_ended; DROP INDEX change_again;"
			"ALTER TABLE session DROP COLUMN owner; ALTER TABLE session DROP COLUMN ttl_ms;"
			"ALTER TABLE session DROP COLUMN idle_ms; ALTER TABLE session DROP COLUMN ended;"
			"CREATE UNIQUE INDEX session_name ON session (name)"
			" WHERE closed_ms = 0 AND name <> '';"
			"PRAGMA user_version = %d; COMMIT;",
			version);
	CHECK_INT(sqlite3_exec(j->db, text, NULL, NULL, NULL), SQLITE_OK);
	journal_close(j);
}

static int version_of(const char *dir)
{
	unsigned char version[4] = {0};
	char path[128];
	snprintf(path, sizeof path, "%s/journal.db", dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && pread(fd, version, sizeof version, 60) == sizeof version);
	(void)close(fd);
	return version[3];
}

TEST(an_older_journal_is_read_and_made_new)
{
	for (int version = 1; version <= 4; version++) {
		SHELF;
		char at[DIGEST_BYTES] = "";
		struct journal_session s;
		struct journal *k = shelf_open(dir);
		CHECK_INT(shelf_session(k, "s-old", "work"), 0);
		CHECK_INT(shelf_step(k, "s-old", at, "a = 1", at), 0);
		journal_close(k);
		make_old(dir, version);
		CHECK_INT(version_of(dir), version);
		for (int i = 0; i < 2; i++) {
			JOURNAL j = shelf_open(dir);
			CHECK(j != NULL);
			/* An older retort that finds it now says that it is too old. */
			CHECK_INT(version_of(dir), 5);
			CHECK_INT(journal_session_get(j, "work", &s, &err), 0);
			CHECK_STR(s.id, "s-old");
			CHECK_STR(s.head, at);
			CHECK_STR(s.owner, "");
			CHECK_INT(s.ttl_ms + s.idle_ms, 0);
			CHECK_INT(s.is_tainted, i);
			journal_session_done(&s);
			CHECK_INT(add(j, "ann", i ? "s-two" : "s-one", i ? "more" : "work"), 0);
			CHECK_INT(shelf_step(j, "s-old", at, "a + 1", at), 0);
			CHECK_INT(journal_session_taint(j, "s-old", &err), 0);
			CHECK_INT(journal_verify(j, print, NULL, &err), 0);
		}
	}
}

TEST(an_owner_that_was_changed_is_noticed)
{
	SHELF;
	struct journal_session s;
	struct journal *k = shelf_open(dir);
	CHECK_INT(add(k, "ann", "s-a", ""), 0);
	CHECK_INT(sqlite3_exec(k->db, "UPDATE session SET owner = 'bob'", NULL, NULL, NULL),
		SQLITE_OK);
	journal_close(k);
	JOURNAL j = shelf_open(dir);
	CHECK(journal_session_get(j, "s-a", &s, &err) < 0);
	CHECK_INT(err.code, ERR_DAMAGED);
}

static bool is_tainted(struct journal *j, const char *id)
{
	struct err err = {0};
	struct journal_session s;
	CHECK_INT(journal_session_get(j, id, &s, &err), 0);
	bool is_so = s.is_tainted;
	journal_session_done(&s);
	return is_so;
}

/* Wherever the head moves, and whatever else of it changes. */
TEST(a_taint_stays)
{
	SHELF;
	char at[DIGEST_BYTES] = "";
	struct journal *k = shelf_open(dir);
	CHECK_INT(add(k, "", "s-a", "plain"), 0);
	CHECK_INT(add(k, "ann", "s-b", "work"), 0);
	CHECK_INT(shelf_step(k, "s-b", "", "1", at), 0);
	for (int i = 0; i < 2; i++)
		CHECK_INT(journal_session_taint(k, "s-b", &err), 0);
	CHECK_INT(journal_session_move(k, "s-b", "", &err), 0);
	CHECK_INT(journal_session_rename(k, "s-b", "other", &err), 0);
	CHECK(journal_session_taint(k, "s-none", &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	journal_close(k);
	JOURNAL j = shelf_open(dir);
	CHECK(!is_tainted(j, "s-a"));
	CHECK(is_tainted(j, "s-b"));
	struct journal_session branch = {
		.id = "s-c", .parent = "s-b", .is_tainted = true, .order = "{}", .order_bytes = 2};
	CHECK_INT(journal_session_add(j, &branch, &err), 0);
	CHECK(is_tainted(j, "s-c"));
	CHECK_INT(journal_session_close(j, "s-b", "", &err), 0);
	CHECK(is_tainted(j, "s-b"));
	CHECK(journal_session_taint(j, "s-b", &err) == 0);
	CHECK_INT(journal_verify(j, print, NULL, &err), 0);
}

TEST(a_taint_that_was_removed_is_noticed)
{
	for (int owned = 0; owned < 2; owned++) {
		SHELF;
		struct journal_session s;
		struct journal *k = shelf_open(dir);
		CHECK_INT(add(k, owned ? "ann" : "", "s-a", ""), 0);
		CHECK_INT(journal_session_taint(k, "s-a", &err), 0);
		CHECK_INT(sqlite3_exec(k->db, "UPDATE session SET tainted = 0", NULL, NULL, NULL),
			SQLITE_OK);
		journal_close(k);
		JOURNAL j = shelf_open(dir);
		CHECK(journal_session_get(j, "s-a", &s, &err) < 0);
		CHECK_INT(err.code, ERR_DAMAGED);
	}
}
