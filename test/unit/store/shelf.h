/* Journals for tests: in a directory of their own that is gone afterwards. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "store/export.h"
#include "store/file_step.h"
#include "store/journal.h"

#include "t.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Below /dev/shm or /tmp; removed by shelf_done(). */
static inline void shelf_init(char dir[64])
{
	snprintf(dir, 64, "%s/retort-shelf-XXXXXX",
		access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(dir))
		abort();
}

static inline void shelf_done(char (*dir)[64])
{
	char command[96];
	snprintf(command, sizeof command, "rm -rf '%s'", *dir);
	if (system(command) != 0)
		abort();
}

/* A directory for the time of a test, and an error to look at. */
#define SHELF                                                                                      \
	attr_unused struct err err = {0};                                                          \
	cleanup(shelf_done) char dir[64];                                                          \
	shelf_init(dir)

static inline struct journal *shelf_open(const char *dir)
{
	struct err err = {0};
	struct journal *j = NULL;
	if (journal_open(&j, dir, &err) < 0)
		printf("# open: %s\n", err.msg);
	return j;
}

static inline void shelf_close(struct journal **j)
{
	journal_close(*j);
}
#define JOURNAL cleanup(shelf_close) struct journal *

static inline int shelf_session(struct journal *j, const char *id, const char *name)
{
	struct err err = {0};
	struct journal_session s = {.order = "{\"order\":1}", .order_bytes = 11};
	snprintf(s.id, sizeof s.id, "%s", id);
	snprintf(s.name, sizeof s.name, "%s", name);
	int r = journal_session_add(j, &s, &err);
	if (r < 0)
		printf("# add session: %s\n", err.msg);
	return r;
}

/* A step behind @parent; its digest goes to @digest, which may be @parent. */
static inline int shelf_record(struct journal *j, const char *session, const char *parent,
	const char *code, const char *record, char digest[DIGEST_BYTES])
{
	struct err err = {0};
	struct journal_node n = {.code = code,
		.code_bytes = strlen(code),
		.record = record,
		.record_bytes = strlen(record),
		.extra = "{\"wall_ms\":1.5}",
		.extra_bytes = 15};
	snprintf(n.session, sizeof n.session, "%s", session);
	snprintf(n.parent, sizeof n.parent, "%s", parent);
	snprintf(n.runtime, sizeof n.runtime, "python");
	snprintf(n.status, sizeof n.status, "ok");
	snprintf(n.outcome, sizeof n.outcome, "committed");
	int r = journal_commit(j, &n, NULL, &err);
	if (r < 0)
		printf("# commit: %s\n", err.msg);
	memcpy(digest, n.digest, DIGEST_BYTES);
	return r;
}

static inline int shelf_step(struct journal *j, const char *session, const char *parent,
	const char *code, char digest[DIGEST_BYTES])
{
	return shelf_record(
		j, session, parent, code, "{\"status\":\"ok\",\"stdout\":\"42\\n\"}", digest);
}

/* A step that called a tool twice and was answered @answer once. */
static inline int shelf_calls(struct journal *j, const char *session, const char *parent,
	const char *answer, char digest[DIGEST_BYTES])
{
	struct err err = {0};
	char record[512], blob[DIGEST_BYTES];
	if (journal_blob_put(j, answer, strlen(answer), blob, &err) < 0)
		printf("# blob: %s\n", err.msg);
	snprintf(record, sizeof record,
		"{\"calls\":[{\"answer\":\"%s\",\"arguments\":\"%s\",\"name\":\"a.b\"},"
		"{\"arguments\":\"%s\",\"name\":\"a.c\"}],\"status\":\"ok\"}",
		blob, blob, blob);
	return shelf_record(j, session, parent, "a.b()", record, digest);
}

/* A file that was written, as a step behind @parent. */
static inline int shelf_file(struct journal *j, const char *session, const char *parent,
	const char *path, const void *data, size_t bytes, char digest[DIGEST_BYTES])
{
	struct err err = {0};
	struct file_step file = {.size_bytes = bytes};
	struct journal_node n = {0};
	char *text = NULL;
	snprintf(file.path, sizeof file.path, "%s", path);
	snprintf(n.session, sizeof n.session, "%s", session);
	snprintf(n.parent, sizeof n.parent, "%s", parent);
	int r = journal_blob_put(j, data, bytes, file.digest, &err);
	if (r >= 0)
		r = file_step_write(&file, &n, &text, &err);
	if (r >= 0)
		r = journal_commit(j, &n, NULL, &err);
	if (r < 0)
		printf("# file: %s\n", err.msg);
	memcpy(digest, n.digest, sizeof n.digest);
	free(text);
	return r;
}

/* Write the record of a session, up to @digest or its head. */
static inline int shelf_export(
	struct journal *j, const char *session, const char *digest, FILE *to, struct err *err)
{
	struct journal_export *x = NULL;
	size_t bytes = 0;
	int r = journal_export_begin(&x, j, session, digest, err);
	if (r < 0)
		return r;
	while ((r = journal_export_part(x, err)) > 0)
		if (r == EXPORT_AWAY)
			journal_export_away(x);
	char *text = r == 0 ? journal_export_take(x, &bytes) : NULL;
	if (text && fwrite(text, 1, bytes, to) != bytes)
		r = -1;
	free(text);
	journal_export_done(x);
	return r == 0 && (fflush(to) == EOF || bytes == 0) ? -1 : r;
}
