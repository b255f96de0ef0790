/* The table of operations: all that retort does. SPDX-License-Identifier: Apache-2.0 */
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

/* The rows in their order: how many; one, NULL behind the last; the place of one. */
size_t operation_count(void);
const struct operation *operation_at(size_t i);
size_t operation_index(const struct operation *op);
/* "engine", "caller", "program"; and what that means, as a sentence. */
const char *operation_label_word(enum operation_label label);
const char *operation_label_meaning(enum operation_label label);

/* Does @event say what the answer will say, so that who gets both can leave it out? */
bool operation_is_last(const struct operation *op, const json_t *event);
/* Returns: NULL when there is none of that name. */
const struct operation *operation_find(const char *name);
/* Say that there is no operation @name, and which may have been meant. Returns: negative errno. */
int operation_unknown(const char *name, struct err *err);

/* What operations work on. Borrowed; outlives every call. */
struct operation_context {
	struct registry *registry;
	struct runs *runs;		       /* of its steps */
	struct metrics *metrics;	       /* where answers are counted; NULL: nowhere */
	struct outstanding_queue *outstanding; /* of long answers; NULL: not counted */
	uv_loop_t *loop;		       /* that threads report to; NULL: there are none */
	const char *version;		       /* "0.1.0" */
	struct principal *principal;	       /* who calls; NULL: the one who runs the engine */
	const struct models *models;	       /* that agents may use; NULL: none */
	const struct agent_store *agents;      /* where they are kept; NULL: nowhere */
	struct gate *gate;		       /* of tools; NULL: there is none */
	struct plan_line *plans;	       /* in line; NULL: each is done at once */
	const char *plan_tools; /* file of tools for plans that do not bring their own, or NULL */
};

/*
 * What is heard of a call, from the loop. Nobody changes a @result that is kept: threads read it.
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
 * Owns:    keeps a reference of @params. *@slot is the call until `done` has been told and NULL
 * from then on; it must stay where it is until then.
 */
void operation_start(const struct operation_context *context, const struct operation *op,
	json_t *params, const struct operation_listener *listener, struct operation_call **slot);

/* The same of one that answers at once, and nobody listens. Owns: takes @params. */
void operation_tell(const struct operation_context *context, const char *name, json_t *params);

/*
 * The caller does not want it any more: a step that is waited for to its end is interrupted, asked
 * twice at once; one that waits in line is not begun. Who waits for a run is answered now.
 * Everything else goes on to its end. `done` follows.
 */
void operation_cancel(struct operation_call *call);
