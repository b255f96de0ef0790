/* What is heard of a session. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "session/step/record.h"
#include "session/tool_call.h"

/*
 * What is heard of a session, from its loop, by whoever has it; step_listener is told of its steps.
 * Any may be NULL but `opened` and `done`.
 *
 * opened   the box is made and the driver started (@err NULL), or not.
 * unbegun  the step was withdrawn before it began, because the session's state is lost: run it
 *          again after the state has been rebuilt.
 * begin    the code is about to run.
 * call     code calls for something outside: to be answered with tool_call_answer(). NULL: denied.
 * cancel   that one is not waited for any more, and gone afterwards.
 * keep     an answer, before the box gets it: negative (with @err) when it cannot be kept, then the
 *          box gets that error in its place.
 * done     the record, borrowed; the session may be closed from here.
 * closed   everything the session had is gone; it has been freed.
 */
struct session_events {
	void *arg;
	void (*opened)(void *arg, const struct err *err);
	void (*unbegun)(void *arg);
	void (*begin)(void *arg);
	void (*call)(void *arg, struct tool_call *call);
	void (*cancel)(void *arg, struct tool_call *call);
	int (*keep)(void *arg, const char *text, size_t bytes, bool is_untrusted, struct err *err);
	void (*done)(void *arg, const struct record *record);
	void (*closed)(void *arg);
};
