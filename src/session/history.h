/* What the registry tells of sessions and their files, and runs again. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "session/registry.h"

/*
 * {"sessions": [{session, name?, parent?, runtime, state, head, steps, created_ms, …}],
 * "truncated"?}: open ones, the newest first. @before: only those that were made before that one;
 * NULL: all.
 */
struct registry_listing {
	const char *before;
	uint64_t limit;
};
void registry_list(struct registry *r, const struct registry_listing *which, registry_done_fn *done,
	void *arg);
/* How many those are, or negative errno. */
int64_t registry_count(const struct registry *r, struct err *err);
/* At once. Owns: the caller decrefs. Returns: NULL and @err. */
json_t *registry_get(struct registry *r, const char *session, struct err *err);
/*
 * {"session", "head", "steps": [{step, parent, session, runtime, status, outcome, code, …} newest
 * first], "truncated"?}: the way from the head to the first step. @is_all: also the session's steps
 * that are not on it, because they were rolled back or undone; those that are have "on_path".
 */
void registry_log(
	struct registry *r, const char *session, bool is_all, registry_done_fn *done, void *arg);
/* {"steps": [… of open sessions, newest first], "heads": [{session, name?, head}], "truncated"?} */
void registry_graph(struct registry *r, registry_done_fn *done, void *arg);
/* At once, likewise. */
json_t *registry_templates(struct registry *r, struct err *err);

/*
 * Forget closed sessions that were closed @older_ms ago or before, but for the @keep newest of
 * them: remove what nobody else has, part by part, and give the room back. {"sessions", "steps",
 * "blobs", "bytes": of the journal then}; @is_dry: only {"sessions"}, and nothing is done.
 */
struct registry_prune {
	uint64_t older_ms, keep;
	bool is_dry;
};
void registry_prune(
	struct registry *r, const struct registry_prune *which, registry_done_fn *done, void *arg);

/* Wait until the session has a box, whose files can be looked at; it may be made for that. */
void registry_await_box(struct registry *r, const char *session, registry_done_fn *done, void *arg);

/*
 * {"files": [{path, size, mime, modified_ms}]}; of a session that has a box: those in the directory
 * @path, "" for all. When there are more than are looked at it is "truncated", and has the
 * "directories" that lie directly there.
 */
json_t *registry_file_list(
	struct registry *r, const char *session, const char *path, struct err *err);
/* {"path", "content", "encoding": "utf-8" or "base64", "size", "offset"} */
struct registry_part {
	const char *session, *path;
	uint64_t offset, limit;
};
void registry_file_read(
	struct registry *r, const struct registry_part *part, registry_done_fn *done, void *arg);
/* Written and removed by the box's own init, so that the box owns what it gets. */
struct registry_file {
	const char *session, *path;
	const char *data;
	size_t bytes;
	bool is_recursive; /* removed also when it is a directory */
};
void registry_file_write(
	struct registry *r, const struct registry_file *file, registry_done_fn *done, void *arg);
void registry_file_remove(
	struct registry *r, const struct registry_file *file, registry_done_fn *done, void *arg);

/*
 * Run the steps of an exported record again in a fresh session and compare: {"outcome": "replayed"
 * or "diverged", "steps": n, "first_difference"?: {step, number, field, place, was, is}}.
 */
void registry_replay(
	struct registry *r, const char *record, size_t bytes, registry_done_fn *done, void *arg);
/* {"record"}: a session from its root to its head as text, for replay. */
void registry_export(struct registry *r, const char *session, registry_done_fn *done, void *arg);
/* Its last step: {step, parent, runtime, code, record}. At once, likewise. */
json_t *registry_head(struct registry *r, const char *session, struct err *err);
