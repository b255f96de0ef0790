/* Owners of sessions, and their limits. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/rate.h"

#include <stdbool.h>
#include <stdint.h>

enum { OWNER_NAME_BYTES = 64 };

/* Limits of an owner; 0: unlimited. */
struct owner_limits {
	uint64_t n_sessions;   /* open sessions, whether live or only in the journal */
	uint64_t n_steps;      /* steps that wait or run at the same time */
	uint64_t memory_bytes; /* sum of the memory limits of live sessions */
	uint64_t steps_per_minute;
	uint64_t disk_bytes; /* bytes charged in the journal, see store/account.h */
};

/* Which network rules an owner may give to its sessions. OWNER_NET_PUBLIC: names that lead to
 * public addresses only. */
enum owner_net { OWNER_NET_NONE, OWNER_NET_PUBLIC, OWNER_NET_ANY };

/* An owner of sessions. Sessions, steps and memory are not stored here, but counted from the
 * live sessions at each request. A stored counter could become wrong when a session ends in an
 * unusual way, and would have to be restored with the journal. Only the rate of steps is stored. */
struct owner {
	char name[OWNER_NAME_BYTES]; /* name in the journal; "": the operator of the engine */
	struct owner_limits limits;
	/* Whether the owner may name paths of the host for volumes, workspace, rootfs and
	 * interpreter. */
	bool may_name_host_paths;
	bool may_use_tools;
	enum owner_net net;
	struct rate rate; /* steps per minute */
};

/*
 * Take @n steps from the owner's steps per minute, with rate_take().
 * Errors: ERR_QUOTA, with the time to wait as a hint. Then no step is taken.
 */
int owner_take_steps(struct owner *o, uint64_t n, uint64_t now_ns, struct err *err);
