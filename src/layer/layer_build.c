/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/layer_build.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "layer/layer_dir.h"
#include "layer/layer_record.h"
#include "layer/layer_template.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RANDOM_BYTES = sizeof "building-" + 12, PLACE_TRIES = 1000, PLACE_WAIT_NS = 5000000 };

/* Make and lock the directory of a build. Nobody takes it for abandoned before it is locked. */
static int make_dir(struct layer_build *b, int layers)
{
	char name[RANDOM_BYTES];
	cleanup_fd int lock = layer_open_dir(layers, ".");
	int r = lock < 0 ? lock : layer_lock(lock, LOCK_SH);
	if (r < 0)
		return r;
	id_make(name, sizeof name, "building-");
	if (mkdirat(layers, name, 0700) < 0)
		return -errno;
	cleanup_fd int fd = layer_open_dir(layers, name);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !layer_is_named(layers, name, fd))
		return -EAGAIN;
	snprintf(b->path, sizeof b->path, "%s/layers/%s", layer_store_dir(b->store), name);
	b->dir_fd = take_fd(fd);
	if (mkdirat(b->dir_fd, "tree", 0755) < 0)
		return -errno;
	b->tree_fd = layer_open_dir(b->dir_fd, "tree");
	return MIN(b->tree_fd, 0);
}

int layer_build_open(struct layer_build *b, struct layer_store *s, struct err *err)
{
	*b = LAYER_BUILD_INIT;
	b->store = s;
	cleanup_fd int layers = layer_open_layers(s, true);
	int r = layers;
	for (int i = 0; layers >= 0 && i < 3 && (r = make_dir(b, layers)) == -EAGAIN; i++)
		;
	return r < 0 ? err_sys(err, file_code(-r), -r, "make a directory in %.150s/layers",
			       layer_store_dir(s))
		     : 0;
}

int layer_build_begin(struct layer_build *b, struct layer_store *s, const char *owner,
	const char *name, struct err *err)
{
	*b = LAYER_BUILD_INIT;
	int r = layer_check_name(name, err);
	if (r == 0)
		r = layer_check_count(s, owner, name, err);
	if (r < 0)
		return r;
	struct err ignored; /* what is left is swept another time */
	(void)layer_sweep(s, 0, NULL, &ignored);
	return layer_build_open(b, s, err);
}

/* Remove what is beside the tree and its description. */
static bool remove_beside(void *arg, int dir, const char *name)
{
	(void)arg;
	if (strcmp(name, "tree") == 0 || strcmp(name, "about.json") == 0)
		return false;
	cleanup_fd int fd = layer_open_dir(dir, name);
	if (fd >= 0)
		(void)layer_clear(fd);
	(void)unlinkat(dir, name, fd >= 0 ? AT_REMOVEDIR : 0);
	return false;
}

/* Give the build its final name, or lock the layer that has it. A layer can be locked while it is
 * taken away. Returns: 0; -EAGAIN: not yet; or another negative errno. */
static int try_place(struct layer_build *b, int layers, const char *digest)
{
	cleanup_fd int lock = layer_open_dir(layers, ".");
	int r = lock < 0 ? lock : layer_lock(lock, LOCK_SH);
	if (r < 0)
		return r;
	if (renameat(layers, strrchr(b->path, '/') + 1, layers, digest) == 0) {
		/* It is complete, so others may use it. They cannot take it away meanwhile. */
		(void)flock(b->dir_fd, LOCK_SH);
		fd_close(&b->tree_fd); /* it is in its place */
		return 0;
	}
	if (errno != EEXIST && errno != ENOTEMPTY)
		return -errno;
	cleanup_fd int fd = layer_open_dir(layers, digest);
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0 || !layer_is_named(layers, digest, fd))
		return -EAGAIN;
	b->other_fd = take_fd(fd);
	return 0;
}

static int place(struct layer_build *b, int layers, const char *digest)
{
	int r = -EAGAIN;
	(void)layer_each(b->dir_fd, remove_beside, NULL);
	if (syncfs(b->tree_fd) < 0)
		return -errno;
	for (int i = 0; i < PLACE_TRIES && (r = try_place(b, layers, digest)) == -EAGAIN; i++)
		(void)nanosleep(&(struct timespec){.tv_nsec = PLACE_WAIT_NS}, NULL);
	if (r == 0 && b->tree_fd < 0)
		(void)fsync(layers);
	return r;
}

int layer_build_place(struct layer_build *b, const char *digest, struct err *err)
{
	cleanup_fd int layers = layer_open_layers(b->store, false);
	int r = layers < 0 ? layers : place(b, layers, digest);
	return r < 0 ? err_sys(err, file_code(-r), -r, "keep a layer") : 0;
}

int layer_build_commit(struct layer_build *b, const char *digest, const char *owner, json_t *about,
	struct err *err)
{
	char file[LAYER_NAME_BYTES + 8];
	json_put_text(about, "layer", digest);
	layer_template_file(json_get_text(about, "name"), file);
	int r = layer_build_place(b, digest, err);
	if (r < 0)
		return r;
	r = layer_record_put(b->store, LAYER_TEMPLATES, owner, file, about, err);
	if (r < 0) {
		struct err ignored;
		fd_close(&b->dir_fd); /* nobody needs it now */
		(void)layer_sweep(b->store, 0, NULL, &ignored);
	}
	return r;
}

void layer_build_end(struct layer_build *b)
{
	bool is_placed = b->tree_fd < 0;
	cleanup_fd int layers =
		b->dir_fd >= 0 && !is_placed ? layer_open_layers(b->store, false) : -1;
	if (layers >= 0) {
		(void)layer_clear(b->dir_fd);
		(void)unlinkat(layers, strrchr(b->path, '/') + 1, AT_REMOVEDIR);
	}
	fd_close(&b->tree_fd);
	fd_close(&b->dir_fd);
	fd_close(&b->other_fd);
}
