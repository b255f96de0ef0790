/* Handlers of a session's calls: they ask for approvals, and answer calls that are not for a tool.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/tool_call.h"

#include <jansson.h>
#include <stdbool.h>

struct gate;
struct gate_call; /* a call in progress */

enum { GATE_SESSION_BYTES = 80 };

/* A handler must stay at its address until gate_detach(). If a session has several handlers, the
 * newest one that takes a call gets it. Missing functions are NULL. */
struct gate_handler {
	void *arg;
	/* Ask whether @call may be made; gate_approve() gives the answer later. Returns: false if
	 * nobody can be asked. */
	bool (*ask)(void *arg, struct gate_call *call);
	/* Called when the question about @call is decided, or has become pointless. */
	void (*asked)(void *arg, const struct gate_call *call, bool is_allowed);
	/* Called for a name such as "retort.llm_query", which is not a tool's. Returns: true if the
	 * handler takes the call; it then calls gate_answer() once, possibly before this returns.
	 */
	bool (*call)(void *arg, struct gate_call *call);
	/* Called when a call that the handler took is cancelled; the call is freed when this
	 * returns. */
	void (*cancel)(void *arg, struct gate_call *call);

	/* Internal to the gate. */
	struct gate *gate;
	char session[GATE_SESSION_BYTES];
	struct gate_handler *next, **link;
};
/* Attach a handler to @session; "": to all sessions. */
void gate_attach(struct gate *g, const char *session, struct gate_handler *handler);
/* Detach a handler. Calls that it has not answered are refused. Does nothing if it is not attached.
 */
void gate_detach(struct gate_handler *handler);

/* Answer a call with {"value": any} or tool_call_error(), whose reference is taken; NULL: no memory
 * for an answer. The call is freed. */
void gate_answer(struct gate_call *call, json_t *answer);

/* Return the question about a call: {"approval": id, "session", "tool", "text", "destructive",
 * "tainted"}; texts are safe to show. Owns: the caller. Returns: NULL without memory. */
json_t *gate_question(const struct gate_call *call);

/* Find the call whose pending question has this id. Returns: NULL when the id is unknown, or the
 * question is decided. */
struct gate_call *gate_asking(struct gate *g, const char *approval);
/* Decide the question about a call: the call continues or is refused, and may be freed. */
void gate_approve(struct gate_call *call, bool is_allowed);

/* Members of a call. Borrowed. The arguments are an object. */
const char *gate_call_name(const struct gate_call *call);
const char *gate_call_owner(const struct gate_call *call);
/* Has the session read untrusted data? */
bool gate_call_is_tainted(const struct gate_call *call);
/* Is the call part of a trial, whose effects may be discarded? */
bool gate_call_is_trial(const struct gate_call *call);
const json_t *gate_call_arguments(const struct gate_call *call);
const char *gate_call_session(const struct gate_call *call);
const char *gate_call_approval(const struct gate_call *call); /* id of the pending question */
