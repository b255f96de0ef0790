/* What is kept of an agent, and was changed since. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "agent/loop/inside.h"
#include "agent/loop/loop.h"
#include "agent/loop/loop_state.h"
#include "base/json.h"

#include <stdlib.h>

enum { PARTS_MAX = 100000 };

/* What was taken is written down again, and read again. */
static void check(struct loop *l)
{
	struct err err = {0};
	struct loop *other = NULL;
	json_t *state = loop_state(l);
	uv_loop_t *uv = l->uv;
	MUST(state);
	const struct loop_past past = {.state = state};
	const struct loop_config config = {.task = "More.", .past = &past};
	MUST(loop_open(&other, uv, &config, &err) == 0);
	MUST(other->n_steps == l->n_steps && other->dialog.n >= l->dialog.n);
	json_decref(state);
	loop_close(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uv_loop_t uv;
	struct loop *l = NULL;
	struct err err = {0};
	json_t *state = json_parts((const char *)data, bytes) > PARTS_MAX
		? NULL
		: json_loadb((const char *)data, bytes, JSON_REJECT_DUPLICATES, NULL);
	if (!state)
		return 0;
	MUST(uv_loop_init(&uv) == 0);
	const struct loop_past past = {.state = state, .remark = "All is there."};
	const struct loop_config config = {.task = "More.", .past = &past};
	if (loop_open(&l, &uv, &config, &err) == 0) {
		check(l);
		loop_close(l);
	} else {
		MUST(err.code != ERR_NONE && err.msg[0]);
	}
	(void)uv_run(&uv, UV_RUN_DEFAULT);
	MUST(uv_loop_close(&uv) == 0);
	json_decref(state);
	return 0;
}
