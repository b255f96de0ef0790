/* Copying a directory that a hostile process may change meanwhile.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * Copy what is below the directory @from into the empty directory @to. @from may be opened with
 * O_PATH. Copied are regular files (with their holes), directories, symbolic links and fifos, all
 * with modes and times. @to gets the mode of @from, with access for its owner added. Links are not
 * followed. A mount point is copied as an empty file or directory. Sockets and devices are left
 * out; hard links become separate files; extended attributes, setuid and setgid bits are dropped.
 * Entries that disappear meanwhile are left out, and of a name that is listed twice the first file
 * is copied.
 * With @links, @from has the changes of an overlay, and the copy is to be the same: also with the
 * marks of deleted files, hard links, set-id bits, and attributes "user.*" of up to 4 KiB, which
 * say what a directory hides. @links is an empty directory on @to's file system, in which
 * copy_tree() leaves a name of each file with several names: the caller removes it. Otherwise
 * @links is -1. Limits:  WIRE_DIRS_MAX directories deep; the space of @to's file system. Blocks:
 * while it reads and writes. Errors:  ERR_NO_SPACE, ERR_LIMIT (depth), ERR_IO.
 */
int copy_tree(int from, int to, int links, struct err *err);
