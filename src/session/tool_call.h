/* Tool calls of code in a box, and the gate that responds to them.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * A call of a tool ("server.tool") or of one of retort's own functions ("retort.llm_query").
 *
 * Limits: name: 1 to TOOL_NAME_MAX bytes of UTF-8 without control characters; arguments: an object,
 * at most TOOL_ARGUMENTS_MAX bytes as text; at most TOOL_CALLS_MAX pending in a session. A call
 * beyond these limits is not passed on.
 * Owns:   the session. The gate borrows the call from `call` until its response or `cancel`.
 */
enum { TOOL_NAME_MAX = 256, TOOL_ARGUMENTS_MAX = 4 << 20, TOOL_CALLS_MAX = 64 };

struct tool_call {
	const char *session, *owner; /* ids; owner "": the user who runs the engine */
	const char *name;
	const json_t *arguments;
	/* The session has read from an untrusted tool. A response to another call may set this
	 * while the call is pending: read it when you decide, not when the call arrives. */
	bool is_tainted;
	bool is_trial; /* the step may be discarded, see registry/trial.h */
	void *user;    /* for the gate's use; NULL at first */
};

/*
 * Callbacks of the module that responds to calls, from the loop; one gate per registry.
 *
 * call    Respond with tool_call_answer(), during this callback or later. Called only while a step
 *         runs for the first time; when it runs again, its calls get the stored responses.
 * cancel  The response is not needed any more: the step was stopped, has ended, or its session was
 *         closed. The call is invalid afterwards; do not respond. May come during the response to
 *         another call.
 */
struct tool_gate {
	void *arg;
	void (*call)(void *arg, struct tool_call *call);
	void (*cancel)(void *arg, struct tool_call *call);
};

/*
 * Respond to @call, once; @call is invalid afterwards. @answer (reference taken): {"value": any} or
 * {"error": {"name", "message", "hint"?}}. Another shape, or NULL, becomes ToolLost; a response too
 * large for a frame becomes ToolLimit. @is_untrusted: the session is tainted from now on. The
 * journal stores the taint before the box gets the response, branches inherit it, and an undo does
 * not remove it.
 */
void tool_call_answer(struct tool_call *call, json_t *answer, bool is_untrusted);

/* Respond with ToolDenied: there are no tools. */
void tool_call_deny(struct tool_call *call);

/* Make an error response. @name: ToolError, ToolDenied, ToolArgumentError, ToolLost, ToolLimit;
 * @hint may be NULL. Owns: the caller. Returns: NULL without memory. */
json_t *tool_call_error(const char *name, const char *message, const char *hint);
