/*
 * The check of a recording: its steps are run again in a fresh session and compared.
 *
 * The recording (store/recording.c) contains the order that its session was made with.
 * registry_replay() makes a new session with the same order. This session is never written to the
 * journal (is_unkept) and ends with the check. A recording may come from anywhere. So its order
 * must pass the same quotas as the order of any client, and is refused if it lets the session write
 * to the host.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "registry/admit.h"
#include "registry/entry.h"
#include "registry/session_table.h"
#include "registry/history.h"
#include "registry/start/order_text.h"
#include "registry/replay.h"
#include "store/recording.h"

#include <stdlib.h>
#include <string.h>

struct checking {
	struct recording recording;
	registry_done_fn *done;
	void *arg;
	struct entry *entry;
};

static void end_check(struct checking *c, const json_t *result, const struct err *err)
{
	c->done(c->arg, result, err);
	if (c->entry)
		entry_end(c->entry);
	recording_done(&c->recording);
	free(c);
}

static void on_checked(struct entry *e, const struct replay *r)
{
	struct checking *c = e->arg;
	e->arg = NULL;
	if (r->err.code) {
		end_check(c, NULL, &r->err);
		return;
	}
	json_t *out = json_pack("{s:s, s:I}", "outcome", r->is_diverged ? "diverged" : "replayed",
		"steps", (json_int_t)r->n);
	if (r->is_diverged)
		(void)json_object_set_new(out, "first_difference",
			json_pack("{s:s, s:I, s:s, s:s, s:s, s:s}", "step",
				r->nodes[r->first].digest, "number", (json_int_t)r->first + 1,
				"field", r->field, "place", replay_place(r), "was", r->was, "is",
				r->is));
	end_check(c, out, NULL);
	json_decref(out);
}

static void on_fresh(void *arg, const json_t *result, const struct err *err)
{
	struct checking *c = arg;
	(void)result;
	if (err) {
		const struct err why = *err;
		c->entry = NULL;
		end_check(c, NULL, &why);
		return;
	}
	struct replay *r = xnew(struct replay);
	r->nodes = c->recording.steps;
	r->n = c->recording.n_steps;
	/* The steps belong to the recording, which is freed after the replay. */
	r->is_borrowed = true;
	c->entry->arg = c;
	replay_start(c->entry, r, on_checked);
}

void registry_stop_replay(struct registry *r, const void *whose)
{
	struct err err;
	for (struct entry *e = r->table->first; e; e = e->next) {
		bool is_replay =
			e->done == on_fresh || (e->replay && e->replay->done == on_checked);
		const struct checking *c = is_replay ? e->arg : NULL;
		if (!c || c->arg != whose)
			continue;
		err_set(&err, ERR_INTERRUPTED, "interrupted: %zu of %zu steps were run",
			e->replay ? e->replay->at : 0, c->recording.n_steps);
		entry_end_because(e, &err);
		return;
	}
}

/* Refuse an order that lets the session write to files of the host, because a recording may come
 * from anywhere. */
static int check_writes(const struct order *order, struct err *err)
{
	const char *path = order->workspace;
	for (size_t i = 0; i < order->n_volumes && !path; i++)
		if (order->volumes[i].is_writable)
			path = order->volumes[i].src;
	if (!path)
		return 0;
	return err_fail(err, ERR_ACCESS,
		"only records of sessions without writable volumes can run again",
		"the record's session could write to %.120s of the host", path);
}

/* Check whether the quotas allow the replay of @recording. Returns: the bytes of memory that its
 * session is charged for, or negative errno. */
static int64_t admit(struct registry *r, const struct recording *recording, struct err *err)
{
	struct order_kept kept;
	int bad = order_parse(&kept, recording->order, recording->order_bytes, err);
	if (bad < 0)
		return err_wrap(err, "line 1 of the record");
	uint64_t memory_bytes = admit_memory(&kept.order.limits);
	bad = admit_order(r, &kept.order, err);
	if (bad == 0)
		bad = check_writes(&kept.order, err);
	if (bad == 0)
		bad = admit_session(r, memory_bytes, true, err);
	if (bad == 0)
		bad = admit_steps(r, recording->n_steps, err);
	order_kept_done(&kept);
	return bad < 0 ? bad : (int64_t)memory_bytes;
}

void registry_replay(
	struct registry *r, const char *record, size_t bytes, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	char id[ORDER_ID_BYTES];
	struct checking *c = xnew(struct checking);
	int64_t memory_bytes = 0;
	int bad = r->table->is_closing ? err_set(&err, ERR_GONE, "the engine is stopping")
				       : recording_parse(&c->recording, record, bytes, &err);
	if (bad == 0 && (memory_bytes = admit(r, &c->recording, &err)) < 0)
		bad = -1;
	/* Whoever wrote the record may not open our network. */
	char *order = bad < 0 ? NULL : order_text_with_net(c->recording.order, NULL, 0);
	if (bad == 0 && !order)
		bad = err_set(&err, ERR_NO_MEMORY, "no memory for the record's session");
	if (bad < 0) {
		done(arg, NULL, &err);
		recording_done(&c->recording);
		free(c);
		return;
	}
	order_new_id(id);
	c->entry = entry_new(r->table, registry_owner(r), id, NULL, order);
	free(order);
	c->done = done;
	c->arg = arg;
	c->entry->is_unkept = true;
	c->entry->memory_bytes = (uint64_t)memory_bytes;
	c->entry->done = on_fresh;
	c->entry->arg = c;
	entry_begin(c->entry);
}
