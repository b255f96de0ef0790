/* SPDX-License-Identifier: Apache-2.0 */
#include "registry/standby.h"

#include "base/timer.h"
#include "registry/find.h"
#include "session/session.h"

#include <stdlib.h>

struct standby {
	struct standby *next;
	struct entry *entry; /* held: what it is a branch of, and whose order it has */
	struct stem *stem;   /* held */
	struct session *session;
	bool is_open;
};

static bool is_current(const struct standby *b)
{
	const struct entry *e = b->entry;
	return e->session && session_stem(e->session) == b->stem &&
		!(b->is_open && session_is_lost(b->session));
}

static struct standby *find(const struct roll *roll, const struct entry *e)
{
	struct standby *b = roll->standbys;
	while (b && b->entry != e)
		b = b->next;
	return b;
}

/* The last of its session's callbacks; or it never had one. */
static void on_closed(void *arg)
{
	struct standby *b = arg;
	struct entry *e = b->entry;
	stem_let_go(b->stem);
	free(b);
	entry_release(e);
}

static void take_out(struct standby *b)
{
	struct standby **at = &b->entry->roll->standbys;
	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
}

static void drop(struct standby *b)
{
	take_out(b);
	session_close(b->session);
}

static void on_opened(void *arg, const struct err *err)
{
	struct standby *b = arg;
	struct roll *roll = b->entry->roll;
	b->is_open = !err;
	if (err) {
		b->entry->branched_ns = 0; /* until it is branched again */
		drop(b);
	} else if (!roll->is_closing) {
		timer_start(&roll->idle, roll->on_idle, 0, 0); /* perhaps another */
	}
}

static void on_done(void *arg, const struct record *record)
{
	(void)arg;
	(void)record;
}

static void make(struct entry *e)
{
	struct err err;
	struct standby *b = calloc(1, sizeof *b);
	if (!b)
		return;
	*b = (struct standby){.entry = e, .stem = stem_hold(session_stem(e->session))};
	const struct session_config config = {.engine = e->roll->engine,
		.order = e->order,
		.id = e->id,
		.stem = b->stem,
		.n_checkpoints = e->roll->n_checkpoints,
		.stdin_fd = -1};
	const struct session_events events = {
		.arg = b, .opened = on_opened, .done = on_done, .closed = on_closed};
	entry_hold(e);
	if (session_open(&b->session, &config, &events, &err) < 0) {
		on_closed(b);
		return;
	}
	b->next = e->roll->standbys;
	e->roll->standbys = b;
}

/* What is the host's may change there and then, which a branch that is asked for has to see. */
static bool is_wanted(const struct entry *e)
{
	return e->branched_ns && e->state == ENTRY_IDLE && session_box(e->session) &&
		session_stem(e->session) && !order_host_bind(e->order);
}

/* Of those that have none, the one that was branched last; or NULL. */
static struct entry *next_wanted(const struct roll *roll)
{
	struct entry *last = NULL;
	for (struct entry *e = roll->first; e; e = e->next)
		if (is_wanted(e) && !find(roll, e) && (!last || e->branched_ns > last->branched_ns))
			last = e;
	return last;
}

static void close_stale(struct roll *roll)
{
	for (struct standby *b = roll->standbys, *next; b; b = next) {
		next = b->next;
		if (!is_current(b))
			drop(b);
	}
}

/* One at a time: what somebody waits for comes first. */
void standby_tend(struct roll *roll)
{
	struct standby *oldest = NULL;
	unsigned n = 0;
	close_stale(roll);
	struct entry *e = roll->n_standby && !roll->is_closing ? next_wanted(roll) : NULL;
	for (struct standby *b = roll->standbys; b; b = b->next, n++)
		if (!oldest || b->entry->branched_ns < oldest->entry->branched_ns)
			oldest = b;
	if (!e || (oldest && n >= roll->n_standby && oldest->entry->branched_ns > e->branched_ns))
		return;
	if (oldest && n >= roll->n_standby)
		drop(oldest);
	make(e);
}

struct session *standby_take(struct entry *e, const struct stem *stem)
{
	struct standby *b = find(e->roll, e);
	if (!b || b->stem != stem || !b->is_open || !is_current(b))
		return NULL;
	struct session *s = b->session;
	take_out(b);
	static const struct session_events none = {0};
	session_silence(s, &none);
	on_closed(b);
	return s;
}

void standby_drop(struct entry *e)
{
	struct standby *b = find(e->roll, e);
	if (b)
		drop(b);
}
