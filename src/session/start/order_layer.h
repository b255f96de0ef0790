/* The layers of an order: from the name of a template or image to directories.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "layer/layer_template.h"
#include "session/start/order.h"
#include "session/start/order_image.h"

struct order_layer {
	json_t *about; /* the template, or NULL */
	struct layer_use use;
	json_t *image_about; /* or NULL */
	struct order_image image;
	struct layer_use *uses; /* of the layers of the image */
	size_t n_uses;
	const char **trees;
};
#define ORDER_LAYER_INIT ((struct order_layer){.use = LAYER_USE_INIT})

/*
 * Look up the order's template, if it names one, among those of @owner, and set the digest of its
 * layer; and its Python interpreter, if it was built for one.
 * Owns: the texts belong to @l, which the caller ends with order_layer_done(), also after an error.
 * Likewise, look up the order's image, if it names one, among those of the store: @order->image is
 * set.
 * Errors: ERR_NOT_FOUND, ERR_DAMAGED, ERR_USAGE; @store NULL: ERR_NOT_FOUND.
 */
int order_layer_find(struct order_layer *l, struct order *order, struct layer_store *store,
	const char *owner, struct err *err);
/* Use the layer and the image of the order, if it has them, until order_layer_done(), and set their
 * directories; so also that of --rootfs. Errors: those of layer_use(). */
int order_layer_use(
	struct order_layer *l, struct order *order, struct layer_store *store, struct err *err);
void order_layer_done(struct order_layer *l);
