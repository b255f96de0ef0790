/* One call of an operation. For the files that implement operations. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "api/operation/outstanding.h"
#include "api/run/runs.h"
#include "registry/history.h"
#include "registry/registry.h"

struct gate_call;

struct operation_call {
	/* The context in which the operation works. It points to `seen`, whose registry hides the
	 * sessions of other principals from the caller. */
	const struct operation_context *context;
	struct operation_context seen;
	const struct operation *op;
	json_t *params;
	struct operation_listener listener;
	struct operation_call **slot;

	/* Cancel the call. It is answered at once or later. NULL: the call cannot be cancelled. */
	void (*cancel)(struct operation_call *call);
	/* Send what the client was too far behind for; may answer the call. NULL: nothing waits. */
	void (*resume)(struct operation_call *call);
	/* The place of this call in the queue of operations that wait until their caller has read
	 * earlier answers (outstanding.h). Used only by operations with long answers. */
	struct outstanding_turn turn;
	struct outstanding_part owed;
	struct waiter waiter;
	/* For session.undo: listener for the steps that run again, to rebuild the state. */
	struct step_listener listener_of_steps;
	/* For engine.doctor: id of the session whose box is tested. */
	char *session;
	/* For engine.doctor: the results so far. */
	json_t *kept;
	/* For calls that follow a process (call/process_reader.h): what follows it, or NULL. */
	void *following;
	/* For tool.list and tool.call: the call in the gate. */
	struct gate_call *gate_call;
	/* For process.start: the call was cancelled while the program began. */
	bool is_cancelled;
};

/* Answer the call, and free it. Can be passed to the registry as a registry_done_fn. */
void call_done(void *call, const json_t *result, const struct err *err);

/* Answer the call and free it. call_fail() answers with @err. call_give() answers with @result
 * and takes its reference; if @result is NULL, it answers with @err. */
void call_fail(struct operation_call *call, const struct err *err);
void call_give(struct operation_call *call, json_t *result, const struct err *err);

/* Refuse the call if it would have to wait for a run that waits for input. Returns: whether the
 * call was refused and freed. */
bool call_is_behind_reader(struct operation_call *call);

/* Withdraw the operation if it still waits in its session's queue; otherwise let it continue.
 * Operations use this function as their `cancel`. */
void call_withdraw(struct operation_call *call);

/* Send an event to the caller; the reference is taken. NULL: do nothing. */
void call_event(struct operation_call *call, json_t *event);

/* Tables of operations. Each is defined in the file that has their handlers. */
extern const struct operation_family session_family, step_family, program_family, judge_family,
	file_family, path_family, process_family, port_family, template_family, image_family,
	plan_family, replay_family, tool_family, agent_family, engine_family;
