/*
 * Admission: quotas, checked before anything is begun.
 *
 * A request for a session, a step or a place in a queue is refused at once when a quota is
 * exhausted. Each check computes its sums anew from the live entries of the engine (count(),
 * add_line()). This is cheap, because there are at most some thousand entries. It is also safe: a
 * stored counter would stay wrong for ever after one missed decrement.
 *
 *     admit_session()   sessions and their memory, of the owner and of the engine
 *     admit_steps()     steps that wait or run, and steps per minute
 *     admit_job()       operations and bytes that wait in queues
 *     admit_kept()      bytes in the journal, and the free space of its disk
 *
 * RESERVE_BYTES of the disk are reserved for owners with little data, so one owner cannot fill the
 * disk for all others. Long queues of other owners never cause a refusal for an owner whose own
 * queues are empty.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/admit.h"

#include "base/alloc.h"
#include "base/num.h"
#include "gateway/rule/rule.h"
#include "registry/entry.h"
#include "store/account.h"

#include <stdlib.h>
#include <string.h>

/* The number of live sessions of one owner or of all owners, and sums over these sessions. A queued
 * job that makes a branch counts as a session until the branch has an entry. */
struct tally {
	uint64_t n_live, n_unkept, n_steps, memory_bytes;
};

static void count_jobs(struct tally *t, const struct entry *e)
{
	for (const struct job *job = e->first; job; job = job->next) {
		t->n_steps += job->kind == JOB_RUN;
		if (job->kind != JOB_BRANCH || job->child)
			continue;
		t->n_live++;
		t->n_unkept++;
		t->memory_bytes += e->memory_bytes;
	}
}

/* Count the live sessions of @owner, and add up their steps and memory. If @owner is NULL, do so
 * for the sessions of all owners. */
static struct tally count(const struct session_table *table, const char *owner)
{
	struct tally t = {0};
	for (const struct entry *e = table->first; e; e = e->next) {
		if (e->state == ENTRY_ENDING || (owner && strcmp(e->owner, owner) != 0))
			continue;
		t.n_live++;
		t.n_unkept += !e->is_kept;
		/* A session that only checks a record (recheck.c) has no jobs. But it runs the
		 * steps of the record, one after the other, so it counts as one step. */
		t.n_steps += e->is_unkept;
		t.memory_bytes += e->memory_bytes;
		count_jobs(&t, e);
	}
	return t;
}

static int refuse(struct registry *r, enum admit_reason why)
{
	r->table->n_refused[why]++;
	return -err_errno(why == ADMIT_PATHS || why == ADMIT_NET ? ERR_DENIED : ERR_QUOTA);
}

/* Return whether a rule may lead to an address that is not public. */
static bool is_private(const struct rule *rule)
{
	return rule->may_be_private || rule->is_mapped || rule->kind == RULE_NETWORK;
}

static int check_net(const struct owner *o, const struct rules *rules, struct err *err)
{
	char text[RULE_TEXT_BYTES];
	if (!o || o->net == OWNER_NET_ANY || rules->n == 0)
		return 0;
	if (o->net == OWNER_NET_NONE)
		return err_fail(err, ERR_DENIED, "have net=public added to the caller's token",
			"net: %s may not give its sessions a network", o->name);
	for (size_t i = 0; i < rules->n; i++) {
		if (!is_private(&rules->v[i]))
			continue;
		rule_write(&rules->v[i], text);
		return err_fail(err, ERR_DENIED,
			"name a public host; or have net=any in the caller's token",
			"net: %s may not allow %.100s, which may not be public", o->name, text);
	}
	return 0;
}

int admit_net(struct registry *r, const char *const *texts, size_t n, struct err *err)
{
	struct rules *rules = xnew(struct rules);
	int bad = rules_parse(rules, texts, n, err);
	if (bad == 0)
		bad = check_net(r->owner, rules, err);
	free(rules);
	if (bad < 0 && err->code == ERR_DENIED)
		(void)refuse(r, ADMIT_NET);
	return bad;
}

int registry_check_net(struct registry *r, const char *const *net, size_t n, struct err *err)
{
	return admit_net(r, net, n, err);
}

/* Does an order name a Python that not all owners may name? */
static bool has_own_python(const struct registry *r, const struct order *order)
{
	const char *shared = r->table->shared_python;
	return order->interpreter && (!shared || strcmp(order->interpreter, shared) != 0);
}

int admit_order(struct registry *r, const struct order *order, struct err *err)
{
	const char *what = order->n_volumes > 0 ? "volumes"
		: order->workspace		? "workspace"
		: order->rootfs			? "rootfs"
		: has_own_python(r, order)	? "python"
						: NULL;
	int bad = admit_net(r, order->net, order->n_net, err);
	if (bad < 0 || !r->owner || r->owner->may_name_host_paths || !what)
		return bad;
	err_fail(err, ERR_DENIED,
		"send files with `file.write`; or have paths=yes added to the caller's token",
		"%s: %s may not name paths of the host", what, r->owner->name);
	return refuse(r, ADMIT_PATHS);
}

static int admit_to_engine(struct registry *r, uint64_t memory_bytes, struct err *err)
{
	const struct session_table *table = r->table;
	if (table->max_sessions == 0 && table->max_memory_bytes == 0)
		return 0;
	struct tally all = count(table, NULL);
	if (table->max_sessions > 0 && all.n_live >= table->max_sessions) {
		err_set(err, ERR_QUOTA, "live sessions: the limit of the engine is %llu",
			(unsigned long long)table->max_sessions);
	} else if (table->max_memory_bytes > 0 &&
		all.memory_bytes + memory_bytes > table->max_memory_bytes) {
		err_set(err, ERR_QUOTA,
			"memory: another session needs %s; the limit of the engine is %s, %s are "
			"in use",
			num_format_bytes(memory_bytes).text,
			num_format_bytes(table->max_memory_bytes).text,
			num_format_bytes(all.memory_bytes).text);
	} else {
		return 0;
	}
	err_hint(err, "close a session, or ask again later");
	return refuse(r, ADMIT_ENGINE);
}

int admit_session(struct registry *r, uint64_t memory_bytes, bool is_new, struct err *err)
{
	const struct owner *o = r->owner;
	if (!o)
		return admit_to_engine(r, memory_bytes, err);
	if (is_new && admit_kept(r->table, o->name, 0, err) < 0)
		return -err_errno(err->code);
	struct tally own = count(r->table, o->name);
	int64_t n = is_new && o->limits.n_sessions > 0
		? journal_session_count(r->table->journal, o->name, err)
		: 0;
	if (n < 0)
		return (int)n;
	if (is_new && o->limits.n_sessions > 0 &&
		(uint64_t)n + own.n_unkept >= o->limits.n_sessions) {
		err_fail(err, ERR_QUOTA, "close a session: `session.list` lists them",
			"sessions: the limit of %s is %llu", o->name,
			(unsigned long long)o->limits.n_sessions);
		return refuse(r, ADMIT_SESSIONS);
	}
	if (o->limits.memory_bytes > 0 &&
		own.memory_bytes + memory_bytes > o->limits.memory_bytes) {
		err_fail(err, ERR_QUOTA,
			"close a session, or make it with a smaller `limits.memory_bytes`",
			"memory: another session needs %s; the limit of %s is %s, %s are in use",
			num_format_bytes(memory_bytes).text, o->name,
			num_format_bytes(o->limits.memory_bytes).text,
			num_format_bytes(own.memory_bytes).text);
		return refuse(r, ADMIT_MEMORY);
	}
	return admit_to_engine(r, memory_bytes, err);
}

uint64_t admit_memory(const struct limits *limits)
{
	uint64_t output_bytes = limits->value[LIMIT_output_bytes];
	uint64_t usual_bytes = order_default_limits().value[LIMIT_output_bytes];
	return limits->value[LIMIT_memory_bytes] +
		(output_bytes > usual_bytes ? 3 * (output_bytes - usual_bytes) : 0);
}

/* RESERVE_BYTES of the disk stay free, or 1/RESERVE_PART of a small disk. Only owners whose data
 * takes no more than 1/LITTLE_PART of this reserve may still write into it. SQLite writes each page
 * twice, first to its log and then to the database, so a write needs WRITES times its length. */
enum { RESERVE_BYTES = 256 << 20, RESERVE_PART = 4, LITTLE_PART = 16, WRITES = 2 };

static bool has_room(struct session_table *table, uint64_t kept_bytes, uint64_t bytes)
{
	struct journal_room room;
	struct err ignored;
	/* If the free space is unknown, admit the write: on a full disk it fails later. */
	if (journal_room(table->journal, &room, &ignored) < 0)
		return true;
	uint64_t reserve = MIN(room.all_bytes / RESERVE_PART, (uint64_t)RESERVE_BYTES);
	return room.free_bytes >= reserve + WRITES * bytes ||
		kept_bytes + bytes <= reserve / LITTLE_PART;
}

int admit_kept(struct session_table *table, const char *owner, uint64_t bytes, struct err *err)
{
	const struct owner *o = owner[0] ? registry_find_owner(&table->all, owner) : NULL;
	int64_t kept = o ? journal_account(table->journal, o->name, err) : 0;
	if (!o || kept < 0)
		return (int)kept;
	uint64_t kept_bytes = (uint64_t)kept, most = o->limits.disk_bytes;
	if (most > 0 && kept_bytes + bytes >= most) {
		err_set(err, ERR_QUOTA, "journal: the limit of %s is %s, %s are in use", o->name,
			num_format_bytes(most).text, num_format_bytes(kept_bytes).text);
	} else if (!has_room(table, kept_bytes, bytes)) {
		err_set(err, ERR_NO_SPACE,
			"journal: the rest of its disk is reserved for callers who use less");
	} else {
		return 0;
	}
	table->n_refused[ADMIT_DISK]++;
	err_hint(err, "close finished sessions, and forget them: `session.prune`");
	return -err_errno(err->code);
}

int admit_blob(
	const struct entry *e, const void *data, size_t bytes, const char *digest, struct err *err)
{
	struct journal *journal = e->table->journal;
	int r = admit_kept(e->table, e->owner, bytes, err);
	if (r == 0)
		r = journal_account_add(journal, e->owner, (int64_t)bytes, err);
	return r < 0 ? r : journal_blob_keep(journal, data, bytes, digest, err);
}

struct line {
	uint64_t n, bytes;
};

static uint64_t job_bytes(const struct job *job)
{
	const struct step_order *order = job->order;
	return order ? order->code_bytes + order->stdin_bytes : job->bytes + job->fd_bytes;
}

static void add_line(struct line *line, const struct entry *e)
{
	for (const struct job *job = e->first; job; job = job->next) {
		line->n++;
		line->bytes += job_bytes(job);
	}
}

static int line_full(struct session_table *table, const char *whose, uint64_t most, struct err *err)
{
	table->n_refused[ADMIT_QUEUE]++;
	err_fail(err, ERR_QUOTA, "wait until some have ended, or cancel them",
		"waiting operations: the limit of %s is %llu", whose, (unsigned long long)most);
	return -err_errno(ERR_QUOTA);
}

static int line_heavy(
	struct session_table *table, const char *whose, uint64_t most, struct err *err)
{
	table->n_refused[ADMIT_QUEUE]++;
	err_fail(err, ERR_QUOTA,
		"wait until some operations are done; write large data to files first",
		"waiting code, input and files: the limit of %s is %s", whose,
		num_format_bytes(most).text);
	return -err_errno(ERR_QUOTA);
}

int admit_job(const struct entry *e, const struct job *job, struct err *err)
{
	struct line session = {0}, own = {0}, all = {0};
	uint64_t bytes = job_bytes(job);
	const char *who = e->owner[0] ? e->owner : "a caller";
	add_line(&session, e);
	for (const struct entry *o = e->table->first; o; o = o->next) {
		if (strcmp(o->owner, e->owner) == 0)
			add_line(&own, o);
		add_line(&all, o);
	}
	if (session.n >= QUEUE_SESSION_MAX)
		return line_full(e->table, "a session", QUEUE_SESSION_MAX, err);
	if (own.n >= QUEUE_OWNER_MAX)
		return line_full(e->table, who, QUEUE_OWNER_MAX, err);
	if (own.n == 0)
		return 0;
	if (all.n >= QUEUE_ALL_MAX)
		return line_full(e->table, "the engine", QUEUE_ALL_MAX, err);
	if (own.bytes + bytes > QUEUE_OWNER_BYTES)
		return line_heavy(e->table, who, QUEUE_OWNER_BYTES, err);
	if (all.bytes + bytes > QUEUE_ALL_BYTES)
		return line_heavy(e->table, "the engine", QUEUE_ALL_BYTES, err);
	return 0;
}

int admit_rate(struct registry *r, uint64_t n, struct err *err)
{
	if (r->owner && admit_kept(r->table, r->owner->name, 0, err) < 0)
		return -err_errno(err->code);
	bool is_good = !r->owner || owner_take_steps(r->owner, n, uv_hrtime(), err) == 0;
	return is_good ? 0 : refuse(r, ADMIT_RATE);
}

int admit_steps(struct registry *r, uint64_t n, struct err *err)
{
	const struct owner *o = r->owner;
	if (o && o->limits.n_steps > 0 && count(r->table, o->name).n_steps >= o->limits.n_steps) {
		err_fail(err, ERR_QUOTA, "wait until one has ended",
			"steps at the same time: the limit of %s is %llu", o->name,
			(unsigned long long)o->limits.n_steps);
		return refuse(r, ADMIT_STEPS);
	}
	return admit_rate(r, n, err);
}

/* ---- withdrawing and refusing jobs that wait ---- */

bool registry_withdraw(struct registry *r, const char *session, const void *whose)
{
	struct found found;
	struct err err;
	struct entry *e = registry_look_up(r, session, &found, &err) < 0 ? NULL : found.live;
	struct job *job = e ? e->first : NULL;
	while (job && job->listener != whose && job->arg != whose)
		job = job->next;
	if (!job)
		return false;
	if (job->is_started)
		return job->kind == JOB_RUN && e->replay &&
			registry_interrupt(r, session, &err) == 0;
	err_fail(&err, ERR_INTERRUPTED, "the operation did not begin: nothing has changed",
		"interrupted while it waited for its turn");
	entry_answer_job(job, NULL, &err);
	return true;
}

static struct job *refusable(const struct entry *e)
{
	struct job *job = e->first;
	while (job &&
		(job->is_started ||
			(job->kind != JOB_BRANCH && job->kind != JOB_UNDO &&
				job->kind != JOB_NAMES)))
		job = job->next;
	return job;
}

void registry_refuse_waiting(struct registry *r, const char *session, const struct err *why)
{
	struct found found;
	struct err err;
	struct entry *e = registry_look_up(r, session, &found, &err) < 0 ? NULL : found.live;
	struct job *job;
	if (!e)
		return;
	/* A job's callback may end the session, so keep the entry alive. */
	entry_hold(e);
	while ((job = refusable(e)))
		entry_answer_job(job, NULL, why);
	entry_release(e);
}
