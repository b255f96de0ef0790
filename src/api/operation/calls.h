/* A call from the inside: shared by the files that carry operations out. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "api/operation/outstanding.h"
#include "api/run/runs.h"
#include "registry/history.h"
#include "registry/registry.h"

struct gate_call;

struct operation_call {
	/* As the caller sees the engine: what another principal has is not in its registry. */
	const struct operation_context *context;
	struct operation_context seen;
	const struct operation *op;
	json_t *params;
	struct operation_listener listener;
	struct operation_call **slot;

	/* Gives the call up, and answers it; NULL: it cannot be given up. */
	void (*cancel)(struct operation_call *call);
	struct outstanding_turn turn; /* of one whose answer is long */
	struct outstanding_part owed;
	struct waiter waiter;
	struct step_listener
		listener_of_steps;   /* session.undo: hears of steps that are run again */
	char *session;		     /* engine.doctor: the one to end */
	json_t *kept;		     /* engine.doctor: what was found so far */
	struct gate_call *gate_call; /* tool.list, tool.call */
};

/* The answer, once; the call is freed. registry_done_fn. */
void call_done(void *call, const json_t *result, const struct err *err);

/* The answer is @err, or @result, whose reference is taken. */
void call_fail(struct operation_call *call, const struct err *err);
void call_give(struct operation_call *call, json_t *result, const struct err *err);

/* If the call would wait behind a run that waits for input, refuse it. Returns: whether it did. */
bool call_is_behind_reader(struct operation_call *call);

/* A `cancel`: an operation that waits in its session's queue is withdrawn; one that has begun goes
 * on. */
void call_withdraw(struct operation_call *call);

/* Tell an event, whose reference is taken; NULL is nothing. */
void call_event(struct operation_call *call, json_t *event);

/* The rows, beside what carries them out. */
extern const struct operation_family session_family, step_family, file_family, template_family,
	plan_family, replay_family, tool_family, agent_family, engine_family;
