/* What the boxes of a build see of the host. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "layer/layer_build.h"
#include "session/start/engine.h"
#include "session/start/order.h"

#define BUILD_RECIPE "/build/recipe"

enum { BUILD_HOST_FILES = 8, BUILD_VOLUMES_MAX = 5 + BUILD_HOST_FILES };

/*
 * A cache of the package managers, which stays from build to build of one owner: a directory below
 * packages/ in the state directory. A build that gets no lock on it has none. Whoever builds can
 * write to the cache, so owners do not share it.
 */
struct build_cache {
	int lock_fd; /* -1: this build has no cache */
	char path[PATH_MAX];
};
enum { BUILD_CACHE_BYTES = INT32_C(1) << 30 };

/* Open the cache of @owner below the directory @state. */
void build_cache_open(struct build_cache *cache, const char *state, const char *owner);
/* Check the size of a cache that is in use: a template of @layer_bytes may need as much besides
 * BUILD_CACHE_BYTES. Blocks: for the time of a walk. Errors: ERR_LIMIT, ERR_IO. */
int build_cache_check(const struct build_cache *cache, uint64_t layer_bytes, struct err *err);
/* Empty the cache if it is larger than BUILD_CACHE_BYTES, and unlock it. Blocks: for the time of
 * the removal, so a thread calls it. */
void build_cache_close(struct build_cache *cache);

/* Directories of a build, besides the layer: what is to be installed, what the box says that it has
 * installed, and what the command of the template makes. This last one is not in the layer before
 * build_dirs_join(): programs of the first box can put links into the layer. */
struct build_dirs {
	int in_fd, out_fd, command_fd;
};
#define BUILD_DIRS_INIT ((struct build_dirs){-1, -1, -1})

/* Errors: ERR_IO, ERR_NO_SPACE. Close @dirs afterwards in any case. */
int build_dirs_make(struct build_dirs *dirs, const struct layer_build *place, struct err *err);
void build_dirs_close(struct build_dirs *dirs);
/* Move what the command has made to /opt/@name of the layer. Errors: ERR_BUILD: there is something
 * already. */
int build_dirs_join(const struct layer_build *place, const char *name, struct err *err);

struct build_what {
	const char *name; /* of the template */
	bool has_apt;	  /* Debian packages are installed */
};

/* Check that the host's lists of apt repositories have no password: a build of Debian packages has
 * them. Errors: ERR_USAGE. */
int build_check_sources(struct err *err);

/* The volumes of the box that installs, and of the one that runs the command. They point into the
 * struct. */
struct build_volumes {
	struct volume installing[BUILD_VOLUMES_MAX], running[1];
	size_t n_installing, n_running;
	char in[PATH_MAX], out[PATH_MAX], tree[PATH_MAX], recipe[PATH_MAX], command[PATH_MAX];
	char command_dst[80];
};
void build_volumes_of(struct build_volumes *v, const struct engine *engine,
	const struct layer_build *place, const struct build_cache *cache,
	const struct build_what *what);
