/* The registry: all sessions of an engine, and their journal. Operations to create, find,
 * branch, undo and close sessions by id or name. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/session.h"
#include "session/start/engine.h"
#include "session/start/order.h"
#include "session/step/step_order.h"

#include <jansson.h>

struct registry;
struct tool_gate;
struct owner;

/* Configuration for registry_open(). It is borrowed for the call, but `engine`, `gate` and
 * `skills` must outlive the registry. */
struct registry_config {
	struct engine *engine;
	const char *state_dir; /* directory of the journal; NULL: a temporary journal */
	/* State directory that has the templates with packages; NULL: there are none. */
	const char *layers_dir;
	/* Number of branches that are kept ready for each template. Also the number of sessions
	 * for which one branch is kept ready. */
	unsigned n_standby;
	unsigned n_checkpoints; /* checkpoints kept per session; 0: the default of 4 */
	/* Limits on the live sessions of all owners together; 0: unlimited. */
	uint64_t max_sessions, max_memory_bytes;
	/* Default maximum age and idle time of a session; 0: unlimited. An owner may choose less
	 * for a session, but not more. */
	uint64_t ttl_ms, idle_ms;
	/* A session is pruned when it has been closed for this time; 0: never. */
	uint64_t retain_ms;
	/* A Python that all owners may name, also one who may not name paths of the host; borrowed
	 * until registry_close(); or NULL. */
	const char *shared_python;
	/* Called when a session has ended; may be NULL. */
	void (*ended)(void *arg, const char *session);
	void *arg;
	/* Handler of tool calls from code in a box. NULL: all calls are denied. */
	const struct tool_gate *gate;
	/* Path of a host directory, or NULL. Sessions see it read-only at SKILLS_DIR, unless
	 * they have a volume at that place. */
	const char *skills;
	/* Directory of the host for unix sockets, which only the engine's user may enter; or NULL.
	 * Borrowed as long as the registry lives. */
	const char *runtime_dir;
};

/* Open a registry with its journal. Errors: as journal_open(); ERR_BUSY: another engine uses the
 * state directory. */
int registry_open(struct registry **out, const struct registry_config *config, struct err *err);

/*
 * Return the view of @owner: functions that get it find, list and count only sessions of this
 * owner. A name or the start of an id needs to be unique only among these sessions.
 *
 * Owns: the registry owns the view; later calls return the same one. @owner must outlive the
 * registry.
 * Returns: NULL if memory is exhausted.
 */
struct registry *registry_view(struct registry *r, struct owner *owner);

/* Find the owner with the name @name. Only owners for whom registry_view() was called before are
 * found. Returns: NULL if no such owner has this name. */
const struct owner *registry_find_owner(const struct registry *r, const char *name);

/* Return the engine whose sessions the registry has. */
struct engine *registry_engine(const struct registry *r);

/* End all sessions. They stay in the journal. `closed` is called from the loop when everything
 * is freed. */
void registry_close(struct registry *r, void (*closed)(void *arg), void *arg);

/* Called once with the answer to an operation. This may happen before the function that begins
 * the operation returns. @result: an object as docs/reference/api.md describes it, borrowed; or
 * NULL, and @err is the error. */
typedef void registry_done_fn(void *arg, const json_t *result, const struct err *err);

/* Reasons for refusing a request, which are counted for statistics. */
enum admit_reason {
	ADMIT_SESSIONS,
	ADMIT_MEMORY,
	ADMIT_STEPS,
	ADMIT_RATE,
	ADMIT_ENGINE,
	ADMIT_PATHS,
	ADMIT_NET,
	ADMIT_QUEUE,
	ADMIT_DISK,
	ADMIT_END_
};

/* For all operations below: The arguments are borrowed for the call. A session is named by its
 * id, by a unique start of its id, or by its name. Operations on one session are done one after
 * the other. */
struct registry_create {
	struct order order;	    /* `code` and `filename` are NULL */
	const char *name;	    /* or NULL */
	const char *const *preload; /* modules to import, NULL-terminated; or NULL */
	bool is_fresh;		    /* make a new box instead of a branch of a template */
	uint64_t ttl_ms, idle_ms;   /* 0: the default of registry_config */
};
void registry_create(
	struct registry *r, const struct registry_create *req, registry_done_fn *done, void *arg);
/* Check whether the owner of @r may give these network rules to a session, as registry_create()
 * does. A name that stands for a set of rules is taken for the name of a host. Errors: ERR_DENIED,
 * ERR_USAGE, ERR_LIMIT. */
int registry_check_net(struct registry *r, const char *const *net, size_t n, struct err *err);
/* Make a template before it is needed. Sessions that are created with the same @req will be
 * branches of it. Result: {template, ready, standby, preload?}. */
void registry_warm(
	struct registry *r, const struct registry_create *req, registry_done_fn *done, void *arg);
/* Branch a session. `others`: what becomes of the processes that the session's programs left
 * running. The result has the number of those that go on in the session and are not in the branch
 * (`processes_left`), if there are any. */
struct registry_branch {
	const char *name; /* or NULL */
	enum session_others others;
	bool has_secrets; /* the branch gets the values of the session's secrets */
};
void registry_branch(struct registry *r, const char *session, const struct registry_branch *branch,
	registry_done_fn *done, void *arg);
void registry_end(struct registry *r, const char *session, registry_done_fn *done, void *arg);

/* Go back to an earlier step. Result: {session, head, outcome, "files_lost"?, "difference"?}. */
struct registry_undo {
	const char *session, *to_step; /* `to_step` NULL: go @count steps back */
	unsigned count;
	/* Listener for the steps of a rebuild (`rebuilding`), or NULL. It must live until `done`
	 * is called. */
	const struct step_listener *listener;
};
void registry_undo(
	struct registry *r, const struct registry_undo *req, registry_done_fn *done, void *arg);
/* Run a step. Result: the step's record. Until `done` is called, the registry has a reference to
 * @order, and @listener (may be NULL) must live. If @order is NULL, the answer is ERR_NO_MEMORY. */
void registry_run(struct registry *r, const char *session, struct step_order *order,
	const struct step_listener *listener, registry_done_fn *done, void *arg);
/* Interrupt the running step. A second call kills it at once. If the session is rebuilding its
 * state, the rebuild is stopped. Without a running step, nothing is done. Errors: ERR_NOT_FOUND. */
int registry_interrupt(struct registry *r, const char *session, struct err *err);
/* Withdraw the operation whose listener or `arg` is @whose, if the operation has not begun. Its
 * `done` is called with ERR_INTERRUPTED at once. A step whose state is still being rebuilt can
 * be withdrawn too; its `done` is called when the rebuild has stopped. Returns: whether such an
 * operation was found. */
bool registry_withdraw(struct registry *r, const char *session, const void *whose);

/* Answer all waiting branches, undos and completions of the session with @err. Used when the
 * running step waits for input and so may never end. */
void registry_refuse_waiting(struct registry *r, const char *session, const struct err *err);

/* A text whose last name is to be completed. All members are borrowed. */
struct registry_text {
	const char *session, *text;
	const char *runtime; /* NULL: the session's own language */
	const char *scope;   /* NULL: the session's own variables */
};

/* Complete the name at the end of a text in the live session. Result: {"names": [...]}. */
void registry_names(
	struct registry *r, const struct registry_text *text, registry_done_fn *done, void *arg);
