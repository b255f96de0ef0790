/* What a box asks before it may branch: the filter's notifications. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* A thread that stands still in clone(2) until it is answered. */
struct listener_question {
	uint64_t id;
	pid_t tid; /* as the warden sees it */
};

/*
 * Take the next question; none is waited for, and after poll() said there is one, this does not
 * block: the kernel counts questions apart from askers, so that one who is gone leaves its count.
 * Returns: 1, 0 when the asker is gone, or negative errno: nobody can ask any more.
 * Source:  seccomp_unotify(2).
 */
int listener_take(int fd, struct listener_question *out);

/* Answer EPERM. That the asker is gone is no error. */
void listener_refuse(int fd, const struct listener_question *question);

/* Let the call go to the kernel. Returns: 0, or negative errno: it did not. */
int listener_allow(int fd, const struct listener_question *question);
