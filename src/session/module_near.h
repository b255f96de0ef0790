/* A suggestion for a name that was not found. SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct session;

/* The step of @s has failed because of a missing file, SQL table or Python module. If a file of
 * that name is elsewhere in the workspace or in a volume, or a package with a similar name is
 * installed, the record's error gets "near": the path, or the name to import. In each volume a few
 * hundred files are searched. */
void module_near_tell(struct session *s);
