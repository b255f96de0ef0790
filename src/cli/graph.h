/* Draws a tree of steps as text, as `git log --graph --all --date-order` draws commits.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

struct graph_node {
	const char *id;
	const char *parent; /* or NULL; an unknown parent counts as NULL */
	const char *text;   /* the text behind the star, unchanged */
};

enum { GRAPH_NODES_MAX = 1 << 20, GRAPH_COLUMNS_MAX = 1000 };

/*
 * Append the lines, newest first: children are above their parents, whatever the order of @nodes;
 * among nodes that may be next, the first of @nodes is.
 *
 * Limits:  GRAPH_NODES_MAX, GRAPH_COLUMNS_MAX side by side. Cycles are left out.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int graph_write(struct buf *out, const struct graph_node *nodes, size_t n_nodes);
