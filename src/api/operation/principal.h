/* Principals: callers with a token, their limits and rights. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A caller with its own token, who sees only its own sessions and what belongs to them: each
 * operation answers as if sessions of others did not exist. NULL is the operator of the engine, who
 * sees everything.
 *
 * A front only sets `principal` in the operation_context of its calls; operation_start() hides the
 * sessions of others.
 */
struct principal;

enum { PRINCIPAL_NAME_BYTES = 64 };

/* The principal of clients without a token, on a server that does not require tokens. A principal
 * with a token cannot have this name. */
#define PRINCIPAL_ANYONE "anyone"
/* Space in the journal for all of these clients together. */
#define PRINCIPAL_ANYONE_DISK (UINT64_C(1) << 30)

/* Limits and rights of a principal. Numbers: 0 is unlimited. Violations are answered with ERR_QUOTA
 * or ERR_DENIED. */
struct principal_limits {
	uint64_t n_sessions;   /* open sessions */
	uint64_t n_steps;      /* steps that run or wait */
	uint64_t memory_bytes; /* sum of the memory limits of live sessions */
	uint64_t steps_per_minute;
	uint64_t disk_bytes; /* space in the journal */
	/* paths=yes: may give volumes, workspace, rootfs and python to session.create, and so read
	 * and write what the operator can. */
	bool may_name_host_paths;
	bool may_see_metrics; /* metrics=yes: may read /metrics, which covers all owners */
	bool may_use_tools;   /* tools=yes: the principal and its code may call tools */
};

/*
 * @name: 1 to PRINCIPAL_NAME_BYTES - 1 of [A-Za-z0-9._-]; sessions store it as their owner, also in
 * the journal. Two principals of one name would see the same sessions: create one principal for
 * both tokens.
 * Owns: the caller ends it with principal_free(), after the registry
 * (service_close()).
 * Errors: ERR_USAGE, ERR_NO_MEMORY.
 */
int principal_new(struct principal **out, const char *name, const struct principal_limits *limits,
	struct err *err);
/* Set the limits of calls from now on. */
void principal_set_limits(struct principal *p, const struct principal_limits *limits);
void principal_free(struct principal *p);
const char *principal_name(const struct principal *p);

/* May the principal read /metrics? NULL, the operator, may. */
bool principal_may_see_metrics(const struct principal *p);

/* May the principal use tools? NULL, the operator, may. */
bool principal_may_use_tools(const struct principal *p);

/* Return the principal's unread long answers: api/operation/outstanding.h. */
struct outstanding *principal_outstanding(struct principal *p);

/* Return the principal as the registry knows it; NULL for NULL. */
struct owner *principal_owner(struct principal *p);
