/* What statements may do beyond tables. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SQLite's authorizer; @arg is the struct db. Refused, with a reason in db->reason: load_extension,
 * pragmas that are not in the list, attaching a file that is not below the workspace, writing to
 * the schema "files". Sets db->wants_file for all that does more than read.
 */
int access_check(void *arg, int action, const char *a, const char *b, const char *schema,
	const char *trigger);
