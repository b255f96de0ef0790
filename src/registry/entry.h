/*
 * The registry from the inside: shared by the files that carry it, seen by no other.
 *
 *   registry.c         sessions made; the queue of each
 *   find.c             sessions found, opened again, ended
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

struct job;
struct roll;
struct replay;

enum entry_state { ENTRY_OPENING, ENTRY_IDLE, ENTRY_WORKING, ENTRY_ENDING };

struct entry {
	struct entry *next;
	struct roll *roll;
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
	struct session *session;   /* NULL while there is none */
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

/* On the roll, with one hold: the session's own. NULL without memory. */
struct entry *entry_new(
	struct roll *roll, const char *owner, const char *id, const char *name, const char *text);
/* Open it: by a template, or in a box of its own. */
void entry_begin(struct entry *e);
/* The branch that it waited for, or (@err) there will be none. */
void entry_take_branch(struct entry *e, struct session *s, const struct err *err);
void entry_opened(struct entry *e, const struct err *err);
void entry_end(struct entry *e);
/* The same; whoever waits for something is told @why. */
void entry_end_because(struct entry *e, const struct err *why);
void entry_hold(struct entry *e), entry_release(struct entry *e);
void entry_add_job(struct entry *e, struct job *job);
void entry_answer(struct entry *e, const json_t *result, const struct err *err); /* its first job */
void entry_answer_job(struct job *job, const json_t *result, const struct err *err);
void entry_branch_on(struct entry *e); /* make another branch side by side, if one comes next */
json_t *entry_json(const struct entry *e);
