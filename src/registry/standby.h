/* Branches made before they are asked for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/entry.h"

/*
 * A session that was branched is likely to be branched again where it stands. Of those that were
 * last, and have run nothing since, one branch each is made in idle time and kept: as many as there
 * are of each template (registry_config).
 */

/* Make those that are wanted, and close those whose session has gone on. */
void standby_tend(struct roll *roll);
/* The one of @e, when it is a branch of @stem: to be given its events by session_take(). Or NULL.
 */
struct session *standby_take(struct entry *e, const struct stem *stem);
/* @e ends, and it with it. */
void standby_drop(struct entry *e);
