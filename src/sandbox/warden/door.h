/*
 * Doors: what the warden opens in the namespaces of a box and hands to the engine.
 *
 *   WAITS   DOORS_AT_ONCE other doors are being opened.
 *   RUNS    A helper opens the door. It has until the deadline.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "sandbox/warden/box.h"

enum { DOORS_AT_ONCE = 16 }; /* helpers that run at the same time */
enum door_state { DOOR_FREE, DOOR_WAITS, DOOR_RUNS };

struct door {
	enum door_state state;
	uint64_t id; /* id of the request, which the reply repeats */
	const struct box *box;
	pid_t box_pid; /* of its init, by which another box in the same slot is told from it */
	enum warden_door what;
	const struct warden_net *net; /* of WARDEN_DOOR_NET; in `doors` */
	int64_t deadline_ms;
	pid_t pid; /* the helper */
	int sock;  /* the warden's end of the socket to the helper */
};

struct doors {
	struct door v[WIRE_DOORS_MAX];
	/* Of each door. Apart, since memory is used only for those that are written to. */
	struct warden_net nets[WIRE_DOORS_MAX];
	unsigned n_used, n_running; /* doors that are not free; doors in RUNS */
};

/* What a helper has opened: bit i of `mask` is set if the i-th thing asked for is among `fds`,
 * which are in the order asked for. */
struct door_opened {
	int fds[WARDEN_FDS_MAX];
	size_t n;
	uint32_t mask;
};

/* Keep a request for a door of @box. @net is copied if @what is WARDEN_DOOR_NET. Errors: ERR_BUSY
 * when there are WIRE_DOORS_MAX. */
int door_add(struct doors *all, uint64_t id, const struct box *box, enum warden_door what,
	const struct warden_net *net, struct err *err);

/* Return the door to begin next, which has waited longest; NULL if there is none, or if
 * DOORS_AT_ONCE doors are being opened. */
struct door *door_next(struct doors *all);

/* Start the helper: the door goes from WAITS to RUNS. Never waits for the box. Errors: ERR_GONE
 * when the box has ended, ERR_BOX. On failure the caller calls door_end(). */
int door_begin(struct doors *all, struct door *d, struct err *err);

/*
 * Read what the helper has sent, and check the descriptors.
 * Owns:    the caller owns the descriptors in @out, of which there are none after a failure.
 * Returns: 0, or negative errno.
 * Errors:  ERR_LIMIT (no terminal is left), ERR_GONE (the box has ended), ERR_BOX.
 */
int door_hear(const struct door *d, struct door_opened *out, struct err *err);

/* Check the deadline of a door in RUNS. Returns: 0, or negative errno when it has passed. */
int door_check_late(const struct door *d, struct err *err);

/* Kill the helper, if there is one, and free the door. */
void door_end(struct doors *all, struct door *d);
