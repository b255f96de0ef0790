/* The order to run one step, and the listener that gets the step's events.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runtime/runtime.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stdin_queue;

#define STEP_HELP_ATOMIC "after an error, undo everything that the step did"

/*
 * Flags of a step, one row each: the member of struct step_order; the name of the parameter of
 * `step.run`; whether the driver gets the flag too, as a member of STEP with that name; and the
 * help text. A new flag needs a row here and the code that uses it.
 */
#define STEP_FLAGS(FLAG)                                                                           \
	FLAG(is_atomic, "atomic", false, STEP_HELP_ATOMIC)                                         \
	FLAG(wants_variables, "variables", true,                                                   \
		"list new and changed variables, in python and javascript")

/*
 * A step to run. The parser of the request makes it; the queue, the session and the driver's frame
 * share it by reference count.
 */
struct step_order {
	unsigned n_refs;
	const struct runtime *runtime; /* NULL: the session's runtime */
	const char *code;	       /* UTF-8; owned, like the file name */
	size_t code_bytes;
	const char *filename; /* NULL: no file */
	uint64_t timeout_ms;  /* 0: the session's limit */
#define STEP_FLAG_MEMBER(member, ...) bool member;
	STEP_FLAGS(STEP_FLAG_MEMBER)
#undef STEP_FLAG_MEMBER
	json_t *inputs;	    /* object with members for the step's record, or NULL; owned */
	int stdin_fd;	    /* stdin of the step until it is sent to the driver, or -1; owned */
	size_t stdin_bytes; /* size of the stdin, if it was given as text */
	struct stdin_queue *stdin_queue; /* queue that writes to `stdin_fd`, or NULL; owned */

	/* for `retort run` only; borrowed */
	const char *const *argv; /* NULL-terminated, or NULL */
	const char *preload;	 /* modules to import first, "a,b", or NULL */

	/* for steps that run again only */
	uint64_t stop_ms; /* time after which to stop it like a caller's interrupt, or 0 */
	bool is_rebuild;  /* rebuilds a runtime's state, without a step in the journal */
	bool is_again;	  /* its tool calls get stored responses */
};

/*
 * Copy @like with its code and file name; the caller gets a reference.
 *
 * Owns: takes over `inputs`, `stdin_fd` and `stdin_queue` of @like, even on failure.
 * Returns: NULL and ERR_NO_MEMORY.
 */
struct step_order *step_order_new(const struct step_order *like, struct err *err);
struct step_order *step_order_hold(struct step_order *order);
void step_order_let_go(struct step_order *order); /* NULL is allowed */

/* Make a sealed memory file with @text, at offset 0. Returns: a descriptor, or -1. */
int step_memory_file(const char *text, size_t bytes);
/* Set the step's stdin to @text and store it among the record's inputs. Errors: ERR_NO_MEMORY. */
int step_order_read_text(struct step_order *order, const char *text, size_t bytes, struct err *err);
/* Store the file name and the time limit among the record's inputs. Errors: ERR_NO_MEMORY. */
int step_order_note_inputs(struct step_order *order, struct err *err);
/* Store the stdin that was written while the step ran among the record's inputs. */
void step_order_note_written(struct step_order *order);

/*
 * Callbacks about a running step, passed on with the order and called directly by the module that
 * notices the event. Each may be NULL. The listener must live until the step is done.
 *
 * started     The code is about to run, in the session of that id.
 * rebuilding  Before that, the state is rebuilt: step @at (from 1) of @n is being run again.
 * output      Bytes of stream 0 (stdout) or 1 (stderr), as far as they are in the record's head.
 * display     {mime: value}, borrowed.
 * tool        {"tool", "call": number, "state": "started" or "finished", "ms"?, "error"?: name},
 *             borrowed.
 * waiting     The step reads its open stdin, which is empty. The wall clock is paused until more is
 *             written.
 */
struct step_listener {
	void *arg;
	void (*started)(void *arg, const char *session);
	void (*rebuilding)(void *arg, size_t at, size_t n);
	void (*output)(void *arg, int stream, const char *data, size_t bytes);
	void (*display)(void *arg, const json_t *display);
	void (*tool)(void *arg, const json_t *event);
	void (*waiting)(void *arg);
};
