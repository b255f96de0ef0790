/* Asks a person at the terminal whether tool calls are approved. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/service.h"
#include "base/readable.h"

#include <stdbool.h>
#include <termios.h>

struct approver {
	uv_loop_t *loop;
	/* Gets the person's decision about the question @approval. @is_for_session: it is for all
	 * of the session, which is possible for connections only. */
	void (*decide)(void *arg, const char *approval, bool is_allowed, bool is_for_session);
	void *arg;
	int fd; /* descriptor of /dev/tty, even if stdin is another file; -1: no terminal */
	struct termios before;
	/* Watches the terminal for the answer about waiting[0]; NULL: no question is shown. */
	struct ear *ear;
	json_t *waiting; /* events of approvals that are not decided yet */
	json_t *held;	 /* events that came while a question is shown */
	/* Set by the owner, may be NULL. @show: show an event that was held. @hold: a question is
	 * shown from now on, or not any more, so hold back what the program writes. */
	void (*show)(void *arg, const json_t *event);
	void (*hold)(void *arg, bool is_shown);
	void *screen;
};

#define APPROVER_NONE ((struct approver){.fd = -1})

/*
 * Open the terminal. Returns: whether that succeeded. Owns: the caller ends @a with
 * approver_close(), before it closes @service or @loop.
 * approver_open() decides about the questions of @service.
 */
bool approver_open(struct approver *a, struct service *service);
bool approver_open_on(struct approver *a, uv_loop_t *loop,
	void (*decide)(void *arg, const char *approval, bool is_allowed, bool is_for_session),
	void *arg);
void approver_close(struct approver *a);

/*
 * Handle an event of a step that was started with `approvals`. Returns: false if the event is to be
 * shown now. If not, it is about an approval, or a question is shown: nothing that the program
 * writes may cover the question or look like it. `show` gets the event then when it is answered.
 */
bool approver_takes(struct approver *a, const json_t *event);
