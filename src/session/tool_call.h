/* Calls that code in a box makes of the outside, and who answers them. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * A call: of a tool ("server.tool") or of something of retort's own ("retort.llm_query").
 *
 * Limits: name: 1 to TOOL_NAME_MAX bytes of UTF-8 without control characters; arguments: an object,
 *         at most TOOL_ARGUMENTS_MAX bytes as text; at most TOOL_CALLS_MAX at once in a session.
 * What is beyond never gets as far as a gate. Owns:   the session. The gate borrows it from `call`
 * until it has answered or `cancel` was told.
 */
enum { TOOL_NAME_MAX = 256, TOOL_ARGUMENTS_MAX = 4 << 20, TOOL_CALLS_MAX = 64 };

struct tool_call {
	const char *session, *owner; /* whose step it is: ids; owner "" is who runs the engine */
	const char *name;
	const json_t *arguments;
	/* The session has read from an untrusted tool. Becomes true while the call waits, when the
	 * answer to another one does that: look when it is decided, not when it comes. */
	bool is_tainted;
	bool is_trial; /* what the step does may not be kept: registry/trial.h */
	void *user;    /* the gate's own; NULL at first */
};

/*
 * Who answers. From the loop; one per registry.
 *
 * call    answer it now, from inside, or later, with tool_call_answer(). Only while a step runs,
 * and never when steps are run again: then what was answered the first time is. cancel  nobody
 * waits for it any more: the step was stopped, has ended, or its session was closed. The call is
 * gone afterwards and must not be answered. May be told while another call is being answered.
 */
struct tool_gate {
	void *arg;
	void (*call)(void *arg, struct tool_call *call);
	void (*cancel)(void *arg, struct tool_call *call);
};

/*
 * Answer, once; @call is gone afterwards. @answer: {"value": any} or {"error": {"name", "message",
 * "hint"?}}, its reference is taken. What is neither, or NULL, is told as ToolLost; what is too
 * large for a frame, as ToolLimit. @is_untrusted: from now on the session is tainted: in the
 * journal before the box gets the answer, inherited by its branches, and undoing does not end it.
 */
void tool_call_answer(struct tool_call *call, json_t *answer, bool is_untrusted);

/* The answer where nobody can give one. */
void tool_call_deny(struct tool_call *call);

/* An answer that is an error. @name: ToolError, ToolDenied, ToolArgumentError, ToolLost, ToolLimit;
 * @hint may be NULL. Owns: the caller. Returns: NULL without memory. */
json_t *tool_call_error(const char *name, const char *message, const char *hint);
