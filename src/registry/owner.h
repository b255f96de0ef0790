/* Whose sessions there are, and how much one owner may have. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/rate.h"

#include <stdbool.h>
#include <stdint.h>

enum { OWNER_NAME_BYTES = 64 };

/* 0: no limit. */
struct owner_limits {
	uint64_t n_sessions;   /* that are not closed, in the journal too */
	uint64_t n_steps;      /* asked for and not answered */
	uint64_t memory_bytes; /* of the limits of all its live sessions together */
	uint64_t steps_per_minute;
	uint64_t disk_bytes; /* of the journal: store/account.h */
};

/*
 * One that sees its own sessions only. How many sessions, steps and bytes it has is counted from
 * the sessions that there are whenever it asks for one more: no count can go wrong when one ends in
 * an unusual way, and a journal that is opened again needs no other account. Only the rate of steps
 * is remembered here.
 */
struct owner {
	char name[OWNER_NAME_BYTES]; /* as the journal has it; "" is the one who runs the engine */
	struct owner_limits limits;
	bool may_name_host_paths; /* volumes, workspace, rootfs, interpreter */
	bool may_use_tools;
	struct rate rate; /* of steps */
};

/*
 * Take @n of the steps that it may run in a minute: rate_take().
 * Errors: ERR_QUOTA, with the time to wait as hint; nothing is taken then.
 */
int owner_take_steps(struct owner *o, uint64_t n, uint64_t now_ns, struct err *err);
