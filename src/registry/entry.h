/*
 * Internal declarations of the registry, for its own files only:
 *
 *   registry.c         creates sessions; their queues
 *   session_table.c    finds, reopens and ends sessions
 *   entry.c            jobs of a session: steps, completions; branch.c, standby.c: branches
 *   answer_call.c      tool calls of steps; undo.c: undo; trial.c: adoption of a branch
 *   replay.c           steps run again, to rebuild a session or to check a record
 *   put_file.c         files that a client writes and removes; history.c: logs, graphs
 *   admit.c            quotas; lifetime.c: sessions that end by themselves
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "registry/history.h"
#include "registry/order_text.h"
#include "registry/owner.h"
#include "registry/template.h"
#include "session/session.h"
#include "store/journal.h"

struct session_table;
struct put_file_sum;
struct replay;

enum entry_state { ENTRY_OPENING, ENTRY_IDLE, ENTRY_WORKING, ENTRY_ENDING };

struct entry {
	struct entry *next;
	struct session_table *table;
	enum entry_state state;
	char id[JOURNAL_ID_BYTES];
	char name[JOURNAL_NAME_BYTES];
	char owner[OWNER_NAME_BYTES]; /* "": the operator of the engine */
	char parent[JOURNAL_ID_BYTES];
	char head[DIGEST_BYTES], fork[DIGEST_BYTES];
	int64_t created_ms;
	uint64_t n_steps;
	uint64_t memory_bytes;	       /* memory it is accounted with: admit_memory() */
	int64_t ttl_ms, idle_ms;       /* maximum age and idle time; 0: unlimited */
	uint64_t used_ns, branched_ns; /* uv_hrtime() of last use, last branch; 0: never */
	char *order_text;
	struct shared_order *shared; /* order, also of its branches; a reference */
	struct template *template;   /* the template it was branched from, or NULL; a reference */
	const struct order_checked *order;
	struct session *session;   /* NULL before it opens and after it is closed */
	struct pool *pool;	   /* branches made ahead (standby.c), or NULL */
	struct job *first, **last; /* queue; if WORKING, its first job (or branches) runs */
	struct replay *replay;
	enum record_outcome rebuilt; /* how the state was rebuilt; COMMITTED: it was not */
	bool is_rebuilt_told;	     /* a step's record has already reported `rebuilt` */
	json_t *rewritten;	     /* paths that replayed steps may have changed, or NULL */
	char difference[384];
	registry_done_fn *done; /* of the caller who waits for the opening, or NULL */
	void *arg;
	bool is_kept, is_waiting;  /* is in the journal; waits for a branch from a pool */
	bool is_unkept;		   /* temporary session of a record check; never in the journal */
	bool is_tainted, is_mixed; /* has read untrusted data; has run a CARRY_REPLAY runtime */
	bool is_live_branch; /* branched from a live session: no replay is needed to open it */
	bool is_trial;	     /* programs see the parent's id: see registry/trial.h */
	unsigned n_holds;    /* reference count: of the session, and of callers on the stack */
};

/* Create an entry in the table, with one reference: that of its session. */
struct entry *entry_new(struct session_table *table, const char *owner, const char *id,
	const char *name, const char *text);
/* Open the session: as a branch of a template, or in a box of its own. */
void entry_begin(struct entry *e);
/* Give @e the branch @s that it waited for; or fail the opening with @err. */
void entry_take_branch(struct entry *e, struct session *s, const struct err *err);
void entry_opened(struct entry *e, const struct err *err);
void entry_end(struct entry *e);
/* End the entry, and answer its jobs and everybody who waits for it with @why. */
void entry_end_because(struct entry *e, const struct err *why);
void entry_hold(struct entry *e), entry_release(struct entry *e);
void entry_add_job(struct entry *e, struct job *job);
/* Answer the first job. */
void entry_answer(struct entry *e, const json_t *result, const struct err *err);
void entry_answer_job(struct job *job, const json_t *result, const struct err *err);
void entry_branch_on(struct entry *e); /* start the next job too, if it is a branch */
json_t *entry_json(const struct entry *e);

/* ---- the queue of a session ---- */

enum job_kind { JOB_RUN, JOB_BRANCH, JOB_UNDO, JOB_NAMES, JOB_FILE, JOB_BOX, JOB_ADOPT, JOB_END_ };

/* An operation in a session's queue, with copies of all its arguments. */
struct job {
	struct job *next;
	struct entry *entry;
	enum job_kind kind;
	char *text; /* name, path, text to complete, or id of a step or trial */
	size_t bytes;
	struct step_order *order; /* JOB_RUN; a reference */
	const struct step_listener *listener;
	const struct runtime *runtime; /* JOB_NAMES */
	bool is_forced, is_removal;
	bool is_trial; /* JOB_BRANCH: make a trial, which ends after ttl_ms */
	uint64_t ttl_ms;
	int fd; /* JOB_FILE: the content to write, or -1 */
	unsigned count;
	size_t fd_bytes;	 /* JOB_FILE: length of the content */
	char step[DIGEST_BYTES]; /* JOB_UNDO: target step; JOB_FILE: digest of the content */
	uint64_t asked_ns;
	struct err why; /* error to report once the previous state is restored */
	bool is_started;
	struct put_file_sum *sum; /* hash computation in a thread (put_file.c), or NULL */
	struct entry *child;	  /* JOB_BRANCH: the branch that is being made, or NULL */
	registry_done_fn *done;
	void *arg;
};

/* Start a job at the head of its entry's queue. */
void job_start(struct job *job);
/* Create a job with a copy of @text. */
struct job *job_new(
	enum job_kind kind, const char *text, size_t bytes, registry_done_fn *done, void *arg);
void job_free(struct job *job);
/* Answer the job with @err, and free it. */
void job_fail(struct job *job, const struct err *err);
/* Undo what the job did, then answer it with @why. */
void job_take_back(struct job *job, const struct err *why);
/* May the job be queued (admit_job())? If not, the job is answered and freed. */
bool job_may_wait(const struct entry *e, struct job *job);
/* branch.c, undo.c, trial.c */
void job_start_branch(struct job *job);
void job_start_undo(struct job *job);
void job_start_adopt(struct job *job);

/* Callbacks of a session for its entry (struct session_events). */
void entry_on_unbegun(void *arg);
void entry_on_begin(void *arg);
/* answer_call.c */
void entry_on_call(void *arg, struct tool_call *call);
void entry_on_cancel(void *arg, struct tool_call *call);
int entry_on_keep(void *arg, const char *text, size_t bytes, bool is_untrusted, struct err *err);
void entry_on_done(void *arg, const struct record *record);
/* Make @s, until now the session of another entry, the session of @e. */
void entry_take_session(struct entry *e, struct session *s);
