/* SPDX-License-Identifier: Apache-2.0 */
#include "session/engine.h"

#include "sandbox/privilege.h"
#include "sandbox/warden.h"

int engine_start(struct engine *e, struct err *err)
{
	*e = (struct engine){0};
	int r = install_find(&e->install, err);
	if (r == 0)
		r = warden_start(&e->warden, e->install.warden, err);
	return r < 0 ? r : privilege_drop(err);
}

int engine_attach(struct engine *e, uv_loop_t *loop, struct err *err)
{
	return warden_attach(e->warden, loop, err);
}

void engine_stop(struct engine *e)
{
	struct warden *warden = take_ptr(e->warden);
	if (warden)
		warden_stop(warden);
}
