/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/layer_store.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"

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

enum { OWNER_CHARS = 32, RANDOM_BYTES = sizeof "building-" + 12, STATE_BYTES = PATH_MAX - 200 };
enum { PLACE_TRIES = 1000, PLACE_WAIT_NS = 5000000 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

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

int layer_check_name(const char *name, struct err *err)
{
	size_t n = strlen(name);
	if (n > 0 && n < LAYER_NAME_BYTES && strspn(name, letters) == n && name[0] != '.' &&
		name[0] != '-')
		return 0;
	return err_fail(err, ERR_USAGE,
		"use letters, digits, '-', '_' and '.', at most 63, and begin with a letter or digit",
		"\"%.64s\" is no name for a template", name);
}

/* ---- directories ---- */

static int open_dir(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Open the directory @name in the state directory. If it does not exist, make it, if @is_made.
 * Returns: a descriptor, or negative errno. */
static int open_place(const struct layer_store *s, const char *name, bool is_made)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", s->state, name);
	int r = is_made ? file_make_dirs(path, 0700, 0700) : 0;
	return r < 0 ? r : open_dir(AT_FDCWD, path);
}

static int open_layers(const struct layer_store *s, bool is_made)
{
	return open_place(s, "layers", is_made);
}

static int open_owner(const struct layer_store *s, const char *owner, bool is_made)
{
	char digest[DIGEST_BYTES], place[64];
	digest_text(digest, owner, strlen(owner));
	snprintf(place, sizeof place, "templates/%.*s", owner[0] ? OWNER_CHARS : 1,
		owner[0] ? digest : "-");
	return open_place(s, place, is_made);
}

static bool is_digest(const char *text)
{
	return strlen(text) == DIGEST_BYTES - 1 &&
		strspn(text, "0123456789abcdef") == DIGEST_BYTES - 1;
}

/* Return whether @fd still is what @name names in the directory @dir. */
static bool is_named(int dir, const char *name, int fd)
{
	struct stat at, st;
	return fstat(fd, &st) == 0 && fstatat(dir, name, &at, AT_SYMLINK_NOFOLLOW) == 0 &&
		at.st_dev == st.st_dev && at.st_ino == st.st_ino;
}

/* Call @row for each name in the directory @dir, until it returns true. Returns: whether it did. */
static bool each(int dir, bool (*row)(void *arg, int dir, const char *name), void *arg)
{
	int copy = open_dir(dir, ".");
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	bool is_done = false;
	if (!list) {
		fd_close(&copy);
		return false;
	}
	while (!is_done && (entry = readdir(list)))
		if (entry->d_name[0] != '.')
			is_done = row(arg, dir, entry->d_name);
	(void)closedir(list);
	return is_done;
}

/* ---- templates ---- */

static json_t *read_about(int dir, const char *file)
{
	cleanup_buf struct buf text = BUF_INIT(LAYER_ABOUT_BYTES);
	cleanup_fd int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || file_read_fd(&text, fd) < 0)
		return NULL;
	json_t *about = json_loadb(buf_str(&text), text.bytes, 0, NULL);
	if (about && is_digest(json_get_text(about, "layer")))
		return about;
	json_decref(about);
	return NULL;
}

static void file_of(const char *name, char out[LAYER_NAME_BYTES + 8])
{
	snprintf(out, LAYER_NAME_BYTES + 8, "%s.json", name);
}

json_t *layer_store_get(struct layer_store *s, const char *owner, const char *name, struct err *err)
{
	char file[LAYER_NAME_BYTES + 8];
	if (layer_check_name(name, err) < 0)
		return NULL;
	file_of(name, file);
	cleanup_fd int dir = open_owner(s, owner, false);
	json_t *about = dir < 0 ? NULL : read_about(dir, file);
	if (about)
		return about;
	if (dir >= 0 && faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		(void)err_fail(
			err, ERR_DAMAGED, "build it again", "template %.64s cannot be read", name);
	else if (owner[0])
		(void)err_fail(err, ERR_NOT_FOUND, "`template.list` lists them",
			"no template %.64s", name);
	else
		(void)err_fail(err, ERR_NOT_FOUND, "`retort template ls` lists them",
			"no template %.64s in %.120s", name, s->state);
	return NULL;
}

static bool list_row(void *arg, int dir, const char *name)
{
	json_t *about = read_about(dir, name);
	if (about)
		json_add_new(arg, about);
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(json_get_text(*(json_t *const *)a, "name"),
		json_get_text(*(json_t *const *)b, "name"));
}

json_t *layer_store_list(struct layer_store *s, const char *owner)
{
	cleanup_fd int dir = open_owner(s, owner, false);
	cleanup_json json_t *found = json_need(json_array());
	json_t *rows = json_need(json_array());
	if (dir >= 0)
		(void)each(dir, list_row, found);
	size_t n = json_array_size(found);
	json_t **sorted = xcalloc(n + 1, sizeof(json_t *));
	for (size_t i = 0; i < n; i++)
		sorted[i] = json_array_get(found, i);
	qsort(sorted, n, sizeof *sorted, compare);
	for (size_t i = 0; i < n; i++)
		json_add_shared(rows, sorted[i]);
	free(sorted);
	return rows;
}

/* ---- the removal of what nobody needs ---- */

struct search {
	const char *digest;
};

static bool has_layer(void *arg, int dir, const char *name)
{
	const struct search *search = arg;
	cleanup_json json_t *about = read_about(dir, name);
	return strcmp(json_get_text(about, "layer"), search->digest) == 0;
}

static bool owner_has_layer(void *arg, int dir, const char *name)
{
	cleanup_fd int owner = open_dir(dir, name);
	return owner >= 0 && each(owner, has_layer, arg);
}

/* Return whether a template of any owner has the layer. */
static bool is_wanted(const struct layer_store *s, const char *digest)
{
	struct search search = {digest};
	cleanup_fd int dir = open_place(s, "templates", false);
	return dir >= 0 && each(dir, owner_has_layer, &search);
}

/* Remove the directory @name of the layers, on which the caller has the lock @fd. */
static void remove_layer(int layers, const char *name, int fd)
{
	char aside[RANDOM_BYTES];
	/* What has a digest as its name has to be complete. */
	id_make(aside, sizeof aside, "building-");
	if (renameat(layers, name, layers, aside) < 0)
		return;
	(void)layer_clear(fd);
	(void)unlinkat(layers, aside, AT_REMOVEDIR);
}

static bool sweep_row(void *arg, int layers, const char *name)
{
	const struct layer_store *s = arg;
	bool is_layer = is_digest(name);
	if (!is_layer && strncmp(name, "building-", 9) != 0)
		return false;
	cleanup_fd int fd = open_dir(layers, name);
	/* The lock comes first: who gives a layer to a template has one until the template is
	 * written. */
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_named(layers, name, fd))
		return false;
	if (!is_layer || !is_wanted(s, name))
		remove_layer(layers, name, fd);
	return false;
}

/* Remove the temporary files of engines that were killed while they wrote a template. Who writes
 * one has a shared lock. */
static bool sweep_owner(void *arg, int dir, const char *name)
{
	(void)arg;
	cleanup_fd int lock = open_dir(dir, name);
	int fd = open_dir(dir, name);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	if (!list)
		fd_close(&fd);
	bool is_locked = list && flock(lock, LOCK_EX | LOCK_NB) == 0;
	while (is_locked && (entry = readdir(list)))
		if (entry->d_name[0] == '.') /* no template is called so */
			(void)unlinkat(lock, entry->d_name, 0);
	if (list)
		(void)closedir(list);
	return false;
}

/* Remove the layers that no template has and nobody uses, and what engines have left that were
 * killed. */
static void sweep(struct layer_store *s)
{
	cleanup_fd int layers = open_layers(s, false);
	cleanup_fd int owners = open_place(s, "templates", false);
	if (layers >= 0)
		(void)each(layers, sweep_row, s);
	if (owners >= 0)
		(void)each(owners, sweep_owner, NULL);
}

int layer_store_remove(struct layer_store *s, const char *owner, const char *name, bool *is_in_use,
	struct err *err)
{
	char file[LAYER_NAME_BYTES + 8];
	cleanup_json json_t *about = layer_store_get(s, owner, name, err);
	if (!about && err->code != ERR_DAMAGED)
		return -err_errno(err->code);
	file_of(name, file);
	cleanup_fd int dir = open_owner(s, owner, false);
	if (dir < 0 || unlinkat(dir, file, 0) < 0)
		return err_sys(err, file_code(errno), errno, "remove template %s", name);
	sweep(s);
	const char *digest = json_get_text(about, "layer");
	cleanup_fd int layers = open_layers(s, false);
	*is_in_use = about && layers >= 0 && !is_wanted(s, digest) &&
		faccessat(layers, digest, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	return 0;
}

/* ---- using a layer ---- */

int layer_use(struct layer_use *out, struct layer_store *s, const char *digest, struct err *err)
{
	*out = LAYER_USE_INIT;
	cleanup_fd int layers = open_layers(s, false);
	cleanup_fd int fd = layers < 0 || !is_digest(digest) ? -1 : open_dir(layers, digest);
	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0)
		return err_fail(err, ERR_BUSY, "try again in a moment",
			"the layer %.12s… is being built or removed", digest);
	if (fd < 0 || !is_named(layers, digest, fd))
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

/* ---- building ---- */

struct counting {
	const char *file;
	size_t n;
};

static bool count_row(void *arg, int dir, const char *name)
{
	struct counting *c = arg;
	(void)dir;
	c->n += strcmp(name, c->file) != 0;
	return false;
}

static int check_count(struct layer_store *s, const char *owner, const char *name, struct err *err)
{
	char file[LAYER_NAME_BYTES + 8];
	struct counting c = {.file = file};
	file_of(name, file);
	cleanup_fd int dir = open_owner(s, owner, false);
	if (dir >= 0)
		(void)each(dir, count_row, &c);
	if (c.n < LAYER_OWNER_MAX)
		return 0;
	return err_fail(err, ERR_QUOTA, "remove one", "there are %zu templates already", c.n);
}

/* Make and lock the directory of a build. Another engine may take it for abandoned before it is
 * locked, and remove it. */
static int make_dir(struct layer_build *b, int layers)
{
	char name[RANDOM_BYTES];
	id_make(name, sizeof name, "building-");
	if (mkdirat(layers, name, 0700) < 0)
		return -errno;
	cleanup_fd int fd = open_dir(layers, name);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_named(layers, name, fd))
		return -EAGAIN;
	snprintf(b->path, sizeof b->path, "%s/layers/%s", b->store->state, name);
	b->dir_fd = take_fd(fd);
	if (mkdirat(b->dir_fd, "tree", 0755) < 0)
		return -errno;
	b->tree_fd = open_dir(b->dir_fd, "tree");
	return MIN(b->tree_fd, 0);
}

int layer_build_begin(struct layer_build *b, struct layer_store *s, const char *owner,
	const char *name, struct err *err)
{
	*b = LAYER_BUILD_INIT;
	b->store = s;
	int r = layer_check_name(name, err);
	if (r == 0)
		r = check_count(s, owner, name, err);
	if (r < 0)
		return r;
	sweep(s);
	cleanup_fd int layers = open_layers(s, true);
	r = layers;
	for (int i = 0; layers >= 0 && i < 3 && (r = make_dir(b, layers)) == -EAGAIN; i++)
		;
	return r < 0
		? err_sys(err, file_code(-r), -r, "make a directory in %.150s/layers", s->state)
		: 0;
}

/* Remove what is beside the tree. */
static bool remove_beside(void *arg, int dir, const char *name)
{
	(void)arg;
	if (strcmp(name, "tree") == 0)
		return false;
	cleanup_fd int fd = open_dir(dir, name);
	if (fd >= 0)
		(void)layer_clear(fd);
	(void)unlinkat(dir, name, fd >= 0 ? AT_REMOVEDIR : 0);
	return false;
}

/* Give the build its final name. If there is a layer of this name, lock that one instead: *@other.
 * Another engine has it locked while it writes a template, or while it looks for what nobody needs.
 * Returns: 0 or negative errno. */
static int place(struct layer_build *b, int layers, const char *digest, int *other)
{
	const char *name = strrchr(b->path, '/') + 1;
	(void)each(b->dir_fd, remove_beside, NULL);
	if (syncfs(b->tree_fd) < 0)
		return -errno;
	for (int i = 0; i < PLACE_TRIES; i++) {
		if (renameat(layers, name, layers, digest) == 0) {
			(void)fsync(layers);
			snprintf(b->path, sizeof b->path, "%s/layers/%s", b->store->state, digest);
			return 0;
		}
		if (errno != EEXIST && errno != ENOTEMPTY)
			return -errno;
		cleanup_fd int fd = open_dir(layers, digest);
		if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && is_named(layers, digest, fd)) {
			*other = take_fd(fd);
			return 0;
		}
		(void)nanosleep(&(struct timespec){.tv_nsec = PLACE_WAIT_NS}, NULL);
	}
	return -EBUSY;
}

/* Return the text of a description, which must not be larger than what read_about() takes. Owns:
 * the caller frees. Returns: NULL and @err. */
static char *about_text(const json_t *about, struct err *err)
{
	char *text = json_dumps(about, JSON_COMPACT | JSON_SORT_KEYS);
	if (text && strlen(text) <= LAYER_ABOUT_BYTES)
		return text;
	if (text)
		(void)err_fail(err, ERR_LIMIT, "install fewer packages",
			"the list of what is in the template is larger than %d MiB",
			LAYER_ABOUT_BYTES >> 20);
	else
		(void)err_set(err, ERR_NO_MEMORY, "no memory for a template");
	free(text);
	return NULL;
}

int layer_build_commit(struct layer_build *b, const char *digest, const char *owner, json_t *about,
	struct err *err)
{
	char file[LAYER_NAME_BYTES + 8];
	cleanup_fd int layers = open_layers(b->store, false);
	cleanup_fd int names = open_owner(b->store, owner, true);
	cleanup_fd int other = -1;
	json_put_text(about, "layer", digest);
	char *text = about_text(about, err);
	if (!text)
		return -err_errno(err->code);
	int r = MIN(layers, names);
	if (r >= 0)
		r = place(b, layers, digest, &other);
	file_of(json_get_text(about, "name"), file);
	if (r >= 0 && flock(names, LOCK_SH) < 0) /* see sweep_owner() */
		r = -errno;
	if (r >= 0)
		r = file_put(names, file, text, strlen(text), 0600, FILE_PUT_SYNC);
	free(text);
	if (r < 0)
		return err_sys(err, file_code(-r), -r, "keep the template");
	if (other < 0)
		fd_close(&b->tree_fd); /* it is in its place */
	return 0;
}

void layer_build_end(struct layer_build *b)
{
	bool is_kept = b->tree_fd < 0;
	cleanup_fd int layers = b->dir_fd >= 0 && !is_kept ? open_layers(b->store, false) : -1;
	if (layers >= 0)
		remove_layer(layers, strrchr(b->path, '/') + 1, b->dir_fd);
	fd_close(&b->tree_fd);
	fd_close(&b->dir_fd);
}
