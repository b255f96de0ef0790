/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/layer_record.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "layer/layer_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { OWNER_CHARS = 32 };

static const char *const kind_dirs[LAYER_KIND_END_] = {"templates", "images"};

int layer_record_dir(
	const struct layer_store *s, enum layer_kind kind, const char *owner, bool is_made)
{
	char digest[DIGEST_BYTES], place[64];
	digest_text(digest, owner, strlen(owner));
	snprintf(place, sizeof place, "%s/%.*s", kind_dirs[kind], owner[0] ? OWNER_CHARS : 1,
		owner[0] ? digest : "-");
	return layer_open_place(s, place, is_made);
}

/* ---- reading ---- */

/* Return whether the record has layers, and all of them are digests. */
static bool is_whole(const json_t *about)
{
	const json_t *layers = json_object_get(about, "layers"), *layer;
	size_t i;
	if (!json_is_array(layers))
		return layer_is_digest(json_get_text(about, "layer"));
	json_array_foreach(json_unconst(layers), i, layer)
	{
		if (!layer_is_digest(json_get_text(layer, "digest")))
			return false;
	}
	return json_array_size(layers) > 0;
}

/* Read a record. *@out: NULL: it is damaged. Returns: 0 or negative errno. */
static int load(int dir, const char *file, json_t **out)
{
	cleanup_buf struct buf text = BUF_INIT(LAYER_ABOUT_BYTES);
	*out = NULL;
	cleanup_fd int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int r = fd < 0 ? -errno : file_read_fd(&text, fd);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	json_t *about = json_loadb(buf_str(&text), text.bytes, 0, NULL);
	if (about && is_whole(about))
		*out = about;
	else
		json_decref(about);
	return 0;
}

json_t *layer_record_read(int dir, const char *file)
{
	json_t *about;
	return load(dir, file, &about) < 0 ? NULL : about;
}

static bool list_row(void *arg, int dir, const char *name)
{
	json_t *about = layer_record_read(dir, name);
	if (about)
		json_add_new(arg, about);
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(json_get_text(*(json_t *const *)a, "name"),
		json_get_text(*(json_t *const *)b, "name"));
}

json_t *layer_record_list(struct layer_store *s, enum layer_kind kind, const char *owner)
{
	cleanup_fd int dir = layer_record_dir(s, kind, owner, false);
	cleanup_json json_t *found = json_need(json_array());
	json_t *rows = json_need(json_array());
	if (dir >= 0)
		(void)layer_each(dir, list_row, found);
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

/* ---- layers that records have ---- */

struct collecting {
	json_t *digests;
	int result;
};

/* Return whether to end: @r is an error, but not that something has been removed meanwhile, or is
 * no file or directory of ours. */
static bool fails(struct collecting *c, int r)
{
	bool is_none = r == -ENOENT || r == -ENOTDIR || r == -EISDIR || r == -ELOOP;
	c->result = is_none ? 0 : r;
	return c->result < 0;
}

static bool collect(void *arg, int dir, const char *name)
{
	struct collecting *c = arg;
	cleanup_json json_t *about = NULL;
	if (fails(c, load(dir, name, &about)))
		return true;
	const json_t *layers = json_object_get(about, "layers"), *layer;
	size_t i;
	json_array_foreach(json_unconst(layers), i, layer)
		json_put_bool(c->digests, json_get_text(layer, "digest"), true);
	if (about && !layers)
		json_put_bool(c->digests, json_get_text(about, "layer"), true);
	return false;
}

static bool collect_owner(void *arg, int dir, const char *name)
{
	struct collecting *c = arg;
	cleanup_fd int owner = layer_open_dir(dir, name);
	int r = owner < 0 ? owner : layer_each(owner, collect, c);
	return c->result < 0 || fails(c, r);
}

int layer_all_wanted(const struct layer_store *s, json_t **out, struct err *err)
{
	cleanup_json json_t *digests = json_need(json_object());
	struct collecting c = {.digests = digests};
	for (int kind = 0; kind < LAYER_KIND_END_ && c.result == 0; kind++) {
		cleanup_fd int dir = layer_open_place(s, kind_dirs[kind], false);
		int r = dir < 0 ? dir : layer_each(dir, collect_owner, &c);
		if (c.result == 0)
			(void)fails(&c, r);
	}
	*out = c.result == 0 ? json_incref(digests) : NULL;
	return c.result < 0 ? err_sys(err, file_code(-c.result), -c.result,
				      "not all records of layers can be read, so none is removed")
			    : 0;
}

/* ---- writing ---- */

/* Who writes a record has a shared lock. */
static bool sweep_owner(void *arg, int dir, const char *name)
{
	(void)arg;
	cleanup_fd int lock = layer_open_dir(dir, name);
	int fd = layer_open_dir(dir, name);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	if (!list)
		fd_close(&fd);
	bool is_locked = list && flock(lock, LOCK_EX | LOCK_NB) == 0;
	while (is_locked && (entry = readdir(list)))
		if (entry->d_name[0] == '.') /* no record is called so */
			(void)unlinkat(lock, entry->d_name, 0);
	if (list)
		(void)closedir(list);
	return false;
}

void layer_record_sweep(const struct layer_store *s)
{
	for (int kind = 0; kind < LAYER_KIND_END_; kind++) {
		cleanup_fd int owners = layer_open_place(s, kind_dirs[kind], false);
		if (owners >= 0)
			(void)layer_each(owners, sweep_owner, NULL);
	}
}

/* Return the text of a record, which must not be larger than what layer_record_read() takes. Owns:
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

int layer_record_put(struct layer_store *s, enum layer_kind kind, const char *owner,
	const char *file, const json_t *about, struct err *err)
{
	cleanup_fd int dir = layer_record_dir(s, kind, owner, true);
	char *text = about_text(about, err);
	if (!text)
		return -err_errno(err->code);
	int r = MIN(dir, 0);
	if (r == 0)
		r = layer_lock(dir, LOCK_SH); /* see sweep_owner() */
	if (r == 0)
		r = file_put(dir, file, text, strlen(text), 0600, FILE_PUT_SYNC);
	free(text);
	return r < 0 ? err_sys(err, file_code(-r), -r, "keep the record of a layer") : 0;
}
