/*
 * A layer is asked for from the first byte that is missing, until it is whole. What comes is
 * written and hashed by a thread, since the disk may be slow; while it is at it, up to COMING_BYTES
 * wait in memory, and then the registry waits.
 *
 * A try counts unless it brings something worthwhile that no try before has brought, so a registry
 * that sends little, or the same again and again, is left. If the bytes of several requests
 * together are another layer, the first of them are to blame, perhaps: the layer is asked for once
 * more, as a whole.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/pull/download.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/timer.h"
#include "base/work.h"
#include "image/pull/part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RETRY_MS = 1000,
	TRIES_MAX = 6,
	WORTHWHILE_BYTES = 1 << 20,
	COMING_BYTES = 1 << 20,
	COMING_MAX_BYTES = 64 << 20, /* with a last piece */
};

struct download {
	struct download_order order;
	uint64_t have;
	struct digest_state digest;
	/* What was received is first in `coming`, then in `writing` while a thread is at it. The
	 * request waits if too much comes: is_stopped. */
	struct buf coming, writing;
	struct work work;
	int sys; /* errno of the thread */
	bool is_writing, is_stopped;
	struct remote_get *get;
	/* How the request has ended; what it has brought may wait to be written: is_got. */
	bool is_got, is_cut;
	uint64_t wait_ms;
	struct err got;
	unsigned n_tries;
	uint64_t reached; /* bytes, when the tries were last counted from 0 */
	bool was_resumed; /* there are bytes of several requests */
	bool is_again;	  /* it was begun anew, since these were wrong */
	bool is_over, is_closing;
	uv_timer_t timer;
	struct err err;
	void (*closed)(void *arg);
};

static void ask(struct download *d);

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
	struct download *d = handle->data;
	void (*closed)(void *arg) = d->closed;
	void *arg = d->order.arg;
	buf_done(&d->coming);
	buf_done(&d->writing);
	free(d);
	closed(arg);
}

static void maybe_close(struct download *d)
{
	if (d->is_closing && !d->is_writing)
		uv_close((uv_handle_t *)&d->timer, on_closed);
}

static void drop_request(struct download *d)
{
	if (d->get)
		remote_cancel(take_ptr(d->get));
}

void download_close(struct download *d, void (*closed)(void *arg))
{
	d->is_closing = d->is_over = true;
	d->closed = closed;
	(void)uv_timer_stop(&d->timer);
	drop_request(d);
	maybe_close(d);
}

static void finish(struct download *d, const struct err *err)
{
	if (d->is_over)
		return;
	d->is_over = true;
	drop_request(d);
	buf_done(&d->coming);
	d->order.done(d->order.arg, err);
}

/* ---- what is there ---- */

static void empty(struct download *d)
{
	d->have = 0;
	d->was_resumed = false;
	digest_begin(&d->digest);
	if (ftruncate(d->order.fd, 0) < 0)
		(void)part_fail(d->order.store, errno, &d->err);
}

static void on_retry(uv_timer_t *timer)
{
	ask(timer->data);
}

/* Ask for the whole layer once more, if the bytes are of several requests. Returns: whether so. */
static bool begin_anew(struct download *d)
{
	if (!d->was_resumed || d->is_again)
		return false;
	d->is_again = true;
	d->err.code = ERR_NONE;
	empty(d);
	timer_start(&d->timer, on_retry, RETRY_MS, 0);
	return true;
}

/* All bytes are there. */
static void check(struct download *d)
{
	char digest[DIGEST_BYTES];
	struct err err;
	digest_end(&d->digest, digest);
	if (strcmp(digest, d->order.blob.digest) == 0) {
		finish(d, NULL);
		return;
	}
	if (begin_anew(d))
		return;
	(void)err_set(&err, ERR_DAMAGED,
		"the layer %.12s… has the digest %.12s…: it was changed on its way, or is damaged "
		"there",
		d->order.blob.digest, digest);
	finish(d, &err);
}

static int set_too_long(const struct download *d, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "the layer %.12s… is longer than the image says",
		d->order.blob.digest);
}

/* The request has ended, and all that it has brought is written. */
static void judge(struct download *d)
{
	struct err end;
	const struct err *err = d->got.code == ERR_NONE ? NULL : &d->got;
	d->is_got = false;
	if (!err && d->have == d->order.blob.bytes) {
		check(d);
		return;
	}
	if (err && err->code == ERR_LIMIT) { /* the server has said so before it sent a byte */
		(void)set_too_long(d, &end);
		finish(d, &end);
		return;
	}
	(void)err_set(&end, ERR_UNREACHABLE, "the layer %.12s… ends early", d->order.blob.digest);
	if (d->have >= d->reached + WORTHWHILE_BYTES) {
		d->reached = d->have;
		d->n_tries = 0;
	}
	if ((err && !d->is_cut) || ++d->n_tries == TRIES_MAX) {
		finish(d, err ? err : &end);
		return;
	}
	timer_start(
		&d->timer, on_retry, d->wait_ms ? d->wait_ms : (uint64_t)RETRY_MS << d->n_tries, 0);
}

/* ---- writing, in a thread ---- */

static void begin_write(struct download *d);

static void perform_write(struct work *work)
{
	struct download *d = container_of(work, struct download, work);
	const char *data = buf_str(&d->writing);
	d->sys = lseek(d->order.fd, (off_t)d->have, SEEK_SET) < 0
		? errno
		: -fd_write_all(d->order.fd, data, d->writing.bytes);
	digest_add(&d->digest, data, d->writing.bytes);
}

static void fail_write(struct download *d)
{
	(void)part_fail(d->order.store, d->sys, &d->err);
	if (d->err.code == ERR_NO_SPACE) /* what a full disk has of it helps nobody */
		(void)!ftruncate(d->order.fd, 0);
	finish(d, &d->err);
}

static void on_written(struct work *work)
{
	struct download *d = container_of(work, struct download, work);
	d->is_writing = false;
	if (d->is_over) {
		maybe_close(d);
		return;
	}
	if (d->sys) {
		fail_write(d);
		return;
	}
	d->have += d->writing.bytes;
	buf_clear(&d->writing);
	d->order.progress(d->order.arg, d->have);
	if (d->coming.bytes > 0)
		begin_write(d);
	if (d->is_stopped && d->get) {
		d->is_stopped = false;
		remote_go_on(d->get);
	}
	if (d->is_got && !d->is_writing)
		judge(d);
}

static void begin_write(struct download *d)
{
	struct buf empty = d->writing;
	d->writing = d->coming;
	d->coming = empty;
	d->is_writing = true;
	work_begin(d->order.loop, WORK_READ, &d->work, perform_write, on_written);
}

/* ---- the request ---- */

static void on_restart(void *arg)
{
	empty(arg);
}

static int on_data(void *arg, const char *data, size_t bytes)
{
	struct download *d = arg;
	if (d->err.code != ERR_NONE)
		return -err_errno(d->err.code);
	if (bytes > d->order.blob.bytes - d->have - d->writing.bytes - d->coming.bytes)
		return set_too_long(d, &d->err);
	if (d->is_writing && d->coming.bytes >= COMING_BYTES) {
		d->is_stopped = true;
		return NET_WAIT;
	}
	if (buf_append(&d->coming, data, bytes) < 0)
		return err_set(&d->err, ERR_NO_MEMORY, "no memory for a layer");
	if (!d->is_writing)
		begin_write(d);
	return 0;
}

static void on_got(void *arg, bool is_cut, uint64_t wait_ms, const struct err *err)
{
	struct download *d = arg;
	d->get = NULL;
	if (d->err.code != ERR_NONE) {
		if (d->err.code != ERR_DAMAGED || d->is_writing || !begin_anew(d))
			finish(d, &d->err);
		return;
	}
	d->got = err ? *err : (struct err){.code = ERR_NONE};
	d->is_cut = is_cut;
	d->wait_ms = wait_ms;
	d->is_got = true;
	if (!d->is_writing)
		judge(d);
}

static void ask(struct download *d)
{
	char name[DIGEST_BYTES + 8];
	if (d->have == d->order.blob.bytes) {
		check(d);
		return;
	}
	snprintf(name, sizeof name, "sha256:%s", d->order.blob.digest);
	d->is_stopped = false;
	d->was_resumed = d->was_resumed || d->have > 0;
	const struct remote_order order = {.kind = REMOTE_BLOB,
		.name = name,
		.from = d->have,
		.max_bytes = d->order.blob.bytes + 1,
		.restart = on_restart,
		.data = on_data,
		.done = on_got,
		.arg = d};
	int r = d->err.code == ERR_NONE ? 0 : -1;
	if (r == 0)
		r = part_check_room(d->order.fd, d->order.blob.bytes - d->have, &d->err);
	if (r < 0 || remote_get(&d->get, d->order.remote, &order, &d->err) < 0)
		finish(d, &d->err);
}

void download_start(struct download **out, const struct download_order *order)
{
	struct download *d = xnew(struct download);
	*d = (struct download){.order = *order,
		.have = order->have,
		.was_resumed = order->have > 0,
		.digest = order->digest,
		.coming = BUF_INIT(COMING_MAX_BYTES),
		.writing = BUF_INIT(COMING_MAX_BYTES)};
	(void)uv_timer_init(order->loop, &d->timer);
	d->timer.data = d;
	*out = d;
	timer_start(&d->timer, on_retry, 0, 0);
}
