/* Suggests a name for one that was not found. SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct session;

/* Add a suggestion, "near", to the error of a step that failed because of a missing file, SQL table
 * or Python module. "near" is the path of a file of that name elsewhere in the workspace or in a
 * volume (of each volume a few hundred files are searched), or the import name of an installed
 * package with a similar name. */
void module_near_tell(struct session *s);
