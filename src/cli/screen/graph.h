/* A drawing of a tree of steps as text, like `git log --graph --all --date-order`.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

struct graph_node {
	const char *id;
	const char *parent; /* id of the parent; NULL, or an unknown id: no parent */
	const char *text;   /* text behind the star, written unchanged */
};

enum { GRAPH_NODES_MAX = 1 << 20, GRAPH_COLUMNS_MAX = 1000 };

/*
 * Append the lines of the drawing. Children are above their parents, whatever the order of @nodes;
 * among nodes that may come next, the first in @nodes does.
 *
 * Limits:  GRAPH_NODES_MAX, GRAPH_COLUMNS_MAX side by side. Nodes in cycles are omitted.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int graph_write(struct buf *out, const struct graph_node *nodes, size_t n_nodes);
