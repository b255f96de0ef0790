/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan_stop.h"

#include <sys/socket.h>

void plan_stop_init(struct plan_stop *s)
{
	*s = (struct plan_stop){.channel = -1};
	/* This cannot fail, because a mutex of the default kind allocates no memory. */
	(void)uv_mutex_init(&s->lock);
}

void plan_stop_done(struct plan_stop *s)
{
	uv_mutex_destroy(&s->lock);
}

void plan_stop_now(struct plan_stop *s)
{
	uv_mutex_lock(&s->lock);
	s->is_stopped = true;
	if (s->waiting)
		(void)uv_async_send(s->waiting);
	if (s->channel >= 0)
		(void)shutdown(s->channel, SHUT_RDWR);
	uv_mutex_unlock(&s->lock);
}

void plan_stop_channel(struct plan_stop *s, int channel)
{
	uv_mutex_lock(&s->lock);
	s->channel = channel;
	if (channel >= 0 && s->is_stopped)
		(void)shutdown(channel, SHUT_RDWR);
	uv_mutex_unlock(&s->lock);
}

bool plan_stop_is_set(struct plan_stop *s)
{
	uv_mutex_lock(&s->lock);
	bool is_set = s->is_stopped;
	uv_mutex_unlock(&s->lock);
	return is_set;
}

void plan_stop_watch(struct plan_stop *s, uv_async_t *waiting)
{
	uv_mutex_lock(&s->lock);
	s->waiting = waiting;
	if (waiting && s->is_stopped)
		(void)uv_async_send(waiting);
	uv_mutex_unlock(&s->lock);
}
