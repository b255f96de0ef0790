/*
 * The layers of an image, LAYERS_AT_ONCE at a time, and then the record, which keeps them. If
 * anything fails, the layers that are whole stay in the store until it is next swept, so that
 * another try finds them. An image may have a layer twice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/pull/assembly.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/timer.h"
#include "base/work.h"
#include "image/image_store.h"

#include <stdlib.h>
#include <string.h>

enum { LAYERS_AT_ONCE = 3 };

struct layer {
	struct assembly *of;
	struct intake *intake;
	unsigned number;
	json_t *about;
};

struct assembly {
	struct assembly_order order;
	struct layer layers[IMAGE_LAYERS_MAX];
	unsigned n_begun, n_over, n_open;
	json_t *about;
	struct work work;
	uv_timer_t timer;
	bool is_recording, is_over, is_closing;
	struct err err; /* why it is over; code ERR_NONE: all is well */
	void (*closed)(void *arg);
};

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
	struct assembly *a = handle->data;
	void (*closed)(void *arg) = a->closed;
	void *arg = a->order.arg;
	for (unsigned i = 0; i < IMAGE_LAYERS_MAX; i++)
		json_decref(a->layers[i].about);
	json_decref(a->about);
	free(a);
	closed(arg);
}

static void maybe_close(struct assembly *a)
{
	if (a->is_closing && !a->is_recording && a->n_open == 0)
		uv_close((uv_handle_t *)&a->timer, on_closed);
}

static void on_layer_closed(void *arg)
{
	struct layer *layer = arg;
	layer->of->n_open--;
	maybe_close(layer->of);
}

bool assembly_is_recording(const struct assembly *a)
{
	return a->is_recording;
}

void assembly_close(struct assembly *a, void (*closed)(void *arg))
{
	a->is_closing = true;
	a->closed = closed;
	(void)uv_timer_stop(&a->timer);
	for (unsigned i = 0; i < a->n_begun; i++)
		if (a->layers[i].intake)
			intake_close(take_ptr(a->layers[i].intake), on_layer_closed);
	maybe_close(a);
}

static void on_over(uv_timer_t *timer)
{
	struct assembly *a = timer->data;
	bool is_well = a->err.code == ERR_NONE;
	a->order.done(a->order.arg, is_well ? a->about : NULL, is_well ? NULL : &a->err);
}

/* Say so from the loop, since the caller will close what has just called. */
static void finish(struct assembly *a, const struct err *err)
{
	if (a->is_over || a->is_closing)
		return;
	a->is_over = true;
	if (err)
		a->err = *err;
	timer_start(&a->timer, on_over, 0, 0);
}

/* ---- the record ---- */

/* Return the first layer of the image with the digest of this one. */
static unsigned first_of(const struct assembly *a, unsigned number)
{
	const struct image_blob *layers = a->order.manifest->layers;
	unsigned i = 0;
	while (strcmp(layers[i].digest, layers[number].digest) != 0)
		i++;
	return i;
}

static void perform_record(struct work *work)
{
	struct assembly *a = container_of(work, struct assembly, work);
	(void)image_store_put(a->order.store, a->about, &a->err);
}

static void on_recorded(struct work *work)
{
	struct assembly *a = container_of(work, struct assembly, work);
	a->is_recording = false;
	finish(a, NULL);
	maybe_close(a);
}

static void write_record(struct assembly *a)
{
	json_t *layers = json_need(json_array());
	for (unsigned i = 0; i < a->order.manifest->n_layers; i++)
		json_add_shared(layers, a->layers[first_of(a, i)].about);
	a->about = image_store_about(&a->order.name, a->order.digest, layers, a->order.config);
	a->is_recording = true;
	work_begin(a->order.loop, WORK_READ, &a->work, perform_record, on_recorded);
}

/* ---- layers ---- */

static void begin_layers(struct assembly *a);

static void on_progress(void *arg, enum intake_phase phase, uint64_t moved)
{
	const struct layer *layer = arg;
	const struct assembly *a = layer->of;
	const struct image_blob *blob = &a->order.manifest->layers[layer->number];
	const struct pull_progress progress = {.digest = blob->digest,
		.layer = layer->number,
		.n_layers = a->order.manifest->n_layers,
		.phase = phase,
		.moved = moved,
		.bytes = blob->bytes};
	if (a->order.progress && !a->is_over && !a->is_closing)
		a->order.progress(a->order.arg, &progress);
}

static void on_layer(void *arg, const json_t *about, const struct err *err)
{
	struct layer *layer = arg;
	struct assembly *a = layer->of;
	a->n_over++;
	if (err) {
		finish(a, err);
		return;
	}
	layer->about = json_incref(json_unconst(about));
	on_progress(layer, INTAKE_DONE, a->order.manifest->layers[layer->number].bytes);
	begin_layers(a);
}

static void begin_layer(struct assembly *a, unsigned number)
{
	struct layer *layer = &a->layers[number];
	const json_t *diffs = json_object_get(a->order.config, "diffs");
	struct intake_order order = {.loop = a->order.loop,
		.store = a->order.store,
		.remote = a->order.remote,
		.source = -1,
		.blob = a->order.manifest->layers[number],
		.diff = json_string_value(json_array_get(diffs, number)),
		.progress = on_progress,
		.done = on_layer,
		.arg = layer};
	struct err err;
	*layer = (struct layer){.of = a, .number = number};
	if (first_of(a, number) != number) {
		a->n_over++;
		return;
	}
	if (!a->order.remote)
		order.source = a->order.open(a->order.arg, number, &order.is_checked, &err);
	if (!a->order.remote && order.source < 0) {
		finish(a, &err);
		return;
	}
	a->n_open++;
	intake_start(&layer->intake, &order);
}

static void begin_layers(struct assembly *a)
{
	unsigned n_layers = a->order.manifest->n_layers;
	while (!a->is_over && a->n_begun < n_layers && a->n_begun - a->n_over < LAYERS_AT_ONCE)
		begin_layer(a, a->n_begun++);
	if (!a->is_over && a->n_over == n_layers)
		write_record(a);
}

static void on_first(uv_timer_t *timer)
{
	begin_layers(timer->data);
}

void assembly_start(struct assembly **out, const struct assembly_order *order)
{
	struct assembly *a = xnew(struct assembly);
	a->order = *order;
	(void)uv_timer_init(order->loop, &a->timer);
	a->timer.data = a;
	*out = a;
	timer_start(&a->timer, on_first, 0, 0);
}
