/* What waits to be done in a session. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"
#include "store/journal.h"

struct entry;
struct summing;

enum job_kind { JOB_RUN, JOB_BRANCH, JOB_UNDO, JOB_NAMES, JOB_FILE, JOB_BOX, JOB_ADOPT, JOB_END_ };

/* One operation on a session, with its own copy of what it needs. */
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
	struct summing *summing; /* put_file.c: in a thread, or NULL */
	struct entry *child;	 /* the branch being made */
	registry_done_fn *done;
	void *arg;
};

/* Run what the job asks; its entry's queue has come to it. */
void job_start(struct job *job);
/* @text is copied. NULL without memory. */
struct job *job_new(
	enum job_kind kind, const char *text, size_t bytes, registry_done_fn *done, void *arg);
void job_free(struct job *job);
/* Answer the job under way with @err. */
void job_fail(struct job *job, const struct err *err);
/* The same when what it did is taken back. */
void job_take_back(struct job *job, const struct err *why);
/* May it wait in line? If not, it is answered and freed. */
bool job_may_wait(const struct entry *e, struct job *job);
/* There is no job to be answered. */
void job_no_memory(registry_done_fn *done, void *arg);
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
/* @s, which was another's, is its session from now on: those are what is heard of it. */
void entry_take_session(struct entry *e, struct session *s);
