/* The table of operations: everything that clients can ask of retort. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/row/row.h"
#include "base/err.h"

#include <jansson.h>
#include <uv.h>

struct gate;
struct agent_store;
struct metrics;
struct models;
struct outstanding_queue;
struct plan_line;
struct principal;
struct registry;
struct runs;

/* Return the number of operations; the operation at index @i (NULL behind the last); the index of
 * an operation. */
size_t operation_count(void);
const struct operation *operation_at(size_t i);
size_t operation_index(const struct operation *op);
/* The word of a label ("engine", "caller", "program"), and its meaning as a sentence. */
const char *operation_label_word(enum operation_label label);
const char *operation_label_meaning(enum operation_label label);

/* Does @event repeat the answer, so that a client that gets both can ignore it? */
bool operation_is_last(const struct operation *op, const json_t *event);
/* Find an operation by its name. Returns: the operation, or NULL. */
const struct operation *operation_find(const char *name);
/* Report that operation @name does not exist, with a similar name as hint. Returns: negative errno.
 */
int operation_unknown(const char *name, struct err *err);

/* What operations work on. Borrowed; must outlive every call. */
struct operation_context {
	struct registry *registry;
	struct runs *runs;		       /* runs of the registry's steps */
	struct metrics *metrics;	       /* counters of answers, or NULL */
	struct outstanding_queue *outstanding; /* queue of long answers; NULL: unlimited */
	uv_loop_t *loop;		       /* loop that threads report to; NULL: no threads */
	const char *version;		       /* "0.1.0" */
	struct principal *principal;	       /* the caller; NULL: the operator of the engine */
	const struct models *models;	       /* models that agents may use, or NULL */
	const struct agent_store *agents;      /* store of agents; NULL: agents are not saved */
	struct gate *gate;		       /* gate of tools, or NULL */
	struct plan_line *plans;	       /* queue of plans; NULL: plans run at once */
	const char *plan_tools; /* file of tools for plans that do not bring their own, or NULL */
};

/*
 * The callbacks of a call, from the loop. A @result that is kept must not be changed, because
 * threads read it.
 *
 * event  {"event": …} as api/text/event.h has them, borrowed; may be NULL.
 * done   once, possibly before operation_start() returns: @result, borrowed, or NULL and @err.
 */
struct operation_listener {
	void *arg;
	void (*event)(void *arg, const json_t *event);
	void (*done)(void *arg, const json_t *result, const struct err *err);
};

/*
 * Check @params (an object, or NULL) by the rows of @op and start it.
 *
 * Owns:    keeps a reference of @params. *@slot is the call until `done` is called, then NULL;
 * @slot must stay valid until then.
 */
void operation_start(const struct operation_context *context, const struct operation *op,
	json_t *params, const struct operation_listener *listener, struct operation_call **slot);

/* Start an operation that answers at once, and ignore its answer. Owns: takes @params. */
void operation_tell(const struct operation_context *context, const char *name, json_t *params);

/*
 * Cancel a call. A step whose end the call waits for is interrupted; a second cancel stops it at
 * once. An operation that waits in a queue is withdrawn. A call that only waits for a run is
 * answered now. All other operations continue to their end. `done` follows.
 */
void operation_cancel(struct operation_call *call);
