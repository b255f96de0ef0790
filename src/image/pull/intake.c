/*
 * One layer of an image: looked for in the store, otherwise downloaded, checked, unpacked, and put
 * into its place.
 *
 *   WAITING      it is in the store (and then done), or another engine is at it
 *   CHECKING     what there is of it is read: a file, or a part of an earlier download
 *   DOWNLOADING  to downloads/DIGEST, on which the engine has a lock; goes on after a failure
 *   UNPACKING    by retort-unpack, into a directory of the store; a thread then gives it its name
 *
 * A layer in a file is not downloaded, only read. The name of a layer is the digest of its bytes
 * before they are unpacked, which is computed here, and not by the process that parses them:
 * whoever takes that process over can spoil the layer that it works on, but no other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/pull/intake.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "base/timer.h"
#include "base/work.h"
#include "image/pull/download.h"
#include "image/pull/hashing.h"
#include "image/pull/part.h"
#include "image/unpack.h"
#include "layer/layer_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AGAIN_MS = 250, STALL_MS = 15000, UNPACK_STALL_MS = 120000, ABOUT_BYTES = 4096 };

struct intake {
	struct intake_order order;
	enum intake_phase phase;
	int part_fd;			/* downloads/DIGEST, with the lock; or the file */
	bool is_unnamed;		/* it is not downloads/DIGEST, which another engine has */
	uint64_t other_bytes, other_ms; /* size of that one, and since when */
	struct hashing hashing;
	struct download *download;
	struct unpack *unpack;
	struct layer_build build;
	struct layer_use use;
	struct work work;
	bool is_working, is_hashing, is_closing; /* is_working: a thread is at it */
	uv_timer_t timer;
	json_t *about;
	struct err err; /* of a thread, or why it ends */
	void (*closed)(void *arg);
};

static void look(struct intake *in);
static void begin_download(struct intake *in);
static void begin_unpack(struct intake *in);

static bool is_file(const struct intake *in)
{
	return !in->order.remote;
}

static void remove_part(const struct intake *in)
{
	if (!is_file(in) && in->part_fd >= 0 && !in->is_unnamed)
		part_remove(in->order.store, in->order.blob.digest);
}

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
	struct intake *in = handle->data;
	void (*closed)(void *arg) = in->closed;
	void *arg = in->order.arg;
	json_decref(in->about);
	free(in);
	closed(arg);
}

static void perform_close(struct work *work)
{
	struct intake *in = container_of(work, struct intake, work);
	layer_build_end(&in->build); /* may have to remove much */
	layer_use_end(&in->use);
	fd_close(&in->part_fd);
	fd_close(&in->hashing.to);
}

static void on_cleaned(struct work *work)
{
	struct intake *in = container_of(work, struct intake, work);
	uv_close((uv_handle_t *)&in->timer, on_closed);
}

/* Close it if nothing is under way. */
static void maybe_close(struct intake *in)
{
	if (in->is_closing && !in->unpack && !in->download && !in->is_working)
		work_begin(in->order.loop, WORK_READ, &in->work, perform_close, on_cleaned);
}

static void on_download_closed(void *arg)
{
	struct intake *in = arg;
	in->download = NULL;
	maybe_close(in);
}

void intake_close(struct intake *in, void (*closed)(void *arg))
{
	struct err err;
	in->is_closing = true;
	in->closed = closed;
	(void)uv_timer_stop(&in->timer);
	(void)err_set(&err, ERR_INTERRUPTED, "the download was ended");
	if (in->unpack)
		unpack_cancel(in->unpack, &err);
	if (in->is_hashing)
		hashing_cancel(&in->hashing);
	if (in->download)
		download_close(in->download, on_download_closed);
	else
		maybe_close(in);
}

static void finish(struct intake *in)
{
	in->phase = INTAKE_DONE;
	if (!in->is_closing)
		in->order.done(in->order.arg, in->about, NULL);
}

/* Return whether another try could go on with what was downloaded. It helps nobody on a full disk,
 * or if it is wrong, or no archive that can be unpacked. */
static bool is_worth_keeping(enum err_code why)
{
	return why != ERR_DAMAGED && why != ERR_NO_SPACE && why != ERR_USAGE && why != ERR_LIMIT;
}

static void fail(struct intake *in, const struct err *err)
{
	in->phase = INTAKE_DONE;
	if (!is_worth_keeping(err->code))
		remove_part(in);
	if (!in->is_closing)
		in->order.done(in->order.arg, NULL, err);
}

static void tell(const struct intake *in, uint64_t moved)
{
	if (in->order.progress && !in->is_closing)
		in->order.progress(in->order.arg, in->phase, moved);
}

/* ---- the layer is there ---- */

static void read_about(struct intake *in)
{
	char path[PATH_MAX + 16];
	cleanup_buf struct buf text = BUF_INIT(ABOUT_BYTES);
	const char *digest = in->order.blob.digest;
	snprintf(path, sizeof path, "%s/layers/%s/about.json", layer_store_dir(in->order.store),
		digest);
	json_decref(in->about);
	in->about = file_read(&text, path) == 0 ? json_loadb(buf_str(&text), text.bytes, 0, NULL)
						: NULL;
	if (!json_is_object(in->about)) {
		json_decref(in->about);
		in->about = json_need(json_object());
	}
	json_put_text(in->about, "digest", digest);
}

static void on_again(uv_timer_t *timer)
{
	look(timer->data);
}

/* ---- what there is of it ---- */

/* Take a file for the layer if it is. If a copy was made, that is used. */
static void check_file(struct intake *in)
{
	struct hashing *h = &in->hashing;
	char digest[DIGEST_BYTES];
	digest_end(&h->digest, digest);
	if (h->sys)
		(void)err_sys(&in->err, file_code(h->sys), h->sys,
			"read the file of the layer %.12s…", in->order.blob.digest);
	else if (strcmp(digest, in->order.blob.digest) != 0)
		(void)err_set(&in->err, ERR_DAMAGED,
			"the layer %.12s… has the digest %.12s…: its file is damaged",
			in->order.blob.digest, digest);
	if (in->err.code != ERR_NONE) {
		fail(in, &in->err);
		return;
	}
	if (h->to >= 0) {
		fd_close(&in->part_fd);
		in->part_fd = take_fd(h->to);
	}
	begin_unpack(in);
}

/* Go on with a part, if it can be one. */
static void check_part(struct intake *in)
{
	struct hashing *h = &in->hashing;
	bool is_good = h->sys == 0 && h->bytes <= in->order.blob.bytes;
	if (!is_good && ftruncate(in->part_fd, 0) < 0) {
		(void)part_fail(in->order.store, errno, &in->err);
		fail(in, &in->err);
		return;
	}
	if (!is_good) {
		h->bytes = 0;
		digest_begin(&h->digest);
	}
	begin_download(in);
}

static void on_hashed(struct hashing *h)
{
	struct intake *in = container_of(h, struct intake, hashing);
	in->is_working = in->is_hashing = false;
	if (in->is_closing)
		maybe_close(in);
	else if (is_file(in))
		check_file(in);
	else
		check_part(in);
}

/* Check a file that is the layer before it is read: this says how long reading takes. Others may
 * change the file, so a copy is made if they can. */
static int prepare_file(struct intake *in, struct err *err)
{
	struct stat st;
	uint64_t bytes = in->order.blob.bytes;
	if (fstat(in->part_fd, &st) < 0)
		return err_sys(err, ERR_IO, errno, "read a layer");
	if ((uint64_t)st.st_size != bytes)
		return err_set(err, ERR_DAMAGED,
			"the file of the layer %.12s… has %lld bytes, and should have %llu",
			in->order.blob.digest, (long long)st.st_size, (unsigned long long)bytes);
	if (part_is_ours(in->part_fd))
		return 0;
	in->hashing.to = part_open_unnamed(in->order.store);
	if (in->hashing.to < 0)
		return part_fail(in->order.store, -in->hashing.to, err);
	int r = part_check_room(in->hashing.to, bytes, err);
	if (r < 0)
		fd_close(&in->hashing.to);
	return r;
}

static void on_hashing(struct hashing *h)
{
	const struct intake *in = container_of(h, struct intake, hashing);
	tell(in, MIN(h->bytes, in->order.blob.bytes));
}

static void hash(struct intake *in)
{
	in->phase = INTAKE_CHECKING;
	in->hashing = (struct hashing){.loop = in->order.loop,
		.fd = in->part_fd,
		.to = -1,
		.max_bytes = in->order.blob.bytes + 1,
		.progress = on_hashing,
		.done = on_hashed};
	if (is_file(in) && prepare_file(in, &in->err) < 0) {
		fail(in, &in->err);
		return;
	}
	in->is_working = in->is_hashing = true;
	hashing_begin(&in->hashing);
}

/* Wait for the engine that downloads the layer; unless it makes no progress: then download the
 * layer beside it. */
static int wait_for_other(struct intake *in)
{
	uint64_t bytes = part_size(in->order.store, in->order.blob.digest);
	uint64_t most_ms = bytes == in->order.blob.bytes ? UNPACK_STALL_MS : STALL_MS;
	if (in->other_ms == 0 || bytes != in->other_bytes) {
		in->other_bytes = bytes;
		in->other_ms = timer_now();
	}
	if (timer_since(in->other_ms) < most_ms)
		return -EWOULDBLOCK;
	in->is_unnamed = true;
	in->part_fd = part_open_unnamed(in->order.store);
	return MIN(in->part_fd, 0);
}

/* Look for the layer; if it is not there, begin. */
static void look(struct intake *in)
{
	struct err err;
	in->phase = INTAKE_WAITING;
	if (layer_use(&in->use, in->order.store, in->order.blob.digest, &err) == 0) {
		remove_part(in);
		fd_close(&in->part_fd); /* who waits for it need not wait for the whole image */
		read_about(in);
		finish(in);
		return;
	}
	if (err.code != ERR_NOT_FOUND && err.code != ERR_BUSY) {
		fail(in, &err);
		return;
	}
	int r = err.code == ERR_NOT_FOUND ? 0 : -EWOULDBLOCK;
	if (r == 0 && in->part_fd < 0) {
		in->part_fd = part_open(in->order.store, in->order.blob.digest);
		r = in->part_fd == -EWOULDBLOCK ? wait_for_other(in) : MIN(in->part_fd, 0);
		in->part_fd = r < 0 ? -1 : in->part_fd;
		if (r == 0) { /* the other may have finished */
			look(in);
			return;
		}
	}
	if (r == -EWOULDBLOCK) {
		tell(in, 0);
		timer_start(&in->timer, on_again, AGAIN_MS, 0);
		return;
	}
	if (r < 0) {
		(void)part_fail(in->order.store, -r, &err);
		fail(in, &err);
		return;
	}
	in->err.code = ERR_NONE;
	if (is_file(in) && in->order.is_checked)
		begin_unpack(in);
	else
		hash(in);
}

/* ---- unpacking ---- */

static void perform_place(struct work *work)
{
	struct intake *in = container_of(work, struct intake, work);
	char *text = json_dumps(in->about, JSON_COMPACT);
	int r = text ? file_put(in->build.dir_fd, "about.json", text, strlen(text), 0600, 0)
		     : -ENOMEM;
	free(text);
	in->err.code = ERR_NONE;
	if (r < 0)
		(void)err_sys(&in->err, file_code(-r), -r, "keep a layer");
	else if (layer_build_place(&in->build, in->order.blob.digest, &in->err) == 0) {
		remove_part(in);
		fd_close(&in->part_fd);
	}
}

static void on_placed(struct work *work)
{
	struct intake *in = container_of(work, struct intake, work);
	in->is_working = false;
	if (in->is_closing)
		maybe_close(in);
	else if (in->err.code != ERR_NONE)
		fail(in, &in->err);
	else
		finish(in);
}

static void on_unpacked(
	void *arg, const char *digest, const struct unpack_counts *counts, const struct err *err)
{
	struct intake *in = arg;
	struct err wrong;
	in->unpack = NULL;
	if (in->is_closing) {
		maybe_close(in);
	} else if (err) {
		struct err end = *err;
		if (err->code == ERR_NO_SPACE)
			part_hint_room(&end);
		fail(in, &end);
	} else if (strcmp(digest, in->order.diff) != 0) {
		(void)err_set(&wrong, ERR_DAMAGED,
			"the layer %.12s… of the image is not the one that its configuration names",
			in->order.blob.digest);
		fail(in, &wrong);
	} else {
		json_decref(in->about);
		in->about = json_need(json_pack("{s:s, s:I, s:I, s:I}", "digest",
			in->order.blob.digest, "bytes", (json_int_t)counts->bytes, "files",
			(json_int_t)counts->entries, "left_out", (json_int_t)counts->left_out));
		in->is_working = true;
		work_begin(in->order.loop, WORK_READ, &in->work, perform_place, on_placed);
	}
}

static void on_report(void *arg, const struct unpack_counts *counts)
{
	const struct intake *in = arg;
	tell(in, MIN(counts->read, in->order.blob.bytes));
}

static void begin_unpack(struct intake *in)
{
	struct err err;
	in->phase = INTAKE_UNPACKING;
	int r = layer_build_open(&in->build, in->order.store, &err);
	if (r == 0 && lseek(in->part_fd, 0, SEEK_SET) < 0)
		r = err_sys(&err, ERR_IO, errno, "read a layer");
	const struct unpack_order order = {.source = in->part_fd,
		.tree = in->build.tree_fd,
		.report = on_report,
		.done = on_unpacked,
		.arg = in};
	if (r == 0)
		r = unpack_start(&in->unpack, in->order.loop, &order, &err);
	if (r < 0)
		fail(in, &err);
}

/* ---- downloading ---- */

static void on_moved(void *arg, uint64_t have)
{
	tell(arg, have);
}

static void on_downloaded(void *arg, const struct err *err)
{
	struct intake *in = arg;
	if (err)
		fail(in, err);
	else
		begin_unpack(in);
}

static void begin_download(struct intake *in)
{
	const struct download_order order = {.loop = in->order.loop,
		.remote = in->order.remote,
		.store = in->order.store,
		.fd = in->part_fd,
		.blob = in->order.blob,
		.have = in->hashing.bytes,
		.digest = in->hashing.digest,
		.progress = on_moved,
		.done = on_downloaded,
		.arg = in};
	in->phase = INTAKE_DOWNLOADING;
	download_start(&in->download, &order);
}

/* ---- the start ---- */

static void on_first(uv_timer_t *timer)
{
	look(timer->data);
}

void intake_start(struct intake **out, const struct intake_order *order)
{
	struct intake *in = xnew(struct intake);
	*in = (struct intake){.order = *order,
		.part_fd = order->source,
		.hashing = {.to = -1},
		.build = LAYER_BUILD_INIT,
		.use = LAYER_USE_INIT};
	(void)uv_timer_init(order->loop, &in->timer);
	in->timer.data = in;
	*out = in;
	timer_start(&in->timer, on_first, 0, 0);
}
