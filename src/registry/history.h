/* Queries about sessions: lists, logs, graphs, records; also pruning and the replay of records.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"

/*
 * {"sessions": [{session, name?, parent?, runtime, state, head, steps, created_ms, …}],
 * "truncated"?}: open sessions, newest first. @before: only sessions that were made before this
 * one; NULL: all.
 */
struct registry_listing {
	const char *before;
	uint64_t limit;
};
void registry_list(struct registry *r, const struct registry_listing *which, registry_done_fn *done,
	void *arg);
/* Count the open sessions that the owner of @r sees. Returns: their number, or negative errno. */
int64_t registry_count(const struct registry *r, struct err *err);
/* Find the id of @session, and the default runtime of its steps. */
enum { REGISTRY_ID_BYTES = 32 };
struct registry_identity {
	char session[REGISTRY_ID_BYTES]; /* the session's id */
	char runtime[16];
};
int registry_identify(
	struct registry *r, const char *session, struct registry_identity *out, struct err *err);
/* Describe a session, without waiting in its queue. Owns: the caller decrefs. Returns: NULL and
 * @err on failure. */
json_t *registry_get(struct registry *r, const char *session, struct err *err);
/*
 * {"session", "head", "steps": [{step, parent, session, runtime, status, outcome, code, …} newest
 * first], "truncated"?}: the path from the head to the first step. @is_all: also steps of the
 * session that are not on the path, because they were rolled back or undone; steps on the path then
 * have "on_path".
 */
void registry_log(
	struct registry *r, const char *session, bool is_all, registry_done_fn *done, void *arg);
/* Result: {"steps": [… of open sessions, newest first], "heads": [{session, name?, head}],
 * "truncated"?} */
void registry_graph(struct registry *r, registry_done_fn *done, void *arg);
/* Return the templates that the owner of @r sees: templates_json(). Owns: the caller decrefs.
 * Returns: NULL and @err. */
json_t *registry_templates(struct registry *r, struct err *err);

/*
 * Remove sessions that were closed at least @older_ms ago from the journal, except the @keep newest
 * of them, with the steps and blobs that no other session has. {"sessions", "steps", "blobs",
 * "bytes": size of the journal then}; @is_dry: only count the {"sessions"}.
 */
struct registry_prune {
	uint64_t older_ms, keep;
	bool is_dry;
};
void registry_prune(
	struct registry *r, const struct registry_prune *which, registry_done_fn *done, void *arg);

/* Wait until the session has a box, so that its files can be read; make one if necessary. */
void registry_await_box(struct registry *r, const char *session, registry_done_fn *done, void *arg);

/*
 * Run the steps of an exported record again in a fresh session and compare: {"outcome": "replayed"
 * or "diverged", "steps": n, "first_difference"?: {step, number, field, place, was, is}}.
 */
void registry_replay(
	struct registry *r, const char *record, size_t bytes, registry_done_fn *done, void *arg);
/* Stop the registry_replay() whose `arg` is @whose: call its `done` with ERR_INTERRUPTED now. */
void registry_stop_replay(struct registry *r, const void *whose);
/* {"record"}: the session from its first step to its head as text, for registry_replay(). */
void registry_export(struct registry *r, const char *session, registry_done_fn *done, void *arg);
/* Return the session's last step: {step, parent, runtime, code, record}, without waiting in its
 * queue. Owns: the caller decrefs. */
json_t *registry_head(struct registry *r, const char *session, struct err *err);
