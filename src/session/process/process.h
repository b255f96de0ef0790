/* A program that a client started in a box: its streams, its input, its end.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/box/box.h"
#include "session/box/deadline.h"
#include "session/process/input.h"
#include "session/process/stream.h"

#include <jansson.h>

enum { PROCESS_ID_BYTES = 16, PROCESS_NAME_BYTES = 64, PROCESS_SIDE_MAX = 4096 };
/* Bounds of what is kept of one stream of a process. */
enum { PROCESS_OUTPUT_BYTES = 256 << 10, PROCESS_OUTPUT_MAX_BYTES = 4 << 20 };

struct process;

/* What to start, borrowed for the call. */
struct process_order {
	const char *const *argv; /* NULL-terminated, not empty */
	const char *const *envp; /* NULL-terminated */
	const char *directory;	 /* working directory in the box, or NULL for the workspace */
	bool may_make_directory; /* make it if it is missing */
	const char *name;	 /* a name that the client chose, or NULL */
	bool is_terminal;	 /* stdin, stdout and stderr are a terminal of @rows and @columns */
	unsigned rows, columns;
	bool has_input;	       /* stdin is a pipe to which clients write; else /dev/null */
	bool is_held;	       /* the program waits while its output is not read (stream.h) */
	bool is_use;	       /* while it runs, its session counts as used */
	bool is_transient;     /* it is forgotten when it is over and nobody follows it */
	uint64_t timeout_ms;   /* 0: no limit */
	uint64_t output_bytes; /* kept of each stream; 0: PROCESS_OUTPUT_BYTES */
};

enum process_state { PROCESS_STARTING, PROCESS_RUNNING, PROCESS_OVER };

/* Why a process is over. PROCESS_EXITED: the program ended, and `status` says how. The other causes
 * end it without a status. */
enum process_cause {
	PROCESS_EXITED,
	PROCESS_FAILED,	  /* it could not be started */
	PROCESS_BOX_GONE, /* its box ended */
	PROCESS_BOX_LEFT, /* the session returned to a state that only another box has */
	PROCESS_CLOSED,	  /* its session was closed */
};

/* Somebody who follows a process. It is a member of the caller's struct. */
struct process_reader {
	struct process_reader *next;
	bool is_told;
	/* Called after there was more output, and when the process is over. The callee may remove
	 * this reader and others. */
	void (*changed)(struct process_reader *reader);
};

/* The owner of a process, who is told once that it runs or why it does not, and once that it is
 * over. If it does not run, `over` is not called. */
struct process_events {
	void (*started)(void *arg, struct process *p, const struct err *err);
	void (*over)(void *arg, struct process *p);
	void *arg;
};

struct process {
	struct process *next;
	struct box_program program;
	struct box *box; /* counted reference */
	struct process_events events;
	char id[PROCESS_ID_BYTES], name[PROCESS_NAME_BYTES];
	json_t *argv;
	char *directory; /* as the client gave it, or that of the image; or NULL */
	bool may_make_directory;
	bool is_terminal, is_use, is_transient;
	unsigned rows, columns;
	struct stream out[2]; /* stdout and stderr; a terminal has only the first */
	unsigned n_out;
	struct input input;
	enum process_state state;
	enum process_cause cause;
	int status;	    /* as from wait(2) */
	int32_t pid;	    /* in the box */
	int64_t started_ms; /* since 1970 */
	uint64_t began_ns, over_ns;
	uint64_t
		n_ooms; /* processes that the box had lost for lack of memory when this one began */
	uint64_t output_bytes; /* limit of what is kept of all its streams */
	int64_t cpu_ms;	       /* CPU time of a process that is over; -1: unknown */
	bool is_oom, is_timed_out, is_killed;
	struct box_door *door; /* request for a terminal, or NULL */
	bool is_let_go;
	bool is_leaving;     /* it is being let go: its readers must remove themselves */
	unsigned n_attached; /* readers that get the output as it comes */
	/* the pieces of the order that the start of a terminal needs later */
	struct process_later *later;
	struct process_asking *asking; /* for the owner: who asked for the start */
	uint64_t timeout_ms;	       /* 0: no limit */
	struct deadline limit;
	unsigned n_handles;
	struct process_reader *readers;
};

/* Make a process that is not started yet. Owns: the caller calls process_let_go(). */
struct process *process_new(
	struct box *box, const struct process_order *order, const struct process_events *events);

/*
 * Start the program. `started` is called from the loop or during this call, and may let go of the
 * process.
 * Errors, passed to `started`: ERR_LIMIT, ERR_IO, ERR_NOT_FOUND (working directory), ERR_RUNTIME
 * (the program: err->sys is ENOENT if it was not found), ERR_BOX, ERR_GONE.
 */
void process_start(struct process *p, const struct process_order *order);

/* Forget the process. If it still runs, it is killed. Its readers are told, with `is_leaving` set,
 * and must remove themselves then. */
void process_let_go(struct process *p);

/* End the process and its descendants at once, because of @cause. */
void process_end(struct process *p, enum process_cause cause);

/* Kill the program and its descendants. Its end is reported as any other. */
void process_kill(struct process *p);

/* Return whether the process has ended or could not be started. */
bool process_is_over(const struct process *p);
/* Return whether stream @i has no more bytes at @offset, and will not get any. */
bool process_is_read(const struct process *p, unsigned i, uint64_t offset);

/* Add a reader, which is told from now on; remove one. */
void process_add_reader(struct process *p, struct process_reader *reader);
void process_remove_reader(struct process *p, struct process_reader *reader);

/* Set the size of the terminal. Errors: ERR_USAGE. */
int process_resize(struct process *p, unsigned rows, unsigned columns, struct err *err);
/* Send a signal to its process group; SIGINT, SIGQUIT and SIGTSTP at a terminal: to the processes
 * in the foreground. Errors: ERR_GONE. */
int process_signal(struct process *p, int signal, struct err *err);
/* As input_put(). Errors also: ERR_GONE. */
int process_write(struct process *p, struct input_piece *piece, struct err *err);

/* Describe the process. Returns: a new object. */
json_t *process_json(const struct process *p);
