/* The files of a system as a tar archive. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * Write what is in the directory @path to @fd, as a tar archive: files, with all their names,
 * directories and symbolic links, sorted. Other file systems in it are left out, and sockets and
 * devices. Nobody who changes the directory meanwhile gets other files into the archive. @path: as
 * from realpath(3). Blocks.
 * Errors: ERR_ACCESS: a file cannot be read; ERR_BUSY: one has changed; ERR_LIMIT: a path is too
 * long or too deep; ERR_IO, ERR_NO_SPACE; those of libarchive_load().
 */
int image_pack(const char *path, int fd, struct err *err);
