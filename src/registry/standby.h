/* Makes branches of sessions before a client asks for the branches.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/entry.h"

/* Close the pools of sessions that have run a step since their pool was made. Then begin to make
 * one branch that no client has asked for yet, if a session should have one. */
void standby_tend(struct session_table *table);
