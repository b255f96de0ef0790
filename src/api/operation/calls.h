/* A call of an operation, for the files that implement operations. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "api/operation/outstanding.h"
#include "api/run/runs.h"
#include "registry/history.h"
#include "registry/registry.h"

struct gate_call;

struct operation_call {
	/* The context as the caller sees it: its registry hides sessions of other principals. */
	const struct operation_context *context;
	struct operation_context seen;
	const struct operation *op;
	json_t *params;
	struct operation_listener listener;
	struct operation_call **slot;

	/* Cancels the call, which is answered then or later; NULL: the call cannot be cancelled. */
	void (*cancel)(struct operation_call *call);
	struct outstanding_turn turn; /* place in the queue for long answers */
	struct outstanding_part owed;
	struct waiter waiter;
	struct step_listener listener_of_steps; /* session.undo: notified of replayed steps */
	char *session;				/* engine.doctor: id of the test session */
	json_t *kept;				/* engine.doctor: results so far */
	struct gate_call *gate_call;		/* tool.list, tool.call: the call of the gate */
};

/* Answer the call, once, and free it. A registry_done_fn. */
void call_done(void *call, const json_t *result, const struct err *err);

/* Answer the call with @err, or with @result, whose reference is taken. */
void call_fail(struct operation_call *call, const struct err *err);
void call_give(struct operation_call *call, json_t *result, const struct err *err);

/* Refuse the call if it would wait behind a run that waits for input. Returns: was it refused? */
bool call_is_behind_reader(struct operation_call *call);

/* For `cancel`: withdraw an operation that waits in its session's queue; one that has begun
 * continues. */
void call_withdraw(struct operation_call *call);

/* Send an event, whose reference is taken; NULL: does nothing. */
void call_event(struct operation_call *call, json_t *event);

/* The rows of operations, defined beside their handlers. */
extern const struct operation_family session_family, step_family, file_family, template_family,
	plan_family, replay_family, tool_family, agent_family, engine_family;
