/* The seccomp notifications by which a box asks to branch. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* A thread that is blocked in clone(2) until its question is answered. */
struct listener_question {
	uint64_t id;
	pid_t tid; /* the tid as the warden sees it */
};

/*
 * Take the next question, after poll() reported one; does not block even if the asker has died
 * meanwhile, since the kernel counts questions, not askers. Returns: 1; 0 when the asker has
 * died; or negative errno when nobody can ask any more.
 * Source:  seccomp_unotify(2).
 */
int listener_take(int fd, struct listener_question *out);

/* Answer EPERM. A dead asker is not an error. */
void listener_refuse(int fd, const struct listener_question *question);

/* Let the call go to the kernel. Returns: 0, or negative errno: it did not. */
int listener_allow(int fd, const struct listener_question *question);
