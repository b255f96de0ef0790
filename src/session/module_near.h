/* What was meant where a name was not found. SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct session;

/*
 * The step of @s has failed for a file, an SQL table or a Python module that is not there. When a
 * file of that name lies elsewhere in the workspace or in a volume, or a package of a like name is
 * installed, the record's error gets "near": the path, or the name to import. Of each volume a few
 * hundred files are looked at.
 */
void module_near_tell(struct session *s);
