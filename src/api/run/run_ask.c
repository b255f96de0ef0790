/* Ask a client to approve a run's tool calls: the client that started the run with `approvals`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/run/inside.h"

#include <string.h>

static void tell(struct run *run, json_t *question, const char *state)
{
	json_t *event = json_pack(
		"{s:s, s:s, s:s}", "event", "tool.approval", "state", state, "run", run->id);
	(void)json_object_update(event, question);
	run_tell(run, event);
}

static bool on_ask(void *arg, struct gate_call *call)
{
	struct run *run = arg;
	json_t *question = gate_question(call);
	if (!question || json_array_append(run->asking.open, question) < 0) {
		json_decref(question);
		return false;
	}
	run_hold(run); /* a callback may end the run and free it */
	tell(run, question, "asked");
	waiters_wake(run);
	run_release(run);
	json_decref(question);
	return true;
}

static void on_asked(void *arg, const struct gate_call *call, bool is_allowed)
{
	struct run *run = arg;
	const char *id = gate_call_approval(call);
	json_t *question;
	size_t i;
	json_array_foreach(run->asking.open, i, question)
	{
		if (strcmp(param_text(question, "approval", ""), id) != 0)
			continue;
		json_incref(question);
		(void)json_array_remove(run->asking.open, i);
		run_hold(run);
		tell(run, question, is_allowed ? "allowed" : "refused");
		run_release(run);
		json_decref(question);
		return;
	}
}

void run_ask_begin(struct run *run)
{
	if (!run->asking.gate || run->asking.open || !(run->asking.open = json_array()))
		return;
	run->asking.handler = (struct gate_handler){.arg = run, .ask = on_ask, .asked = on_asked};
	gate_attach(run->asking.gate, run->session, &run->asking.handler);
}

void run_ask_end(struct run *run)
{
	gate_detach(&run->asking.handler);
	json_decref(run->asking.open);
	run->asking.open = NULL;
}
