/* The files of a system as a tar archive. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * Write what is in the directory @path to @fd, as a tar archive. Other file systems in it are left
 * out, and sockets. Blocks.
 * Errors: ERR_ACCESS: a file cannot be read; ERR_IO, ERR_NO_SPACE; those of libarchive_load().
 */
int image_pack(const char *path, int fd, struct err *err);
