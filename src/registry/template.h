/* Templates: sessions that have imported their modules and are branched, and a few branches of each
 * kept ready. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/session.h"
#include "registry/order_text.h"

enum { STANDBY_MAX = 16, TEMPLATES_MAX = 32, TEMPLATES_OWNER_MAX = 8 };

struct templates;

/* Open the set of templates. @n_standby: ready branches per template, at most STANDBY_MAX. */
struct templates *templates_open(struct engine *engine, unsigned n_standby, unsigned n_checkpoints);
/* End all templates. Sessions that were taken from them continue, but must end before the engine.
 */
void templates_close(struct templates *all);

/* The key of a template: its order (order_text()) and its owner. Branches of one template share its
 * memory and the addresses in it, which another owner must not learn. */
struct template_key {
	const char *owner, *text;
};

/*
 * Get a session of the template for @key, which is made if necessary: a ready branch or a new one.
 *
 * @done: called with the open session, whose events the receiver sets with session_take(). Its
 * order is the template's, so the receiver needs a reference to the template until the session is
 * closed.
 */
struct template;
typedef void template_done_fn(
	void *arg, struct session *s, struct template *t, const struct err *err);
void templates_get(
	struct templates *all, const struct template_key *key, template_done_fn *done, void *arg);
/*
 * Make the template for @key if necessary, and at least one ready session of it.
 * @done: called with the template's row as in templates_json(), borrowed; or with NULL and the
 * error.
 */
typedef void template_warm_fn(void *arg, const json_t *about, const struct err *err);
void templates_warm(
	struct templates *all, const struct template_key *key, template_warm_fn *done, void *arg);
struct template *template_hold(struct template *t);
void template_let_go(struct template *t);
/* Return the stem that sessions are branched from; NULL when the stem is dead or does not exist
 * yet. */
struct stem *template_stem(const struct template *t);
struct shared_order *template_order(const struct template *t);

/* Describe each template. Owns: nothing; `id` and `owner` are borrowed until the loop runs again.
 * Returns: the number of templates written to @out. */
struct template_stats {
	const char *id, *owner;
	unsigned n_standby;
};
size_t templates_stats(const struct templates *all, struct template_stats *out, size_t room);

/* Return {"templates": [{preload, standby, …}]}: the templates of @owner; NULL: of all. Owns: the
 * caller decrefs. */
json_t *templates_json(const struct templates *all, const char *owner);
