/* Watches whether the process that started this one is still there. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <uv.h>

struct parent;

/* Call @gone from the loop, once, when the parent of this process has ended. @pid: getppid() as it
 * was when this process began. Owns: the caller ends the result with parent_leave(), and lets the
 * loop run afterwards. */
struct parent *parent_watch(uv_loop_t *loop, pid_t pid, void (*gone)(void *arg), void *arg);
/* @parent may be NULL. */
void parent_leave(struct parent *parent);
