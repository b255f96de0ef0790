/* The operation on records. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/inside.h"
#include "api/operation/calls.h"

static void stop(struct operation_call *call)
{
	registry_stop_replay(call->context->registry, call);
}

static void start_run(struct operation_call *call)
{
	call->cancel = stop;
	const json_t *record = param_get(call->params, "record");
	registry_replay(call->context->registry, json_string_value(record),
		json_string_length(record), call_done, call);
}

/* ---- the rows ---- */

static const struct param run_rows[] = {
	{"record", PARAM_DATA, NEEDED, 1, .help = "what session.export gave"},
};
static const struct param difference_rows[] = {
	GIVES_STEP,
	GIVES("number", PARAM_COUNT, "its number, from 1"),
	GIVES("field", PARAM_TEXT, "what differs"),
	GIVES("place", PARAM_DATA, "the place in it, as in value[\"text/plain\"] or files[1].size"),
	GIVES("was", PARAM_DATA, "in the record"),
	GIVES("is", PARAM_DATA, "now"),
};
static const struct param replayed_rows[] = {
	{"outcome", PARAM_CHOICE, NEEDED, .choices = "replayed|diverged",
		.help = "whether every step gave the same"},
	GIVES("steps", PARAM_COUNT, "how many the record has"),
	{"first_difference", PARAM_OBJECT, FIELDS(difference_rows), .help = "when it diverged"},
};

static const struct operation rows[] = {
	{"replay.run", "Run the steps of a record again and compare", ROWS(run_rows),
		RESULT(replayed_rows), .label = OPERATION_PROGRAM,
		.limits = "A fresh session is made for it, and ended.",
		.errors = "damaged|runtime|box|limit|gone", .example = "{'record': '…'}",
		.answer = "{'outcome': 'replayed', 'steps': 1}", .start = start_run},
};

const struct operation_family replay_family = FAMILY(rows);
