/* Owners of sessions, and their limits. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/rate.h"

#include <stdbool.h>
#include <stdint.h>

enum { OWNER_NAME_BYTES = 64 };

/* Limits of an owner; 0: unlimited. */
struct owner_limits {
	uint64_t n_sessions;   /* open sessions, including those only in the journal */
	uint64_t n_steps;      /* steps that wait or run */
	uint64_t memory_bytes; /* sum of the memory limits of live sessions */
	uint64_t steps_per_minute;
	uint64_t disk_bytes; /* space in the journal: store/account.h */
};

/* An owner, whose view contains only the owner's sessions. Sessions, steps and bytes are counted
 * from the live sessions at each request: a stored counter could become wrong when a session ends
 * in an unusual way, and would have to be restored with the journal. Only the rate of steps is
 * stored here. */
struct owner {
	char name[OWNER_NAME_BYTES]; /* as in the journal; "": the operator of the engine */
	struct owner_limits limits;
	bool may_name_host_paths; /* host paths are volumes, workspace, rootfs and interpreter */
	bool may_use_tools;
	struct rate rate; /* steps per minute */
};

/*
 * Take @n steps from the steps that the owner may run in a minute: rate_take().
 * Errors: ERR_QUOTA, with the time to wait as hint; nothing is taken then.
 */
int owner_take_steps(struct owner *o, uint64_t n, uint64_t now_ns, struct err *err);
