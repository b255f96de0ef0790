/* The parent of a program that a client starts in the box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/*
 * Become the minder of the program @id, whose pid is @program: wait for it and for everything that
 * it leaves, and send INIT_EXITED when the program itself has ended. Does not return: the process
 * ends when it has no more children. Its exit status is MINDER_TOLD if it has sent the event.
 */
enum { MINDER_TOLD = 0, MINDER_FAILED = 1 };
void minder_run(uint64_t id, pid_t program) attr_noreturn;

/* Have orphans of this process's descendants become its children. */
int minder_adopt(void);

/* Return the CPU time in @used, in ms, as struct init_event has it. */
uint32_t minder_cpu_ms(const struct rusage *used);
