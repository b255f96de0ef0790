/*
 * Decide which SQL statements a step may run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

/*
 * SQLite's authorizer callback. @arg is the struct db. It denies load_extension(), pragmas that are
 * not listed, attaching files outside of the workspace, and changes in the schema "files", and puts
 * the reason into db->reason. It sets db->wants_file for every action that does more than read.
 */
int access_check(void *arg, int action, const char *a, const char *b, const char *schema,
	const char *trigger);
