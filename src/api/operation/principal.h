/* Principals: callers with a token, their limits and rights. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A caller with its own token. It sees only its own sessions and what belongs to them; for every
 * operation, sessions of others do not exist. A NULL pointer is the operator of the engine, who
 * sees everything.
 *
 * A front only sets `principal` in the operation_context of a call; operation_start() hides the
 * sessions of others.
 */
struct principal;

enum { PRINCIPAL_NAME_BYTES = 64 };

/* Name of the principal for clients without a token, on a server that does not require tokens. A
 * principal with a token cannot have this name. */
#define PRINCIPAL_ANYONE "anyone"
/* Limit of the space that all clients without a token together may use in the journal. */
#define PRINCIPAL_ANYONE_DISK (UINT64_C(1) << 30)

/* Limits and rights of a principal. A number of 0 means unlimited. Calls beyond a limit are
 * answered with ERR_QUOTA, calls without the right with ERR_DENIED. */
struct principal_limits {
	uint64_t n_sessions;   /* open sessions */
	uint64_t n_steps;      /* steps that run or wait */
	uint64_t memory_bytes; /* sum of the memory limits of live sessions */
	uint64_t steps_per_minute;
	uint64_t disk_bytes; /* space in the journal */
	/* paths=yes: the principal may name paths of the host in session.create (volumes,
	 * workspace, rootfs, python). So it can read and write what the operator can. */
	bool may_name_host_paths;
	/* net=no, 0: the principal may give its sessions no network; net=public, 1: rules that lead
	 * to public addresses only; net=any, 2: all rules, so that its code can reach what the
	 * operator can. */
	uint64_t net;
	bool may_see_metrics; /* metrics=yes: may read /metrics, which covers all owners */
	bool may_use_tools;   /* tools=yes: the principal and its code may call tools */
};

/*
 * Create a principal. @name: 1 to PRINCIPAL_NAME_BYTES - 1 characters of [A-Za-z0-9._-]. Each
 * session stores the name of its owner, also in the journal. So two principals with the same name
 * would see each other's sessions. If two tokens have the same name, create one principal for both.
 * Owns: the caller calls principal_free() after the registry has been closed (service_close()).
 * Errors: ERR_USAGE, ERR_NO_MEMORY.
 */
int principal_new(struct principal **out, const char *name, const struct principal_limits *limits,
	struct err *err);
/* Set limits and rights. They hold for calls that start later. */
void principal_set_limits(struct principal *p, const struct principal_limits *limits);
void principal_free(struct principal *p);
const char *principal_name(const struct principal *p);

/* Return whether the principal may read /metrics. The operator, NULL, may. */
bool principal_may_see_metrics(const struct principal *p);

/* Return whether the principal may use tools. The operator, NULL, may. */
bool principal_may_use_tools(const struct principal *p);

/* Return whether the principal may give its sessions a network by any rules. The operator, NULL,
 * may. */
bool principal_may_have_net(const struct principal *p);

/* Return the count of the principal's unread answers (api/operation/outstanding.h). */
struct outstanding *principal_outstanding(struct principal *p);

/* Return the principal as the registry knows it. @p NULL: return NULL. */
struct owner *principal_owner(struct principal *p);
