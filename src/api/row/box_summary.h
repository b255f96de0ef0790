/* The files and limits of a box in words, for a model, before the box exists.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * Append the volumes and the workspace of @create, parameters of session.create, with the first
 * names in them: "data/ (read-only): orders.csv (3.1 KiB), 4 more; notes.txt (read-only)". Reads
 * directories of the host; those that cannot be read are still named.
 * Limits:  some volumes, some
 * names of each, and the number of the others.
 */
void box_summary_files(struct buf *out, const json_t *create);

/* Append the limits: "1.0 GiB of memory, 30 s a step". */
void box_summary_limits(struct buf *out, const json_t *create);

/*
 * Is the interpreter a Python, and are the modules of `preload` installed, as far as file names
 * show? False: only a real box can tell.
 */
bool box_summary_is_complete(const json_t *create);

/* Append the packages of the interpreter: "numpy 1.24.2, …", or nothing. */
void box_summary_packages(struct buf *out, const json_t *create);
