/* Statistics of the sessions of an engine. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gateway/gateway.h"
#include "registry/registry.h"
#include "registry/start/template.h"
#include "runtime/runtime.h"
#include "session/step/record.h"

struct record;

enum { STATS_BUCKETS = 16, STATS_STATES = 5, STATS_STORED = STATS_STATES - 1 };

/* Upper bounds of the histogram's buckets, in seconds. Steps that took longer than the last
 * bound are in none of the buckets. */
extern const double stats_bounds[STATS_BUCKETS];

struct stats_times {
	uint64_t n[STATS_BUCKETS]; /* steps in each bucket; the counts are not cumulative */
	uint64_t n_all;
	double sum_s;
};

/* Numbers of steps since the start of the engine. */
struct stats_steps {
	/* Number of steps, by runtime and enum record_status. */
	uint64_t n[RUNTIMES_MAX][RECORD_STATUS_END_];
	uint64_t n_outcomes[RECORD_OUTCOME_END_]; /* number of steps by enum record_outcome */
	struct stats_times wall, queued;
};

struct stats {
	/* Number of sessions in each state. The index is the place of the state's name in
	 * stats_states: opening, idle, working, closing, stored. */
	uint64_t n_sessions[STATS_STATES];
	uint64_t n_boxes; /* number of live sessions that have a box */
	/* n_working: number of steps that run. n_queued: number of operations that wait in
	 * queues. */
	uint64_t n_working, n_queued;
	uint64_t memory_bytes; /* sum of the memory limits of live sessions */
	uint64_t n_refused[ADMIT_END_], n_expired;
	struct stats_steps steps;
	struct template_stats templates[TEMPLATES_MAX];
	size_t n_templates;
	int64_t journal_bytes, n_journal_changes;
	struct gateway_totals network;
};

extern const char *const stats_states[STATS_STATES];
extern const char *const stats_reasons[ADMIT_END_];

/* Collect the numbers for the sessions of all owners. */
void registry_stats(const struct registry *r, struct stats *out);

/* Count an answered step by its record. */
void stats_add(struct stats_steps *steps, const struct record *record);
