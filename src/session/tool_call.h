/* Calls that code in a box makes to the outside, and who answers them. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * A call: of a tool ("server.tool") or of a function of retort's own ("retort.llm_query").
 *
 * Limits: name: 1 to TOOL_NAME_MAX bytes of UTF-8 without control characters; arguments: an object,
 *         at most TOOL_ARGUMENTS_MAX bytes as text; at most TOOL_CALLS_MAX at once in a session.
 *         A call beyond them is not passed on.
 * Owns:   the session. The gate borrows it from `call` until it has answered or `cancel` was told.
 */
enum { TOOL_NAME_MAX = 256, TOOL_ARGUMENTS_MAX = 4 << 20, TOOL_CALLS_MAX = 64 };

struct tool_call {
	const char *session, *owner; /* ids; owner "" is who runs the engine */
	const char *name;
	const json_t *arguments;
	/* The session has read from an untrusted tool. An answer to another call may set this while
	 * the call waits: read it when you decide, not when the call comes. */
	bool is_tainted;
	bool is_trial; /* the step may be discarded: registry/trial.h */
	void *user;    /* the gate's own; NULL at first */
};

/*
 * Who answers. Called from the loop; one per registry.
 *
 * call    answer it now, from inside, or later, with tool_call_answer(). Only while a step runs for
 *         the first time: when it runs again, it gets the answers of the first time.
 * cancel  nobody waits for the answer any more: the step was stopped, has ended, or its session was
 *         closed. The call is gone afterwards and must not be answered. May be told while another
 *         call is being answered.
 */
struct tool_gate {
	void *arg;
	void (*call)(void *arg, struct tool_call *call);
	void (*cancel)(void *arg, struct tool_call *call);
};

/*
 * Answer, once; @call is gone afterwards. @answer: {"value": any} or {"error": {"name", "message",
 * "hint"?}}, its reference is taken. Another shape, or NULL, becomes ToolLost; an answer that is
 * too large for a frame becomes ToolLimit. @is_untrusted: from now on the session is tainted. That
 * is in the journal before the box gets the answer, branches inherit it, and an undo does not end
 * it.
 */
void tool_call_answer(struct tool_call *call, json_t *answer, bool is_untrusted);

/* Answer that there are no tools. */
void tool_call_deny(struct tool_call *call);

/* An answer that is an error. @name: ToolError, ToolDenied, ToolArgumentError, ToolLost, ToolLimit;
 * @hint may be NULL. Owns: the caller. Returns: NULL without memory. */
json_t *tool_call_error(const char *name, const char *message, const char *hint);
