/* Statistics of the sessions of an engine. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"
#include "registry/template.h"
#include "runtime/runtime.h"
#include "session/step/record.h"

struct record;

enum { STATS_BUCKETS = 16, STATS_STATES = 5, STATS_STORED = STATS_STATES - 1 };

/* Upper bounds of the buckets, in seconds. Longer steps are not in any bucket. */
extern const double stats_bounds[STATS_BUCKETS];

struct stats_times {
	uint64_t n[STATS_BUCKETS]; /* number of steps in each bucket, not cumulative */
	uint64_t n_all;
	double sum_s;
};

/* Numbers of steps since the engine was started. */
struct stats_steps {
	uint64_t n[RUNTIMES_MAX][RECORD_STATUS_END_]; /* by runtime and enum record_status */
	uint64_t n_outcomes[RECORD_OUTCOME_END_];     /* by enum record_outcome */
	struct stats_times wall, queued;
};

struct stats {
	/* by state, in the words of session.list: opening, idle, working, closing, stored */
	uint64_t n_sessions[STATS_STATES];
	uint64_t n_boxes;	      /* boxes of live sessions */
	uint64_t n_working, n_queued; /* running steps; waiting operations */
	uint64_t memory_bytes;	      /* sum of the memory limits of live sessions */
	uint64_t n_refused[ADMIT_END_], n_expired;
	struct stats_steps steps;
	struct template_stats templates[TEMPLATES_MAX];
	size_t n_templates;
	int64_t journal_bytes, n_journal_changes;
};

extern const char *const stats_states[STATS_STATES];
extern const char *const stats_reasons[ADMIT_END_];

/* Collect the numbers for the sessions of all owners. */
void registry_stats(const struct registry *r, struct stats *out);

/* Add the record of an answered step. */
void stats_add(struct stats_steps *steps, const struct record *record);
