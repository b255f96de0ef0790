/* Who calls: what it may see, and how much it may ask for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One caller with a token of its own. It sees its sessions and what belongs to them, nothing else;
 * what is another's does not exist for it: each operation answers as if nobody had ever made it. No
 * principal (NULL) is the one who runs the engine, who sees everything.
 *
 * A front sets `principal` of the operation_context that it calls with, and that is all: what is
 * hidden is hidden by operation_start().
 */
struct principal;

enum { PRINCIPAL_NAME_BYTES = 64 };

/* The principal of clients without a token, on a server that does not ask for one. No token has
 * this name. */
#define PRINCIPAL_ANYONE "anyone"
/* What all of those together have of the journal. */
#define PRINCIPAL_ANYONE_DISK (UINT64_C(1) << 30)

/* Numbers: 0 is no limit. Flags: false is no. What is refused is told as ERR_QUOTA, ERR_DENIED. */
struct principal_limits {
	uint64_t n_sessions;   /* that are not closed */
	uint64_t n_steps;      /* at the same time, with those that wait for their turn */
	uint64_t memory_bytes; /* of all its sessions' limits together */
	uint64_t steps_per_minute;
	uint64_t disk_bytes; /* of the journal */
	/* paths=yes: volumes, workspace, rootfs and python of session.create. Whoever may name them
	 * reads, and writes, what the one who runs the engine can. */
	bool may_name_host_paths;
	bool may_see_metrics; /* metrics=yes: all of /metrics, which tells of everybody */
	bool may_use_tools;   /* tools=yes: its code may call tools, and so may it */
};

/*
 * @name: 1 to PRINCIPAL_NAME_BYTES - 1 of [A-Za-z0-9._-]; it is what sessions remember as their
 * owner, also in the journal. Two principals of one name would see the same sessions: make one, and
 * let it have both tokens.
 * Owns: the caller ends it with principal_free(), after the registry (service_close()).
 * Errors: ERR_USAGE, ERR_NO_MEMORY.
 */
int principal_new(struct principal **out, const char *name, const struct principal_limits *limits,
	struct err *err);
/* From the next call on. */
void principal_set_limits(struct principal *p, const struct principal_limits *limits);
void principal_free(struct principal *p);
const char *principal_name(const struct principal *p);

/* May it see /metrics? NULL, the one who runs the engine, may. */
bool principal_may_see_metrics(const struct principal *p);

/* May it use tools? NULL may. */
bool principal_may_use_tools(const struct principal *p);

/* The long answers that it has not taken: api/operation/outstanding.h. */
struct outstanding *principal_outstanding(struct principal *p);

/* What sessions know of it; NULL for NULL. */
struct owner *principal_owner(struct principal *p);
