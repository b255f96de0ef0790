/* Which statements are allowed beyond tables. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SQLite's authorizer; @arg is the struct db. Denies, with the reason in db->reason:
 * load_extension, pragmas that are not listed, attaching files outside of the workspace, and
 * changes in the schema "files". Sets db->wants_file for every action that does more than read.
 */
int access_check(void *arg, int action, const char *a, const char *b, const char *schema,
	const char *trigger);
