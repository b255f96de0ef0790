/* A tree of steps as text, as `git log --graph --all --date-order` draws commits.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

struct graph_node {
	const char *id;
	const char *parent; /* or NULL; one that is not among the nodes counts as NULL */
	const char *text;   /* what stands behind the star; it is not looked at */
};

enum { GRAPH_NODES_MAX = 1 << 20, GRAPH_COLUMNS_MAX = 1000 };

/*
 * Append the lines, newest first: a node stands above its parent, whatever the order of @nodes;
 * among those that could stand next, the first of @nodes does.
 *
 * Limits:  GRAPH_NODES_MAX, GRAPH_COLUMNS_MAX side by side. Nodes that are their own ancestors are
 *          left out.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int graph_write(struct buf *out, const struct graph_node *nodes, size_t n_nodes);
