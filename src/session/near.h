/* What was meant where a name was not found. SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct session;

/* The step of @s has failed for a file or an SQL table that is not there: when a file of that name
 * lies elsewhere in the workspace or in a volume, the record's error gets "near", its path. Of each
 * volume a few hundred files are looked at. */
void near_tell(struct session *s);
