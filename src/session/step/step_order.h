/* The order to run one step, and the listener for the step's events.
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
 * Flags of a step, one per row. A new flag needs a row here and the code that uses it. The columns
 * are:
 *
 * 1. the member of struct step_order
 * 2. the name of the parameter of `step.run`
 * 3. whether the driver gets the flag too, as a member of STEP with that name
 * 4. the help text
 */
#define STEP_FLAGS(FLAG)                                                                            \
	FLAG(is_atomic, "atomic", false, STEP_HELP_ATOMIC)                                          \
	FLAG(wants_variables, "variables", true,                                                    \
		"list new and changed variables, in python and javascript")                         \
	FLAG(is_script, "script", false,                                                            \
		"run the code as a whole program, as the session's last step: threads, timers and " \
		"exit functions come to their end, and afterwards the session only has files")

/* A step to run. The parser of a request makes it. The registry's queue, the session and the
 * driver's frame share it by reference count. */
struct step_order {
	unsigned n_refs;
	/* Runtime of the step. NULL means the session's own runtime. */
	const struct runtime *runtime;
	const char *code; /* source text as UTF-8, owned */
	size_t code_bytes;
	/* Name of the file that the code is from, owned. NULL if it is from no file. */
	const char *filename;
	/* Limit of wall time. 0 means the session's limit. */
	uint64_t timeout_ms;
#define STEP_FLAG_MEMBER(member, ...) bool member;
	STEP_FLAGS(STEP_FLAG_MEMBER)
#undef STEP_FLAG_MEMBER
	json_t *args; /* arguments of a script, owned: an array of texts, or NULL */
	/* Environment variables and scope of the step, owned: see step_setting.h; or NULL. */
	json_t *setting;
	/* Further inputs for the step's record, owned: an object or NULL. */
	json_t *inputs;
	/* The step's stdin, owned, until it is sent to the driver. -1 if there is none. */
	int stdin_fd;
	size_t stdin_bytes; /* size of the stdin if it was given as text */
	/* Queue that writes to the pipe of `stdin_fd`, owned; or NULL. */
	struct stdin_queue *stdin_queue;

	/* Members for `retort run` only, borrowed. */
	const char *const *argv; /* NULL-terminated, or NULL */
	const char *preload;	 /* modules to import first, such as "a,b", or NULL */

	/* The members from here on are only for steps that run again. @stop_ms: stop the step
	 * after this time, as if a caller interrupted it; 0: do not stop it. */
	uint64_t stop_ms;
	bool is_rebuild; /* the step rebuilds a runtime's state and is not added to the journal */
	bool is_again;	 /* tool calls of the step get stored responses */
};

/*
 * Copy @like with its code and file name. The caller gets a reference.
 *
 * Owns: takes over `args`, `setting`, `inputs`, `stdin_fd` and `stdin_queue` of @like, even on
 * failure. Returns: NULL, with ERR_NO_MEMORY, on failure.
 */
struct step_order *step_order_new(const struct step_order *like, struct err *err);
struct step_order *step_order_hold(struct step_order *order);
void step_order_let_go(struct step_order *order); /* NULL is allowed */

/* Make a memory file that contains @text and cannot be changed. Returns: a descriptor at offset
 * 0, or -1. */
int step_memory_file(const char *text, size_t bytes);
/* Make @text the stdin of the step, and store it among the record's inputs. Errors:
 * ERR_NO_MEMORY. */
int step_order_read_text(struct step_order *order, const char *text, size_t bytes, struct err *err);
/* Store the file name, the time limit and the setting among the record's inputs. Errors:
 * ERR_NO_MEMORY. */
int step_order_note_inputs(struct step_order *order, struct err *err);
/* Store the stdin of a step whose client could write to stdin while the step ran. The text that
 * the client wrote becomes the input "stdin" of the step's record. */
void step_order_note_written(struct step_order *order);

/*
 * Callbacks about a running step. The listener is passed on together with the order, and the module
 * that notices an event calls it directly. Each callback may be NULL. The listener must live until
 * the step is done.
 *
 * started     The code is about to run, in the session with the id @session.
 * rebuilding  Before the step, the state is being rebuilt: step @at (from 1) of @n runs again.
 * output      Bytes of stream 0 (stdout) or 1 (stderr). Only the first half of the output limit is
 *             reported.
 * display     {mime: value}, borrowed. @about: {"display_id", "update"}: a name of the display, and
 *             whether it takes the place of the one that had the name; or NULL. If @display is
 *             NULL, the page should be cleared; @about is {"clear", "wait"}: whether only when
 *             the next display comes.
 * tool        {"tool", "call": number, "state": "started" or "finished", "ms"?, "error"?: name},
 *             borrowed.
 * network     A program asks for something new of the network, see network_row_json(), borrowed.
 * waiting     The step reads its open stdin, which has no text. The wall clock is paused until text
 *             is written.
 */
struct step_listener {
	void *arg;
	void (*started)(void *arg, const char *session);
	void (*rebuilding)(void *arg, size_t at, size_t n);
	void (*output)(void *arg, int stream, const char *data, size_t bytes);
	void (*display)(void *arg, const json_t *display, const json_t *about);
	void (*tool)(void *arg, const json_t *event);
	void (*network)(void *arg, const json_t *row);
	void (*waiting)(void *arg);
};
