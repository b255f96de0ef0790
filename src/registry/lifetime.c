/*
 * Sessions that end by themselves: after a time to live, or after a time without use.
 *
 * One timer serves all sessions. It is set to the earliest known time at which a session ends. When
 * the timer expires, the end of each session is computed anew, expired sessions are closed, and the
 * timer is set to the next end. If the use of a session moves its end to a later time, the timer
 * stays as it is. If a new end is earlier than the timer's time, ring_at() sets the timer at once.
 *
 * Sessions that are only in the journal expire too, without being opened. Their rows are read
 * STORED_EACH at a time, so that a long journal does not block the loop. The table stores the
 * earliest end of these sessions (stored_end_ms).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/lifetime.h"

#include "base/json.h"
#include "base/num.h"
#include "base/timer.h"
#include "session/processes.h"

#include <string.h>
#include <time.h>

/* RING_MAX_MS, RING_MIN_MS: longest and shortest time that the timer is set to. AGAIN_MS: delay
 * before another attempt when the journal could not be written. STORED_EACH: rows of the journal
 * that are checked at a time. */
enum { RING_MAX_MS = 3600 * 1000, RING_MIN_MS = 10, AGAIN_MS = 1000, STORED_EACH = 32 };

static const int64_t never = INT64_MAX;

static int64_t now_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* ---- computing when a session ends ---- */

struct end {
	int64_t at_ms; /* milliseconds since 1970 */
	const char *why;
};

static struct end earlier(int64_t ttl_end_ms, int64_t idle_end_ms)
{
	return ttl_end_ms <= idle_end_ms ? (struct end){ttl_end_ms, LIFETIME_TTL}
					 : (struct end){idle_end_ms, LIFETIME_IDLE};
}

static int64_t after(int64_t from_ms, int64_t ms)
{
	return ms > 0 && from_ms < never - ms ? from_ms + ms : never;
}

/* Return the time of the last use, in ms since 1970. What moves through a port is a use. It is
 * computed from a monotonic clock: setting the host's clock must not make a session look unused. */
static int64_t used_ms(const struct entry *e, int64_t now)
{
	uint64_t last_ns = MAX(e->used_ns, port_list_time(&e->ports));
	return now - (int64_t)((uv_hrtime() - last_ns) / 1000000);
}

static struct end end_of(const struct entry *e, int64_t now)
{
	bool is_idle = e->state == ENTRY_IDLE && !e->first &&
		!(e->session && session_is_in_use(e->session));
	return earlier(after(e->created_ms, e->ttl_ms),
		is_idle ? after(used_ms(e, now), e->idle_ms) : never);
}

static struct end end_of_stored(const struct session_table *table, const struct journal_session *s)
{
	return earlier(after(s->created_ms, s->ttl_ms), after(table->opened_ms, s->idle_ms));
}

/* ---- the timer, and closing expired sessions ---- */

static void on_ring(uv_timer_t *timer);

static void ring_at(struct session_table *table, int64_t at_ms)
{
	int64_t in_ms = at_ms - now_ms();
	if (at_ms == never || table->is_closing || (table->ring_ms && table->ring_ms <= at_ms))
		return;
	table->ring_ms = at_ms;
	in_ms = MAX(RING_MIN_MS, MIN(in_ms, RING_MAX_MS));
	timer_start(&table->lifetimes, on_ring, (uint64_t)in_ms, 0);
}

static int say(const char *id, const char *why, int64_t ttl_ms, int64_t idle_ms, struct err *err)
{
	bool is_idle = strcmp(why, LIFETIME_IDLE) == 0;
	err_set(err, ERR_GONE, "session %s ended after %s%s", id,
		num_format_ms((uint64_t)(is_idle ? idle_ms : ttl_ms)).text,
		is_idle ? " without use" : ", its time to live");
	return err_hint(err, "make a new one; its steps are kept: `session.log %s`", id);
}

int lifetime_why(const struct journal_session *s, struct err *err)
{
	if (s->ended[0])
		return say(s->id, s->ended, s->ttl_ms, s->idle_ms, err);
	err_set(err, ERR_GONE, "session %s is closed", s->id);
	return err_hint(err, "its steps are kept: `session.log %s`", s->id);
}

/* Close @e if it has expired. Returns: the time to check it again, or `never`. */
static int64_t end_live(struct entry *e, int64_t now)
{
	struct err err;
	struct end end = end_of(e, now);
	if (end.at_ms > now)
		return end.at_ms;
	if (journal_session_close(e->table->journal, e->id, end.why, &err) < 0)
		return after(now, AGAIN_MS);
	(void)say(e->id, end.why, e->ttl_ms, e->idle_ms, &err);
	e->table->n_expired++;
	entry_end_because(e, &err);
	return never;
}

static int64_t end_all_live(struct session_table *table, int64_t now)
{
	int64_t next = never;
	for (struct entry *e = table->first; e;) {
		bool is_watched = e->is_kept && e->state != ENTRY_ENDING;
		entry_hold(e);
		int64_t at_ms = is_watched ? end_live(e, now) : never;
		next = MIN(next, at_ms);
		struct entry *following = e->next;
		entry_release(e);
		e = following;
	}
	return next;
}

/* Check the next STORED_EACH sessions of the journal, and close those that have expired.
 * Returns: the time to call this again. */
static int64_t end_all_stored(struct session_table *table, int64_t now)
{
	struct journal_session s;
	struct err err;
	int64_t next = table->stored_next_ms;
	int n = 0, r = 1;
	if (table->stored_row == 0)
		next = never;
	while (n++ < STORED_EACH &&
		(r = journal_session_mortal(table->journal, &table->stored_row, &s, &err)) > 0) {
		struct end end = end_of_stored(table, &s);
		if (session_table_live(table, s.id))
			continue;
		if (end.at_ms > now)
			next = MIN(next, end.at_ms);
		else if (journal_session_close(table->journal, s.id, end.why, &err) == 0)
			table->n_expired++;
		else
			next = MIN(next, after(now, AGAIN_MS));
	}
	table->stored_next_ms = next;
	if (r > 0)
		/* More sessions are left, so continue at once. */
		return now;
	table->stored_row = 0;
	return r < 0 ? MIN(next, after(now, AGAIN_MS)) : next;
}

static void on_ring(uv_timer_t *timer)
{
	struct session_table *table = timer->data;
	int64_t now = now_ms();
	table->ring_ms = 0;
	int64_t next = end_all_live(table, now);
	if (table->stored_end_ms <= now)
		table->stored_end_ms = end_all_stored(table, now);
	ring_at(table, MIN(next, table->stored_end_ms));
}

/* ---- setting up the timer; setting and describing the lifetime of a session ---- */

void lifetime_open(struct session_table *table)
{
	(void)uv_timer_init(table->engine->loop, &table->lifetimes);
	table->lifetimes.data = table;
	table->opened_ms = now_ms();
	/* Set the time of the next check of the stored sessions to the present time. So
	 * on_ring() checks the stored sessions when the timer expires for the first time. */
	table->stored_end_ms = table->opened_ms;
	ring_at(table, table->stored_end_ms);
	prune_open(table);
}

static int64_t choose(uint64_t asked_ms, uint64_t usual_ms, bool is_bound)
{
	bool is_usual = asked_ms == 0 || (is_bound && usual_ms > 0 && asked_ms > usual_ms);
	return (int64_t)MIN(is_usual ? usual_ms : asked_ms, (uint64_t)never);
}

void lifetime_choose(const struct registry *r, struct entry *e, uint64_t ttl_ms, uint64_t idle_ms)
{
	e->ttl_ms = choose(ttl_ms, r->table->ttl_ms, r->owner != NULL);
	e->idle_ms = choose(idle_ms, r->table->idle_ms, r->owner != NULL);
}

void lifetime_use(struct entry *e)
{
	e->used_ns = uv_hrtime();
	if (e->idle_ms > 0)
		ring_at(e->table, after(now_ms(), e->idle_ms));
}

void lifetime_on_used(void *arg)
{
	lifetime_use(arg);
}

void lifetime_watch(struct entry *e)
{
	struct session_table *table = e->table;
	int64_t now = now_ms();
	struct end end = earlier(after(e->created_ms, e->ttl_ms), after(now, e->idle_ms));
	if (e->state == ENTRY_ENDING) {
		table->stored_end_ms = MIN(table->stored_end_ms, end.at_ms);
		table->stored_next_ms = MIN(table->stored_next_ms, end.at_ms);
	}
	ring_at(table, end.at_ms);
}

static void tell(json_t *row, int64_t ttl_ms, int64_t idle_ms, int64_t at_ms)
{
	if (ttl_ms > 0)
		json_put_int(row, "ttl_ms", ttl_ms);
	if (idle_ms > 0)
		json_put_int(row, "idle_ms", idle_ms);
	if (at_ms != never)
		json_put_int(row, "expires_ms", at_ms);
}

void lifetime_tell(const struct entry *e, json_t *row)
{
	tell(row, e->ttl_ms, e->idle_ms, end_of(e, now_ms()).at_ms);
}

void lifetime_tell_stored(
	const struct session_table *table, const struct journal_session *s, json_t *row)
{
	tell(row, s->ttl_ms, s->idle_ms, s->closed_ms ? never : end_of_stored(table, s).at_ms);
	if (s->ended[0])
		json_put_text(row, "ended", s->ended);
}
