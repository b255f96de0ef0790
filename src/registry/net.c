/*
 * Changes the network rules of a session.
 *
 * The rules are part of the session's order. An order is shared by a session and its branches, so a
 * change makes a new one: later branches get it, and the text of it is in the journal. The live
 * session gets the rules by session_set_rules(), and goes on using the old order, which the new one
 * therefore keeps.
 *
 * A session with a network is tainted, since its programs can read what others wrote; it stays so
 * when the network is closed again.
 *
 * The journal is written first. So when the engine ends in the middle of a change that narrows the
 * rules, the reopened session has the narrower ones. If the rules cannot be put in force, the
 * journal gets the old order back. New values of secrets are taken last, when nothing can fail any
 * more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/net.h"

#include "base/alloc.h"
#include "base/json.h"
#include "registry/admit.h"
#include "registry/entry.h"
#include "registry/secret.h"
#include "registry/start/pool.h"
#include "registry/session_table.h"

#include <stdlib.h>
#include <string.h>

/* A change of rules, until the live session has them. */
struct changing {
	struct entry *entry;
	struct shared_order *order;
	char *text;
	struct secrets values;
	registry_done_fn *done;
	void *arg;
	bool is_begun; /* no other change may begin before this one has ended */
};

json_t *registry_net_json(const struct entry *e)
{
	cleanup_json json_t *order = json_loads(e->order_text, 0, NULL);
	json_t *net = json_object_get(order, "net");
	return json_is_array(net) ? json_incref(net) : NULL;
}

/* Return the secrets of the session, and whether their values are known; NULL: there are none. */
static json_t *secrets_json(const struct entry *e)
{
	size_t i;
	const json_t *row;
	cleanup_json json_t *order = json_loads(e->order_text, 0, NULL);
	json_t *out = NULL;
	json_array_foreach(json_object_get(order, "secrets"), i, row)
	{
		const char *name = json_get_text(row, "name");
		const struct secret *s = e->secrets ? secrets_find(e->secrets, name) : NULL;
		json_t *about = json_need(json_object());
		json_put_text(about, "name", name);
		json_put_text(about, "to", json_get_text(row, "to"));
		json_put_bool(about, "has_value", s && s->value);
		out = out ? out : json_need(json_array());
		json_add_new(out, about);
	}
	return out;
}

static json_t *result_of(const struct entry *e)
{
	json_t *out = json_need(json_object());
	json_put_text(out, "session", e->id);
	json_t *net = registry_net_json(e);
	json_put_new(out, "net", net ? net : json_array());
	json_t *secrets = secrets_json(e);
	if (secrets)
		json_put_new(out, "secrets", secrets);
	return out;
}

static void widen(struct entry *e);

static void end(struct changing *c, const struct err *err)
{
	struct entry *e = c->entry;
	struct err why = err ? *err : (struct err){0};
	json_t *result = err ? NULL : result_of(e);
	e->is_net_changing = e->is_net_changing && !c->is_begun;
	c->done(c->arg, result, err ? &why : NULL);
	json_decref(result);
	shared_order_let_go(c->order);
	secrets_done(&c->values);
	free(c->text);
	free(c);
	widen(e);
	entry_release(e);
}

static void on_set(void *arg, const struct err *err)
{
	struct changing *c = arg;
	struct entry *e = c->entry;
	struct err why = err ? *err : (struct err){0}, ignored;
	if (err) {
		if (e->is_kept)
			(void)journal_session_reorder(
				e->table->journal, e->id, e->order_text, &ignored);
		end(c, &why);
		return;
	}
	free(e->order_text);
	e->order_text = take_ptr(c->text);
	c->order->previous = e->shared;
	e->shared = take_ptr(c->order);
	e->order = &e->shared->order;
	/* Branches that were made ahead have the old rules. */
	if (e->pool)
		pool_close(take_ptr(e->pool));
	entry_take_values(e, &c->values);
	end(c, NULL);
}

static bool is_there(const char *const *texts, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(texts[i], text) == 0)
			return true;
	return false;
}

/* Collect the texts of the new rules: those of the session first, if @net adds to them. They are
 * borrowed from @old and @net. Returns: how many. */
static size_t collect(const struct registry_net *net, const json_t *old, const char **out)
{
	size_t n = 0;
	for (size_t i = 0; net->is_more && i < json_array_size(old); i++)
		out[n++] = json_string_value(json_array_get(old, i));
	for (size_t i = 0; i < net->n; i++)
		if (!is_there(out, n, net->rules[i]))
			out[n++] = net->rules[i];
	return n;
}

static int prepare(struct changing *c, const char *const *texts, size_t n, struct err *err)
{
	struct entry *e = c->entry;
	int bad = 0;
	if (!e->session)
		return err_fail(
			err, ERR_BUSY, "ask again in a moment", "the session is being opened");
	if (e->is_net_changing)
		return err_fail(err, ERR_BUSY, "ask again in a moment",
			"the session's network rules are being changed already");
	e->is_net_changing = c->is_begun = true;
	c->text = order_text_with_net(e->order_text, texts, n);
	if (!c->text)
		return err_set(err, ERR_USAGE, "a rule is not UTF-8");
	if (order_has_net(texts, n) && !e->is_tainted) {
		bad = e->is_kept ? journal_session_taint(e->table->journal, e->id, err) : 0;
		e->is_tainted = bad == 0;
	}
	if (bad == 0)
		bad = shared_order_parse(&c->order, c->text, err);
	if (bad == 0)
		bad = shared_order_check(c->order, e->table->engine, err);
	if (bad == 0 && c->order->order.net && rules_have_http(c->order->order.net) &&
		!session_trusts_gateway(e->session))
		bad = err_fail(err, ERR_USAGE,
			"make a session that has such a rule from the beginning: then its box trusts "
			"the certificates of the gateway",
			"net: this session was made without a rule for requests");
	if (bad == 0 && e->is_kept)
		bad = journal_session_reorder(e->table->journal, e->id, c->text, err);
	return bad;
}

static void change(struct changing *c, const char *const *texts, size_t n)
{
	static const struct rules none = {.n = 0};
	struct err err = {0};
	if (prepare(c, texts, n, &err) != 0)
		end(c, &err);
	else
		session_set_rules(c->entry->session,
			c->order->order.net ? c->order->order.net : &none, on_set, c);
}

void registry_net(
	struct registry *r, const struct registry_net *net, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct entry *e = registry_find(r, net->session, &err);
	if (e && entry_check_values(e, net->secrets, &err) < 0)
		e = NULL;
	if (e && !net->rules)
		entry_take_values(e, net->secrets);
	if (!e || !net->rules) {
		json_t *result = e ? result_of(e) : NULL;
		done(arg, result, e ? NULL : &err);
		json_decref(result);
		return;
	}
	cleanup_json json_t *old = registry_net_json(e);
	const char **texts = xcalloc(net->n + json_array_size(old) + 1, sizeof *texts);
	size_t n = collect(net, old, texts);
	struct changing *c = xnew(struct changing);
	*c = (struct changing){.entry = e, .done = done, .arg = arg};
	secrets_copy(&c->values, net->secrets, true);
	entry_hold(e);
	if (admit_net(r, texts, n, &err) < 0)
		end(c, &err);
	else
		change(c, texts, n);
	free(texts);
}

/* ---- rules that a person allows ---- */

static void on_widened(void *arg, const json_t *result, const struct err *err)
{
	/* If there are too many rules, the person is asked again in the next step. */
	(void)arg;
	(void)result;
	(void)err;
}

/* Add the rules that are due, all at once, unless the rules are being changed. */
static void widen(struct entry *e)
{
	cleanup_json json_t *due = NULL;
	if (!e->due_rules || e->is_net_changing)
		return;
	due = take_ptr(e->due_rules);
	const char **more = xcalloc(json_array_size(due), sizeof *more);
	struct registry_net net = {.session = e->id, .rules = more, .is_more = true};
	for (; net.n < json_array_size(due); net.n++)
		more[net.n] = json_string_value(json_array_get(due, net.n));
	cleanup_json json_t *old = registry_net_json(e);
	const char **texts = xcalloc(net.n + json_array_size(old), sizeof *texts);
	struct changing *c = xnew(struct changing);
	*c = (struct changing){.entry = e, .done = on_widened};
	entry_hold(e);
	change(c, texts, collect(&net, old, texts));
	free(texts);
	free(more);
}

void entry_on_widen(void *arg, const char *rule)
{
	struct entry *e = arg;
	if (!e->due_rules)
		e->due_rules = json_need(json_array());
	json_add_text(e->due_rules, rule);
	widen(e);
}
