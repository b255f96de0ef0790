/* Operations on the sessions of an engine (create, find, branch, undo, close), by id or name; and
 * their journal. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/start/engine.h"
#include "session/start/order.h"
#include "session/step/step_order.h"

#include <jansson.h>

struct registry;
struct tool_gate;
struct owner;

/* The configuration, borrowed for registry_open(); but engine, gate and skills must outlive the
 * registry. */
struct registry_config {
	struct engine *engine;
	const char *state_dir;	/* of the journal; NULL: a temporary journal */
	unsigned n_standby;	/* branches kept ready for each template */
	unsigned n_checkpoints; /* checkpoints per session; 0: the default of 4 */
	/* Limits on the live sessions of all owners together; 0: unlimited. */
	uint64_t max_sessions, max_memory_bytes;
	/* Default maximum age and idle time of a session, and the maximum that an owner may ask
	 * for; 0: unlimited. */
	uint64_t ttl_ms, idle_ms;
	uint64_t retain_ms; /* closed sessions are pruned after this time; 0: never */
	void (*ended)(void *arg, const char *session); /* a session has ended; or NULL */
	void *arg;
	/* Handler of tool calls from code in a box; must outlive the registry. NULL: all calls are
	 * denied. */
	const struct tool_gate *gate;
	/* Directory of the host that sessions see read-only at SKILLS_DIR, unless they have a
	 * volume there; must outlive the registry; or NULL. */
	const char *skills;
};

/* Open a registry with its journal. Errors: as journal_open(); ERR_BUSY: another engine has the
 * state directory. */
int registry_open(struct registry **out, const struct registry_config *config, struct err *err);

/*
 * Return the registry as @owner sees it: only the owner's sessions. Sessions of others are not
 * found, listed or counted; names and starts of ids need to be unique among the owner's sessions
 * only.
 *
 * Owns: the registry; later calls return the same view. @owner must outlive it.
 * Returns: NULL without memory.
 */
struct registry *registry_view(struct registry *r, struct owner *owner);

/* Find the owner called @name among those that have a view. Returns: the owner, or NULL. */
const struct owner *registry_find_owner(const struct registry *r, const char *name);

/* End all sessions; they stay in the journal. `closed` is called from the loop when everything is
 * freed. */
void registry_close(struct registry *r, void (*closed)(void *arg), void *arg);

/*
 * Called once with the answer to an operation, possibly before the operation's function returns:
 * @result (borrowed) as docs/reference/api.md says, or NULL and @err.
 */
typedef void registry_done_fn(void *arg, const json_t *result, const struct err *err);

/* The reasons of refusals. */
enum admit_reason {
	ADMIT_SESSIONS,
	ADMIT_MEMORY,
	ADMIT_STEPS,
	ADMIT_RATE,
	ADMIT_ENGINE,
	ADMIT_PATHS,
	ADMIT_QUEUE,
	ADMIT_DISK,
	ADMIT_END_
};

/*
 * All arguments are borrowed for the call. A session is named by its id, a unique start of its id,
 * or its name. Operations on one session are done one after the other.
 */
struct registry_create {
	struct order order;	    /* its code and filename are NULL */
	const char *name;	    /* or NULL */
	const char *const *preload; /* modules to import, NULL-terminated; or NULL */
	bool is_fresh;		    /* do not use a template */
	uint64_t ttl_ms, idle_ms;   /* 0: the default of registry_config */
};
void registry_create(
	struct registry *r, const struct registry_create *req, registry_done_fn *done, void *arg);
/* Make the template that such a session would be branched from: {template, ready, standby,
 * preload?}. */
void registry_warm(
	struct registry *r, const struct registry_create *req, registry_done_fn *done, void *arg);
/* Branch a session. @is_forced: end processes that the session itself has started, which a branch
 * cannot copy. */
void registry_branch(struct registry *r, const char *session, const char *name, bool is_forced,
	registry_done_fn *done, void *arg);
void registry_end(struct registry *r, const char *session, registry_done_fn *done, void *arg);

/* Go back to an earlier step: {session, head, outcome, "files_lost"?, "difference"?}. */
struct registry_undo {
	const char *session, *to_step; /* to_step NULL: @count steps back */
	unsigned count;
	const struct step_listener *listener; /* for `rebuilding`; or NULL; lives until done */
};
void registry_undo(
	struct registry *r, const struct registry_undo *req, registry_done_fn *done, void *arg);
/* Run a step; the result is its record. Until then a reference to @order is held, and @listener,
 * which may be NULL, must live. If @order is NULL, the answer is ERR_NO_MEMORY. */
void registry_run(struct registry *r, const char *session, struct step_order *order,
	const struct step_listener *listener, registry_done_fn *done, void *arg);
/* Interrupt the running step; a second call stops it at once. Without a running step, nothing is
 * done. Errors: ERR_NOT_FOUND. */
int registry_interrupt(struct registry *r, const char *session, struct err *err);
/* Withdraw the operation with the listener or `arg` @whose if it has not begun. Its `done` is
 * called with ERR_INTERRUPTED now; or, if its state is being rebuilt, when the rebuild has stopped.
 * Returns: was such an operation found? */
bool registry_withdraw(struct registry *r, const char *session, const void *whose);

/* Answer waiting branches, undos and completions with @err, because the running step may never end.
 */
void registry_refuse_waiting(struct registry *r, const char *session, const struct err *err);

/* Complete the end of @text in the live session: {"names": [...]}. */
void registry_names(struct registry *r, const char *session, const char *runtime, const char *text,
	registry_done_fn *done, void *arg);
