/* Suggests a name similar to one that was not found.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct session;

/*
 * If a step failed because a file, an SQL table or a Python module was not found, add a suggestion
 * to its error: the member "near".
 * For a file, "near" is the path of a file with the same name elsewhere in the workspace or in a
 * volume. For a table NAME, it is the path of NAME.csv, NAME.tsv or any database there. A few
 * hundred files of each volume are searched.
 * For a module, "near" is the import name of an installed package with a similar name.
 */
void module_near_tell(struct session *s);
