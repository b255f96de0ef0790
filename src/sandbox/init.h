/* The engine's end of the conversation with a box's init. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

#include <stdbool.h>

#include <uv.h>

struct init_link;

/*
 * An event from init; @event NULL: the connection ended, and so did the box. A malformed event
 * counts as the end.
 */
typedef void init_event_fn(struct init_link *link, const struct init_event *event);

/* Embedded in the box's owner. */
struct init_link {
	int fd;
	uv_poll_t poll;
	init_event_fn *on_event;
};

/* What to start in a box. Texts are copied. */
struct spawn {
	uint64_t id;		 /* the caller's name for the process */
	const char *const *argv; /* NULL-terminated; argv[0] is a path inside the box */
	const char *const *envp; /* NULL-terminated NAME=VALUE */
	const struct limits *limits;
	uint64_t data_bytes; /* most private memory of one process; 0: no such limit */
	unsigned is_session; /* 1: several steps, the engine counts CPU time; 2: of a template */
	bool is_fixed;	     /* the same addresses in every run: no ASLR */
	int fds[WIRE_SPAWN_FDS]; /* borrowed */
};

/* Watch @fd (taken over) on @loop. Errors: ERR_BOX. */
int init_link_open(struct init_link *link, uv_loop_t *loop, int fd, struct err *err);

/* Errors: ERR_LIMIT when arguments and variables are over WIRE_TEXT_BYTES; ERR_GONE. */
int init_spawn(struct init_link *link, const struct spawn *spawn, struct err *err);

/* Best effort: a box that is gone needs no signal. */
void init_signal(struct init_link *link, uint64_t id, int signal);
void init_kill_all(struct init_link *link);

/* A change of the workspace, by the box's own user; see enum init_file_act. */
struct init_file {
	uint64_t id; /* the caller's name for it */
	enum init_file_act act;
	enum init_file_root root;
	const char *path;   /* relative to the workspace; parents are made */
	const char *target; /* the target of a link, the old name of a moved file, or "" */
	uint32_t mode;
	const struct timespec *modified; /* borrowed: the modification time to set, or NULL */
	int fd;				 /* borrowed: the content of the file, or -1 */
};

/* Answered by INIT_FILE_DONE. Returns: 0, or negative errno (-EAGAIN: too many at once). */
int init_file(struct init_link *link, const struct init_file *file);

/*
 * Kill all processes of the box except the process @id. Unless @is_forced, do so only if every
 * process is either spawned by init or one of the guards @pids (at most WIRE_PIDS_MAX). Answered
 * by INIT_CLEARED.
 */
void init_clear(
	struct init_link *link, uint64_t id, const int32_t *pids, size_t n_pids, bool is_forced);

/* Kill all processes of the box except those that init spawned and the guards @pids. */
void init_sweep(struct init_link *link, const int32_t *pids, size_t n_pids);

/* Close the socket, on which init leaves and the box ends; @done runs from the loop. */
void init_link_close(struct init_link *link, uv_close_cb done);
