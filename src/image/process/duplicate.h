/* Copies of files of a tree. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Make @to_name in the directory @to a copy of the file or symbolic link @name in @from: contents,
 * mode, and the time of a file. Returns: 0 or negative errno. */
int duplicate(int from, const char *name, int to, const char *to_name);
