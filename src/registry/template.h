/* Templates: sessions that have imported their modules and are branched, and a few branches of each
 * kept ready. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/session.h"
#include "registry/order_text.h"

enum { STANDBY_MAX = 16, TEMPLATES_MAX = 32, TEMPLATES_OWNER_MAX = 8 };

struct templates;

/* @n_standby: branches ready for each, at most STANDBY_MAX. */
struct templates *templates_open(struct engine *engine, unsigned n_standby, unsigned n_checkpoints);
/* Everything of it goes; sessions that were taken stay, but not beyond the engine. */
void templates_close(struct templates *all);

/*
 * What makes templates the same: the order (order_text), and whose it is. What is branched from one
 * template shares the memory of it, and the places of everything in it, which is nothing for
 * another owner to know.
 */
struct template_key {
	const char *owner, *text;
};

/*
 * A session by a template, made when there is none: one kept ready, or a new branch.
 *
 * @done: the session, open, to be given its events by session_take(). Its order is the template's,
 *        which whoever takes it holds until the session is closed.
 */
struct template;
typedef void template_done_fn(
	void *arg, struct session *s, struct template *t, const struct err *err);
void templates_get(
	struct templates *all, const struct template_key *key, template_done_fn *done, void *arg);
/*
 * Make a template when there is none, and have at least one session of it ready.
 * @done: what templates_json() says of it, borrowed; or NULL and why there is none.
 */
typedef void template_warm_fn(void *arg, const json_t *about, const struct err *err);
void templates_warm(
	struct templates *all, const struct template_key *key, template_warm_fn *done, void *arg);
struct template *template_hold(struct template *t);
void template_let_go(struct template *t);
/* What its sessions are branched from; NULL when it is over. */
struct stem *template_stem(const struct template *t);
struct shared_order *template_order(const struct template *t);

/* Owns: nothing; `owner` is borrowed until the loop runs again. Returns: how many there are. */
struct template_stats {
	const char *id, *owner;
	unsigned n_standby;
};
size_t templates_stats(const struct templates *all, struct template_stats *out, size_t room);

/* {"templates": [{preload, standby, …}]}: those of @owner, NULL is all. Owns: the caller decrefs.
 */
json_t *templates_json(const struct templates *all, const char *owner);
