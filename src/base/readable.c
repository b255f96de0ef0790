/* SPDX-License-Identifier: Apache-2.0 */
#include "base/readable.h"

#include "base/alloc.h"

#include <stdlib.h>

struct ear {
	uv_poll_t poll;
	void (*told)(void *arg);
	void *arg;
};

static void on_heard(uv_poll_t *poll, int status, int events)
{
	const struct ear *ear = poll->data;
	(void)status;
	(void)events;
	ear->told(ear->arg);
}

int ear_open(struct ear **out, uv_loop_t *loop, int fd, void (*told)(void *arg), void *arg,
	struct err *err)
{
	struct ear *ear = xnew(struct ear);
	*ear = (struct ear){.told = told, .arg = arg};
	int r = uv_poll_init(loop, &ear->poll, fd);
	if (r < 0) {
		free(ear);
		return err_sys(err, ERR_IO, -r, "the terminal");
	}
	ear->poll.data = ear;
	(void)uv_poll_start(&ear->poll, UV_READABLE, on_heard);
	*out = ear;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void ear_close(struct ear *ear)
{
	if (ear)
		uv_close((uv_handle_t *)&ear->poll, on_closed);
}
