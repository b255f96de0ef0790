/* Templates: sessions that have imported their modules, from which other sessions branch. A few
 * branches of each template are kept ready. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/session.h"
#include "registry/start/order_text.h"

enum { STANDBY_MAX = 16, TEMPLATES_MAX = 32, TEMPLATES_OWNER_MAX = 8 };

struct templates;

/* Create the set of templates. @n_standby: ready branches to keep per template, at most
 * STANDBY_MAX. */
struct templates *templates_open(struct engine *engine, unsigned n_standby, unsigned n_checkpoints);
/* End all templates. Sessions that were branched from them continue, but must end before the
 * engine. */
void templates_close(struct templates *all);

/* The key of a template: the text of its order (order_text()) and its owner. Templates are not
 * shared between owners: branches of one template share its memory and know its addresses, which
 * another owner must not learn. */
struct template_key {
	const char *owner, *text;
};

/*
 * Get a session that is a branch of the template for @key: one that was made ahead, or a new one.
 * If the template does not exist yet, it is made first.
 *
 * @done: called with the open session and its template, or with NULL and @err. The receiver must
 * set the session's callbacks with session_take(). The session uses the template's order, so the
 * receiver must hold a reference to the template until the session is closed.
 */
struct template;
typedef void template_done_fn(
	void *arg, struct session *s, struct template *t, const struct err *err);
void templates_get(
	struct templates *all, const struct template_key *key, template_done_fn *done, void *arg);
/*
 * Make the template for @key if it does not exist yet, and keep a branch of it ready.
 * @done: called with the template's row as in templates_json(), borrowed; or with NULL and the
 * error.
 */
typedef void template_warm_fn(void *arg, const json_t *about, const struct err *err);
void templates_warm(
	struct templates *all, const struct template_key *key, template_warm_fn *done, void *arg);
struct template *template_hold(struct template *t);
void template_let_go(struct template *t);
/* Return the stem of the template. NULL: the stem does not exist yet, or is dead. */
struct stem *template_stem(const struct template *t);
struct shared_order *template_order(const struct template *t);

/* Write a description of each template to @out. Owns: `id` and `owner` are borrowed until the
 * loop runs again. Returns: the number of templates written. */
struct template_stats {
	const char *id, *owner;
	unsigned n_standby;
};
size_t templates_stats(const struct templates *all, struct template_stats *out, size_t room);

/* List the templates of @owner; NULL: of all owners. Owns: the caller decrefs. Returns:
 * {"templates": [{template, standby, ready, preload?}]}. */
json_t *templates_json(const struct templates *all, const char *owner);
