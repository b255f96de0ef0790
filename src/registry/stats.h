/* What the sessions of an engine do, in numbers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"
#include "registry/template.h"
#include "runtime/runtime.h"
#include "session/step/record.h"

struct record;

enum { STATS_BUCKETS = 16, STATS_STATES = 5, STATS_STORED = STATS_STATES - 1 };

/* Upper ends of the buckets, in seconds. Longer steps are in no bucket. */
extern const double stats_bounds[STATS_BUCKETS];

struct stats_times {
	uint64_t n[STATS_BUCKETS]; /* not cumulated */
	uint64_t n_all;
	double sum_s;
};

/* Counted since the engine was started. */
struct stats_steps {
	uint64_t n[RUNTIMES_MAX][RECORD_STATUS_END_]; /* by enum record_status */
	uint64_t n_outcomes[RECORD_OUTCOME_END_];     /* by enum record_outcome */
	struct stats_times wall, queued;
};

struct stats {
	/* opening, idle, working, closing, stored: what session.list calls them */
	uint64_t n_sessions[STATS_STATES];
	uint64_t n_boxes;	      /* of sessions */
	uint64_t n_working, n_queued; /* steps that run; operations that wait for their session */
	uint64_t memory_bytes;	      /* of the limits of live sessions */
	uint64_t n_refused[ADMIT_END_], n_expired;
	struct stats_steps steps;
	struct template_stats templates[TEMPLATES_MAX];
	size_t n_templates;
	int64_t journal_bytes, n_journal_changes;
};

extern const char *const stats_states[STATS_STATES];
extern const char *const stats_reasons[ADMIT_END_];

/* Counts the sessions of all owners. */
void registry_stats(const struct registry *r, struct stats *out);

/* One more step that was answered. */
void stats_add(struct stats_steps *steps, const struct record *record);
