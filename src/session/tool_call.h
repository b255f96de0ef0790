/* Tool calls of code in a box, and the gate that responds to them.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * A call of a tool ("server.tool") or of one of retort's own functions ("retort.llm_query").
 *
 * Limits: name: 1 to TOOL_NAME_MAX bytes of UTF-8 without control characters; arguments: an object,
 * at most TOOL_ARGUMENTS_MAX bytes as text; at most TOOL_CALLS_MAX calls pending in a session. A
 * call beyond these limits gets an error, without asking the gate.
 * Owns:   the session. The gate borrows the call from `call` until its response or `cancel`.
 */
/* A question whether programs may connect to a host is a call, too (consent.c): of CONNECT_NAME,
 * with the arguments {"host", "port"}. The value of the answer is CONNECT_ONCE, for the running
 * step, or CONNECT_SESSION. The message of an error is why not, a sentence without its subject, of
 * printable ASCII. */
#define CONNECT_NAME	"retort.connect"
#define CONNECT_ONCE	"once"
#define CONNECT_SESSION "session"
#define CONNECT_NO	"it was not allowed"
#define CONNECT_NOBODY	"nobody is here to be asked"

enum { TOOL_NAME_MAX = 256, TOOL_ARGUMENTS_MAX = 4 << 20, TOOL_CALLS_MAX = 64 };

struct tool_call {
	/* @session: id of the session. @owner: name of the session's owner; "" is the user who
	 * runs the engine. */
	const char *session, *owner;
	const char *name;
	const json_t *arguments;
	/* The session has read from an untrusted tool. The response to another call may set this
	 * while this call is pending, so read it when you decide, not when the call arrives. */
	bool is_tainted;
	bool is_trial; /* the step may be discarded, see registry/trial.h */
	void *user;    /* pointer that the gate may set for its own use; NULL until then */
	/* Gets the answer to a question of CONNECT_NAME. NULL: code in the box makes the call. */
	void (*answered)(struct tool_call *call, const json_t *answer);
};

/*
 * The gate is the module that responds to tool calls. A registry has one gate for all its sessions.
 * A session calls these callbacks of the gate from the event loop.
 *
 * call    A step has made a tool call. The gate responds with tool_call_answer(), during this
 *         callback or later. This is called only for a step that runs for the first time. When a
 *         step runs again, its tool calls get the stored responses.
 * cancel  The response is not needed any more: the step was stopped or has ended, or its session
 *         was closed. The gate must not respond, and the call is invalid afterwards. `cancel` may
 *         be called while tool_call_answer() responds to another call.
 */
struct tool_gate {
	void *arg;
	void (*call)(void *arg, struct tool_call *call);
	void (*cancel)(void *arg, struct tool_call *call);
};

/*
 * Respond to @call, once; @call is invalid afterwards.
 * @answer (reference taken): {"value": any} or {"error": {"name", "message", "hint"?}}. Another
 * shape, or NULL, becomes ToolLost. A response that is too large for a frame becomes ToolLimit.
 * @is_untrusted: the session is tainted from now on. The journal stores the taint before the box
 * gets the response, branches inherit it, and an undo does not remove it.
 */
void tool_call_answer(struct tool_call *call, json_t *answer, bool is_untrusted);

/* Respond with ToolDenied, because there are no tools. */
void tool_call_deny(struct tool_call *call);

/* Make an error response. @name: ToolError, ToolDenied, ToolArgumentError, ToolLost, ToolLimit;
 * @hint may be NULL. Owns: the caller. Returns: NULL if memory is exhausted. */
json_t *tool_call_error(const char *name, const char *message, const char *hint);
