/* Who calls: what it may see, and how much it may ask for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdint.h>

/*
 * One caller with a token of its own. It sees its sessions and what belongs to them, nothing else;
 * what is another's does not exist for it. No principal (NULL) is the one who runs the engine, who
 * sees everything.
 */
struct principal;

enum { PRINCIPAL_NAME_BYTES = 64 };

/* 0: no limit. */
struct principal_limits {
	uint64_t n_sessions;
	uint64_t n_steps;      /* at the same time */
	uint64_t memory_bytes; /* of all its sessions' limits together */
	uint64_t steps_per_minute;
};

/*
 * @name: 1 to PRINCIPAL_NAME_BYTES - 1 of [A-Za-z0-9._-]; it is what sessions remember as their
 * owner, also in the journal.
 * Owns: the caller ends it with principal_free(), after the registry.
 * Errors: ERR_USAGE, ERR_NO_MEMORY.
 */
int principal_new(struct principal **out, const char *name, const struct principal_limits *limits,
	struct err *err);
void principal_free(struct principal *p);
const char *principal_name(const struct principal *p);
