/* A person at the terminal, who is asked before tools are called. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/service.h"
#include "base/readable.h"

#include <stdbool.h>
#include <termios.h>

struct approver {
	struct service *service;
	int fd; /* the terminal, whatever standard input is; -1: there is none */
	struct termios before;
	struct ear *ear; /* the first of `waiting` is on the terminal; or NULL */
	json_t *waiting; /* events that ask */
};

#define APPROVER_NONE ((struct approver){.fd = -1})

/* Owns: approver_close(), before the service. Returns: whether there is somebody to ask. */
bool approver_open(struct approver *a, struct service *service);
void approver_close(struct approver *a);

/* An event of a step that was started with `approvals`; others are nothing. */
void approver_event(struct approver *a, const json_t *event);
