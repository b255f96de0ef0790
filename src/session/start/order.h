/* What a session is to be: as the caller says it, and checked. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/install.h"
#include "runtime/runtime.h"
#include "runtime/start.h"

#include <stdbool.h>
#include <stdint.h>

enum { ORDER_ID_BYTES = 24 };

/* Where boxes see skills. */
#define SKILLS_DIR "/skills"

struct volume {
	const char *src; /* of the host */
	const char *dst; /* in the box; relative to the workspace when not absolute */
	bool is_writable;
};

/* As the caller says it. Borrowed. NULL and 0 mean "not given", except for limits, which all count.
 */
struct order {
	const char *runtime; /* NULL: chosen by @filename, its `#!` line, or python */
	const char *filename;
	const char *code;
	size_t code_bytes;
	const struct volume *volumes;
	size_t n_volumes;
	const char *workspace; /* a directory of the host, written to */
	const char *rootfs;
	const char *interpreter;
	const char *const *env; /* NAME=VALUE */
	size_t n_env;
	struct limits limits;
	bool has_seed, has_time;
	uint64_t seed;
	bool is_session; /* steps of any runtime are possible, not only of @runtime */
	int64_t time_ns; /* what the box's clock shows first; since 1970 */
};

/* Checked against the host, and ready for session_open(). Owns its parts; order_done() frees. */
struct order_checked {
	const struct runtime *runtime;
	struct runtime_start starts[RUNTIMES_MAX]; /* by runtime_index() */
	struct err *why_not; /* likewise: why a runtime is missing; of a session only */
	struct limits limits;
	bool has_seed;
	/*
	 * In this order: the binds that every box has; binds of the runtimes that a branch's own
	 * workspace or /tmp hides; binds of sessions only. A template gets the first two kinds, a
	 * branch the last two.
	 */
	struct warden_bind *binds;
	size_t n_binds, n_shared, n_template;
	char id[ORDER_ID_BYTES]; /* "s-" and random letters */
};

/*
 * Check everything that can be checked before a box is made.
 * Errors: ERR_USAGE, ERR_NOT_FOUND, ERR_ACCESS, ERR_RUNTIME, ERR_LIMIT. @out is then empty.
 */
int order_check(struct order_checked *out, const struct order *order, const struct install *install,
	struct err *err);
/* The first bind of a host's directory that the session may write to, borrowed; or NULL. */
const struct warden_bind *order_host_bind(const struct order_checked *order);
/* Is the workspace a directory of the host? */
bool order_has_host_workspace(const struct order_checked *order);
void order_done(struct order_checked *c);

/* How to start @runtime. Returns: NULL and @err when this host does not have it. */
const struct runtime_start *order_start(
	const struct order_checked *c, const struct runtime *runtime, struct err *err);

/* A new session id. */
void order_new_id(char id[ORDER_ID_BYTES]);
/* The default limits. */
struct limits order_default_limits(void);
