/* Who stands by a session: hears what its calls ask, and answers those that are not for a tool.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/tool_call.h"

#include <jansson.h>
#include <stdbool.h>

struct gate;
struct gate_call; /* one that is under way */

enum { GATE_SESSION_BYTES = 80 };

/* A handler must stay where it is until gate_detach(). If a session has several, the newest that
 * takes a call gets it. Functions that a handler does not have are NULL. */
struct gate_handler {
	void *arg;
	/* Ask whether @call may be made; gate_approve() gives the answer later. Returns: false if
	 * nobody can be asked. */
	bool (*ask)(void *arg, struct gate_call *call);
	/* The question about @call is decided, or has become pointless. */
	void (*asked)(void *arg, const struct gate_call *call, bool is_allowed);
	/* A call of a name such as "retort.llm_query", which is not a tool's. Returns: true if the
	 * handler takes the call, and calls gate_answer() once, possibly before this returns. */
	bool (*call)(void *arg, struct gate_call *call);
	/* A call that was taken is given up: it is gone when this returns. */
	void (*cancel)(void *arg, struct gate_call *call);

	/* The gate's own. */
	struct gate *gate;
	char session[GATE_SESSION_BYTES];
	struct gate_handler *next, **link;
};
/* @session: "" stands by all of them. */
void gate_attach(struct gate *g, const char *session, struct gate_handler *handler);
/* Calls that it has not answered are refused. Nothing happens if it is not attached. */
void gate_detach(struct gate_handler *handler);

/*
 * @answer: {"value": any} or tool_call_error(), whose reference is taken; NULL stands for no
 * memory. The call is gone then.
 */
void gate_answer(struct gate_call *call, json_t *answer);

/* {"approval": id, "session", "tool", "text", "destructive", "tainted"}: what is asked about a
 * call; texts are safe to show. Owns: the caller. Returns: NULL without memory. */
json_t *gate_question(const struct gate_call *call);

/* The call whose question has this id. Returns: NULL when there is no such question, or it is
 * decided. */
struct gate_call *gate_asking(struct gate *g, const char *approval);
/* The call goes on, or is refused; it may be gone then. */
void gate_approve(struct gate_call *call, bool is_allowed);

/* Borrowed. The arguments are an object. */
const char *gate_call_name(const struct gate_call *call);
const char *gate_call_owner(const struct gate_call *call);
/* The session has read what others wrote. */
bool gate_call_is_tainted(const struct gate_call *call);
/* What its step does may not be kept. */
bool gate_call_is_trial(const struct gate_call *call);
const json_t *gate_call_arguments(const struct gate_call *call);
const char *gate_call_session(const struct gate_call *call);
const char *gate_call_approval(const struct gate_call *call); /* while it asks */
