/* What the files of the kernel share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/json.h"
#include "serve/jupyter/cell_log.h"
#include "serve/jupyter/kernel.h"
#include "serve/jupyter/output.h"

enum {
	KERNEL_NAME_BYTES = 128,
	KERNEL_DATE_BYTES = 40,
	KERNEL_CELL_BYTES = 32,
	KERNEL_TEXT_BYTES = 1 << 20
};

/* A request of a client, from its arrival to its end. */
struct kernel_request {
	struct kernel_request *next;
	enum jupyter_channel channel;
	struct jupyter_message m;
	size_t bytes;
	bool is_aborted; /* a cell before it has failed, so it does not run */
};

/* The cell that runs. */
struct kernel_cell {
	struct cell_output output;
	char name[KERNEL_CELL_BYTES];	  /* "cell 3", for `output` */
	char filename[KERNEL_CELL_BYTES]; /* "<cell 3>" */
	char started[KERNEL_DATE_BYTES];
	char run[KERNEL_NAME_BYTES]; /* the run that waits for input, or "" */
	bool is_silent, is_stored, may_ask, stops_others;
	bool has_failed, is_evaluating;
	json_t *reply;	     /* content of execute_reply so far */
	json_t *expressions; /* expressions that are evaluated after the cell */
	const char *at;	     /* name of the expression that is evaluated; in `expressions` */
};

struct kernel {
	struct kernel_config config;
	char id[KERNEL_NAME_BYTES]; /* in the headers of messages: the session of the sender */
	uint64_t n_sent;
	char session[KERNEL_NAME_BYTES]; /* id of the session; "": not made yet, or gone */
	char runtime[KERNEL_NAME_BYTES];
	struct kernel_request *first, **last; /* requests of JUPYTER_SHELL that wait */
	size_t n_waiting, waiting_bytes;
	struct kernel_request *current; /* the request of JUPYTER_SHELL under way */
	/* The operation under way, and who gets its answer. */
	struct operation_call *call;
	void (*answered)(struct kernel *k, const json_t *result, const struct err *err);
	bool is_calling;
	struct kernel_cell cell;
	int64_t count; /* number of the last cell */
	struct cell_log log;
	/* For each cell that %undo can undo, oldest first: the id of the step before it, or null.
	 */
	json_t *parents;
	uint64_t n_undo; /* number of cells that the current %undo undoes */
	uv_timer_t hold; /* runs while the output of the cell holds text back */
	uv_timer_t turn; /* begins the next request */
	unsigned n_held, n_closed;
	bool is_lost; /* the session has ended by itself */
	bool is_over, has_told_comm;
};

/* ---- kernel.c ---- */

/* Send a message about @r. Owns: takes @content. kernel_publish() sends on JUPYTER_IOPUB,
 * kernel_reply() on the channel of the request. @metadata: may be NULL; taken. */
void kernel_publish(
	struct kernel *k, const struct kernel_request *r, const char *type, json_t *content);
void kernel_reply(struct kernel *k, const struct kernel_request *r, const char *type,
	json_t *content, json_t *metadata);
/* Send input_request to the client of the current request. */
void kernel_ask(struct kernel *k, const char *prompt, size_t bytes);
/* Publish text of the kernel itself as the output of @r. @stream: "stdout" or "stderr". */
void kernel_print(struct kernel *k, const struct kernel_request *r, const char *stream,
	const char *text, size_t bytes);
/* Publish an output of output.h. */
void kernel_show(struct kernel *k, const struct kernel_request *r, json_t *output);

/* End the current request, and begin the next one. */
void kernel_end(struct kernel *k);

/* Start an operation. @answered is called once, and must end the current request or start another
 * operation. Owns: takes @params. */
void kernel_operate(struct kernel *k, const char *operation, json_t *params,
	void (*answered)(struct kernel *k, const json_t *result, const struct err *err));
/* The same for step.run, whose events go to cell_event(). */
void kernel_run(struct kernel *k, json_t *params,
	void (*answered)(struct kernel *k, const json_t *result, const struct err *err));

/* Abort the cells that wait: they are answered without being run. */
void kernel_abort_cells(struct kernel *k);
/* Make sure that text that is held back is published soon. */
void kernel_hold(struct kernel *k);

/* Write the time, as ISO 8601. */
void kernel_date(char out[KERNEL_DATE_BYTES]);

/* Use the session of the result of an operation. @session: NULL: there is none any more. */
void kernel_take_session(struct kernel *k, const json_t *session);

/* Start session.create. */
void kernel_create(struct kernel *k,
	void (*answered)(struct kernel *k, const json_t *result, const struct err *err));

/* ---- execute.c ---- */

/* Handlers of requests get the request, and end it by kernel_end() if it is the current one. */
void cell_start(struct kernel *k, struct kernel_request *r);
void cell_abort(struct kernel *k, struct kernel_request *r);
/* Run the code of the cell, after its request was read. */
void cell_go_on(struct kernel *k);
void cell_event(struct kernel *k, const json_t *event);
/* Take the answer to input_request. */
void cell_input(struct kernel *k, const struct jupyter_message *m);
/* Publish what the cell holds back. */
void cell_release(struct kernel *k, bool is_all);
/* End the cell with an error of retort, or without one. */
void cell_fail(struct kernel *k, const struct err *err);
void cell_succeed(struct kernel *k);

/* ---- own_magic.c ---- */

/* Return whether the code is a command of retort, such as %undo. own_magic_start() executes it, and
 * ends the cell. */
bool own_magic_is(const char *code, const char *runtime);
void own_magic_start(struct kernel *k, const char *code);

/* ---- look_up.c: questions about code ---- */

void look_up_complete(struct kernel *k, struct kernel_request *r);
void look_up_inspect(struct kernel *k, struct kernel_request *r);
void look_up_is_complete(struct kernel *k, struct kernel_request *r);

/* ---- info.c ---- */

void info_kernel(struct kernel *k, struct kernel_request *r);
void info_comms(struct kernel *k, struct kernel_request *r);
void info_comm_open(struct kernel *k, struct kernel_request *r);
void info_history(struct kernel *k, struct kernel_request *r);
