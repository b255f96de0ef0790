/* SPDX-License-Identifier: Apache-2.0 */
#include "session/stats.h"

#include "session/job.h"
#include "session/record.h"
#include "session/roll.h"

const double stats_bounds[STATS_BUCKETS] = {
	0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

/* ORDER enum entry_state, and what is only in the journal. */
const char *const stats_states[STATS_STATES] = {"opening", "idle", "working", "closing", "stored"};
enum { STATE_STORED = STATS_STATES - 1 };

const char *const stats_reasons[ADMIT_END_] = {[ADMIT_SESSIONS] = "sessions",
	[ADMIT_MEMORY] = "memory",
	[ADMIT_STEPS] = "steps",
	[ADMIT_RATE] = "rate",
	[ADMIT_ENGINE] = "engine",
	[ADMIT_PATHS] = "paths"};

static void add_time(struct stats_times *t, double seconds)
{
	size_t i = 0;
	while (i < STATS_BUCKETS && seconds > stats_bounds[i])
		i++;
	if (i < STATS_BUCKETS)
		t->n[i]++;
	t->n_all++;
	t->sum_s += seconds;
}

void stats_add(struct stats_steps *steps, const struct record *record)
{
	const struct runtime *runtime = runtime_by_name(record->runtime);
	if (runtime)
		steps->n[runtime_index(runtime)][record->status]++;
	steps->n_outcomes[record->outcome]++;
	add_time(&steps->wall, record->wall_ms / 1000);
	add_time(&steps->queued, record->queued_ms / 1000);
}

static void add_entry(struct stats *out, const struct entry *e)
{
	out->n_sessions[e->state]++;
	out->n_boxes += e->session && session_box(e->session);
	if (e->state != ENTRY_ENDING)
		out->memory_bytes += e->memory_bytes;
	const struct job *job = e->first;
	if (job && e->state == ENTRY_WORKING) {
		out->n_working += job->kind == JOB_RUN;
		job = job->next;
	}
	for (; job; job = job->next)
		out->n_queued++;
}

void registry_stats(const struct registry *r, struct stats *out)
{
	const struct roll *roll = r->roll;
	uint64_t n_kept = 0;
	struct err err;
	*out = (struct stats){.n_expired = roll->n_expired, .steps = roll->steps};
	for (int i = 0; i < ADMIT_END_; i++)
		out->n_refused[i] = roll->n_refused[i];
	for (const struct entry *e = roll->first; e; e = e->next) {
		add_entry(out, e);
		n_kept += e->is_kept && e->state != ENTRY_ENDING;
	}
	int64_t n = journal_session_count(roll->journal, NULL, &err);
	out->n_sessions[STATE_STORED] = n > (int64_t)n_kept ? (uint64_t)n - n_kept : 0;
	out->journal_bytes = journal_bytes(roll->journal);
	out->n_journal_changes = journal_changes(roll->journal);
	out->n_templates = templates_stats(roll->templates, out->templates, TEMPLATES_MAX);
}
