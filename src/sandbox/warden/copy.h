/* Copy the contents of a directory that a hostile process may change meanwhile.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * Copy what is below the directory @from (O_PATH will do) into the empty directory @to: regular
 * files with their holes, directories, symbolic links and fifos, with modes and times. @to gets
 * the mode of @from, with access for its owner added. Links are not followed and mounts not
 * entered: a mount point is copied as an empty file or directory. Sockets and devices are left
 * out, hard links become files of their own, extended attributes are not copied; setuid and
 * setgid bits are dropped. Entries that disappear meanwhile are left out.
 * Limits:  WIRE_DIRS_MAX directories deep; the space of @to's file system.
 * Blocks:  while it reads and writes.
 * Errors:  ERR_NO_SPACE, ERR_LIMIT (depth), ERR_IO.
 */
int copy_tree(int from, int to, struct err *err);
