/* Asks a person at the terminal to approve tool calls. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/service.h"
#include "base/readable.h"

#include <stdbool.h>
#include <termios.h>

struct approver {
	struct service *service;
	int fd; /* the terminal, even if stdin is something else; -1: no terminal */
	struct termios before;
	struct ear *ear; /* waits for the answer to the first of `waiting`; or NULL */
	json_t *waiting; /* events that ask for approval */
};

#define APPROVER_NONE ((struct approver){.fd = -1})

/* Owns: approver_close(), before the service is closed. Returns: whether there is a terminal. */
bool approver_open(struct approver *a, struct service *service);
void approver_close(struct approver *a);

/* Handle an event of a step that was started with `approvals`; other events are ignored. */
void approver_event(struct approver *a, const json_t *event);
