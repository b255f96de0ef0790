/* Handlers of a session's calls. A handler asks for approvals, or answers calls that are not for
 * a tool. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/tool_call.h"

#include <jansson.h>
#include <stdbool.h>

struct gate;
struct gate_call; /* a call in progress */

enum { GATE_SESSION_BYTES = 80 };

/* A handler must stay at its address until gate_detach(). If a session has several handlers, a
 * call is offered to the newest first. Functions that a handler does not need are NULL. */
struct gate_handler {
	void *arg;
	/* Ask somebody whether @call may be made. gate_approve() gives the decision later.
	 * Returns: false if nobody can be asked. */
	bool (*ask)(void *arg, struct gate_call *call);
	/* Called when the question about @call is decided, or the call has ended without a
	 * decision. */
	void (*asked)(void *arg, const struct gate_call *call, bool is_allowed);
	/* Called for a name that is not a tool's, such as "retort.llm_query". Returns: true if
	 * the handler takes the call. It then calls gate_answer() once, possibly before this
	 * function returns. */
	bool (*call)(void *arg, struct gate_call *call);
	/* Called when a call that the handler took is cancelled. The gate frees the call
	 * afterwards. */
	void (*cancel)(void *arg, struct gate_call *call);

	/* Internal to the gate. */
	struct gate *gate;
	char session[GATE_SESSION_BYTES];
	struct gate_handler *next, **link;
};
/* Attach a handler to @session; "": to all sessions. */
void gate_attach(struct gate *g, const char *session, struct gate_handler *handler);
/* Detach a handler, if it is attached. Calls that the handler has taken, but not answered, fail. */
void gate_detach(struct gate_handler *handler);

/* Answer a call, and free it. @answer: {"value": any} or tool_call_error(); the reference is
 * taken. @answer NULL: memory is exhausted, so answer with an error. */
void gate_answer(struct gate_call *call, json_t *answer);

/* Return the question about a call: {"approval": id, "session", "tool", "text", "destructive",
 * "tainted"}, and "connection": {"host", "port"} if it is whether programs may connect there. Texts
 * are safe to show. Owns: the caller decrefs the result. Returns: NULL if memory is exhausted. */
json_t *gate_question(const struct gate_call *call);

/* Make the question whether programs may connect to @place, {"host", "port"}; the name is
 * printable. Owns: the caller decrefs the result. */
json_t *gate_connection_question(
	const char *approval, const char *session, const json_t *place, bool is_tainted);

/* Find the call whose pending question has the id @approval. Returns: NULL if no question is
 * pending with that id. */
struct gate_call *gate_asking(struct gate *g, const char *approval);
enum gate_decision { GATE_REFUSE, GATE_ALLOW, GATE_ALLOW_SESSION };
/* Decide the question about a call: let the call continue, or refuse it. Afterwards the call may
 * be over and freed. GATE_ALLOW_SESSION is only for connections. */
void gate_approve(struct gate_call *call, enum gate_decision decision);
/* Return whether the call asks whether programs may connect to a host. */
bool gate_call_is_connection(const struct gate_call *call);

/* These functions return members of a call. Texts are borrowed. gate_call_arguments() returns a
 * JSON object, also borrowed. */
const char *gate_call_name(const struct gate_call *call);
const char *gate_call_owner(const struct gate_call *call);
/* Return whether the session of the call has read untrusted data. */
bool gate_call_is_tainted(const struct gate_call *call);
/* Return whether the step that makes the call is a candidate, which may be discarded. */
bool gate_call_is_trial(const struct gate_call *call);
const json_t *gate_call_arguments(const struct gate_call *call);
const char *gate_call_session(const struct gate_call *call);
const char *gate_call_approval(const struct gate_call *call); /* id of the pending question */
