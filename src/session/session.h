/* A session: a box with live drivers, and the steps run in it. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/digest.h"
#include "base/err.h"
#include "session/box/stem.h"
#include "session/request.h"
#include "session/start/engine.h"
#include "session/start/order.h"
#include "session/step/record.h"
#include "session/step/step_order.h"

struct session;

/* Borrowed for the time of session_open() only, but for engine, order and preload. */
struct session_config {
	struct engine *engine;
	const struct order_checked *order; /* must outlive the session */
	const char *id;
	bool is_once;		    /* one step, a script, and its box ends with it */
	struct stem *stem;	    /* what it is a branch of, or NULL: a box of its own */
	bool is_template;	    /* import what is in `preload`, then be branched */
	const char *const *preload; /* NULL-terminated, or NULL */
	unsigned n_checkpoints;	    /* at most CHECKPOINTS_MAX */
	int stdin_fd;		    /* or -1: /dev/null */
};

/* Errors: ERR_NO_MEMORY, ERR_IO; everything else is told by `opened`. */
int session_open(struct session **out, const struct session_config *config,
	const struct session_events *events, struct err *err);

/* It was kept ready: now it is @id's, and @events hears of it. */
void session_take(struct session *s, const char *id, const struct session_events *events);

/* Only @events hear of it from now on. */
void session_silence(struct session *s, const struct session_events *events);

/*
 * Run one step, and hold its order until it is done; no other may be under way. @listener may be
 * NULL. What it needs first (a box, after the session was
 * branched; a driver) is made then.
 * Errors: ERR_LIMIT, ERR_GONE; everything else is told by the record.
 */
int session_run(struct session *s, struct step_order *order, const struct step_listener *listener,
	struct err *err);
bool session_is_idle(const struct session *s);

/* Stop the running step as a limit would: SIGINT, a second of grace, SIGKILL. Asked again, SIGKILL
 * at once. No step: nothing. */
void session_interrupt(struct session *s);

/* Is a driver of @runtime alive in it? When was the last step asked for (uv_hrtime())? */
bool session_is_live(const struct session *s, const struct runtime *runtime);
/* A driver that ended while its step was settled is missed now: its copy takes its place, if any.
 */
void session_notice(struct session *s);
uint64_t session_asked_ns(const struct session *s);

/* Completions of the end of @text: an array of strings, or NULL and @err. */
typedef void session_names_fn(void *arg, const json_t *names, const struct err *err);
void session_names(struct session *s, const struct runtime *runtime, const char *text,
	session_names_fn *done, void *arg);

/* Its box, borrowed, or NULL while there is none. */
struct box *session_box(const struct session *s);
/* The workspace's directory, or -1 while there is no box; valid until the loop runs again. */
int session_workspace_fd(const struct session *s);

/* End the session at whatever point it is; `closed` follows. */
void session_close(struct session *s);
