/* The seccomp notifications by which a process of a box asks whether it may branch.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* A notification: a thread is blocked in clone(2) until it is answered. */
struct listener_question {
	uint64_t id;
	pid_t tid; /* the thread's id in the warden's pid namespace */
};

/*
 * Take the next question. Call this when poll() has reported one. It does not block, even if the
 * thread that asked has died meanwhile, since the kernel counts questions and not threads.
 * Returns: 1; 0 when that thread has died; or negative errno when no process is left that could
 * ask.
 * Source:  seccomp_unotify(2).
 */
int listener_take(int fd, struct listener_question *out);

/* Answer @question: the clone() of the blocked thread fails with EPERM. It is not an error if
 * this thread has died. */
void listener_refuse(int fd, const struct listener_question *question);

/* Answer @question: the kernel carries out the clone() of the blocked thread. Returns: 0, or
 * negative errno if this thread no longer waits. */
int listener_allow(int fd, const struct listener_question *question);
