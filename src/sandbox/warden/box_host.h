/* What the warden prepares once, before it makes the first box. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "sandbox/warden/box.h"

/* Leave the session and the terminal of the engine, and ignore the signals that end a process group
 * there: the warden ends when its socket closes. */
void box_host_detach(void);

/*
 * Find the cgroups, open the executable of init, and enter the warden's own namespaces. Raise the
 * limit of open files, since each box takes several descriptors. The caller has set host->spare.
 * Returns: 0, or negative errno. @host is then incomplete, and no box can be made.
 * Errors:  ERR_BOX, with a hint where this host forbids it.
 */
int box_host_open(struct box_host *host, struct err *err);
