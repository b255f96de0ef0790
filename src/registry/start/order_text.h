/* Orders as text, for the journal and as keys of templates. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/start/engine.h"
#include "session/start/order.h"
#include "session/start/order_layer.h"

#include <jansson.h>

/* A parsed order. It owns all data that its members point to. */
struct order_kept {
	struct order order;
	const char **preload; /* modules to import, NULL-terminated */
	bool is_fresh;
	json_t *json;
	struct volume *volumes;
	const char **env, **net;
	struct order_image *image; /* or NULL */
	struct secrets *secrets;   /* without values */
};

/* Return the order as a JSON object with sorted keys. Paths of volumes, workspace and rootfs are
 * resolved. Owns: the caller frees. Returns: NULL if memory is exhausted, or when a text is not
 * UTF-8. */
char *order_text(const struct order *order, const char *const *preload, bool is_fresh);

/* Return the text of order_text(), but with @skills added as a volume at SKILLS_DIR. Nothing is
 * added if @skills is NULL or @order already has a volume at SKILLS_DIR. */
char *order_text_with(
	const char *skills, const struct order *order, const char *const *preload, bool is_fresh);

/* Return the text of an order with other network rules: @n texts. Owns: the caller frees. Returns:
 * NULL if @text is none. */
char *order_text_with_net(const char *text, const char *const *net, size_t n);

/* Parse the text of an order. Owns: the caller ends @out with order_kept_done(). Errors:
 * ERR_DAMAGED, ERR_NO_MEMORY. */
int order_parse(struct order_kept *out, const char *text, size_t bytes, struct err *err);
void order_kept_done(struct order_kept *k);
/* Copy the name of the order's runtime to @out; "python" if the text names none. */
void order_text_runtime(const char *text, size_t bytes, char *out, size_t room);

/* A reference-counted order. It is shared by all sessions of one template, or by a session and
 * its branches. */
struct shared_order {
	unsigned n_refs;
	/* The order that this one replaces, because a session may still use it; or NULL. */
	struct shared_order *previous;
	struct order_kept kept;
	struct order_layer layer;   /* set by shared_order_check() if the order has one */
	struct order_checked order; /* set by shared_order_check() */
};
/* Parse @text into a new order with one reference. Errors: as order_parse(). */
int shared_order_parse(struct shared_order **out, const char *text, struct err *err);
/* Check the order @o->kept against the host and the engine. The result is @o->order. Errors: as
 * order_check() and order_check_sockets(); of layer_use(). */
int shared_order_check(struct shared_order *o, const struct engine *engine, struct err *err);
struct shared_order *shared_order_hold(struct shared_order *o);
void shared_order_let_go(struct shared_order *o); /* NULL: does nothing */
