/* What the registry tells of sessions, and runs again. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "registry/registry.h"

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
/* Which session @session is, and in what language its steps are unless they say another. */
enum { REGISTRY_ID_BYTES = 32 };
struct registry_identity {
	char session[REGISTRY_ID_BYTES]; /* its id */
	char runtime[16];
};
int registry_identify(
	struct registry *r, const char *session, struct registry_identity *out, struct err *err);
/* All about it, at once. Owns: the caller decrefs. Returns: NULL and @err. */
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
/* Owns: the caller decrefs. Returns: NULL and @err. */
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
 * Run the steps of an exported record again in a fresh session and compare: {"outcome": "replayed"
 * or "diverged", "steps": n, "first_difference"?: {step, number, field, place, was, is}}.
 */
void registry_replay(
	struct registry *r, const char *record, size_t bytes, registry_done_fn *done, void *arg);
/* Give up the one with this `arg`: its `done` hears ERR_INTERRUPTED now. */
void registry_stop_replay(struct registry *r, const void *whose);
/* {"record"}: a session from its root to its head as text, for replay. */
void registry_export(struct registry *r, const char *session, registry_done_fn *done, void *arg);
/* Its last step: {step, parent, runtime, code, record}. At once, likewise. */
json_t *registry_head(struct registry *r, const char *session, struct err *err);
