/*
 * A session from the inside: shared by the files that carry it, seen by no other.
 *
 *   session.c   opening and closing: the box
 *   driver.c    the driver: its descriptors, its frames, its end
 *   running.c   the step: the table's actions, clocks, the record
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "runtime/frame.h"
#include "sandbox/init.h"
#include "session/feed.h"
#include "session/session.h"
#include "session/step.h"
#include "session/workspace.h"

enum {
	DRIVER_ID = 1,
	READ_BYTES = 256 << 10,
};

enum session_state { SESSION_MAKING, SESSION_OPEN, SESSION_ENDED, SESSION_CLOSING };

struct stream {
	int fd;
	uv_poll_t poll;
	int index; /* 0 stdout, 1 stderr */
};

struct session {
	struct session_events events;
	uv_loop_t *loop;
	struct warden *warden;
	const struct runtime *runtime;
	enum session_state state;
	char id[RECORD_ID_BYTES];
	int n_handles; /* whose close is not done */

	/* the box */
	struct warden_call call;  /* create, destroy */
	struct warden_call watch; /* usage */
	bool is_watching, has_box;
	uint32_t box;
	uint32_t by[LIMIT_END_];
	struct limits limits;
	int workspace_fd;
	struct init_link init;
	struct workspace before;

	/* the driver */
	struct spawn spawn;
	struct runtime_start start;
	int stdin_fd;
	struct feed feed;
	bool has_feed;
	struct stream streams[2];
	int channel_fd;
	uv_poll_t channel;
	struct buf in, out;
	bool is_channel_open;
	char *chunk; /* READ_BYTES */

	/* the step */
	enum step_state step_state;
	struct step_request req;
	struct step_end end;
	char why[ERR_MSG_BYTES];
	struct record record;
	bool has_record;
	uint64_t display_bytes;
	uint64_t asked_ns, began_ns;
	uv_timer_t wall, meter;
};

/* running.c */
void step_event(struct session *s, enum step_event event);
void step_stop(struct session *s, enum step_cause cause, enum step_event event, const char *why);
void step_began(struct session *s);

/* driver.c: start it; read what is left of its output; look at the channel once more. */
int driver_start(struct session *s, struct err *err);
void driver_drain(struct session *s);
void driver_send(struct session *s);
void driver_on_init(struct init_link *link, const struct init_event *event);

/* session.c: one handle's close is done. */
void session_handle_gone(struct session *s);
