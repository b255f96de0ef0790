/* The parameters of a session: as the caller gives them, and after all checks.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/install.h"
#include "gateway/rule/rule.h"
#include "gateway/rule/secret.h"
#include "runtime/runtime.h"
#include "runtime/start.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { ORDER_ID_BYTES = 24 };

/* Directory in a box that contains the skills. */
#define SKILLS_DIR "/skills"

struct order_image;

struct volume {
	const char *src; /* path on the host */
	const char *dst; /* path in the box; a relative path is below the workspace */
	bool is_writable;
};

/* Parameters of a session as the caller gives them, borrowed. NULL or 0 means that the caller
 * did not give the parameter, except in @limits, where every value is used. */
struct order {
	/* Name of the session's own runtime. NULL: guess it by @filename or the `#!` line of
	 * @code; if that fails, it is python. */
	const char *runtime;
	const char *filename;
	const char *code;
	size_t code_bytes;
	const struct volume *volumes;
	size_t n_volumes;
	const char *workspace; /* directory of the host that the box may write to, or NULL */
	/* The system of the box, which it can change: a directory of the host, or the name of an
	 * image. At most one of the two; NULL: the host's system, read-only. */
	const char *rootfs, *image_name;
	/* What order_layer_find() and order_layer_use() have found of it, see order_image.h; or
	 * NULL. */
	const struct order_image *image;
	const char *interpreter;
	/* A template with packages: its name, for those who ask; the digest of its layer; and the
	 * directory of the layer on this host, which order_check() takes. NULL: none. */
	const char *template, *layer, *layer_tree;
	/* The Python interpreter of the template, for which its packages are; NULL: the usual one.
	 * @interpreter comes before it. */
	const char *template_python;
	const char *const *env; /* strings NAME=VALUE */
	size_t n_env;
	const char *const *net; /* network rules, see gateway/rule/rule.h */
	size_t n_net;
	const struct secrets *secrets; /* NULL: none. For each, there is a rule in @net. */
	struct limits limits;
	bool has_seed, has_time;
	uint64_t seed;
	bool is_session; /* allow steps of any runtime, not only of @runtime */
	int64_t time_ns; /* time at which the box's clock begins, in ns since 1970 */
};

/* Parameters that were checked on this host, ready for session_open(). order_done() frees all
 * members. */
struct order_checked {
	const struct runtime *runtime;
	struct runtime_start starts[RUNTIMES_MAX]; /* indexed by runtime_index() */
	/* Errors of the runtimes that cannot be started, indexed by runtime_index(). NULL if the
	 * order was not for a session (`is_session`). */
	struct err *why_not;
	struct limits limits;
	bool has_seed;
	struct rules *net;	 /* NULL: the box has no network */
	struct secrets *secrets; /* NULL: it has none. The values are not in here. */
	/*
	 * Three groups of binds, in this order:
	 *
	 * - The first @n_shared binds are outside of the workspace and /tmp. They are mounted in a
	 *   template, and its branches see them.
	 * - The binds from @n_shared up to @n_template are binds of runtimes in the workspace or
	 *   /tmp. A branch must mount them again, because it has a workspace and a /tmp of its
	 *   own.
	 * - The other binds are the session's own workspace, and volumes in the workspace or /tmp.
	 *
	 * A template gets the first two groups, a branch the last two.
	 */
	struct warden_bind *binds;
	size_t n_binds, n_shared, n_template;
	bool has_image;	   /* a branch gets all binds again */
	uint32_t uid, gid; /* of the user of the box, inside it */
	/* of the image: its working directory, in which programs of clients start; borrowed; or
	 * NULL */
	const char *workdir;
	json_t *image;		 /* {"name", "digest"} for records, or NULL */
	char id[ORDER_ID_BYTES]; /* id of the session: "s-" and random letters */
};

struct trust;

/*
 * Check everything that can be checked before a box is made.
 * @trust: what a box with rules for requests trusts, which is made if it is needed; NULL: the order
 * is checked only, and no box will be made of it.
 * Errors: ERR_USAGE, ERR_NOT_FOUND, ERR_ACCESS, ERR_RUNTIME, ERR_LIMIT; @out is empty then.
 */
int order_check(struct order_checked *out, const struct order *order, const struct install *install,
	struct trust *trust, struct err *err);
/*
 * Refuse a directory that the session could write to and that contains one of the @n directories
 * @dirs, each of which may be NULL. The engine's sockets are there: a program could put one of its
 * own in their place, and what calls the engine would call the program. Errors: ERR_ACCESS.
 */
int order_check_sockets(
	const struct order_checked *c, const char *const *dirs, size_t n, struct err *err);
/* Return the first bind of a host's directory that the session may write to, borrowed; or NULL. */
const struct warden_bind *order_host_bind(const struct order_checked *order);
/* Return whether the workspace is a directory of the host. */
bool order_has_host_workspace(const struct order_checked *order);
/* Return the binds that a branch gets, borrowed, and how many they are. */
const struct warden_bind *order_branch_binds(const struct order_checked *order);
size_t order_n_branch_binds(const struct order_checked *order);
void order_done(struct order_checked *c);

/* Return whether there is a network rule among @n texts: "none" is not one. */
bool order_has_net(const char *const *net, size_t n);

/* Return the command and environment that start @runtime. Returns: NULL, with @err, if this host
 * lacks the runtime. */
const struct runtime_start *order_start(
	const struct order_checked *c, const struct runtime *runtime, struct err *err);

/* Make a new session id. */
void order_new_id(char id[ORDER_ID_BYTES]);
/* Return the default limits. */
struct limits order_default_limits(void);
