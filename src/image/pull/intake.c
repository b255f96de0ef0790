/*
 * One layer of an image: looked for in the store, otherwise downloaded, checked, unpacked, and put
 * into its place.
 *
 *   WAITING      it is in the store (and then done), or another engine is at it, or what there
 *                is of it is read
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

enum {
	AGAIN_MS = 250,
	RETRY_MS = 1000,
	TRIES_MAX = 6,
	CHUNK_BYTES = 256 << 10,
	ABOUT_BYTES = 4096
};

struct intake {
	struct intake_order order;
	enum intake_phase phase;
	int part_fd; /* downloads/DIGEST, with the lock; or the file */
	struct digest_state digest;
	uint64_t have, had; /* bytes of the part; when it was last asked for */
	unsigned n_tries;
	struct remote_get *get;
	struct unpack *unpack;
	struct layer_build build;
	struct layer_use use;
	struct work work;
	bool is_working, is_closing;
	uv_timer_t timer;
	json_t *about;
	struct err err; /* of a thread, or why it ends */
	void (*closed)(void *arg);
};

static void look(struct intake *in);
static void download(struct intake *in);
static void check(struct intake *in);
static void begin_unpack(struct intake *in);

static bool is_file(const struct intake *in)
{
	return !in->order.remote;
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
}

static void on_cleaned(struct work *work)
{
	struct intake *in = container_of(work, struct intake, work);
	uv_close((uv_handle_t *)&in->timer, on_closed);
}

/* Close it if nothing is under way. */
static void maybe_close(struct intake *in)
{
	if (in->is_closing && !in->unpack && !in->is_working)
		work_begin(in->order.loop, WORK_READ, &in->work, perform_close, on_cleaned);
}

void intake_close(struct intake *in, void (*closed)(void *arg))
{
	struct err err;
	in->is_closing = true;
	in->closed = closed;
	(void)uv_timer_stop(&in->timer);
	if (in->get)
		remote_cancel(take_ptr(in->get));
	(void)err_set(&err, ERR_INTERRUPTED, "the download was ended");
	if (in->unpack)
		unpack_cancel(in->unpack, &err);
	maybe_close(in);
}

static void finish(struct intake *in)
{
	in->phase = INTAKE_DONE;
	if (!in->is_closing)
		in->order.done(in->order.arg, in->about, NULL);
}

static void fail(struct intake *in, const struct err *err)
{
	in->phase = INTAKE_DONE;
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

/* Open downloads/DIGEST, and lock it. Returns: 0; -EWOULDBLOCK: another engine has it; or another
 * negative errno. */
static int open_part(struct intake *in)
{
	char dir[PATH_MAX];
	struct stat st, at;
	snprintf(dir, sizeof dir, "%s/downloads", layer_store_dir(in->order.store));
	int r = file_make_dirs(dir, 0700, 0700);
	cleanup_fd int parent = r < 0 ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return r < 0 ? r : -errno;
	cleanup_fd int fd = openat(parent, in->order.blob.digest,
		O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	/* Who had the lock may have removed it. */
	if (fstat(fd, &st) < 0 ||
		fstatat(parent, in->order.blob.digest, &at, AT_SYMLINK_NOFOLLOW) < 0 ||
		at.st_ino != st.st_ino)
		return -EWOULDBLOCK;
	in->part_fd = take_fd(fd);
	return 0;
}

static void remove_part(const struct intake *in)
{
	char path[PATH_MAX];
	if (is_file(in) || in->part_fd < 0)
		return;
	snprintf(path, sizeof path, "%s/downloads/%s", layer_store_dir(in->order.store),
		in->order.blob.digest);
	(void)unlink(path);
}

/* Begin the part anew. On failure, `err` is set. */
static void empty_part(struct intake *in)
{
	in->have = 0;
	digest_begin(&in->digest);
	if (ftruncate(in->part_fd, 0) < 0 || lseek(in->part_fd, 0, SEEK_SET) < 0)
		(void)err_sys(&in->err, file_code(errno), errno, "write to %.150s/downloads",
			layer_store_dir(in->order.store));
}

/* Compute the digest of what there is of the part. */
static void perform_read(struct work *work)
{
	struct intake *in = container_of(work, struct intake, work);
	char *chunk = malloc(CHUNK_BYTES);
	ssize_t n = chunk ? 1 : -1;
	in->have = 0;
	in->err.code = ERR_NONE;
	digest_begin(&in->digest);
	if (chunk && lseek(in->part_fd, 0, SEEK_SET) == 0)
		while ((n = read(in->part_fd, chunk, CHUNK_BYTES)) > 0) {
			digest_add(&in->digest, chunk, (size_t)n);
			in->have += (uint64_t)n;
		}
	free(chunk);
	if (is_file(in) || (n == 0 && in->have <= in->order.blob.bytes))
		return;
	empty_part(in);
}

static void on_read(struct work *work)
{
	struct intake *in = container_of(work, struct intake, work);
	in->is_working = false;
	if (in->is_closing) {
		maybe_close(in);
		return;
	}
	if (in->err.code != ERR_NONE) {
		fail(in, &in->err);
		return;
	}
	if (is_file(in)) {
		check(in);
		return;
	}
	in->phase = INTAKE_DOWNLOADING;
	download(in);
}

/* Look for the layer; if it is not there, begin. */
static void look(struct intake *in)
{
	struct err err;
	in->phase = INTAKE_WAITING;
	if (layer_use(&in->use, in->order.store, in->order.blob.digest, &err) == 0) {
		remove_part(in);
		read_about(in);
		finish(in);
		return;
	}
	int r = err.code == ERR_NOT_FOUND ? 0 : -EWOULDBLOCK;
	if (r == 0 && in->part_fd < 0) {
		r = open_part(in);
		if (r == 0) { /* the other may have finished */
			look(in);
			return;
		}
	}
	if (r == -EWOULDBLOCK) {
		timer_start(&in->timer, on_again, AGAIN_MS, 0);
		return;
	}
	if (r < 0) {
		(void)err_sys(&err, file_code(-r), -r, "write to %.150s/downloads",
			layer_store_dir(in->order.store));
		fail(in, &err);
		return;
	}
	if (is_file(in) && in->order.is_checked) {
		begin_unpack(in);
		return;
	}
	in->is_working = true;
	work_begin(in->order.loop, WORK_READ, &in->work, perform_read, on_read);
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
	else if (layer_build_place(&in->build, in->order.blob.digest, &in->err) == 0)
		remove_part(in);
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
		fail(in, err);
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

static void restart(void *arg)
{
	empty_part(arg);
}

static int set_too_long(const struct intake *in, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "the layer %.12s… is longer than the image says",
		in->order.blob.digest);
}

static int on_data(void *arg, const char *data, size_t bytes)
{
	struct intake *in = arg;
	if (in->err.code != ERR_NONE)
		return -err_errno(in->err.code);
	if (bytes > in->order.blob.bytes - in->have)
		return set_too_long(in, &in->err);
	int r = fd_write_all(in->part_fd, data, bytes);
	if (r < 0)
		return err_sys(&in->err, file_code(-r), -r, "write to %.150s/downloads",
			layer_store_dir(in->order.store));
	digest_add(&in->digest, data, bytes);
	in->have += bytes;
	tell(in, in->have);
	return 0;
}

static void on_retry(uv_timer_t *timer)
{
	download(timer->data);
}

static void check(struct intake *in)
{
	char digest[DIGEST_BYTES];
	struct err err;
	struct digest_state state = in->digest;
	digest_end(&state, digest);
	if (strcmp(digest, in->order.blob.digest) == 0) {
		begin_unpack(in);
		return;
	}
	remove_part(in);
	(void)err_set(&err, ERR_DAMAGED, "the layer %.12s… has the digest %.12s…: %s",
		in->order.blob.digest, digest,
		is_file(in) ? "its file is damaged"
			    : "it was changed on its way, or is damaged there");
	fail(in, &err);
}

static void on_got(void *arg, bool is_cut, uint64_t wait_ms, const struct err *err)
{
	struct intake *in = arg;
	in->get = NULL;
	if (in->err.code != ERR_NONE) {
		fail(in, &in->err);
		return;
	}
	if (!err && in->have == in->order.blob.bytes) {
		check(in);
		return;
	}
	struct err end = {.code = ERR_NONE};
	if (err && err->code == ERR_LIMIT) { /* the server has said so before it sent a byte */
		set_too_long(in, &end);
		fail(in, &end);
		return;
	}
	(void)err_set(&end, ERR_UNREACHABLE, "the layer %.12s… ends early", in->order.blob.digest);
	if (in->have > in->had)
		in->n_tries = 0;
	if ((err && !is_cut) || ++in->n_tries == TRIES_MAX) {
		fail(in, err ? err : &end);
		return;
	}
	timer_start(&in->timer, on_retry, wait_ms ? wait_ms : (uint64_t)RETRY_MS << in->n_tries, 0);
}

static void download(struct intake *in)
{
	struct err err;
	char name[DIGEST_BYTES + 8];
	if (in->have == in->order.blob.bytes) {
		check(in);
		return;
	}
	snprintf(name, sizeof name, "sha256:%s", in->order.blob.digest);
	in->err.code = ERR_NONE;
	in->had = in->have;
	const struct remote_order order = {.kind = REMOTE_BLOB,
		.name = name,
		.from = in->have,
		.max_bytes = in->order.blob.bytes + 1,
		.restart = restart,
		.data = on_data,
		.done = on_got,
		.arg = in};
	if (remote_get(&in->get, in->order.remote, &order, &err) < 0)
		fail(in, &err);
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
		.build = LAYER_BUILD_INIT,
		.use = LAYER_USE_INIT};
	(void)uv_timer_init(order->loop, &in->timer);
	in->timer.data = in;
	*out = in;
	timer_start(&in->timer, on_first, 0, 0);
}
