/* Branches of sessions, made before they are asked for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/entry.h"

/* Make those that are wanted, and close those whose session has gone on. */
void standby_tend(struct session_table *table);
