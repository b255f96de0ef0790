/* SPDX-License-Identifier: Apache-2.0 */
#include "api/plan_stop.h"

void plan_stop_init(struct plan_stop *s)
{
	*s = (struct plan_stop){0};
	/* Fails for want of memory only, and that of the default kind takes none. */
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
	uv_mutex_unlock(&s->lock);
}

void plan_stop_watch(struct plan_stop *s, uv_async_t *waiting)
{
	uv_mutex_lock(&s->lock);
	s->waiting = waiting;
	if (waiting && s->is_stopped)
		(void)uv_async_send(waiting);
	uv_mutex_unlock(&s->lock);
}
