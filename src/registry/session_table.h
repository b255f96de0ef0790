/* The table of all sessions of an engine, and what an owner sees of it. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "registry/entry.h"
#include "registry/owner.h"
#include "registry/stats.h"
#include "registry/template.h"

struct session_table;

/*
 * The registry as one owner sees it, or as the one who runs the engine does. Every function that a
 * front calls has one of these, and finds sessions by registry_look_up(): what is not seen is not
 * found.
 */
struct registry {
	struct session_table *table;
	struct owner *owner; /* NULL: sees everything */
	struct registry *next;
	uint64_t n_slice; /* sliced_work.c: when it was served last */
};

struct session_table {
	struct registry all; /* sees everything; its `next` are the others */
	struct engine *engine;
	struct journal *journal;
	struct templates *templates;
	unsigned n_standby, n_checkpoints;
	uint64_t max_sessions, max_memory_bytes, ttl_ms, idle_ms, retain_ms; /* as of
									registry_config */
	uint64_t n_refused[ADMIT_END_];
	struct stats_steps steps;
	struct entry *first;
	uv_timer_t idle;
	void (*on_idle)(uv_timer_t *timer);
	bool is_idle_next; /* it rings for the second time */
	uv_timer_t lifetimes;
	int64_t ring_ms;       /* when that rings, since 1970; 0: not set */
	int64_t opened_ms;     /* likewise */
	int64_t stored_end_ms; /* the earliest end of a session that is only in the journal */
	int64_t stored_row;    /* they are looked at: which was the last, and the earliest end */
	int64_t stored_next_ms;
	uint64_t n_expired;
	const struct tool_gate *gate; /* or NULL */
	const char *skills;	      /* likewise */
	struct pruning *pruning;      /* NULL when it has been stopped */
	struct sliced_works *sliced;  /* likewise */
	bool is_closing;
	void (*ended)(void *arg, const char *session);
	void *ended_arg;
	void (*closed)(void *arg);
	void *arg;
};

/* The owner of sessions that are made through @r; and may @r see sessions of @owner? */
const char *registry_owner(const struct registry *r);
bool registry_sees(const struct registry *r, const char *owner);

/* Find a session by its id, the start of an id, or its name. One that is only in the journal is
 * opened. */
struct entry *registry_find(struct registry *r, const char *session, struct err *err);
/* The live entry of that id, whatever its owner; or NULL. */
struct entry *session_table_live(struct session_table *table, const char *id);

/* The same without opening: @id is the session's, @live NULL when it is only in the journal. */
struct found {
	struct entry *live;
	char id[JOURNAL_ID_BYTES];
};
int registry_look_up(struct registry *r, const char *session, struct found *out, struct err *err);

/* The engine is idle: do what was put off until then. */
void session_table_on_idle(uv_timer_t *timer);

/* prune.c: closed sessions are forgotten from now on; and not any more. */
void prune_open(struct session_table *table), prune_stop(struct session_table *table);

/* May a new session of @owner have the name @name (NULL: no name)? Errors: ERR_USAGE. */
int session_table_check_name(
	struct session_table *table, const char *owner, const char *name, struct err *err);
