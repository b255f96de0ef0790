/* SPDX-License-Identifier: Apache-2.0 */
#include "session/start/order_layer.h"

#include "base/json.h"

static int no_store(struct err *err)
{
	return err_fail(err, ERR_NOT_FOUND, "set HOME or XDG_STATE_HOME, or give a state directory",
		"this engine has no templates with packages");
}

int order_layer_find(struct order_layer *l, struct order *order, struct layer_store *store,
	const char *owner, struct err *err)
{
	if (!order->template)
		return 0;
	if (!store)
		return no_store(err);
	l->about = layer_store_get(store, owner, order->template, err);
	if (!l->about)
		return -err_errno(err->code);
	const char *python = json_get_text(json_object_get(l->about, "spec"), "python");
	order->layer = json_get_text(l->about, "layer");
	if (python[0])
		order->template_python = python;
	return 0;
}

int order_layer_use(
	struct order_layer *l, struct order *order, struct layer_store *store, struct err *err)
{
	if (!order->layer || l->use.lock_fd >= 0)
		return 0;
	if (!store)
		return no_store(err);
	if (layer_use(&l->use, store, order->layer, err) < 0)
		return err_wrap(err, "template %.64s", order->template ? order->template : "");
	order->layer_tree = l->use.tree;
	return 0;
}

void order_layer_done(struct order_layer *l)
{
	json_decref(l->about);
	layer_use_end(&l->use);
	*l = ORDER_LAYER_INIT;
}
