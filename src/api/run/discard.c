/*
 * Free large JSON in a thread, because freeing millions of small values takes half a second.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/run/discard.h"

#include <stdlib.h>

enum { AT_ONCE_BYTES = 1 << 20 };

struct discarding {
	uv_work_t work;
	json_t *json;
};

static void work(uv_work_t *work)
{
	struct discarding *d = work->data;
	json_decref(d->json); /* safe in a thread: jansson's reference counts are atomic */
}

static void done(uv_work_t *work, int status)
{
	(void)status;
	free(work->data);
}

void discard(uv_loop_t *loop, json_t *json, size_t bytes)
{
	struct discarding *d = loop && json && bytes > AT_ONCE_BYTES ? calloc(1, sizeof *d) : NULL;
	if (d)
		*d = (struct discarding){.work = {.data = d}, .json = json};
	if (d && uv_queue_work(loop, &d->work, work, done) == 0)
		return;
	free(d);
	json_decref(json);
}
