/* What a person gave to boxes, told to a model before there is one. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * Append the volumes and the workspace of @create, parameters of session.create, with the first
 * names in them: "data/ (read-only): orders.csv (3.1 KiB), 4 more; notes.txt (read-only)". Reads
 * directories of the host; what cannot be read is named all the same.
 * Limits:  some volumes, some names of each; the rest is counted.
 */
void box_summary_files(struct buf *out, const json_t *create);

/* Its limits: "1.0 GiB of memory, 30 s a step". */
void box_summary_limits(struct buf *out, const json_t *create);

/*
 * Is what its interpreter imports first there, as far as names of files tell, and is that one a
 * Python? False: a box has to be made to know.
 */
bool box_summary_is_complete(const json_t *create);

/* What its interpreter has: "numpy 1.24.2, …", or nothing. */
void box_summary_packages(struct buf *out, const json_t *create);
