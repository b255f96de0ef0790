/* The table of all live sessions of an engine, and the views that owners have of it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/entry.h"
#include "registry/owner.h"
#include "registry/stats.h"
#include "registry/start/template.h"

struct build;
struct layer_store;
struct session_table;

/* The view of one owner, or of the operator of the engine. Every function that a front end calls
 * takes a view, and finds sessions with registry_look_up(), which ignores sessions that are not
 * in the view. */
struct registry {
	struct session_table *table;
	struct owner *owner; /* NULL: the view of the operator, which shows all sessions */
	struct registry *next;
	/* Slices of work (sliced_work.c) are numbered in the order in which they are done, for
	 * all owners. This is the number of the last slice that was done for the owner of this
	 * view. */
	uint64_t n_slice;
};

struct session_table {
	/* The view of the operator of the engine, which shows the sessions of all owners. The views
	 * of the owners follow it in a list: all.next is the first of them. */
	struct registry all;
	struct engine *engine;
	struct journal *journal;
	struct templates *templates;
	struct layer_store *layers; /* of templates with packages */
	struct build *builds;	    /* of templates with packages */
	unsigned n_standby, n_checkpoints;
	/*
	 * Limits, copied from struct registry_config; 0: unlimited:
	 * - max_sessions, max_memory_bytes: number and memory of the live sessions of all owners;
	 * - ttl_ms, idle_ms: default maximum age and idle time of a session;
	 * - retain_ms: time after which a closed session is pruned (0: never).
	 */
	uint64_t max_sessions, max_memory_bytes, ttl_ms, idle_ms, retain_ms;
	const char *shared_python; /* see struct registry_config */
	uint64_t n_refused[ADMIT_END_];
	struct stats_steps steps;
	struct entry *first;
	uv_timer_t idle;
	void (*on_idle)(uv_timer_t *timer);
	/* If true, idle work is done when the timer `idle` expires next. */
	bool is_idle_next;
	uv_timer_t lifetimes;
	/* When the timer `lifetimes` expires, in ms since 1970; 0: it is not set. */
	int64_t ring_ms;
	int64_t opened_ms; /* when the journal was opened, in ms since 1970 */
	/* When the sessions that are only in the journal must be checked next, in ms since 1970.
	 * This is normally the time at which the first of these sessions expires. */
	int64_t stored_end_ms;
	/* Last row that was read in the current search for expired sessions of the journal; 0:
	 * none. */
	int64_t stored_row;
	int64_t stored_next_ms;
	uint64_t n_expired;
	const struct tool_gate *gate; /* NULL: all tool calls are denied */
	const char *skills;	      /* or NULL */
	const char *runtime_dir;      /* for unix sockets; or NULL */
	struct pruning *pruning;      /* NULL after prune_stop() */
	struct sliced_works *sliced;  /* NULL after sliced_work_stop() */
	bool is_closing;
	void (*ended)(void *arg, const char *session);
	void *ended_arg;
	void (*closed)(void *arg);
	void *arg;
};

/* registry_owner(): return the owner's name for sessions that are created through @r; "" for the
 * operator. registry_sees(): return whether @r shows sessions of @owner. */
const char *registry_owner(const struct registry *r);
bool registry_sees(const struct registry *r, const char *owner);

/* Find a session by its id, the start of an id, or its name. Open it if it is only in the
 * journal. Returns: NULL and @err on failure. */
struct entry *registry_find(struct registry *r, const char *session, struct err *err);
/* Find the live entry with this id, of any owner. Returns: NULL when the session is not live. */
struct entry *session_table_live(struct session_table *table, const char *id);

/* Find a session without opening it. @id: the session's id. @live: its entry, or NULL when it is
 * only in the journal. */
struct found {
	struct entry *live;
	char id[JOURNAL_ID_BYTES];
};
int registry_look_up(struct registry *r, const char *session, struct found *out, struct err *err);

/* Do the work that was postponed until the engine is idle: sync the journal, and make branches
 * of sessions before clients ask for the branches. */
void session_table_on_idle(uv_timer_t *timer);

/* Start and stop the pruning of closed sessions (prune.c). */
void prune_open(struct session_table *table), prune_stop(struct session_table *table);

/* Check whether a new session of @owner may have the name @name. NULL: without a name, always
 * allowed. Errors: ERR_USAGE. */
int session_table_check_name(
	struct session_table *table, const char *owner, const char *name, struct err *err);
