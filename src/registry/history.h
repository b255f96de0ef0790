/* Queries about sessions: lists, logs, graphs and records. Also pruning, and the replay of
 * exported records. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"

/* List the open sessions, newest first. Result: {"sessions": [{session, name?, parent?, runtime,
 * state, head, steps, created_ms, …}], "truncated"?}. @before: list only sessions that were made
 * before this one; NULL: all. */
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
/* Describe a session without waiting in its queue. Owns: the caller decrefs. Returns: the
 * description, or NULL and @err. */
json_t *registry_get(struct registry *r, const char *session, struct err *err);
/* List the steps on the path from the session's head to its first step, newest first. Result:
 * {"session", "head", "steps": [{step, parent, session, runtime, status, outcome, code, …}],
 * "truncated"?}. @is_all: list also steps of the session that were rolled back or undone; then
 * each step on the path has "on_path". */
void registry_log(
	struct registry *r, const char *session, bool is_all, registry_done_fn *done, void *arg);
/* List the steps of all open sessions, newest first, and the heads of these sessions. Result:
 * {"steps": […], "heads": [{session, name?, head}], "truncated"?} */
void registry_graph(struct registry *r, registry_done_fn *done, void *arg);
/* Return the templates of the owner of @r, as templates_json() does. Owns: the caller decrefs. */
json_t *registry_templates(struct registry *r, struct err *err);

/* Remove from the journal the sessions that were closed at least @older_ms ago, except the @keep
 * newest of them. Their steps and blobs are removed too, unless another session has them.
 * Result: {"sessions", "steps", "blobs": how many were removed, "bytes": size of the journal
 * afterwards}. @is_dry: remove nothing, and only count: {"sessions"}. */
struct registry_prune {
	uint64_t older_ms, keep;
	bool is_dry;
};
void registry_prune(
	struct registry *r, const struct registry_prune *which, registry_done_fn *done, void *arg);

/* Wait until the session has a box, so that its files can be read. Make a box if necessary. */
void registry_await_box(struct registry *r, const char *session, registry_done_fn *done, void *arg);

/* Run the steps of an exported record again in a fresh session and compare the results. Result:
 * {"outcome": "replayed" or "diverged", "steps": n, "first_difference"?: {step, number, field,
 * place, was, is}}. */
void registry_replay(
	struct registry *r, const char *record, size_t bytes, registry_done_fn *done, void *arg);
/* Stop the registry_replay() that was called with `arg` @whose. Its `done` is called with
 * ERR_INTERRUPTED at once. */
void registry_stop_replay(struct registry *r, const void *whose);
/* Export the session's steps, from the first to the head, as text for registry_replay(). Result:
 * {"record"}. */
void registry_export(struct registry *r, const char *session, registry_done_fn *done, void *arg);
/* Return the session's last step, without waiting in the session's queue: {step, parent,
 * runtime, code, record}. Owns: the caller decrefs. */
json_t *registry_head(struct registry *r, const char *session, struct err *err);
