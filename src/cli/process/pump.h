/* A program in a session, with its streams joined to ours. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/process/keys.h"
#include "cli/process/link.h"
#include "cli/process/modes.h"
#include "cli/process/rawmode.h"
#include "cli/screen/sink.h"

#include <stdbool.h>

enum { PUMP_STREAMS = 2, PUMP_PROCESS_BYTES = 64 };

struct pump_config {
	struct client *client; /* connected; borrowed */
	const char *session;
	/* Descriptor that is read for the program's input, or -1: only pump_put() is. */
	int in_fd;
	/* Descriptors that get the program's stdout and stderr. -1: the output stays in
	 * `out[i].waiting`, from where the owner takes it. */
	int out_fd[PUMP_STREAMS];
	/* in_fd is a terminal, and every key of it is for the program. */
	bool is_raw;
	/* Do not ask for the output, only for the program's end. */
	bool is_silent;
	bool is_tied;	  /* the parameters of process.start are from pump_put_tied() */
	bool is_own;	  /* the engine, and with it the program, ends with us */
	bool is_late;	  /* the program has been running: a full screen is to be drawn anew */
	struct keys keys; /* what detaches; looked for only if is_raw */
};

/* Why the pump has ended. */
enum pump_end {
	PUMP_ON,	  /* it has not */
	PUMP_EXITED,	  /* the program has ended, and all of its output was written */
	PUMP_DETACHED,	  /* the person has typed the keys */
	PUMP_FAILED,	  /* see `err`: the program did not start, or the engine is gone */
	PUMP_UNREAD,	  /* the reader of our stdout or stderr has closed it */
	PUMP_INTERRUPTED, /* by `last_signal`; the program may go on */
};

struct pump {
	struct pump_config config;
	struct link link;
	struct sink out[PUMP_STREAMS];
	struct rawmode raw;
	bool is_screen;	    /* out[0] is a terminal */
	struct modes modes; /* of it */
	struct buf typed;   /* input that the engine was not given yet */
	enum pump_end end;
	struct err err; /* of PUMP_FAILED */
	json_t *about;	/* what the engine said last about the process */
	char process[PUMP_PROCESS_BYTES];
	json_int_t start_id, attach_id;
	int signal_fd, timer_fd;
	sigset_t before;
	bool is_input_over; /* in_fd has ended, or pump_end_input() was called */
	bool is_closed;	    /* the program's input is closed, or the program takes no more */
	unsigned n_writing; /* calls of process.write that are not answered yet */
	bool is_resizing, has_new_size, is_exited, is_detaching, is_killed;
	bool is_engine_old; /* it does not know raw output */
	bool is_watching;   /* signals are blocked, and pump_close() unblocks them */
	unsigned n_interrupts;
	const char *early; /* the last signal for the program; what comes before its start waits */
	int last_signal;   /* number of the last signal that came for the program, or 0 */
};

/*
 * Join a program: @method is process.start or process.get, with its @params. From now until
 * pump_close(), signals that come to us are sent to the program, and SIGPIPE is ignored.
 * Owns: the reference to @params is taken.
 */
void pump_open(
	struct pump *p, const struct pump_config *config, const char *method, json_t *params);

/* Add what ties a program to our connection: whatever ends this process also ends the program. */
void pump_put_tied(json_t *params);

/* Handle the next events. Blocks: until something happens. Returns: whether p->end is PUMP_ON. */
bool pump_turn(struct pump *p);

/* Turn until the end. */
enum pump_end pump_run(struct pump *p);

/*
 * Give the program input, when in_fd is -1. Blocks: while earlier input waits.
 * Returns: false if the program takes no more input, or the pump has ended.
 */
bool pump_put(struct pump *p, const void *data, size_t bytes);
/* Close the program's input, after what it was given. */
void pump_end_input(struct pump *p);

/* Kill the program if it has not ended in two seconds. */
void pump_expect_end(struct pump *p);

/* End the program at once. pump_turn() then comes to the end. */
void pump_kill(struct pump *p);

/* Restore the terminal and the signals. If the program has not ended, it goes on. Of the members,
 * `end`, `err`, `process` and `last_signal` stay valid. */
void pump_close(struct pump *p);
