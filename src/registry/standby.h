/* Makes branches of sessions before a client asks for the branches.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/entry.h"

/* Close the pools of sessions that have run a step since their pool was made. Then begin to make a
 * branch for the session that was branched last, among those that should have a pool and have none
 * yet. */
void standby_tend(struct session_table *table);
