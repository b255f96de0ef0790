/* Questions to a person at the terminal for the approval of tool calls. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/service.h"
#include "base/readable.h"

#include <stdbool.h>
#include <termios.h>

struct approver {
	struct service *service;
	int fd; /* the terminal, even if stdin is another file; -1: no terminal */
	struct termios before;
	struct ear *ear; /* waits for the decision about the first of `waiting`; or NULL */
	json_t *waiting; /* events of undecided approvals */
};

#define APPROVER_NONE ((struct approver){.fd = -1})

/* Open the terminal. Owns: approver_close(), before the service is closed. Returns: whether a
 * terminal exists. */
bool approver_open(struct approver *a, struct service *service);
void approver_close(struct approver *a);

/* Handle an event of a step that was started with `approvals`; other events are ignored. */
void approver_event(struct approver *a, const json_t *event);
