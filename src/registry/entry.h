/*
 * Internal declarations of the registry, for its own files only. What each file does:
 *
 *   registry.c         create sessions, run their queues
 *   session_table.c    find, reopen and end sessions
 *   entry.c            run the jobs of a queue: steps, completions
 *   branch.c           make branches; standby.c: make branches ahead
 *   answer_call.c      answer the tool calls of steps
 *   undo.c, trial.c    return to an earlier step; adopt a trial
 *   replay.c           run steps again, to rebuild a session or to check a record
 *   net.c              change network rules
 *   secret.c           keep the values of secrets
 *   ports.c            list ports, open them on the host
 *   put_file.c         write and remove files for a client
 *   history.c          make logs and graphs
 *   admit.c            check quotas
 *   lifetime.c         end sessions that are too old or unused
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "registry/history.h"
#include "registry/start/order_text.h"
#include "session/step/step_setting.h"
#include "registry/owner.h"
#include "registry/start/template.h"
#include "session/port/port.h"
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
	/* The bytes of memory that the session is charged for: admit_memory(). */
	uint64_t memory_bytes;
	int64_t ttl_ms, idle_ms; /* maximum age and maximum idle time; 0: unlimited */
	/* uv_hrtime() when the session was last used, and when it was last branched. branched_ns
	 * is 0 if the session was never branched, or if standby.c could not make a branch ahead. */
	uint64_t used_ns, branched_ns;
	char *order_text;
	/* The order, which the session shares with its branches. The entry holds a reference. */
	struct shared_order *shared;
	/* The template that the session was branched from (counted reference), or NULL. */
	struct template *template;
	const struct order_checked *order;
	struct secrets *secrets; /* with their values, those that are known; NULL: none */
	struct session *session; /* NULL: the session is not made yet, or is closed */
	struct port_list ports;	 /* ports of the box that are open on the host (ports.c) */
	struct pool *pool;	 /* ready branches of this session (standby.c), or NULL */
	/* The queue. While the state is ENTRY_WORKING, the first job runs, or the first few if
	 * they make branches. */
	struct job *first, **last;
	struct replay *replay;
	/* RECORD_REPLAYED or RECORD_DIVERGED after a rebuild, else RECORD_COMMITTED. */
	enum record_outcome rebuilt;
	/* `rebuilt` was reported already, in the record of a step. */
	bool is_rebuilt_told;
	/* Paths of files that a replay may have changed, to be reported by the next step; or
	 * NULL. */
	json_t *rewritten;
	char difference[384];
	/* Callback of the caller who waits until the session is open, or NULL. */
	registry_done_fn *done;
	void *arg;
	/* is_kept: the session is in the journal. is_waiting: the session waits for a branch
	 * from a pool. */
	bool is_kept, is_waiting;
	/* A temporary session that checks a record. It is never written to the journal. */
	bool is_unkept;
	/* is_tainted: the session has read untrusted data. is_mixed: the session has run a step
	 * of a runtime whose state cannot be copied (CARRY_REPLAY). */
	bool is_tainted, is_mixed;
	/* net.c: the network rules are being changed; rules that are added afterwards, or NULL */
	bool is_net_changing;
	json_t *due_rules;
	/* The session was branched from a live session. It opens with the state of that session,
	 * so no replay is needed. */
	bool is_live_branch;
	/* A trial (trial.h): programs in its box see the parent's id instead of its own. */
	bool is_trial;
	/* Reference count: one of the session, and one of each caller on the stack that needs
	 * the entry. */
	unsigned n_holds;
};

/* Create an entry in the table. It has one reference, which the session holds until it is
 * closed. */
struct entry *entry_new(struct session_table *table, const char *owner, const char *id,
	const char *name, const char *text);
/* Begin to open the session, as a branch of a template or in a box of its own. */
void entry_begin(struct entry *e);
/* Give @e the branch @s that it waited for. If @s is NULL, the opening fails with @err. */
void entry_take_branch(struct entry *e, struct session *s, const struct err *err);
void entry_opened(struct entry *e, const struct err *err);
void entry_end(struct entry *e);
/* End the entry. Its jobs and the caller who waits for its opening get the error @why. */
void entry_end_because(struct entry *e, const struct err *why);
void entry_hold(struct entry *e), entry_release(struct entry *e);
void entry_add_job(struct entry *e, struct job *job);
/* Answer the first job of the queue and remove it; then start the next job. */
void entry_answer(struct entry *e, const json_t *result, const struct err *err);
void entry_answer_job(struct job *job, const json_t *result, const struct err *err);
/* Start the next waiting job at once if this job and all running jobs make branches. */
void entry_branch_on(struct entry *e);
json_t *entry_json(const struct entry *e);

/* ---- the queue of a session ---- */

enum job_kind { JOB_RUN, JOB_BRANCH, JOB_UNDO, JOB_NAMES, JOB_FILE, JOB_BOX, JOB_ADOPT, JOB_END_ };

/* An operation in a session's queue, with copies of all its arguments. */
struct job {
	struct job *next;
	struct entry *entry;
	enum job_kind kind;
	/* Argument of the job: name, path, text to complete, or id of a step or trial. */
	char *text;
	size_t bytes;
	struct step_order *order; /* JOB_RUN: the step to run, a counted reference */
	const struct step_listener *listener;
	/* JOB_NAMES: the language of `text`; NULL stands for the session's default language. */
	const struct runtime *runtime;
	char scope[STEP_SCOPE_BYTES + 1]; /* JOB_NAMES: a scope, or "" */
	bool is_forced, is_removal;
	/* JOB_BRANCH: what becomes of processes of the session, and how many of them go on and
	 * are not in the branch. */
	enum session_others others;
	unsigned n_missing;
	/* JOB_BRANCH: the branch is a trial, which ends after ttl_ms. */
	bool is_trial;
	uint64_t ttl_ms;
	bool has_secrets; /* JOB_BRANCH: the branch gets the values of the secrets */
	/* JOB_FILE: descriptor of the content to write; -1 for a removal. */
	int fd;
	unsigned count;
	size_t fd_bytes; /* JOB_FILE: length of the content */
	/* JOB_UNDO: the step to return to ("": before the first). JOB_FILE: digest of the
	 * content. */
	char step[DIGEST_BYTES];
	uint64_t asked_ns;
	/* The error that the job is answered with, after the previous state was restored. */
	struct err why;
	bool is_started;
	/* JOB_FILE: the digest that a thread is computing (put_file.c), or NULL. */
	struct put_file_sum *sum;
	/* JOB_BRANCH: entry of the branch that is being made, or NULL. */
	struct entry *child;
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
/* Undo what the job did, then answer the job with the error @why. */
void job_take_back(struct job *job, const struct err *why);
/* Return whether @job may be queued (admit_job()). If not, answer it with the error and free it. */
bool job_may_wait(const struct entry *e, struct job *job);
/* Start a job of one kind: JOB_BRANCH (in branch.c), JOB_UNDO (in undo.c), JOB_ADOPT (in
 * trial.c). */
void job_start_branch(struct job *job);
void job_start_undo(struct job *job);
void job_start_adopt(struct job *job);

/* Callbacks by which a session tells its entry about a step, as struct session_events describes
 * them. */
void entry_on_unbegun(void *arg);
void entry_on_begin(void *arg);
/* Callbacks by which a session tells its entry that a step calls a tool or cancels such a call.
 * They are in answer_call.c. */
void entry_on_call(void *arg, struct tool_call *call);
void entry_on_cancel(void *arg, struct tool_call *call);
void entry_on_widen(void *arg, const char *rule); /* net.c */
int entry_on_keep(void *arg, const char *text, size_t bytes, bool is_untrusted, struct err *err);
void entry_on_done(void *arg, const struct record *record);
/* Let @e take over @s, which was the session of another entry. */
void entry_take_session(struct entry *e, struct session *s);
