/* SPDX-License-Identifier: Apache-2.0 */
#include "session/start/engine.h"

#include "base/alloc.h"
#include "base/sched.h"
#include "gateway/gateway.h"
#include "sandbox/privilege.h"
#include "sandbox/warden.h"
#include "session/start/trust.h"

#include <stdlib.h>
#include <sys/resource.h>

/* Raise the soft limit of open files to the hard limit, because each session needs about ten
 * descriptors. The usual soft limit of 1,024 only protects programs that use select(). */
static void raise_open_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int engine_start(struct engine *e, struct err *err)
{
	*e = (struct engine){0};
	raise_open_files();
	sched_be_brief();
	e->trust = xnew(struct trust);
	e->chunk = malloc(ENGINE_CHUNK_BYTES);
	if (!e->chunk)
		return err_set(err, ERR_NO_MEMORY, "no memory for the engine");
	int r = install_find(&e->install, err);
	if (r == 0)
		r = warden_start(&e->warden, e->install.warden, err);
	return r < 0 ? r : privilege_drop(err);
}

int engine_attach(struct engine *e, uv_loop_t *loop, struct err *err)
{
	e->loop = loop;
	e->gateway = gateway_new(loop, e->install.gateway);
	return warden_attach(e->warden, loop, err);
}

void engine_end_boxes(struct engine *e)
{
	warden_end(e->warden);
}

static void on_gateway_stopped(void *arg)
{
	(void)arg;
}

void engine_stop(struct engine *e)
{
	struct gateway *gateway = take_ptr(e->gateway);
	struct warden *warden = take_ptr(e->warden);
	if (gateway)
		gateway_stop(gateway, on_gateway_stopped, NULL);
	if (warden)
		warden_stop(warden);
	if (e->trust)
		trust_done(e->trust);
	free(take_ptr(e->trust));
	free(take_ptr(e->chunk));
}

bool engine_is_over(const struct engine *e)
{
	return warden_is_dead(e->warden);
}

void engine_hold(struct engine *e)
{
	e->n_alive++;
}

void engine_release(struct engine *e)
{
	if (--e->n_alive == 0 && e->emptied)
		e->emptied(e);
}
