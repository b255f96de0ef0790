/* Describe the files and limits of a box for a model, before the box exists.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * Append the workspace and the volumes of a box, each with the first names in it: "data/
 * (read-only): orders.csv (3.1 KiB), 4 more; notes.txt (read-only)". @create: parameters of
 * session.create. The function reads directories of the host; if one cannot be read, only its own
 * name is appended.
 * Limits:  VOLUMES_SHOWN volumes and NAMES_SHOWN names of each, then the number of the others.
 */
void box_summary_files(struct buf *out, const json_t *create);

/* Append the network rules of boxes made with @create, "api.example, *.pypi.org"; nothing if they
 * have no network. */
void box_summary_net(struct buf *out, const json_t *create);
/* List the hosts that programs in the boxes can read from: ["*.example.org", "api.example"],
 * sorted, each once. Blocks: as package_expand() does. Owns: the caller decrefs the result.
 * Returns: NULL if the boxes have no network; ["any"] if the rules cannot be read. */
json_t *box_summary_hosts(const json_t *create);
/* Append the limits of a box: "1.0 GiB of memory, 30 s a step". */
void box_summary_limits(struct buf *out, const json_t *create);

/* Return whether the box can be expected to work: the interpreter is a Python, and the modules
 * of `preload` are installed. Only names of files are examined. So if the result is false, only
 * a real box can tell whether it works. For other runtimes than Python, return true. */
bool box_summary_is_complete(const json_t *create);

/* Append the packages that the interpreter has: "numpy 1.24.2, …". If they are unknown, append
 * nothing. */
void box_summary_packages(struct buf *out, const json_t *create);
