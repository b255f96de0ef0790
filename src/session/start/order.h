/* The parameters of a session, as given by the caller, and the same after all checks.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/install.h"
#include "runtime/runtime.h"
#include "runtime/start.h"

#include <stdbool.h>
#include <stdint.h>

enum { ORDER_ID_BYTES = 24 };

/* Directory of skills in a box. */
#define SKILLS_DIR "/skills"

struct volume {
	const char *src; /* path on the host */
	const char *dst; /* path in the box; a relative one begins at the workspace */
	bool is_writable;
};

/* Parameters of a session as the caller gives them, borrowed. NULL and 0 mean "not given", except
 * in @limits, where every value is used. */
struct order {
	const char *runtime; /* NULL: guessed from @filename or its `#!` line, else python */
	const char *filename;
	const char *code;
	size_t code_bytes;
	const struct volume *volumes;
	size_t n_volumes;
	const char *workspace; /* directory of the host that the box may write to, or NULL */
	const char *rootfs;
	const char *interpreter;
	const char *const *env; /* strings NAME=VALUE */
	size_t n_env;
	struct limits limits;
	bool has_seed, has_time;
	uint64_t seed;
	bool is_session; /* allows steps of any runtime, not only of @runtime */
	int64_t time_ns; /* first time of the box's clock, since 1970 */
};

/* Parameters checked against the host, ready for session_open(). Owns its parts; order_done() frees
 * them. */
struct order_checked {
	const struct runtime *runtime;
	struct runtime_start starts[RUNTIMES_MAX]; /* indexed by runtime_index() */
	struct err *why_not; /* for sessions: reason why each runtime is missing; else NULL */
	struct limits limits;
	bool has_seed;
	/*
	 * Three groups: first @n_shared binds that every box gets; then, up to @n_template, binds
	 * of runtimes that a branch's own workspace or /tmp hides; then binds of sessions only. A
	 * template gets the first two groups, a branch the last two.
	 */
	struct warden_bind *binds;
	size_t n_binds, n_shared, n_template;
	char id[ORDER_ID_BYTES]; /* session id: "s-" and random letters */
};

/*
 * Check everything that can be checked before a box is made.
 * Errors: ERR_USAGE, ERR_NOT_FOUND, ERR_ACCESS, ERR_RUNTIME, ERR_LIMIT; @out is empty then.
 */
int order_check(struct order_checked *out, const struct order *order, const struct install *install,
	struct err *err);
/* Return the first bind of a host's directory that the session may write to, borrowed; or NULL. */
const struct warden_bind *order_host_bind(const struct order_checked *order);
/* Is the workspace a directory of the host? */
bool order_has_host_workspace(const struct order_checked *order);
void order_done(struct order_checked *c);

/* Return the command and environment that start @runtime. Returns: NULL and @err if this host lacks
 * it. */
const struct runtime_start *order_start(
	const struct order_checked *c, const struct runtime *runtime, struct err *err);

/* Make a new session id. */
void order_new_id(char id[ORDER_ID_BYTES]);
/* Return the default limits. */
struct limits order_default_limits(void);
