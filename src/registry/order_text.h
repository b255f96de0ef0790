/* What a session was made with, as text: for the journal, and to tell templates apart.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/start/order.h"

#include <jansson.h>

/* An order that owns what it points to. */
struct order_kept {
	struct order order;
	const char **preload; /* NULL-terminated */
	bool is_fresh;
	json_t *json;
	struct volume *volumes;
	const char **env;
};

/*
 * The order as a JSON object with sorted keys; volumes, workspace and interpreter by their absolute
 * names. Owns: the caller frees. NULL without memory, or when a text is no UTF-8.
 */
char *order_text(const struct order *order, const char *const *preload, bool is_fresh);

/* The same with @skills, if it is not NULL, as a volume at SKILLS_DIR, where @order has none. */
char *order_text_with(
	const char *skills, const struct order *order, const char *const *preload, bool is_fresh);

/* Read it again. Owns: order_kept_done(). Errors: ERR_DAMAGED, ERR_NO_MEMORY. */
int order_parse(struct order_kept *out, const char *text, size_t bytes, struct err *err);
void order_kept_done(struct order_kept *k);
/* Only the language that it names, or else the usual one. */
void order_text_runtime(const char *text, size_t bytes, char *out, size_t room);

/* An order that several sessions have: those of one template, or a session and its branches. */
struct shared_order {
	unsigned n_refs;
	struct order_kept kept;
	struct order_checked order; /* shared_order_check() */
};
/* Read it; one hold. Errors: as order_parse(). */
int shared_order_parse(struct shared_order **out, const char *text, struct err *err);
/* Check it against the host. Errors: as order_check(). */
int shared_order_check(struct shared_order *o, const struct install *install, struct err *err);
struct shared_order *shared_order_hold(struct shared_order *o);
void shared_order_let_go(struct shared_order *o); /* NULL is nothing */
