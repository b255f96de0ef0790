/* What a session is asked to run, and what is heard of it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runtime/runtime.h"
#include "session/step/record.h"
#include "session/tool_call.h"

/* What to run. Borrowed until the step's `done`. */
struct step_request {
	const struct runtime *runtime; /* NULL: the session's */
	const char *code;	       /* UTF-8 */
	size_t code_bytes;
	const char *filename;
	const char *const *argv; /* NULL-terminated */
	const char *preload;	 /* modules to import first, "a,b", or NULL */
	uint64_t timeout_ms;	 /* 0: the session's limit */
	uint64_t stop_ms;	 /* it is to be stopped after that, as by its caller; 0: no */
	const json_t *inputs;	 /* an object whose members its record keeps, or NULL */
	bool is_atomic;		 /* an error rolls back, too */
	bool wants_variables;	 /* its record says which it has made */
	int stdin_fd;		 /* what the step reads (taken over), or -1 */
	bool is_rebuild;	 /* its runtime's state is made again: no step of the session */
	bool is_again;		 /* it was run before: its calls are answered from what was kept */
};

/*
 * What is heard of a session, from its loop. Any may be NULL but `opened` and `done`.
 *
 * opened   the box is made and the driver started (@err NULL), or not.
 * unbegun  the step cannot begin where the session stands, and is none any more: to be run again
 *          when the state has been made again. @stdin_fd is the callee's.
 * begin    the code is about to run.
 * output   bytes as they came; @n_head of them are within the head that the record keeps.
 * display  {mime: value}, borrowed.
 * call     code calls for something outside: to be answered with tool_call_answer(). NULL: denied.
 * cancel   that one is not waited for any more, and gone afterwards.
 * keep     an answer, before the box gets it: negative (with @err) when it cannot be kept, then the
 *          box gets that error in its place.
 * tool     as registry_watch has it, borrowed.
 * waiting  the step reads its standard input, and nothing is there. Returns: whether somebody can
 *          write some: then the clock stands still until session_input().
 * ending   the step is over and will have its name: now its inputs are all there.
 * done     the record, borrowed; the session may be closed from here.
 * closed   everything the session had is gone; it has been freed.
 */
struct session_events {
	void *arg;
	void (*opened)(void *arg, const struct err *err);
	void (*unbegun)(void *arg, int stdin_fd);
	void (*begin)(void *arg);
	void (*output)(void *arg, int stream, const char *data, size_t bytes, size_t n_head);
	void (*display)(void *arg, const json_t *display);
	void (*call)(void *arg, struct tool_call *call);
	void (*cancel)(void *arg, struct tool_call *call);
	int (*keep)(void *arg, const char *text, size_t bytes, bool is_untrusted, struct err *err);
	void (*tool)(void *arg, const json_t *event);
	bool (*waiting)(void *arg);
	void (*ending)(void *arg);
	void (*done)(void *arg, const struct record *record);
	void (*closed)(void *arg);
};
