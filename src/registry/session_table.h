/* The table of all sessions of an engine, and the owners' views of it. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "registry/entry.h"
#include "registry/owner.h"
#include "registry/stats.h"
#include "registry/template.h"

struct session_table;

/* The view of one owner, or of the operator of the engine. Every function that a front calls takes
 * a view, and finds sessions with registry_look_up(), which finds only sessions in the view. */
struct registry {
	struct session_table *table;
	struct owner *owner; /* NULL: the operator, who sees all sessions */
	struct registry *next;
	uint64_t n_slice; /* number of the view's last slice (sliced_work.c) */
};

struct session_table {
	struct registry all; /* the operator's view; `next` links the owners' views */
	struct engine *engine;
	struct journal *journal;
	struct templates *templates;
	unsigned n_standby, n_checkpoints;
	/* As in registry_config. */
	uint64_t max_sessions, max_memory_bytes, ttl_ms, idle_ms, retain_ms;
	uint64_t n_refused[ADMIT_END_];
	struct stats_steps steps;
	struct entry *first;
	uv_timer_t idle;
	void (*on_idle)(uv_timer_t *timer);
	bool is_idle_next; /* idle work is done when `idle` expires next */
	uv_timer_t lifetimes;
	int64_t ring_ms;       /* when `lifetimes` expires, since 1970; 0: not set */
	int64_t opened_ms;     /* when the journal was opened, since 1970 */
	int64_t stored_end_ms; /* earliest end of a session that is only in the journal */
	int64_t stored_row;    /* scan of these sessions: last row that was read */
	int64_t stored_next_ms;
	uint64_t n_expired;
	const struct tool_gate *gate; /* or NULL: tool calls are denied */
	const char *skills;	      /* or NULL */
	struct pruning *pruning;      /* NULL once pruning was stopped */
	struct sliced_works *sliced;  /* NULL once sliced works were stopped */
	bool is_closing;
	void (*ended)(void *arg, const char *session);
	void *ended_arg;
	void (*closed)(void *arg);
	void *arg;
};

/* registry_owner(): the name of the owner of sessions that are made through @r; "": the operator.
 * registry_sees(): may @r see sessions of @owner? */
const char *registry_owner(const struct registry *r);
bool registry_sees(const struct registry *r, const char *owner);

/* Find a session by its id, the start of an id, or its name, and open it if it is only in the
 * journal. Returns: NULL and @err on failure. */
struct entry *registry_find(struct registry *r, const char *session, struct err *err);
/* Find the live entry with this id, of any owner. Returns: NULL when the session is not live. */
struct entry *session_table_live(struct session_table *table, const char *id);

/* Find a session without opening it. @id: the session's id; @live: NULL when it is only in the
 * journal. */
struct found {
	struct entry *live;
	char id[JOURNAL_ID_BYTES];
};
int registry_look_up(struct registry *r, const char *session, struct found *out, struct err *err);

/* Do work that was postponed until the engine is idle. */
void session_table_on_idle(uv_timer_t *timer);

/* prune.c: start and stop the pruning of closed sessions. */
void prune_open(struct session_table *table), prune_stop(struct session_table *table);

/* May a new session of @owner have the name @name (NULL: no name)? Errors: ERR_USAGE. */
int session_table_check_name(
	struct session_table *table, const char *owner, const char *name, struct err *err);
