/* One step: what is to be run, on its way down; and who hears of it, on the way up.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runtime/runtime.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stdin_queue;

#define STEP_HELP_ATOMIC "after an error, be as if the step had not been"

/*
 * The flags of a step: member of struct step_order; name, as a parameter of `step.run`; whether the
 * driver gets it too, as a member of STEP with that name; and help text. A new flag is a row here,
 * and the code that heeds it.
 */
#define STEP_FLAGS(FLAG)                                                                           \
	FLAG(is_atomic, "atomic", false, STEP_HELP_ATOMIC)                                         \
	FLAG(wants_variables, "variables", true,                                                   \
		"tell which variables are new or changed, of python and javascript")

/*
 * What to run. Whoever parses the request makes the order; queue, session and driver's frame get
 * this one, and each holds it for as long as it needs it.
 */
struct step_order {
	unsigned n_refs;
	const struct runtime *runtime; /* NULL: the session's */
	const char *code;	       /* UTF-8; owned, as is the file name */
	size_t code_bytes;
	const char *filename; /* or NULL */
	uint64_t timeout_ms;  /* 0: the session's limit */
#define STEP_FLAG_MEMBER(member, ...) bool member;
	STEP_FLAGS(STEP_FLAG_MEMBER)
#undef STEP_FLAG_MEMBER
	json_t *inputs;	    /* an object whose members the step's record keeps, or NULL; owned */
	int stdin_fd;	    /* what the step reads, until it is sent to the driver; or -1; owned */
	size_t stdin_bytes; /* of it, when it is a text */
	struct stdin_queue *stdin_queue; /* the writing end of `stdin_fd`, or NULL; owned */

	/* Of `retort run` only, and borrowed. */
	const char *const *argv; /* NULL-terminated */
	const char *preload;	 /* modules to import first, "a,b", or NULL */

	/* Of steps that are run again only. */
	uint64_t stop_ms; /* to be stopped after that, as by its caller; 0: no */
	bool is_rebuild;  /* it makes its runtime's state again: it is no step of the session */
	bool is_again;	  /* its calls are answered from what was kept */
};

/*
 * An order like @like, with copies of its code and file name, and one hold.
 *
 * Owns: takes over `inputs`, `stdin_fd` and `stdin_queue` of @like, also on failure.
 * Returns: NULL and ERR_NO_MEMORY.
 */
struct step_order *step_order_new(const struct step_order *like, struct err *err);
struct step_order *step_order_hold(struct step_order *order);
void step_order_let_go(struct step_order *order); /* NULL is nothing */

/* A file that holds @text, at its start, and which cannot grow. Returns: a descriptor, or -1. */
int step_memory_file(const char *text, size_t bytes);
/* Let the step read @text; its record keeps it. Errors: ERR_NO_MEMORY. */
int step_order_read_text(struct step_order *order, const char *text, size_t bytes, struct err *err);
/* Let its record keep what it depends on besides code and input. Errors: ERR_NO_MEMORY. */
int step_order_note_inputs(struct step_order *order, struct err *err);
/* It is over: what was written to its input while it ran is an input as well. */
void step_order_note_written(struct step_order *order);

/*
 * Who hears of a step while it runs: handed down with the order, and called by whoever notices
 * first, without a station between. Any may be NULL. The listener must live until the step is done.
 *
 * started    the code is about to run, in the session of that id.
 * rebuilding the state is made again before that: step @at, from 1, of @n is run for it.
 * output     bytes of stream 0 (stdout) or 1 (stderr) as they came, as far as the record's head
 *            keeps them.
 * display    {mime: value}, borrowed.
 * tool       {"tool", "call": number, "state": "started" or "finished", "ms"?, "error"?: name},
 *            borrowed.
 * waiting    the step reads its open input, and nothing is there: its clock stands still until
 *            something is written.
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
