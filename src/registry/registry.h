/* The sessions of an engine: made, found, branched, undone, closed, by id or name; and their
 * journal. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/start/engine.h"
#include "session/start/order.h"
#include "session/step/step_order.h"

#include <jansson.h>

struct registry;
struct tool_gate;
struct owner;

/* Borrowed for the time of registry_open(), but for the engine, which is attached to its loop. */
struct registry_config {
	struct engine *engine;
	const char *state_dir;	/* of the journal; NULL: history is kept until the engine ends */
	unsigned n_standby;	/* branches kept ready per template */
	unsigned n_checkpoints; /* per session; 0: the default of 4 */
	/* Of all owners together, live ones; 0: no limit. */
	uint64_t max_sessions, max_memory_bytes;
	/* Of a session for which nothing else is asked for, and the most that an owner may ask for;
	 * 0: any time. */
	uint64_t ttl_ms, idle_ms;
	uint64_t retain_ms; /* closed sessions are forgotten after that; 0: never */
	void (*ended)(void *arg, const char *session); /* and all was answered; or NULL */
	void *arg;
	/* Who answers calls of tools from code in a box; must outlive the registry. NULL: all are
	 * denied. */
	const struct tool_gate *gate;
	/* A directory of the host that every session sees at SKILLS_DIR, read-only, unless it has
	 * something else there; outlives the registry; or NULL. */
	const char *skills;
};

/* Errors: as journal_open(); ERR_BUSY: another engine has the state directory. */
int registry_open(struct registry **out, const struct registry_config *config, struct err *err);

/*
 * The same registry as @owner sees it: its own sessions only. What is another's is not found, not
 * listed and not counted; names and starts of ids need not differ from those of others.
 *
 * Owns: the registry; the same one is given again. @owner must outlive it.
 * Returns: NULL without memory.
 */
struct registry *registry_view(struct registry *r, struct owner *owner);

/* The owner of that name, of those that have a view. Returns: NULL when it has none. */
const struct owner *registry_find_owner(const struct registry *r, const char *name);

/* End all sessions; they stay in the journal. `closed` runs from the loop when all is gone. */
void registry_close(struct registry *r, void (*closed)(void *arg), void *arg);

/*
 * The answer to an operation, once, possibly before the call returns: @result (borrowed) as
 * docs/reference/api.md says, or NULL and @err.
 */
typedef void registry_done_fn(void *arg, const json_t *result, const struct err *err);

/* What was refused, by reason. */
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
 * Everything is borrowed for the time of the call. A session is named by its id, a start of it that
 * no other has, or its name. Operations on one session are done one after the other.
 */
struct registry_create {
	struct order order;	    /* code, filename: NULL */
	const char *name;	    /* or NULL */
	const char *const *preload; /* NULL-terminated, or NULL */
	bool is_fresh;		    /* no template */
	uint64_t ttl_ms, idle_ms;   /* 0: as the engine was opened with */
};
void registry_create(
	struct registry *r, const struct registry_create *req, registry_done_fn *done, void *arg);
/* Make the template that such a session would be of: {template, ready, standby, preload?}. */
void registry_warm(
	struct registry *r, const struct registry_create *req, registry_done_fn *done, void *arg);
/* @is_forced: end processes of the session's own, which cannot come along. */
void registry_branch(struct registry *r, const char *session, const char *name, bool is_forced,
	registry_done_fn *done, void *arg);
void registry_end(struct registry *r, const char *session, registry_done_fn *done, void *arg);

/* Go back to an earlier step: {session, head, outcome, "files_lost"?, "difference"?}. */
struct registry_undo {
	const char *session, *to_step; /* or NULL: @count steps back */
	unsigned count;
	const struct step_listener *listener; /* of `rebuilding`; or NULL; must live until done */
};
void registry_undo(
	struct registry *r, const struct registry_undo *req, registry_done_fn *done, void *arg);
/* Run a step: the result is its record. @order is held until then, and @listener, which may be
 * NULL, must live as long; an @order of NULL is answered with ERR_NO_MEMORY. */
void registry_run(struct registry *r, const char *session, struct step_order *order,
	const struct step_listener *listener, registry_done_fn *done, void *arg);
/* Stop the running step; asked twice: at once. No step: nothing. Errors: ERR_NOT_FOUND. */
int registry_interrupt(struct registry *r, const char *session, struct err *err);
/* The step of a listener, or what was asked with an `arg`, and has not begun: it is not done, and
 * `done` hears ERR_INTERRUPTED now, or once a state that is made again for it is given up. Returns:
 * was there one that waits? */
bool registry_withdraw(struct registry *r, const char *session, const void *whose);

/* Nobody knows when the running step ends: what waits behind it, but for other steps, hears @err.
 */
void registry_refuse_waiting(struct registry *r, const char *session, const struct err *err);

/* Completions of the end of @text in the live session: {"names": [...]}. */
void registry_names(struct registry *r, const char *session, const char *runtime, const char *text,
	registry_done_fn *done, void *arg);
