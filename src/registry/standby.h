/* Branches of sessions that are made before they are asked for. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "registry/entry.h"

/* Close pools whose session has run a step, and make the next branch ahead. */
void standby_tend(struct session_table *table);
