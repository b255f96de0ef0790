/* The engine's side of the connection to a box's init. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

#include <stdbool.h>

#include <uv.h>

struct init_link;

/* Called with each event from init. @event is NULL when the connection, and with it the box, has
 * ended. A malformed event is treated in the same way. */
typedef void init_event_fn(struct init_link *link, const struct init_event *event);

/* The connection to a box's init. It is a member of the struct that owns the box. Requests that the
 * socket has no room for wait in the order in which they were made. */
struct init_link {
	int fd;
	uv_poll_t poll;
	init_event_fn *on_event;
	/* private */
	struct init_unsent *first, **last;
	bool is_over; /* the connection has ended */
};

/* A process to start in a box. init_spawn() copies the strings. */
struct spawn {
	/* chosen by the caller; later requests and events name the process by it */
	uint64_t id;
	const char *const *argv; /* NULL-terminated; argv[0] is a path inside the box */
	const char *const *envp; /* NULL-terminated NAME=VALUE */
	const struct limits *limits;
	uint64_t data_bytes; /* limit on the private memory of one process; 0: unlimited */
	/* 0: the process runs one step. 1: it is the driver of a session, which runs many steps,
	 * so the engine limits the CPU time of each step. 2: it is the driver of a template. */
	unsigned is_session;
	bool is_fixed; /* start without ASLR, so that addresses are the same in every run */
	/* The process is a program that a client starts: argv[0] is searched for in PATH, and
	 * there is no channel. INIT_STARTED follows when it runs. */
	bool is_program;
	bool is_terminal;	 /* program: stdin is a terminal, which will control the program */
	const char *directory;	 /* program: the working directory, or NULL for the workspace */
	bool may_make_directory; /* make it if it is missing */
	/* borrowed: stdin, stdout, stderr and, unless it is a program, the channel to the engine */
	int fds[WIRE_SPAWN_FDS];
};

/* Receive events from @fd, the socket to init, in @loop. Owns: @link takes @fd. Errors: ERR_BOX. */
int init_link_open(struct init_link *link, uv_loop_t *loop, int fd, struct err *err);

/* Ask init to start a process. Errors: ERR_LIMIT when arguments and variables exceed
 * WIRE_TEXT_BYTES; ERR_GONE. */
int init_spawn(struct init_link *link, const struct spawn *spawn, struct err *err);

/* Send @signal to the process @id, or to its process group if it is a program. Errors are ignored,
 * since a box that is gone needs no signal. */
void init_signal(struct init_link *link, uint64_t id, int signal);
/* Send @signal to the program @id, to all its live descendants and to its terminal session. */
void init_signal_all(struct init_link *link, uint64_t id, int signal);
/* Have init write a struct init_process for each process of the box, at most WIRE_LIST_MAX, to the
 * file @fd (borrowed). Answered by INIT_LISTED. Returns: 0, or negative errno. */
int init_list(struct init_link *link, uint64_t id, int fd);
void init_kill_all(struct init_link *link);

/* A change of one file in the box, which init makes as the box's user. See enum init_file_act. */
struct init_file {
	uint64_t id; /* chosen by the caller; INIT_FILE_DONE repeats it */
	enum init_file_act act;
	enum init_file_root root;
	const char *path; /* relative to `root`; missing parents are made */
	/* the target of a symbolic link; for INIT_FILE_MOVE and INIT_FILE_NAME, the path of the
	 * other file; otherwise "" */
	const char *target;
	uint32_t mode;
	const struct timespec *modified; /* borrowed: the modification time to set, or NULL */
	int fd;				 /* borrowed: the content of the file, or -1 */
};

/* Ask init to change a file. Answered by INIT_FILE_DONE. Returns: 0, or negative errno: -EAGAIN
 * when the socket is full, and then the request does not wait. */
int init_file(struct init_link *link, const struct init_file *file);

/* Kill all processes of the box except the driver @id. The guards @pids (at most WIRE_PIDS_MAX)
 * are stopped at once, and killed a moment later. @how says what happens if the box contains
 * processes that init did not spawn and that are no guards. Answered by INIT_CLEARED. */
void init_clear(struct init_link *link, uint64_t id, const int32_t *pids, size_t n_pids,
	enum init_clearing how);

/* Kill all processes of the box except drivers, the guards @pids and, unless @has_programs,
 * programs and their live descendants. */
void init_sweep(struct init_link *link, const int32_t *pids, size_t n_pids, bool has_programs);

/* Close the socket. Init then exits, which ends the box. But if the box may have branches, init
 * goes on running. @done is called from the loop. */
void init_link_close(struct init_link *link, uv_close_cb done);
