/* Copy a directory's contents, against somebody who changes it. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"

/*
 * Copy what is below the directory @from (O_PATH will do) into the empty directory @to: regular
 * files with their holes, directories, symbolic links and fifos, with modes and times. @to gets the
 * mode of @from, but is never closed to its owner. No link is
 * followed and no mount entered: where a file system is mounted, an empty file or directory
 * appears. Sockets and devices are left out, hard links become files of their own, extended
 * attributes are not copied; setuid and setgid bits are dropped. What goes away meanwhile is left
 * out.
 * Limits:  WIRE_DIRS_MAX directories deep; what @to's file system takes.
 * Blocks:  as long as the reading and writing takes.
 * Errors:  ERR_NO_SPACE, ERR_LIMIT (depth), ERR_IO.
 */
int copy_tree(int from, int to, struct err *err);
