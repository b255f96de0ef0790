/* Calls to an engine of which several are open at a time, for a loop of poll(2).
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/host/client.h"
#include "cli/process/event_line.h"

#include <jansson.h>

/* LINK_CALLS_MAX: how many calls can be open at a time. */
enum { LINK_CALLS_MAX = 16 };

/* Called once with the answer of a call. @result is borrowed; NULL: see @err. */
typedef void link_answer(void *arg, const json_t *result, const struct err *err);

/* Output of a program, borrowed for the call. */
struct link_output {
	bool is_stderr;
	uint64_t cut_bytes; /* lost before it, because the engine did not keep them */
	const char *data;
	size_t bytes;
};

typedef void link_event(void *arg, const struct link_output *output);
/* Called when a call is attached to @process. */
typedef void link_attached(void *arg, const char *process);

struct link_call {
	json_int_t id; /* 0: this place is free */
	link_answer *done;
};

/* A connection to an engine. Its owner polls client->fd: for POLLOUT while `out` has bytes, for
 * POLLIN when it wants answers. */
struct link {
	struct client *client; /* borrowed */
	struct buf out;	       /* requests that are not sent yet */
	size_t at;	       /* bytes of client->in that were handled */
	size_t n_seen;	       /* bytes behind them in which no line end was found */
	bool is_raw;	       /* what comes next is the output that `raw` describes */
	struct event_raw raw;
	struct link_call calls[LINK_CALLS_MAX];
	void *arg;		 /* of all callbacks */
	link_event *event;	 /* called with each piece of output */
	link_attached *attached; /* or NULL */
	struct buf data, rest;	 /* of the event that is being handled */
};

void link_init(struct link *link, struct client *client, void *arg, link_event *event);
/* Free the requests that are not sent yet. `done` is not called for open calls. */
void link_free(struct link *link);

/*
 * Queue a call. @done may be NULL.
 * Owns: the reference to @params is taken.
 * Returns: the id of the call.
 * Errors: ERR_LIMIT: too many calls are open; ERR_NO_MEMORY.
 */
json_int_t link_call(
	struct link *link, const char *method, json_t *params, link_answer *done, struct err *err);

/* Queue a request to cancel the call @id. It is answered as the operation says. */
void link_cancel(struct link *link, json_int_t id);

/* Send what can be sent now. Returns: 0, or negative errno. A connection that the engine has closed
 * is no error here: link_read() reports it, after what the engine has said before. */
int link_write(struct link *link, struct err *err);

/* Receive what has arrived. Returns: 0, or negative errno. Errors: ERR_UNREACHABLE: the engine has
 * closed the connection. */
int link_read(struct link *link, struct err *err);

/* Handle one message of those received. Returns: 1; 0 if none is complete; or negative errno.
 * Errors: ERR_PROTOCOL; that of an error that concerns the whole connection. */
int link_take(struct link *link, struct err *err);
