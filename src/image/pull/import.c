/*
 * Importing an image. An archive is unpacked into a build of the store, by retort-unpack: nobody
 * trusts it. What is found there is either an image, whose layers are then brought into the store
 * one by one, or the files of a system, and then the build is the layer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/pull/import.h"

#include "base/alloc.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/timer.h"
#include "base/work.h"
#include "image/image_store.h"
#include "image/layout.h"
#include "image/pull/hashing.h"
#include "image/pull/part.h"
#include "image/unpack.h"
#include "layer/layer_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct import {
	struct import_order order;
	char *path, *ref;
	bool has_name;
	struct image_ref name;
	int fd; /* the file or directory */
	bool is_dir;
	uint64_t bytes;
	struct unpack *unpack;
	struct layer_build build; /* where an archive is unpacked */
	struct unpack_counts counts;
	char diff[DIGEST_BYTES]; /* of the archive, decompressed, as the process says */
	struct layout layout;
	bool is_layout;
	unsigned n_hashed; /* layers whose digest is known */
	struct assembly *assembly;
	uint64_t hashed_bytes;	   /* that `hashing` should read */
	struct hashing hashing;	   /* of the archive, or of a layer */
	char digest[DIGEST_BYTES]; /* of the archive, if it is known */
	struct work work;
	struct err work_err;				      /* of the thread */
	bool is_working, is_hashing, is_recording, is_ending; /* is_working: a thread is at it */
	uv_timer_t timer;
	json_t *about;
	struct err err; /* code ERR_NONE: all is well */
};

/* ---- the end ---- */

static void free_import(struct import *m)
{
	json_decref(m->about);
	free(m->path);
	free(m->ref);
	free(m);
}

static void on_closed(uv_handle_t *handle)
{
	struct import *m = handle->data;
	const struct import_order order = m->order;
	const struct err err = m->err;
	json_t *about = take_ptr(m->about);
	free_import(m);
	order.done(
		order.arg, err.code == ERR_NONE ? about : NULL, err.code == ERR_NONE ? NULL : &err);
	json_decref(about);
}

static void perform_close(struct work *work)
{
	struct import *m = container_of(work, struct import, work);
	layer_build_end(&m->build); /* may have to remove much */
	layout_done(&m->layout);
	fd_close(&m->fd);
}

static void on_cleaned(struct work *work)
{
	struct import *m = container_of(work, struct import, work);
	uv_close((uv_handle_t *)&m->timer, on_closed);
}

static void maybe_clean(struct import *m)
{
	if (m->is_ending && !m->unpack && !m->is_working && !m->assembly)
		work_begin(m->order.loop, WORK_READ, &m->work, perform_close, on_cleaned);
}

static void on_assembly_closed(void *arg)
{
	struct import *m = arg;
	m->assembly = NULL;
	maybe_clean(m);
}

static void end(struct import *m, const struct err *err)
{
	if (m->is_ending)
		return;
	m->is_ending = true;
	if (err)
		m->err = *err;
	(void)uv_timer_stop(&m->timer);
	if (m->unpack)
		unpack_cancel(m->unpack, &m->err);
	if (m->assembly)
		assembly_close(m->assembly, on_assembly_closed);
	if (m->is_hashing)
		hashing_cancel(&m->hashing);
	maybe_clean(m);
}

void import_cancel(struct import *m)
{
	struct err err;
	(void)err_set(&err, ERR_INTERRUPTED, "the import was ended");
	if (!m->is_recording && !(m->assembly && assembly_is_recording(m->assembly)))
		end(m, &err);
}

static void perform_in_thread(
	struct import *m, void (*perform)(struct work *), void (*done)(struct work *))
{
	m->is_working = true;
	m->work_err.code = ERR_NONE;
	work_begin(m->order.loop, WORK_READ, &m->work, perform, done);
}

/* Return whether to go on after the work of a thread. */
static bool goes_on(struct import *m)
{
	m->is_working = false;
	if (m->is_ending) {
		maybe_clean(m);
		return false;
	}
	if (m->work_err.code == ERR_NONE)
		return true;
	end(m, &m->work_err);
	return false;
}

/* ---- digests ---- */

/* Read no more than what the file had in the beginning, and one byte. */
static void hash_file(
	struct import *m, int fd, int to, uint64_t bytes, void (*done)(struct hashing *))
{
	m->hashed_bytes = bytes;
	m->is_working = m->is_hashing = true;
	m->hashing = (struct hashing){
		.loop = m->order.loop, .fd = fd, .to = to, .max_bytes = bytes + 1, .done = done};
	hashing_begin(&m->hashing);
}

/* Write the digest of the file. Returns: whether to go on. */
static bool take_hashed(struct import *m, char digest[DIGEST_BYTES])
{
	int sys = m->hashing.sys;
	m->is_hashing = false;
	m->work_err.code = ERR_NONE;
	if (sys)
		(void)err_sys(&m->work_err, file_code(sys), sys, "read %.150s", m->path);
	else if (m->hashing.bytes != m->hashed_bytes)
		(void)err_fail(&m->work_err, ERR_BUSY, "import it again while nobody writes to it",
			"%.150s has changed while it was read", m->path);
	else
		digest_end(&m->hashing.digest, digest);
	return goes_on(m);
}

/* ---- the files of a system: one layer ---- */

static json_t *about_system(const struct import *m)
{
	cleanup_json json_t *config = json_need(
		json_pack("{s:s, s:[s]}", "architecture", image_architecture(), "diffs", m->diff));
	json_t *layers = json_need(json_pack("[{s:s, s:I, s:I, s:I}]", "digest", m->digest, "bytes",
		(json_int_t)m->counts.bytes, "files", (json_int_t)m->counts.entries, "left_out",
		(json_int_t)m->counts.left_out));
	return image_store_about(&m->name, m->digest, layers, config);
}

static void perform_keep(struct work *work)
{
	struct import *m = container_of(work, struct import, work);
	m->about = about_system(m);
	const json_t *layer = json_array_get(json_object_get(m->about, "layers"), 0);
	char *text = json_dumps(layer, JSON_COMPACT);
	int r = text ? file_put(m->build.dir_fd, "about.json", text, strlen(text), 0600, 0)
		     : -ENOMEM;
	free(text);
	if (r < 0)
		(void)err_sys(&m->work_err, file_code(-r), -r, "keep a layer");
	else if (layer_build_place(&m->build, m->digest, &m->work_err) == 0)
		(void)image_store_put(m->order.store, m->about, &m->work_err);
}

static void on_kept(struct work *work)
{
	struct import *m = container_of(work, struct import, work);
	m->is_recording = false;
	if (goes_on(m))
		end(m, NULL);
}

static void keep(struct import *m)
{
	m->is_recording = true;
	perform_in_thread(m, perform_keep, on_kept);
}

/* The digest of the archive becomes the name of the layer. */
static void on_archive_hashed(struct hashing *h)
{
	struct import *m = container_of(h, struct import, hashing);
	if (take_hashed(m, m->digest))
		keep(m);
}

static void keep_system(struct import *m)
{
	if (m->digest[0])
		keep(m);
	else
		hash_file(m, m->fd, -1, m->bytes, on_archive_hashed);
}

/* ---- an image: its layers ---- */

static int open_layer(void *arg, unsigned layer, bool *is_checked, struct err *err)
{
	const struct import *m = arg;
	*is_checked = m->layout.is_saved && !m->is_dir;
	return layout_open(&m->layout, layer, err);
}

static void on_progress(void *arg, const struct pull_progress *progress)
{
	const struct import *m = arg;
	if (m->order.progress)
		m->order.progress(m->order.arg, progress);
}

static void on_assembled(void *arg, const json_t *about, const struct err *err)
{
	struct import *m = arg;
	m->about = json_incref(json_unconst(about));
	end(m, err);
}

static void begin_layers(struct import *m)
{
	struct assembly_order order = {.loop = m->order.loop,
		.store = m->order.store,
		.name = m->name,
		.manifest = &m->layout.manifest,
		.config = m->layout.config,
		.open = open_layer,
		.progress = on_progress,
		.done = on_assembled,
		.arg = m};
	memcpy(order.digest, m->layout.digest, sizeof order.digest);
	assembly_start(&m->assembly, &order);
}

static void hash_layers(struct import *m);

static void on_layer_hashed(struct hashing *h)
{
	struct import *m = container_of(h, struct import, hashing);
	fd_close(&h->fd);
	if (take_hashed(m, m->layout.manifest.layers[m->n_hashed].digest)) {
		m->n_hashed++;
		hash_layers(m);
	}
}

/* In docker's old form, nobody says the digests of the layers. One file may be several of them. */
static void hash_layers(struct import *m)
{
	struct layout *l = &m->layout;
	struct err err;
	for (; l->is_saved && m->n_hashed < l->manifest.n_layers; m->n_hashed++) {
		unsigned i = 0;
		while (strcmp(l->paths[i], l->paths[m->n_hashed]) != 0)
			i++;
		if (i == m->n_hashed) {
			int fd = layout_open(l, i, &err);
			if (fd < 0)
				end(m, &err);
			else
				hash_file(m, fd, -1, l->manifest.layers[i].bytes, on_layer_hashed);
			return;
		}
		l->manifest.layers[m->n_hashed] = l->manifest.layers[i];
	}
	begin_layers(m);
}

/* ---- what it is ---- */

static void perform_layout(struct work *work)
{
	struct import *m = container_of(work, struct import, work);
	int dir = m->is_dir ? m->fd : m->build.tree_fd;
	m->is_layout = layout_read(&m->layout, dir, m->ref, &m->work_err);
}

/* Find the name of the image. Returns: whether it has one. */
static bool find_name(struct import *m)
{
	struct err err;
	const char *called = m->is_layout ? m->layout.name : "";
	if (m->has_name || (called[0] && image_ref_parse(&m->name, called, &err) == 0))
		return true;
	(void)err_fail(&err, ERR_USAGE, "name it: retort image import PATH NAME",
		"%.100s has no name for the image%s%.60s%s", m->path,
		m->layout.called[0] ? ", but only \"" : "", m->layout.called,
		m->layout.called[0] ? "\"" : "");
	end(m, &err);
	return false;
}

static void on_layout(struct work *work)
{
	struct import *m = container_of(work, struct import, work);
	struct err err;
	if (!goes_on(m))
		return;
	if (!m->is_layout && m->is_dir) {
		(void)err_fail(&err, ERR_USAGE,
			"import the files of a system as a tar archive: tar -C DIR -c . | retort "
			"image import - NAME",
			"%.150s has no image: neither oci-layout nor manifest.json", m->path);
		end(m, &err);
	} else if (!find_name(m)) {
		return;
	} else if (m->is_layout) {
		hash_layers(m);
	} else {
		keep_system(m);
	}
}

/* ---- archives ---- */

static void on_report(void *arg, const struct unpack_counts *counts)
{
	struct import *m = arg;
	const struct pull_progress progress = {.digest = "archive",
		.n_layers = 1,
		.phase = INTAKE_UNPACKING,
		.moved = MIN(counts->read, m->bytes),
		.bytes = m->bytes};
	on_progress(m, &progress);
}

static void on_unpacked(
	void *arg, const char *digest, const struct unpack_counts *counts, const struct err *err)
{
	struct import *m = arg;
	m->unpack = NULL;
	if (m->is_ending) {
		maybe_clean(m);
	} else if (err) {
		struct err why = *err;
		if (err->code == ERR_NO_SPACE)
			part_hint_room(&why);
		end(m, &why);
	} else {
		m->counts = *counts;
		memcpy(m->diff, digest, sizeof m->diff);
		perform_in_thread(m, perform_layout, on_layout);
	}
}

static void begin_unpack(struct import *m)
{
	struct err err;
	const struct unpack_order order = {.source = m->fd,
		.tree = m->build.tree_fd,
		.report = on_report,
		.done = on_unpacked,
		.arg = m};
	int r = 0;
	if (lseek(m->fd, 0, SEEK_SET) < 0)
		r = err_sys(&err, ERR_IO, errno, "read %.150s", m->path);
	if (r < 0 || unpack_start(&m->unpack, m->order.loop, &order, &err) < 0)
		end(m, &err);
}

static void on_copied(struct hashing *h)
{
	struct import *m = container_of(h, struct import, hashing);
	fd_close(&m->fd);
	m->fd = take_fd(h->to);
	if (take_hashed(m, m->digest))
		begin_unpack(m);
}

static void perform_open(struct work *work)
{
	struct import *m = container_of(work, struct import, work);
	struct stat st;
	m->fd = open(m->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (m->fd < 0 || fstat(m->fd, &st) < 0) {
		(void)err_sys(&m->work_err, file_code(errno), errno, "read %.150s", m->path);
		return;
	}
	m->is_dir = S_ISDIR(st.st_mode);
	m->bytes = (uint64_t)st.st_size;
	if (!m->is_dir && !S_ISREG(st.st_mode))
		(void)err_set(&m->work_err, ERR_USAGE, "%.150s is neither a file nor a directory",
			m->path);
	else if (!m->is_dir)
		(void)layer_build_open(&m->build, m->order.store, &m->work_err);
}

/* Its owner could change an archive between the time it is unpacked and the time it gets a name by
 * its digest, so an archive of somebody else is copied. */
static void on_open(struct work *work)
{
	struct import *m = container_of(work, struct import, work);
	struct err err;
	int copy;
	if (!goes_on(m))
		return;
	if (m->is_dir) {
		perform_in_thread(m, perform_layout, on_layout);
	} else if (part_is_ours(m->fd)) {
		begin_unpack(m);
	} else if ((copy = part_open_unnamed(m->order.store)) < 0) {
		(void)part_fail(m->order.store, -copy, &err);
		end(m, &err);
	} else if (part_check_room(copy, m->bytes, &err) < 0) {
		(void)close(copy);
		end(m, &err);
	} else {
		hash_file(m, m->fd, copy, m->bytes, on_copied);
	}
}

static void on_first(uv_timer_t *timer)
{
	struct import *m = timer->data;
	perform_in_thread(m, perform_open, on_open);
}

int import_start(struct import **out, const struct import_order *order, struct err *err)
{
	struct import *m = xnew(struct import);
	m->order = *order;
	m->path = xstrdup(order->path);
	m->ref = order->ref ? xstrdup(order->ref) : NULL;
	m->has_name = order->name != NULL;
	m->fd = -1;
	m->build = LAYER_BUILD_INIT;
	int r = order->name ? image_ref_parse(&m->name, order->name, err) : 0;
	if (r == 0 && m->has_name && m->name.digest[0])
		r = err_set(err, ERR_USAGE, "a name for an image has no digest");
	if (r < 0) {
		free_import(m);
		return r;
	}
	(void)uv_timer_init(order->loop, &m->timer);
	m->timer.data = m;
	*out = m;
	timer_start(&m->timer, on_first, 0, 0);
	return 0;
}
