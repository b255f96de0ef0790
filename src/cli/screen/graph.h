/* Draws a tree of steps as text, as `git log --graph --all --date-order` does.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

struct graph_node {
	const char *id;
	/* Id of the parent; a node without a parent has NULL or an unknown id. */
	const char *parent;
	const char *text; /* text to show after the "*" of the node, unchanged */
};

enum { GRAPH_NODES_MAX = 1 << 20, GRAPH_COLUMNS_MAX = 1000 };

/*
 * Append the drawing to @out. A node is always below its children, whatever the order of @nodes. If
 * several nodes could come next, the one that is first in @nodes does.
 *
 * Limits: GRAPH_NODES_MAX; GRAPH_COLUMNS_MAX columns side by side. Nodes in cycles are left out.
 * Returns: 0, -E2BIG or -ENOMEM.
 */
int graph_write(struct buf *out, const struct graph_node *nodes, size_t n_nodes);
