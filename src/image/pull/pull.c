/*
 * Pulling an image: the manifest, through an index if there is one; the configuration; the layers,
 * PULLS_AT_ONCE at a time; and then the record. If anything fails, the layers that are whole stay
 * in the store until it is next swept, so that another try finds them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/pull/pull.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/timer.h"
#include "base/work.h"
#include "image/image_store.h"
#include "image/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PULLS_AT_ONCE = 3, DOCUMENT_TRIES = 4, DOCUMENT_RETRY_MS = 1000 };

enum pull_stage { PULL_MANIFEST, PULL_CONFIG, PULL_LAYERS, PULL_RECORD };

struct layer {
	struct pull *pull;
	struct intake *intake;
	unsigned number;
	json_t *about;
};

struct pull {
	struct pull_order order;
	struct image_ref ref;
	char *mirror, *user, *secret;
	struct remote *remote;
	enum pull_stage stage;
	/* The document that is being got, and the digest that it has to have; "": any. */
	struct remote_get *get;
	struct buf text;
	char wanted[DIGEST_BYTES];
	char digest[DIGEST_BYTES]; /* of the manifest, or of the index that named it */
	unsigned n_tries;
	uv_timer_t timer;
	struct image_manifest manifest;
	json_t *config, *about;
	struct layer layers[IMAGE_LAYERS_MAX];
	unsigned n_begun, n_over, n_open;
	struct work work;
	bool is_ending;
	struct err err; /* code ERR_NONE: all is well */
};

static void get_document(struct pull *p);

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
	struct pull *p = handle->data;
	const struct pull_order order = p->order;
	const struct err err = p->err;
	json_t *about = take_ptr(p->about);
	for (unsigned i = 0; i < IMAGE_LAYERS_MAX; i++)
		json_decref(p->layers[i].about);
	json_decref(p->config);
	buf_done(&p->text);
	free(p->mirror);
	free(p->user);
	if (p->secret)
		explicit_bzero(p->secret, strlen(p->secret));
	free(p->secret);
	free(p);
	order.done(
		order.arg, err.code == ERR_NONE ? about : NULL, err.code == ERR_NONE ? NULL : &err);
	json_decref(about);
}

static void maybe_free(struct pull *p)
{
	if (p->n_open > 0)
		return;
	remote_close(take_ptr(p->remote));
	uv_close((uv_handle_t *)&p->timer, on_closed);
}

static void on_layer_closed(void *arg)
{
	struct layer *layer = arg;
	layer->pull->n_open--;
	maybe_free(layer->pull);
}

/* Not in a callback of the remote, which is closed here. */
static void on_end(uv_timer_t *timer)
{
	struct pull *p = timer->data;
	if (p->get)
		remote_cancel(take_ptr(p->get));
	bool has_layers = p->n_open > 0;
	for (unsigned i = 0; i < p->n_begun; i++)
		if (p->layers[i].intake)
			intake_close(take_ptr(p->layers[i].intake), on_layer_closed);
	if (!has_layers)
		maybe_free(p);
}

static void end(struct pull *p, const struct err *err)
{
	if (p->is_ending)
		return;
	p->is_ending = true;
	if (err)
		p->err = *err;
	timer_start(&p->timer, on_end, 0, 0);
}

void pull_cancel(struct pull *p)
{
	struct err err;
	(void)err_set(&err, ERR_INTERRUPTED, "the pull was ended; what was downloaded is kept");
	if (p->stage != PULL_RECORD)
		end(p, &err);
}

/* Return the first layer of the image with this digest: an image may have a layer twice. */
static unsigned first_of(const struct pull *p, unsigned number)
{
	unsigned i = 0;
	while (strcmp(p->manifest.layers[i].digest, p->manifest.layers[number].digest) != 0)
		i++;
	return i;
}

/* ---- the record ---- */

static void perform_record(struct work *work)
{
	struct pull *p = container_of(work, struct pull, work);
	(void)image_store_put(p->order.store, p->about, &p->err);
}

static void on_recorded(struct work *work)
{
	struct pull *p = container_of(work, struct pull, work);
	end(p, NULL);
}

static void write_record(struct pull *p)
{
	char name[IMAGE_NAME_BYTES];
	struct timespec now;
	json_t *layers = json_need(json_array());
	int64_t bytes = 0, files = 0;
	p->stage = PULL_RECORD;
	for (unsigned i = 0; i < p->manifest.n_layers; i++) {
		const json_t *about = p->layers[first_of(p, i)].about;
		json_add_shared(layers, about);
		bytes += json_get_int(about, "bytes");
		files += json_get_int(about, "files");
	}
	image_ref_name(&p->ref, name);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	p->about = json_need(json_pack("{s:s, s:s, s:o, s:O, s:I, s:I, s:I}", "name", name,
		"digest", p->digest, "layers", layers, "config", p->config, "bytes",
		(json_int_t)bytes, "files", (json_int_t)files, "made_ms",
		(json_int_t)now.tv_sec * 1000 + now.tv_nsec / 1000000));
	work_begin(p->order.loop, WORK_READ, &p->work, perform_record, on_recorded);
}

/* ---- layers ---- */

static void begin_layers(struct pull *p);

static void on_progress(void *arg, enum intake_phase phase, uint64_t moved)
{
	const struct layer *layer = arg;
	const struct pull *p = layer->pull;
	const struct image_blob *blob = &p->manifest.layers[layer->number];
	if (p->order.progress && !p->is_ending)
		p->order.progress(p->order.arg,
			&(struct pull_progress){.digest = blob->digest,
				.layer = layer->number,
				.n_layers = p->manifest.n_layers,
				.phase = phase,
				.moved = moved,
				.bytes = blob->bytes});
}

static void on_layer(void *arg, const json_t *about, const struct err *err)
{
	struct layer *layer = arg;
	struct pull *p = layer->pull;
	p->n_over++;
	if (err) {
		end(p, err);
		return;
	}
	layer->about = json_incref(json_unconst(about));
	on_progress(layer, INTAKE_DONE, p->manifest.layers[layer->number].bytes);
	begin_layers(p);
}

static void begin_layer(struct pull *p, unsigned number)
{
	struct layer *layer = &p->layers[number];
	const json_t *diffs = json_object_get(p->config, "diffs");
	*layer = (struct layer){.pull = p, .number = number};
	if (first_of(p, number) != number) {
		p->n_over++;
		return;
	}
	const struct intake_order order = {.loop = p->order.loop,
		.store = p->order.store,
		.remote = p->remote,
		.blob = p->manifest.layers[number],
		.diff = json_string_value(json_array_get(diffs, number)),
		.progress = on_progress,
		.done = on_layer,
		.arg = layer};
	p->n_open++;
	intake_start(&layer->intake, &order);
}

static void begin_layers(struct pull *p)
{
	while (!p->is_ending && p->n_begun < p->manifest.n_layers &&
		p->n_begun - p->n_over < PULLS_AT_ONCE)
		begin_layer(p, p->n_begun++);
	if (!p->is_ending && p->n_over == p->manifest.n_layers)
		write_record(p);
}

/* ---- documents ---- */

static int take_manifest(struct pull *p, struct err *err)
{
	bool is_index = false;
	struct image_blob chosen;
	bool was_index = p->wanted[0] && strcmp(p->wanted, p->digest) != 0;
	int r = image_manifest_read(buf_str(&p->text), p->text.bytes, image_architecture(),
		&is_index, &chosen, &p->manifest, err);
	if (r < 0)
		return r;
	if (is_index && was_index)
		return err_set(err, ERR_PROTOCOL, "the image has an index in its index");
	if (!is_index) {
		p->stage = PULL_CONFIG;
		chosen = p->manifest.config;
	}
	memcpy(p->wanted, chosen.digest, sizeof p->wanted);
	return 0;
}

static int take_document(struct pull *p, struct err *err)
{
	char digest[DIGEST_BYTES];
	digest_text(digest, buf_str(&p->text), p->text.bytes);
	if (p->wanted[0] && strcmp(digest, p->wanted) != 0)
		return err_set(err, ERR_PROTOCOL,
			"a document of the image has the digest %.12s…, and should have %.12s…",
			digest, p->wanted);
	if (!p->digest[0])
		memcpy(p->digest, digest, sizeof digest);
	if (p->stage == PULL_MANIFEST)
		return take_manifest(p, err);
	p->config = image_config_read(
		buf_str(&p->text), p->text.bytes, image_architecture(), p->manifest.n_layers, err);
	if (!p->config)
		return -err_errno(err->code);
	p->stage = PULL_LAYERS;
	return 0;
}

static void on_retry(uv_timer_t *timer)
{
	get_document(timer->data);
}

static int on_data(void *arg, const char *data, size_t bytes)
{
	struct pull *p = arg;
	return buf_append(&p->text, data, bytes);
}

static void on_document(void *arg, bool is_cut, uint64_t wait_ms, const struct err *err)
{
	struct pull *p = arg;
	struct err wrong;
	p->get = NULL;
	if (err && is_cut && ++p->n_tries < DOCUMENT_TRIES) {
		timer_start(&p->timer, on_retry,
			wait_ms ? wait_ms : (uint64_t)DOCUMENT_RETRY_MS * p->n_tries, 0);
	} else if (err) {
		end(p, err);
	} else if (take_document(p, &wrong) < 0) {
		end(p, &wrong);
	} else if (p->stage == PULL_LAYERS) {
		begin_layers(p);
	} else {
		p->n_tries = 0;
		get_document(p);
	}
}

static void get_document(struct pull *p)
{
	struct err err;
	char name[IMAGE_TAG_BYTES + DIGEST_BYTES];
	if (p->wanted[0])
		snprintf(name, sizeof name, "sha256:%s", p->wanted);
	else
		snprintf(name, sizeof name, "%s", p->ref.tag);
	buf_clear(&p->text);
	const struct remote_order order = {
		.kind = p->stage == PULL_MANIFEST ? REMOTE_MANIFEST : REMOTE_BLOB,
		.name = name,
		.max_bytes = IMAGE_DOCUMENT_BYTES,
		.data = on_data,
		.done = on_document,
		.arg = p};
	if (remote_get(&p->get, p->remote, &order, &err) < 0)
		end(p, &err);
}

/* ---- the start ---- */

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

int pull_start(struct pull **out, const struct pull_order *order, struct err *err)
{
	struct pull *p = xnew(struct pull);
	p->order = *order;
	p->mirror = copy(order->mirror);
	p->user = copy(order->user);
	p->secret = copy(order->secret);
	p->text = BUF_INIT(IMAGE_DOCUMENT_BYTES);
	int r = image_ref_parse(&p->ref, order->name, err);
	const struct remote_config config = {.loop = order->loop,
		.image = &p->ref,
		.mirror = p->mirror,
		.user = p->user,
		.secret = p->secret};
	if (r == 0)
		r = remote_open(&p->remote, &config, err);
	if (r < 0) {
		free(p->mirror);
		free(p->user);
		free(p->secret);
		free(p);
		return r;
	}
	memcpy(p->wanted, p->ref.digest, sizeof p->wanted);
	(void)uv_timer_init(order->loop, &p->timer);
	p->timer.data = p;
	*out = p;
	timer_start(&p->timer, on_retry, 0, 0);
	return 0;
}
