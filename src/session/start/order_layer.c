/* SPDX-License-Identifier: Apache-2.0 */
#include "session/start/order_layer.h"

#include "base/alloc.h"
#include "base/json.h"
#include "image/image_store.h"

#include <stdlib.h>

static int no_store(const struct order *order, struct err *err)
{
	return err_fail(err, ERR_NOT_FOUND, "set HOME or XDG_STATE_HOME, or give a state directory",
		order->template ? "this engine has no templates with packages"
				: "this engine has no images");
}

static int check_together(const struct order *order, struct err *err)
{
	const char *system = order->image_name ? "image" : "rootfs";
	if (order->image_name && order->rootfs)
		return err_fail(
			err, ERR_USAGE, "leave one out", "image and rootfs: a box has one system");
	if ((order->image_name || order->rootfs) && order->template)
		return err_fail(err, ERR_USAGE,
			"leave one out: a box with an image can install packages itself",
			"template and %s: the packages of a template are for the host's system",
			system);
	return 0;
}

static int find_image(
	struct order_layer *l, struct order *order, struct layer_store *store, struct err *err)
{
	if (!store)
		return no_store(order, err);
	cleanup_json json_t *record = image_store_get(store, order->image_name, err);
	if (!record)
		return -err_errno(err->code);
	l->image_about = order_image_about(record);
	l->image = (struct order_image){.about = l->image_about};
	order->image = &l->image;
	return 0;
}

int order_layer_find(struct order_layer *l, struct order *order, struct layer_store *store,
	const char *owner, struct err *err)
{
	int r = check_together(order, err);
	if (r == 0 && order->image_name)
		r = find_image(l, order, store, err);
	if (r < 0 || !order->template)
		return r;
	if (!store)
		return no_store(order, err);
	l->about = layer_store_get(store, owner, order->template, err);
	if (!l->about)
		return -err_errno(err->code);
	const char *python = json_get_text(json_object_get(l->about, "spec"), "python");
	order->layer = json_get_text(l->about, "layer");
	if (python[0])
		order->template_python = python;
	return 0;
}

static void use_trees(struct order_layer *l, struct order *order, const json_t *about, size_t n)
{
	l->image = (struct order_image){.about = about, .trees = l->trees, .n_trees = n};
	order->image = &l->image;
}

static int use_image(
	struct order_layer *l, struct order *order, struct layer_store *store, struct err *err)
{
	const json_t *about = order->image->about;
	const json_t *layers = json_object_get(about, "layers");
	size_t n = json_array_size(layers);
	if (!store)
		return no_store(order, err);
	l->uses = xcalloc(n + 1, sizeof *l->uses);
	l->trees = xcalloc(n + 1, sizeof *l->trees);
	for (; l->n_uses < n; l->n_uses++)
		l->uses[l->n_uses] = LAYER_USE_INIT;
	for (size_t i = 0; i < n; i++) {
		const char *digest = json_string_value(json_array_get(layers, i));
		if (layer_use(&l->uses[i], store, digest, err) < 0) {
			(void)err_wrap(
				err, "image %.100s", image_ref_short(json_get_text(about, "name")));
			if (err->code == ERR_NOT_FOUND)
				(void)err_hint(err,
					"pull or import the same image again, with the digest "
					"%.12s",
					json_get_text(about, "digest"));
			return -err_errno(err->code);
		}
		l->trees[i] = l->uses[i].tree;
	}
	use_trees(l, order, about, n);
	return 0;
}

static int use_layer(
	struct order_layer *l, struct order *order, struct layer_store *store, struct err *err)
{
	if (!store)
		return no_store(order, err);
	if (layer_use(&l->use, store, order->layer, err) < 0)
		return err_wrap(err, "template %.64s", order->template ? order->template : "");
	order->layer_tree = l->use.tree;
	return 0;
}

int order_layer_use(
	struct order_layer *l, struct order *order, struct layer_store *store, struct err *err)
{
	if (l->trees || l->use.lock_fd >= 0)
		return 0;
	if (order->image)
		return use_image(l, order, store, err);
	if (order->rootfs) {
		l->trees = xcalloc(2, sizeof *l->trees);
		l->trees[0] = order->rootfs;
		use_trees(l, order, NULL, 1);
		return 0;
	}
	return order->layer ? use_layer(l, order, store, err) : 0;
}

void order_layer_done(struct order_layer *l)
{
	json_decref(l->about);
	json_decref(l->image_about);
	layer_use_end(&l->use);
	for (size_t i = 0; i < l->n_uses; i++)
		layer_use_end(&l->uses[i]);
	free(l->uses);
	free(l->trees);
	*l = ORDER_LAYER_INIT;
}
