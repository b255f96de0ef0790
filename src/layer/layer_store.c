/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/layer_store.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "layer/layer_dir.h"
#include "layer/layer_record.h"
#include "layer/layer_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RANDOM_BYTES = sizeof "building-" + 12, STATE_BYTES = PATH_MAX - 200, BATCH = 16 };

struct layer_store {
	char state[STATE_BYTES];
};

int layer_store_open(struct layer_store **out, const char *state, struct err *err)
{
	*out = NULL;
	char here[STATE_BYTES] = "";
	if (state[0] != '/' && !getcwd(here, sizeof here))
		return err_sys(err, ERR_IO, errno, "the current directory");
	*out = xnew(struct layer_store);
	int n = snprintf((*out)->state, STATE_BYTES, "%s%s%s", here, here[0] ? "/" : "", state);
	if (n > 0 && n < STATE_BYTES)
		return 0;
	layer_store_close(take_ptr(*out));
	return err_set(err, ERR_LIMIT, "the path of the state directory is too long");
}

void layer_store_close(struct layer_store *s)
{
	free(s);
}

const char *layer_store_dir(const struct layer_store *s)
{
	return s->state;
}

bool layer_is_digest(const char *text)
{
	return strlen(text) == DIGEST_BYTES - 1 &&
		strspn(text, "0123456789abcdef") == DIGEST_BYTES - 1;
}

/* ---- the removal of what nobody needs ---- */

/* What may be removed is taken in batches: each has its lock before the records are read, so that
 * nobody can give it to a record after that. */
struct candidate {
	char name[DIGEST_BYTES];
	int fd; /* with the lock */
};

struct sweep {
	struct layer_store *store;
	int layers;
	const json_t *wanted; /* when the sweep began */
	time_t before;	      /* layers that were built later stay */
	uint64_t *bytes;      /* of what was removed, or NULL: nobody asks */
	struct candidate batch[BATCH];
	size_t n;
	int result;
	struct err *err;
};

static void add_size(uint64_t *bytes, int fd)
{
	struct layer_sum sum = {.bytes = 0};
	struct err err; /* what was counted until then counts */
	(void)layer_measure(fd, INT64_MAX, &sum, &err);
	*bytes += sum.bytes;
}

/* Lock the candidates that nobody uses. Nobody puts a layer into its place meanwhile: its lock is
 * not changed in one step. */
static int lock_batch(struct sweep *s)
{
	cleanup_fd int lock = layer_open_dir(s->layers, ".");
	int r = lock < 0 ? lock : layer_lock(lock, LOCK_EX);
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		struct candidate *c = &s->batch[i];
		if (flock(c->fd, LOCK_EX | LOCK_NB) < 0 ||
			!layer_is_named(s->layers, c->name, c->fd))
			fd_close(&c->fd);
	}
	return r < 0
		? err_sys(s->err, r == -EBUSY ? ERR_BUSY : file_code(-r), -r, "lock the layers")
		: 0;
}

static void remove_layer(const struct sweep *s, struct candidate *c)
{
	char aside[RANDOM_BYTES];
	/* What has a digest as its name has to be complete. */
	id_make(aside, sizeof aside, "building-");
	if (c->fd < 0 || renameat(s->layers, c->name, s->layers, aside) < 0)
		return;
	if (s->bytes)
		add_size(s->bytes, c->fd);
	(void)layer_clear(c->fd);
	(void)unlinkat(s->layers, aside, AT_REMOVEDIR);
}

static void sweep_batch(struct sweep *s)
{
	cleanup_json json_t *wanted = NULL;
	int r = lock_batch(s);
	r = r < 0 ? r : layer_all_wanted(s->store, &wanted, s->err);
	for (size_t i = 0; i < s->n; i++) {
		struct candidate *c = &s->batch[i];
		if (r == 0 && !json_object_get(wanted, c->name))
			remove_layer(s, c);
		fd_close(&c->fd);
	}
	s->n = 0;
	s->result = r;
}

static bool sweep_row(void *arg, int layers, const char *name)
{
	struct sweep *s = arg;
	struct stat st;
	bool is_layer = layer_is_digest(name);
	bool is_build = strncmp(name, "building-", 9) == 0 && strlen(name) < DIGEST_BYTES;
	if ((!is_layer && !is_build) || json_object_get(s->wanted, name))
		return false;
	cleanup_fd int fd = layer_open_dir(layers, name);
	if (fd < 0 || fstat(fd, &st) < 0 || (is_layer && st.st_mtime > s->before))
		return false;
	struct candidate *c = &s->batch[s->n++];
	snprintf(c->name, sizeof c->name, "%s", name);
	c->fd = take_fd(fd);
	if (s->n == BATCH)
		sweep_batch(s);
	return s->result < 0;
}

int layer_sweep(struct layer_store *store, int64_t age_s, uint64_t *bytes, struct err *err)
{
	cleanup_json json_t *wanted = NULL;
	cleanup_fd int layers = layer_open_layers(store, false);
	if (layers == -ENOENT)
		return 0;
	if (layers < 0)
		return err_sys(err, file_code(-layers), -layers, "read the layers");
	struct sweep s = {.store = store,
		.layers = layers,
		.before = time(NULL) - (time_t)age_s,
		.bytes = bytes,
		.err = err};
	s.result = layer_all_wanted(store, &wanted, err);
	s.wanted = wanted;
	if (s.result == 0)
		(void)layer_each(layers, sweep_row, &s);
	if (s.result == 0)
		sweep_batch(&s);
	layer_record_sweep(store);
	return s.result;
}

/* ---- using a layer ---- */

int layer_use(struct layer_use *out, struct layer_store *s, const char *digest, struct err *err)
{
	*out = LAYER_USE_INIT;
	cleanup_fd int layers = layer_open_layers(s, false);
	cleanup_fd int fd = layers < 0	  ? layers
		: layer_is_digest(digest) ? layer_open_dir(layers, digest)
					  : -ENOENT;
	if (fd < 0 && fd != -ENOENT)
		return err_sys(err, file_code(-fd), -fd, "open the layer %.12s…", digest);
	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0)
		return err_fail(err, ERR_BUSY, "try again in a moment",
			"the layer %.12s… is being built or removed", digest);
	if (fd < 0 || !layer_is_named(layers, digest, fd))
		return err_fail(err, ERR_NOT_FOUND, "build the template again",
			"the layer %.12s… does not exist any more", digest);
	out->lock_fd = take_fd(fd);
	snprintf(out->digest, sizeof out->digest, "%s", digest);
	snprintf(out->tree, sizeof out->tree, "%s/layers/%s/tree", s->state, digest);
	return 0;
}

void layer_use_end(struct layer_use *use)
{
	fd_close(&use->lock_fd);
}
