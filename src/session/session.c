/*
 * A session over its box.
 *
 * Theory of operation. session_open() asks the warden for a box. When it comes, the session makes
 * the pipes and the channel, has init start the driver, and is open; a step may be sent at once,
 * the driver reads it when it is up. While a step runs, four things are watched: the channel
 * (frames), the two output pipes, init (the driver's end), and clocks (wall; CPU and, where no
 * cgroup does it, memory, by asking the warden for the box's books). What each of them means is
 * decided by the table in step.c.
 *
 * A step with `once` ends with its box: the box is destroyed first, so that nothing can write any
 * more, then the pipes are read to their end, then the record is made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/session.h"

#include "base/fd.h"
#include "session/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNEL_OUT_BYTES = FRAME_MAX_BYTES + FRAME_HEAD_BYTES };

static void handle_closed(uv_handle_t *handle)
{
	session_handle_gone(handle->data);
}

static void close_handle(struct session *s, void *handle)
{
	uv_handle_t *h = handle;
	if (uv_is_closing(h))
		return;
	h->data = s;
	uv_close(h, handle_closed);
}

static void open_failed(struct session *s, const struct err *err)
{
	s->state = SESSION_ENDED;
	s->events.opened(s->events.arg, err);
}

static void on_created(struct warden_call *call, const struct warden_reply *reply, const int *fds)
{
	struct session *s = container_of(call, struct session, call);
	struct err err;
	if (reply->status < 0 || !fds) {
		open_failed(s, &reply->err);
		return;
	}
	s->has_box = true;
	s->box = reply->box;
	memcpy(s->by, reply->by, sizeof s->by);
	s->workspace_fd = fds[WARDEN_FD_WORKSPACE];
	/* Twice the limit in one process is refused at once; the rest is for the engine to measure.
	 */
	if (s->by[LIMIT_memory_bytes] == LIMIT_BY_ENGINE)
		s->spawn.data_bytes = s->limits.value[LIMIT_memory_bytes] * 2;
	s->init.on_event = driver_on_init;
	int r = init_link_open(&s->init, s->loop, fds[WARDEN_FD_INIT], &err);
	s->n_handles += r == 0;
	if (r == 0)
		r = driver_start(s, &err);
	if (r == 0)
		r = workspace_scan(&s->before, s->workspace_fd, &err);
	if (r < 0) {
		open_failed(s, &err);
		return;
	}
	s->state = SESSION_OPEN;
	s->events.opened(s->events.arg, NULL);
}

static int take_start(struct session *s, const struct session_config *c, struct err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && c->start->argv[i]; i++)
		r = runtime_add(s->start.argv, RUNTIME_ARGS_MAX, err, "%s", c->start->argv[i]);
	for (size_t i = 0; r == 0 && c->start->envp[i]; i++)
		r = runtime_add(s->start.envp, RUNTIME_ENV_MAX, err, "%s", c->start->envp[i]);
	s->spawn = (struct spawn){.id = DRIVER_ID,
		.argv = (const char *const *)s->start.argv,
		.envp = (const char *const *)s->start.envp,
		.limits = &s->limits,
		.fds = {-1, -1, -1, -1}};
	return r;
}

int session_open(struct session **out, const struct session_config *c,
	const struct session_events *events, struct err *err)
{
	struct session *s = calloc(1, sizeof *s);
	if (s)
		s->chunk = malloc(READ_BYTES);
	if (!s || !s->chunk) {
		free(s);
		return err_set(err, ERR_NO_MEMORY, "no memory for a session");
	}
	s->events = *events;
	s->loop = c->loop;
	s->warden = c->warden;
	s->runtime = c->runtime;
	s->limits = *c->limits;
	s->stdin_fd = c->stdin_fd;
	s->workspace_fd = s->channel_fd = s->init.fd = -1;
	s->streams[0].fd = s->streams[1].fd = -1;
	s->in = BUF_INIT(FRAME_MAX_BYTES + FRAME_HEAD_BYTES + READ_BYTES);
	s->out = BUF_INIT(CHANNEL_OUT_BYTES);
	(void)snprintf(s->id, sizeof s->id, "%s", c->id);
	(void)uv_timer_init(s->loop, &s->wall);
	(void)uv_timer_init(s->loop, &s->meter);
	s->wall.data = s->meter.data = s;
	s->n_handles = 2;
	int r = take_start(s, c, err);
	if (r < 0) {
		s->events.closed = NULL;
		session_close(s);
		return r;
	}
	s->call.done = on_created;
	warden_create(s->warden, &s->call, c->limits, c->binds, c->n_binds);
	*out = s;
	return 0;
}

/* ---- closing ---- */

static void free_session(struct session *s)
{
	struct session_events events = s->events;
	for (int i = 0; i < 2; i++)
		fd_close(&s->streams[i].fd);
	fd_close(&s->channel_fd);
	fd_close(&s->workspace_fd);
	if (s->has_record)
		record_done(&s->record);
	workspace_done(&s->before);
	runtime_start_done(&s->start);
	buf_done(&s->in);
	buf_done(&s->out);
	free(s->chunk);
	free(s);
	if (events.closed)
		events.closed(events.arg);
}

void session_handle_gone(struct session *s)
{
	if (--s->n_handles == 0)
		free_session(s);
}

static void on_gone(struct warden_call *call, const struct warden_reply *reply, const int *fds)
{
	struct session *s = container_of(call, struct session, call);
	for (int i = 0; fds && i < WARDEN_FD_END_; i++)
		(void)close(fds[i]);
	/* The answer to a WARDEN_CREATE that nobody waits for any more: the box goes as it came. */
	s->has_box = s->state == SESSION_MAKING && reply->status == 0;
	s->box = reply->box;
	s->state = SESSION_ENDED;
	session_close(s);
}

static void close_handles(struct session *s)
{
	s->state = SESSION_CLOSING;
	warden_forget(s->warden, &s->watch);
	if (s->has_feed)
		feed_stop(&s->feed);
	for (int i = 0; i < 2; i++)
		if (s->streams[i].fd >= 0)
			close_handle(s, &s->streams[i].poll);
	if (s->is_channel_open)
		close_handle(s, &s->channel);
	if (s->init.fd >= 0) {
		s->init.poll.data = s;
		init_link_close(&s->init, handle_closed);
	}
	close_handle(s, &s->wall);
	close_handle(s, &s->meter);
}

void session_close(struct session *s)
{
	if (s->state == SESSION_CLOSING)
		return;
	if (s->state == SESSION_MAKING && s->call.id) {
		s->call.done = on_gone; /* the box comes and goes at once */
		return;
	}
	if (s->has_box) {
		s->call.done = on_gone;
		s->step_state = STEP_NONE;
		warden_destroy(s->warden, &s->call, s->box);
		s->has_box = false;
		return;
	}
	close_handles(s);
}
