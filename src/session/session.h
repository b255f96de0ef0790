/* A session: one box with a live driver, and the steps run in it. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runtime/runtime.h"
#include "sandbox/warden.h"
#include "session/record.h"

#include <uv.h>

struct session;

/* Borrowed for the time of session_open() only, but for loop, warden and runtime. */
struct session_config {
	uv_loop_t *loop;
	struct warden *warden;
	const struct runtime *runtime;
	const struct runtime_start *start;
	const struct warden_bind *binds;
	size_t n_binds;
	const struct limits *limits;
	const char *id;
	int stdin_fd; /* or -1: /dev/null */
};

/* What to run. Borrowed until the step's `done`. */
struct step_request {
	const char *code; /* UTF-8 */
	size_t code_bytes;
	const char *filename;
	const char *const *argv; /* NULL-terminated */
	const char *preload;	 /* modules to import first, "a,b", or NULL */
	bool once;		 /* a script: the box ends with it */
};

/*
 * What is heard of a session, from its loop. Any may be NULL but `opened` and `done`.
 *
 * opened   the box is made and the driver started (@err NULL), or not.
 * begin    the code is about to run.
 * output   bytes as they came; @n_head of them are within the head that the record keeps.
 * display  {"data": {mime: value}, "metadata": {…}}, borrowed.
 * done     the record, borrowed; the session may be closed from here.
 * closed   everything the session had is gone; it has been freed.
 */
struct session_events {
	void *arg;
	void (*opened)(void *arg, const struct err *err);
	void (*begin)(void *arg);
	void (*output)(void *arg, int stream, const char *data, size_t bytes, size_t n_head);
	void (*display)(void *arg, const json_t *display);
	void (*done)(void *arg, const struct record *record);
	void (*closed)(void *arg);
};

/* Errors: ERR_NO_MEMORY, ERR_IO; everything else is told by `opened`. */
int session_open(struct session **out, const struct session_config *config,
	const struct session_events *events, struct err *err);

/* Run one step; the session must be open and idle. Errors: ERR_LIMIT, ERR_GONE. */
int session_run(struct session *s, const struct step_request *req, struct err *err);

/* Stop the running step as a limit would: SIGINT, a second of grace, SIGKILL. Asked again, SIGKILL
 * at once. No step: nothing. */
void session_interrupt(struct session *s);

/* The workspace's directory; valid until the session is closed. */
int session_workspace_fd(const struct session *s);

/* End the session at whatever point it is; `closed` follows. */
void session_close(struct session *s);
