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

enum { RANDOM_BYTES = sizeof "building-" + 12, STATE_BYTES = PATH_MAX - 200 };

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

struct sweep {
	const struct layer_store *store;
	const json_t *wanted;
	time_t before;	 /* layers that were built later stay */
	uint64_t *bytes; /* of what was removed, or NULL: nobody asks */
};

static void add_size(uint64_t *bytes, int fd)
{
	struct layer_sum sum = {.bytes = 0};
	struct err err; /* what was counted until then counts */
	(void)layer_measure(fd, INT64_MAX, &sum, &err);
	*bytes += sum.bytes;
}

/* Take the directory @name from the layers, if nobody uses or wants it: it gets the name @aside.
 * What has a digest as its name has to be complete. Nobody puts a layer into its place meanwhile,
 * see layer_build_place(). Returns: whether it was taken; the lock is exclusive then. */
static bool take_aside(
	const struct layer_store *s, int layers, const char *name, int fd, char aside[RANDOM_BYTES])
{
	cleanup_fd int lock = layer_open_dir(layers, ".");
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return false;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !layer_is_named(layers, name, fd))
		return false;
	/* Who gives a layer to a record has a lock until the record is written, which may have
	 * happened meanwhile. */
	if (layer_is_digest(name) && layer_is_wanted(s, name))
		return false;
	id_make(aside, RANDOM_BYTES, "building-");
	return renameat(layers, name, layers, aside) == 0;
}

void layer_drop(const struct layer_store *s, int layers, const char *name, int fd, uint64_t *bytes)
{
	char aside[RANDOM_BYTES];
	if (!take_aside(s, layers, name, fd, aside))
		return;
	if (bytes)
		add_size(bytes, fd);
	(void)layer_clear(fd);
	(void)unlinkat(layers, aside, AT_REMOVEDIR);
}

static bool sweep_row(void *arg, int layers, const char *name)
{
	const struct sweep *s = arg;
	struct stat st;
	bool is_layer = layer_is_digest(name);
	if (!is_layer && strncmp(name, "building-", 9) != 0)
		return false;
	if (is_layer && json_object_get(s->wanted, name))
		return false;
	cleanup_fd int fd = layer_open_dir(layers, name);
	if (fd < 0 || fstat(fd, &st) < 0 || (is_layer && st.st_mtime > s->before))
		return false;
	layer_drop(s->store, layers, name, fd, s->bytes);
	return false;
}

void layer_sweep(struct layer_store *s, int64_t age_s, uint64_t *bytes)
{
	cleanup_fd int layers = layer_open_layers(s, false);
	cleanup_json json_t *wanted = layers >= 0 ? layer_all_wanted(s) : NULL;
	struct sweep sweep = {s, wanted, time(NULL) - (time_t)age_s, bytes};
	if (layers >= 0)
		(void)layer_each(layers, sweep_row, &sweep);
	layer_record_sweep(s);
}

/* ---- using a layer ---- */

int layer_use(struct layer_use *out, struct layer_store *s, const char *digest, struct err *err)
{
	*out = LAYER_USE_INIT;
	cleanup_fd int layers = layer_open_layers(s, false);
	cleanup_fd int fd =
		layers < 0 || !layer_is_digest(digest) ? -1 : layer_open_dir(layers, digest);
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
