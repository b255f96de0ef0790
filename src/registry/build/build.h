/* Templates with packages: built in a box that has a network, kept as layers (layer/layer_store.h).
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"

enum {
	BUILDS_MAX = 4,		  /* builds at a time, of all owners; an owner has one */
	BUILD_PACKAGES_MAX = 256, /* packages that are asked for, of each kind */
	BUILD_WORD_BYTES = 1024,  /* the name of one, or a word of the command */
};

/* What to build. Everything is borrowed until `done` is called, except where it says so. */
struct registry_build {
	const char *name;
	/* What to install: {"pip": [text], "npm": [text], "apt": [text], "command": [text],
	 * "python": text}, with only the members that are not empty. */
	const json_t *spec;
	/* What an earlier build has locked, as in the result of registry_built(); or NULL. */
	const json_t *lock;
	/* Environment, network rules, interpreter and limits of the box; borrowed for the call. */
	struct order order;
	bool is_upgrade;      /* also what the host has is installed, if there is a newer version */
	uint64_t layer_bytes; /* the largest layer */
	const struct step_listener *listener; /* its `output` gets what is printed; or NULL */
};

/*
 * Build a template. One of the same name is replaced. Result: as registry_built().
 * Errors: ERR_USAGE, ERR_BUSY, ERR_QUOTA, ERR_DENIED, ERR_LIMIT, ERR_RUNTIME: the build has failed;
 * ERR_INTERRUPTED, ERR_NO_SPACE, ERR_IO.
 */
void registry_build(
	struct registry *r, const struct registry_build *req, registry_done_fn *done, void *arg);
/* Stop the build that answers to @arg, if it has not ended. It is answered with
 * ERR_INTERRUPTED. */
void registry_build_stop(struct registry *r, const void *arg);

/*
 * Operations on templates that were built. They read and remove files, so threads do them. Results:
 *
 * - registry_built(): {"name", "layer", "made_ms", "bytes", "files", "spec", "packages": [{"kind",
 * "name", "version", "hash"}], "lock": {file: text}}. Errors: ERR_NOT_FOUND, ERR_DAMAGED.
 * - registry_built_list(): an array of these, but "packages" is their number, and there is no
 * "lock".
 * - registry_unbuild(): removes a template. {"in_use"}: the files of its layer stay while a box has
 *   them. Errors: ERR_NOT_FOUND, ERR_IO.
 */
void registry_built(struct registry *r, const char *name, registry_done_fn *done, void *arg);
void registry_built_list(struct registry *r, registry_done_fn *done, void *arg);
void registry_unbuild(struct registry *r, const char *name, registry_done_fn *done, void *arg);

/* Stop all builds, because the engine ends. Call this right before registry_close(). */
void registry_build_stop_all(struct registry *r);
