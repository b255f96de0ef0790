/* The table of operations: everything that clients can request from retort.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/row/row.h"
#include "base/err.h"

#include <jansson.h>
#include <uv.h>

struct fair_line;
struct gate;
struct agent_store;
struct metrics;
struct models;
struct outstanding_queue;
struct plan_line;
struct principal;
struct registry;
struct runs;

/* operation_count() returns the number of operations. operation_at() returns the operation at an
 * index, or NULL if the index is too large. operation_index() returns the index of an operation. */
size_t operation_count(void);
const struct operation *operation_at(size_t i);
size_t operation_index(const struct operation *op);
/* operation_label_word() returns the word of a label: "engine", "caller" or "program".
 * operation_label_meaning() returns a sentence that explains the label. */
const char *operation_label_word(enum operation_label label);
const char *operation_label_meaning(enum operation_label label);

/* Return whether @event repeats the answer, so that a client that gets both can ignore the
 * event. */
bool operation_is_last(const struct operation *op, const json_t *event);
/* Find an operation by its name. Returns: the operation, or NULL. */
const struct operation *operation_find(const char *name);
/* Report that no operation has that name. A similar name is the hint. Returns: negative errno. */
int operation_unknown(const char *name, struct err *err);

/* The objects that operations work on. All pointers are borrowed, and must outlive every call. */
struct operation_context {
	struct registry *registry;
	struct runs *runs;	 /* the runs of steps in the sessions of `registry` */
	struct metrics *metrics; /* counters of answers; NULL: answers are not counted */
	struct outstanding_queue *outstanding; /* queue of long answers; NULL: no limit */
	uv_loop_t *loop;	     /* loop to which threads report; NULL: work without threads */
	const char *version;	     /* "0.1.0" */
	struct principal *principal; /* the caller; NULL: the operator of the engine */
	const struct models *models; /* models that agents may use, or NULL */
	const struct agent_store *agents; /* store of agents; NULL: agents are not saved */
	struct gate *gate;		  /* gate for tool calls, or NULL */
	struct fair_line *programs;	  /* queue of program.run; NULL: programs run at once */
	struct plan_line *plans;	  /* queue of plans; NULL: plans run at once */
	/* File that lists tools, for plans whose parameters contain no tools; or NULL. */
	const char *plan_tools;
};

/*
 * The callbacks of a call, called from the loop. A callback may keep @result, but must not change
 * it, because other threads read it.
 *
 * event  @event: {"event": …}, as in api/text/event.h; borrowed. `event` may be NULL.
 * raw    send an event with @bytes of output that are no part of its JSON. @members: the members of
 *        the event, as JSON in one line without braces. NULL: the client takes JSON only.
 * is_behind  return whether the client has much unread output. Events that can wait are then not
 *        sent. When the client has read, operation_resume() may be called. `is_behind` may be NULL:
 *        the client is never behind.
 * done   called once, possibly before operation_start() returns. @result: borrowed; NULL: see @err.
 */
struct operation_listener {
	void *arg;
	void (*event)(void *arg, const json_t *event);
	void (*raw)(void *arg, const char *members, const char *data, size_t bytes);
	bool (*is_behind)(void *arg);
	void (*done)(void *arg, const json_t *result, const struct err *err);
};

/*
 * Check the parameters of @op, and start the operation. @params: an object, or NULL.
 *
 * Owns:    keeps a reference of @params. *@slot points to the call until `done` is called, and is
 * then NULL. @slot must stay valid until then.
 */
void operation_start(const struct operation_context *context, const struct operation *op,
	json_t *params, const struct operation_listener *listener, struct operation_call **slot);

/* Start an operation that answers at once, and ignore its answer. Owns: takes the reference of
 * @params. */
void operation_tell(const struct operation_context *context, const char *name, json_t *params);

/*
 * Cancel a call; `done` follows. The effect depends on the operation:
 * - Any call that waits until earlier answers are read (outstanding.h) is withdrawn.
 * - session.branch and session.undo are withdrawn if they still wait in the session's queue.
 * - step.run interrupts its step. A second cancel stops the step at once.
 * - step.get is answered with the record so far.
 * - agent.run ends. With `cancel_step`, the first cancel only interrupts a running step.
 * - process.attach and process.wait are answered; process.start with `attach` also kills the
 * program.
 * - plan.check, plan.run, replay.run, tool.list and tool.call are stopped.
 * All other operations continue to their end.
 */
void operation_cancel(struct operation_call *call);

/* Send what the call has not sent because its client was behind. */
void operation_resume(struct operation_call *call);
