/*
 * The registry from the inside: shared by the files that carry it, seen by no other.
 *
 *   registry.c         sessions made; the queue of each
 *   session_table.c    sessions found, opened again, ended
 *   entry.c            what is done in one: steps, completions; branch.c, standby.c: branches
 *   answer_call.c      calls that its steps make; undo.c: going back; trial.c: going on as a branch
 *   replay.c           steps run again, to rebuild a session or to check a record
 *   put_file.c         files that a client writes and removes; history.c: what can be told at once
 *   admit.c            whether there is room for one more; lifetime.c: those that end by themselves
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
	char owner[OWNER_NAME_BYTES]; /* "" is the one who runs the engine */
	char parent[JOURNAL_ID_BYTES];
	char head[DIGEST_BYTES], fork[DIGEST_BYTES];
	int64_t created_ms;
	uint64_t n_steps;
	uint64_t memory_bytes;	       /* of its limits: admit_memory() */
	int64_t ttl_ms, idle_ms;       /* 0: any time */
	uint64_t used_ns, branched_ns; /* uv_hrtime() of its last use; of its last branch, or 0 */
	char *order_text;
	struct shared_order *shared; /* its order, shared with its branches; held */
	struct template *template;   /* whose order it is, unless it is a fresh one's; held */
	const struct order_checked *order;
	struct session *session;   /* or NULL */
	struct pool *pool;	   /* standby.c: branches made ahead, or NULL */
	struct job *first, **last; /* when WORKING, the first is under way, or some branches are */
	struct replay *replay;
	enum record_outcome rebuilt; /* how its state was made last: COMMITTED: by running it */
	bool is_rebuilt_told;	     /* by the record of a step */
	json_t *rewritten; /* paths that steps which were run again may have changed, or NULL */
	char difference[384];
	registry_done_fn *done; /* who waits for it to open */
	void *arg;
	bool is_kept, is_waiting;  /* in the journal; for its session, of a pool */
	bool is_unkept;		   /* goes when what it is for is done: never in the journal */
	bool is_tainted, is_mixed; /* has read what is untrusted; has run CARRY_REPLAY */
	bool is_live_branch;	   /* its memory is of the session it was branched from */
	bool is_trial;		   /* its programs see its parent's id: see registry/trial.h */
	unsigned n_holds;	   /* while somebody further up the stack uses it */
};

/* On the table, with one hold: the session's own. */
struct entry *entry_new(struct session_table *table, const char *owner, const char *id,
	const char *name, const char *text);
/* Open it: by a template, or in a box of its own. */
void entry_begin(struct entry *e);
/* The entry gets the branch that it waited for; or @err. */
void entry_take_branch(struct entry *e, struct session *s, const struct err *err);
void entry_opened(struct entry *e, const struct err *err);
void entry_end(struct entry *e);
/* The same, with @why for everybody who waits for something. */
void entry_end_because(struct entry *e, const struct err *why);
void entry_hold(struct entry *e), entry_release(struct entry *e);
void entry_add_job(struct entry *e, struct job *job);
void entry_answer(struct entry *e, const json_t *result, const struct err *err); /* its first job */
void entry_answer_job(struct job *job, const json_t *result, const struct err *err);
void entry_branch_on(struct entry *e); /* make another branch side by side, if one comes next */
json_t *entry_json(const struct entry *e);

/* ---- what waits to be done in a session ---- */

enum job_kind { JOB_RUN, JOB_BRANCH, JOB_UNDO, JOB_NAMES, JOB_FILE, JOB_BOX, JOB_ADOPT, JOB_END_ };

/* An operation on a session, in its queue, with copies of everything that it needs. */
struct job {
	struct job *next;
	struct entry *entry;
	enum job_kind kind;
	char *text; /* name, text to complete, or path */
	size_t bytes;
	struct step_order *order; /* of a step; held */
	const struct step_listener *listener;
	const struct runtime *runtime; /* of names */
	bool is_forced, is_removal;
	bool is_trial; /* of a branch: that ends when ttl_ms are over */
	uint64_t ttl_ms;
	int fd; /* what a file is to hold; or -1 */
	unsigned count;
	size_t fd_bytes;	 /* of that file */
	char step[DIGEST_BYTES]; /* to go back to; or of what a file is to hold */
	uint64_t asked_ns;
	struct err why; /* to be told when the state before is there again */
	bool is_started;
	struct put_file_sum *sum; /* put_file.c: in a thread, or NULL */
	struct entry *child;	  /* the branch being made */
	registry_done_fn *done;
	void *arg;
};

/* Do the job: it is at the head of its entry's queue. */
void job_start(struct job *job);
/* @text is copied. */
struct job *job_new(
	enum job_kind kind, const char *text, size_t bytes, registry_done_fn *done, void *arg);
void job_free(struct job *job);
/* Answer the job with @err, and remove it. */
void job_fail(struct job *job, const struct err *err);
/* The same, once what the job did has been undone. */
void job_take_back(struct job *job, const struct err *why);
/* May the job wait in the queue? If not, it is answered and freed. */
bool job_may_wait(const struct entry *e, struct job *job);
/* branch.c, undo.c, trial.c */
void job_start_branch(struct job *job);
void job_start_undo(struct job *job);
void job_start_adopt(struct job *job);

/* What an entry hears of its session while a job runs. */
void entry_on_unbegun(void *arg);
void entry_on_begin(void *arg);
/* answer_call.c */
void entry_on_call(void *arg, struct tool_call *call);
void entry_on_cancel(void *arg, struct tool_call *call);
int entry_on_keep(void *arg, const char *text, size_t bytes, bool is_untrusted, struct err *err);
void entry_on_done(void *arg, const struct record *record);
/* Give the entry @s, which was another entry's session. */
void entry_take_session(struct entry *e, struct session *s);
