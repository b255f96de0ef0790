/* What goes over a driver's channel and its pipes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/box/driver.h"

/* Queue a frame. Errors: ERR_LIMIT, ERR_NO_MEMORY. */
int driver_send(struct driver *d, enum frame_type type, const json_t *payload, struct err *err);

/* The same with the payload as text. */
int driver_send_text(
	struct driver *d, enum frame_type type, const char *text, size_t bytes, struct err *err);
/* How many bytes may still be queued. */
size_t driver_room(const struct driver *d);

/* The same with a descriptor (borrowed; -1: none), for a driver that is idle. */
int driver_send_fd(
	struct driver *d, enum frame_type type, const json_t *payload, int fd, struct err *err);

/* Send one frame at once, with descriptors (borrowed); for a driver that is idle. Errors: ERR_GONE.
 */
int driver_send_fds(struct driver *d, enum frame_type type, const char *payload, const int *fds,
	size_t n_fds, struct err *err);

/* Tell it, once, to get ready for branches. */
void driver_be_stem(struct driver *d);

/* Read what its pipes and its channel hold now. */
void driver_drain(struct driver *d);
void driver_look(struct driver *d);

/* From now on its channel is @fd (taken over): a guard's. Errors: ERR_IO. */
int driver_resume(struct driver *d, int fd, struct err *err);
