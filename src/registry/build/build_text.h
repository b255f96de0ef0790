/* The files through which a build is told what to install, and tells what it has installed.
 * drivers/packages/build.bash has their format. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

enum { BUILD_LOCK_BYTES = 16 << 20, BUILD_LINES_MAX = 20000 };

/*
 * Write what is to be installed to the directory @dir: @spec, @lock and @is_upgrade are as in
 * struct registry_build. Errors: ERR_USAGE: an unknown file in @lock; ERR_IO, ERR_NO_SPACE.
 */
int build_text_write(
	int dir, const json_t *spec, const json_t *lock, bool is_upgrade, struct err *err);

/*
 * Read what was installed from the directory @dir, to which a program has written: *@packages is an
 * array of {"kind", "name", "version", "hash"}, *@lock an object of file names and texts.
 * Limits: BUILD_LINES_MAX packages, BUILD_LOCK_BYTES for each file.
 * Owns: the caller decrefs both. Errors: ERR_BUILD: a file is not as it should be.
 */
int build_text_read(int dir, json_t **packages, json_t **lock, struct err *err);

/* Append the shell command that runs @words in the directory @dir. Returns: 0 or negative errno. */
int build_text_command(struct buf *out, const char *dir, const json_t *words);
