/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/parent.h"

#include "base/alloc.h"
#include "base/timer.h"

#include <stdlib.h>
#include <unistd.h>

enum { LOOK_MS = 1000 };

struct parent {
	uv_timer_t timer;
	pid_t pid;
	void (*gone)(void *arg);
	void *arg;
};

/* When a process ends, its children get another parent. (PR_SET_PDEATHSIG would tell at once, but
 * also when only the thread that started us has ended.) */
static void on_look(uv_timer_t *timer)
{
	struct parent *parent = timer->data;
	if (getppid() == parent->pid)
		return;
	(void)uv_timer_stop(timer);
	parent->gone(parent->arg);
}

struct parent *parent_watch(uv_loop_t *loop, pid_t pid, void (*gone)(void *arg), void *arg)
{
	struct parent *parent = xnew(struct parent);
	*parent = (struct parent){.pid = pid, .gone = gone, .arg = arg};
	(void)uv_timer_init(loop, &parent->timer);
	parent->timer.data = parent;
	timer_start(&parent->timer, on_look, LOOK_MS, LOOK_MS);
	return parent;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void parent_leave(struct parent *parent)
{
	if (parent)
		uv_close((uv_handle_t *)&parent->timer, on_closed);
}
