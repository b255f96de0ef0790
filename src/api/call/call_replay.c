/* The operation replay.run. SPDX-License-Identifier: Apache-2.0 */
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

/* ---- rows of the table of operations ---- */

static const struct param run_rows[] = {
	{"record", PARAM_DATA, NEEDED, 1, .help = "record from session.export"},
};
static const struct param difference_rows[] = {
	GIVES_STEP,
	GIVES("number", PARAM_COUNT, "number of the step, from 1"),
	GIVES("field", PARAM_TEXT, "field that differs"),
	GIVES("place", PARAM_DATA,
		"place of the difference, such as value[\"text/plain\"] or files[1].size"),
	GIVES("was", PARAM_DATA, "value in the record"),
	GIVES("is", PARAM_DATA, "value in the new run"),
};
static const struct param replayed_rows[] = {
	{"outcome", PARAM_CHOICE, NEEDED, .choices = "replayed|diverged",
		.help = "whether every step had the same result"},
	GIVES("steps", PARAM_COUNT, "number of steps in the record"),
	{"first_difference", PARAM_OBJECT, FIELDS(difference_rows),
		.help = "the first difference, if it diverged"},
};

static const struct operation rows[] = {
	{"replay.run", "Run the steps of a record again and compare the results", ROWS(run_rows),
		RESULT(replayed_rows), .label = OPERATION_PROGRAM,
		.limits = "The steps run in a new session, which is ended afterwards.",
		.errors = "damaged|runtime|box|limit|gone", .example = "{'record': '…'}",
		.answer = "{'outcome': 'replayed', 'steps': 1}", .start = start_run},
};

const struct operation_family replay_family = FAMILY(rows);
