/*
 * The gateway: the engine's side.
 *
 * The gateway reads what programs of boxes and servers of the internet send, so it is not trusted.
 * Each message is checked; after a message that may not come, the process is killed, and all boxes
 * lose their network. The engine never waits for it: what it does not read is kept up to a bound
 * (channel.h), and a report that it does not give in time is an error. Such a report is still
 * expected, and its rows are part of the next one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/gateway.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/helper/helper.h"
#include "base/json.h"
#include "base/timer.h"
#include "gateway/channel.h"
#include "gateway/frame.h"
#include "net/client.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { REPORT_MS = 1000, GRACE_MS = 1000 };

struct gateway {
	uv_loop_t *loop;
	const char *program;
	struct channel *channel; /* NULL: no process */
	pid_t pid;
	struct gateway_box *boxes;
	uint32_t last_id;
	struct gateway_totals totals;
	unsigned n_ending; /* processes that are not reaped yet */
	void (*stopped)(void *arg);
	void *stopped_arg;
};

struct gateway_box {
	struct gateway *gateway;
	struct gateway_box *next;
	uint32_t id;
	bool is_attached; /* the process serves it */
	bool is_dying;	  /* it did, and has died: the owner is not told yet */
	bool is_closed;
	bool was_ready;
	bool has_failed;   /* `ready` is due, with `err` */
	unsigned n_ready;  /* answers to "open" and "rules" that are due */
	unsigned n_wanted; /* sockets that the owner has to give */
	unsigned n_new;	   /* rows told since the last report */
	unsigned n_asked;  /* since gateway_box_forget() */
	struct err err;
	struct gateway_events events;
	uv_timer_t timer; /* for what is due from the loop, or late */
	/* The report: `done` is NULL if nobody waits for one. */
	gateway_report_fn *done;
	void *done_arg;
	unsigned n_due; /* reports that the process has not given */
	struct gateway_row *rows;
	size_t n_rows, n_part; /* n_part: rows of the report that is coming in */
	uint64_t n_more;
};

const char *gateway_verdict_word(enum gateway_verdict verdict)
{
	static const char *const words[GATEWAY_VERDICT_END_] = {"allowed", "refused", "failed"};
	return verdict < GATEWAY_VERDICT_END_ ? words[verdict] : "failed";
}

/* ---- telling the owner of a box ---- */

static void give_report(struct gateway_box *b, const struct err *err)
{
	gateway_report_fn *done = take_ptr(b->done);
	struct gateway_row *rows = NULL;
	size_t n_rows = 0;
	uint64_t n_more = 0;
	if (!err) {
		rows = take_ptr(b->rows);
		n_rows = b->n_rows;
		n_more = b->n_more;
		b->n_rows = 0;
		b->n_more = 0;
	}
	done(b->done_arg, rows, n_rows, n_more, err);
	free(rows);
}

static void give_ready(struct gateway_box *b, const struct err *err)
{
	b->was_ready = b->was_ready || !err;
	b->events.ready(b->events.arg, err);
}

static void on_timer(uv_timer_t *timer)
{
	struct gateway_box *b = timer->data;
	struct err err = b->err;
	bool had_failed = b->has_failed;
	b->has_failed = false;
	if (had_failed)
		give_ready(b, &err);
	if (b->is_closed || !b->done)
		return;
	if (b->is_attached && had_failed) {
		timer_start(&b->timer, on_timer, REPORT_MS, 0); /* the report is not late yet */
		return;
	}
	if (b->is_attached)
		(void)err_set(&err, ERR_GONE, "network: the gateway gave no report within %d ms",
			REPORT_MS);
	give_report(b, &err);
}

/* Have the owner told from the loop that the rules are not in force, for the reason in b->err. */
static void fail_soon(struct gateway_box *b)
{
	b->has_failed = true;
	timer_start(&b->timer, on_timer, 0, 0);
}

/* Tell the owner of @b, which was served, that the process has died. Each callback may close @b. */
static void tell_lost(struct gateway_box *b)
{
	const struct err err = b->err;
	bool was_ready = b->was_ready, is_told = b->n_ready > 0;
	b->is_dying = false;
	b->n_ready = b->n_due = b->n_wanted = b->n_asked = 0;
	if (is_told)
		give_ready(b, &err);
	if (!b->is_closed && b->done)
		give_report(b, &err);
	if (!b->is_closed && was_ready)
		b->events.lost(b->events.arg, &err);
}

static void lose_all(struct gateway *g, const struct err *err)
{
	for (struct gateway_box *b = g->boxes; b; b = b->next) {
		b->is_dying = b->is_attached;
		if (b->is_attached)
			b->err = *err;
		b->is_attached = false;
	}
	/* Start anew after each: a callback changes the list. */
	for (struct gateway_box *b = g->boxes; b;
		b = b->is_dying ? (tell_lost(b), g->boxes) : b->next)
		;
}

/* ---- messages from the process ---- */

static int hear_ready(struct gateway_box *b, const json_t *message)
{
	struct err err;
	const json_t *error = json_object_get(message, "error");
	if (b->n_ready == 0 || (error && !frame_read_error(&err, error)))
		return -EPROTO;
	b->n_ready--;
	give_ready(b, error ? &err : NULL);
	return 0;
}

static int hear_want_socket(struct gateway_box *b, const json_t *message)
{
	(void)message;
	if (++b->n_wanted > FRAME_WANTED_MAX)
		return -EPROTO;
	b->events.want_socket(b->events.arg);
	return 0;
}

static int hear_ask(struct gateway_box *b, const json_t *message)
{
	char name[RULE_HOST_BYTES];
	uint16_t port;
	/* As many again may be under way when the answers are forgotten. */
	if (++b->n_asked > 2 * GATEWAY_ASKED_MAX || !b->events.ask ||
		!frame_read_place(name, &port, message))
		return -EPROTO;
	b->events.ask(b->events.arg, name, port);
	return 0;
}

static int hear_row(struct gateway_box *b, const json_t *message)
{
	struct gateway_row row;
	if (++b->n_new > GATEWAY_ROWS_MAX || !frame_read_row(&row, message))
		return -EPROTO;
	if (b->events.row)
		b->events.row(b->events.arg, &row);
	return 0;
}

static void add_to_totals(struct gateway *g, const struct gateway_row *row)
{
	g->totals.n[row->verdict] += row->n;
	g->totals.bytes_in += row->bytes_in;
	g->totals.bytes_out += row->bytes_out;
}

/* Count the rows of a box that was closed: the process reports them before it closes the box. */
static int hear_last_report(struct gateway *g, const json_t *message)
{
	struct gateway_row row;
	size_t i;
	json_t *one;
	json_array_foreach(json_object_get(message, "rows"), i, one)
	{
		if (!frame_read_row(&row, one))
			return -EPROTO;
		add_to_totals(g, &row);
	}
	return 0;
}

static int keep_row(struct gateway_box *b, const json_t *json)
{
	if (++b->n_part > GATEWAY_ROWS_MAX)
		return -EPROTO;
	if (!b->rows)
		b->rows = calloc(GATEWAY_ROWS_MAX, sizeof *b->rows);
	struct gateway_row row;
	if (!frame_read_row(&row, json))
		return -EPROTO;
	add_to_totals(b->gateway, &row);
	if (b->rows && b->n_rows < GATEWAY_ROWS_MAX)
		b->rows[b->n_rows++] = row;
	else
		b->n_more++;
	return 0;
}

static int hear_report(struct gateway_box *b, const json_t *message)
{
	const json_t *rows = json_object_get(message, "rows"), *one;
	int64_t n_more = json_get_int(message, "n_more");
	size_t i;
	if (b->n_due == 0 || !json_is_array(rows) || n_more < 0)
		return -EPROTO;
	json_array_foreach(json_unconst(rows), i, one)
	{
		if (keep_row(b, one) < 0)
			return -EPROTO;
	}
	b->n_more += (uint64_t)n_more;
	if (!json_get_bool(message, "is_last"))
		return 0;
	b->n_part = 0;
	b->n_new = 0;
	if (--b->n_due > 0 || !b->done)
		return 0;
	if (!b->has_failed)
		(void)uv_timer_stop(&b->timer);
	give_report(b, NULL);
	return 0;
}

static const struct {
	const char *word;
	int (*hear)(struct gateway_box *b, const json_t *message);
} words[] = {
	{"ready", hear_ready},
	{"want_socket", hear_want_socket},
	{"ask", hear_ask},
	{"row", hear_row},
	{"report", hear_report},
};

static int on_message(void *arg, const json_t *message, int *fds, size_t n_fds)
{
	struct gateway *g = arg;
	const char *word = json_get_text(message, "say");
	uint32_t id;
	(void)fds;
	(void)n_fds;
	if (!frame_box(message, &id))
		return -EPROTO;
	struct gateway_box *b = g->boxes;
	while (b && b->id != id)
		b = b->next;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(word, words[i].word) == 0) {
			if (b && b->is_attached)
				return words[i].hear(b, message);
			/* a box that is unknown was closed */
			return words[i].hear == hear_report ? hear_last_report(g, message) : 0;
		}
	return -EPROTO;
}

/* ---- the process ---- */

static void on_reaped(void *arg)
{
	struct gateway *g = arg;
	if (--g->n_ending > 0 || !g->stopped)
		return;
	g->stopped(g->stopped_arg);
	free(g);
}

static void end_process(struct gateway *g, uint64_t grace_ms)
{
	g->n_ending++;
	helper_end(g->loop, g->pid, grace_ms, on_reaped, g);
	g->pid = 0;
}

static void on_channel_ended(void *arg, bool is_fault)
{
	struct gateway *g = arg;
	struct err err;
	g->channel = NULL;
	end_process(g, is_fault ? 0 : GRACE_MS);
	if (is_fault)
		(void)err_fail(&err, ERR_PROTOCOL, "please report it",
			"network: the gateway sent a message that it may not send, and was ended");
	else
		(void)err_fail(&err, ERR_GONE, "open the network of the box again",
			"network: the gateway has died");
	lose_all(g, &err);
}

static int start_process(struct gateway *g, struct err *err)
{
	const struct channel_events events = {
		.message = on_message, .ended = on_channel_ended, .arg = g};
	char name[] = "retort-gateway";
	const char *authorities = net_authorities();
	char *real = authorities ? realpath(authorities, NULL) : NULL;
	char *file = authorities && !real ? xstrdup(authorities) : real; /* libcurl will say so */
	char *argv[] = {name, file, NULL};
	int pair[2], r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		r = err_sys(err, ERR_IO, errno, "network: make a channel");
		free(file);
		return r;
	}
	r = helper_start(&g->pid, g->program, argv, pair[1], err);
	fd_close(&pair[1]);
	free(file);
	if (r < 0) {
		fd_close(&pair[0]);
		return err_wrap(err, "network");
	}
	g->channel = channel_open(g->loop, pair[0], &events);
	if (g->channel)
		return 0;
	end_process(g, 0);
	return err_set(err, ERR_IO, "network: cannot watch the gateway");
}

struct gateway *gateway_new(uv_loop_t *loop, const char *program)
{
	struct gateway *g = xnew(struct gateway);
	*g = (struct gateway){.loop = loop, .program = program};
	return g;
}

struct gateway_totals gateway_totals(const struct gateway *g)
{
	return g->totals;
}

void gateway_stop(struct gateway *g, void (*done)(void *arg), void *arg)
{
	g->stopped = done;
	g->stopped_arg = arg;
	if (g->channel)
		channel_close(take_ptr(g->channel));
	end_process(g, GRACE_MS);
}

/* ---- boxes ---- */

/* Send "open" or "rules". Returns: whether that was done; if not, `ready` is due. */
static bool send_rules(struct gateway_box *b, const char *word, const struct gateway_rights *rights,
	struct gateway_sockets *sockets)
{
	int fds[1 + GATEWAY_LISTENERS_MAX];
	size_t n = 0;
	bool has_resolver = sockets->resolver >= 0;
	if (has_resolver)
		fds[n++] = take_fd(sockets->resolver);
	for (size_t i = 0; i < sockets->n_listeners; i++)
		if (sockets->listeners[i] >= 0)
			fds[n++] = take_fd(sockets->listeners[i]);
	sockets->n_listeners = 0;
	if (!b->is_attached) {
		for (size_t i = 0; i < n; i++)
			fd_close(&fds[i]);
		fail_soon(b);
		return false;
	}
	json_t *message = frame_new("do", word, b->id);
	(void)json_object_set_new(message, "rules", frame_rules(rights->rules));
	(void)json_object_set_new(message, "secrets", frame_secrets(rights->secrets));
	if (rights->authority && rules_have_http(rights->rules)) {
		json_put_text(message, "certificate", rights->authority->certificate);
		json_put_text(message, "key", rights->authority->key);
	}
	(void)json_object_set_new(message, "has_resolver", json_boolean(has_resolver));
	if (channel_send(b->gateway->channel, message, fds, n) < 0) {
		(void)err_fail(&b->err, ERR_LIMIT,
			"give it fewer secrets and rules, or shorter ones",
			"network: the rules and secrets of the box have more than %d KiB",
			CHANNEL_BYTES >> 10);
		fail_soon(b);
		return false;
	}
	b->n_ready++;
	return true;
}

struct gateway_box *gateway_box_open(struct gateway *g, const struct gateway_rights *rights,
	struct gateway_sockets *sockets, const struct gateway_events *events)
{
	struct gateway_box *b = xnew(struct gateway_box);
	*b = (struct gateway_box){
		.gateway = g, .id = ++g->last_id, .events = *events, .next = g->boxes};
	g->boxes = b;
	(void)uv_timer_init(g->loop, &b->timer);
	b->timer.data = b;
	b->is_attached = g->channel || start_process(g, &b->err) == 0;
	b->is_attached = send_rules(b, "open", rights, sockets);
	return b;
}

void gateway_box_rules(
	struct gateway_box *b, const struct gateway_rights *rights, struct gateway_sockets *sockets)
{
	(void)send_rules(b, "rules", rights, sockets);
}

void gateway_box_socket(struct gateway_box *b, int fd)
{
	if (!b->is_attached || b->n_wanted == 0) {
		fd_close(&fd);
		return;
	}
	b->n_wanted--;
	channel_send(b->gateway->channel, frame_new("do", "socket", b->id), &fd, fd >= 0);
}

void gateway_box_answer(struct gateway_box *b, const char *name, uint16_t port, const char *reason)
{
	if (!b->is_attached)
		return;
	json_t *message = frame_new("do", "answer", b->id);
	frame_put_place(message, name, port);
	json_put_bool(message, "is_allowed", !reason);
	json_put_text(message, "reason", reason ? reason : "");
	channel_send(b->gateway->channel, message, NULL, 0);
}

void gateway_box_forget(struct gateway_box *b)
{
	b->n_asked = 0;
	if (b->is_attached)
		channel_send(b->gateway->channel, frame_new("do", "forget", b->id), NULL, 0);
}

void gateway_box_report(struct gateway_box *b, gateway_report_fn *done, void *arg)
{
	b->done = done;
	b->done_arg = arg;
	/* A process that does not answer is asked no more. */
	if (b->is_attached && b->n_due < 2) {
		b->n_due++;
		channel_send(b->gateway->channel, frame_new("do", "report", b->id), NULL, 0);
	}
	timer_start(&b->timer, on_timer, b->is_attached && !b->has_failed ? REPORT_MS : 0, 0);
}

static void on_box_closed(uv_handle_t *handle)
{
	struct gateway_box *b = handle->data;
	free(b->rows);
	free(b);
}

void gateway_box_close(struct gateway_box *b)
{
	struct gateway_box **at = &b->gateway->boxes;
	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	if (b->is_attached)
		channel_send(b->gateway->channel, frame_new("do", "close", b->id), NULL, 0);
	b->is_closed = true;
	b->is_attached = false;
	uv_close((uv_handle_t *)&b->timer, on_box_closed);
}
