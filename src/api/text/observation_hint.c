/* Hints about a step, for people and programs. SPDX-License-Identifier: Apache-2.0 */
#include "api/text/observation.h"

#include "agent/answer/hint.h"
#include "agent/answer/refusal.h"
#include "base/json.h"

bool observation_hint(struct buf *out, const json_t *record, enum observation_place place)
{
	static const enum hint_reader readers[PLACE_END_] = {HINT_RUN, HINT_SESSION, HINT_REPL};
	const struct hint_about about = {.reader = readers[place]};
	return hint_find(out, record, &about);
}

bool observation_refusals(struct buf *out, const json_t *record, enum observation_place place)
{
	return refusal_add(out, record,
		place == PLACE_SESSION ? "retort session net SESSION --add " : "--net ");
}

void observation_add_hint(json_t *record)
{
	const struct hint_about about = {.reader = HINT_RPC};
	cleanup_buf struct buf hint = BUF_INIT(HINT_BYTES);
	json_t *error = json_object_get(record, "error");
	if (!json_is_object(error) || !hint_find(&hint, record, &about))
		return;
	error = json_copy(error);
	json_put_text(error, "hint", buf_str(&hint));
	json_put_new(record, "error", error);
}
