/*
 * Numbers for metrics: sessions by state, steps by status and duration.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/stats.h"

#include "session/step/record.h"

const double stats_bounds[STATS_BUCKETS] = {
	0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

/* Names of the states of sessions. ORDER: the first four are those of enum entry_state, in the same
 * order. The last, "stored", is for sessions that are only in the journal. */
const char *const stats_states[STATS_STATES] = {"opening", "idle", "working", "closing", "stored"};

const char *const stats_reasons[ADMIT_END_] = {[ADMIT_SESSIONS] = "sessions",
	[ADMIT_MEMORY] = "memory",
	[ADMIT_STEPS] = "steps",
	[ADMIT_RATE] = "rate",
	[ADMIT_ENGINE] = "engine",
	[ADMIT_PATHS] = "paths",
	[ADMIT_NET] = "net",
	[ADMIT_QUEUE] = "queue",
	[ADMIT_DISK] = "disk"};

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
