/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen/graph.h"

#include "base/alloc.h"
#include "base/json.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

/* A line of the drawing. Each column of the graph is two characters wide. */
struct line {
	char text[2 * GRAPH_COLUMNS_MAX + 2];
	int bytes;
};

struct graph {
	struct buf *out;
	const struct graph_node *nodes;
	int n_nodes;
	int *parents;	 /* for each node the index of its parent, or NONE */
	int *n_children; /* for each node the number of its children that were not sorted yet */
	int *order;
	int columns[GRAPH_COLUMNS_MAX]; /* for each column the node that comes next in it */
	int n_columns;
	/* The last line of the drawing so far, if it shows how columns join, end or move. If the
	 * last line shows a node, `last` is empty. */
	struct line last;
};

/* ---- sorting the nodes ---- */

static int link_parents(struct graph *g)
{
	cleanup_json json_t *places = json_object();
	int r = places ? 0 : -ENOMEM;
	for (int i = g->n_nodes - 1; r == 0 && i >= 0; i--)
		r = json_object_set_new_nocheck(places, g->nodes[i].id, json_integer(i)) < 0
			? -ENOMEM
			: 0;
	for (int i = 0; r == 0 && i < g->n_nodes; i++) {
		const json_t *place =
			g->nodes[i].parent ? json_object_get(places, g->nodes[i].parent) : NULL;
		g->parents[i] = place ? (int)json_integer_value(place) : NONE;
		if (g->parents[i] != NONE)
			g->n_children[g->parents[i]]++;
	}
	return r;
}

/* Add a node to the heap. The heap contains the nodes whose children are all in `order` already.
 * heap_pop() takes the node that comes first in `nodes`. */
static void heap_push(int *heap, int *n, int value)
{
	int i = (*n)++;
	for (; i > 0 && heap[(i - 1) / 2] > value; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = value;
}

static int heap_pop(int *heap, int *n)
{
	int top = heap[0], last = heap[--*n], i = 0;
	for (int child; (child = 2 * i + 1) < *n; i = child) {
		if (child + 1 < *n && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= last)
			break;
		heap[i] = heap[child];
	}
	heap[i] = last;
	return top;
}

/* Sort the nodes into `order`, children before their parents. Returns: the number of sorted
 * nodes (nodes in cycles are left out), or -ENOMEM. */
static int sort(struct graph *g)
{
	int *heap = calloc((size_t)g->n_nodes + 1, sizeof *heap);
	int n_ready = 0, n = 0;
	if (!heap)
		return -ENOMEM;
	for (int i = 0; i < g->n_nodes; i++)
		if (g->n_children[i] == 0)
			heap_push(heap, &n_ready, i);
	while (n_ready > 0) {
		int i = heap_pop(heap, &n_ready), parent = g->parents[i];
		g->order[n++] = i;
		if (parent != NONE && --g->n_children[parent] == 0)
			heap_push(heap, &n_ready, parent);
	}
	free(heap);
	return n;
}

/* ---- drawing the lines ---- */

static void mark(struct line *line, int at, char c)
{
	while (line->bytes <= at)
		line->text[line->bytes++] = ' ';
	line->text[at] = c;
}

static int put(struct graph *g, const struct line *line)
{
	g->last = *line;
	int r = buf_append(g->out, line->text, (size_t)line->bytes);
	return r < 0 ? r : buf_append(g->out, "\n", 1);
}

static void remove_column(struct graph *g, int column)
{
	g->n_columns--;
	memmove(&g->columns[column], &g->columns[column + 1],
		(size_t)(g->n_columns - column) * sizeof g->columns[0]);
}

/* Draw column @from joining column @to, which is to the left of @from. Column @from ends. All
 * columns to the right of @from move one place to the left. This takes one line if the two columns
 * are neighbours, and otherwise two. */
static int draw_join(struct graph *g, int from, int to)
{
	struct line line = {.bytes = 0};
	for (int i = 0; i < from; i++)
		mark(&line, 2 * i, '|');
	for (int i = to + 1; i < from - 1; i++)
		mark(&line, 2 * i + 1, '_');
	for (int i = from; i < g->n_columns; i++)
		mark(&line, 2 * i - 1, '/');
	remove_column(g, from);
	int r = put(g, &line);
	if (r < 0 || from - to == 1)
		return r;
	line.bytes = 0;
	for (int i = 0; i < g->n_columns; i++)
		mark(&line, 2 * i, '|');
	mark(&line, 2 * to + 1, '/');
	return put(g, &line);
}

/* End @column below its last node, a root (a node without a parent). All columns to the right of
 * @column move one place to the left, and a line is drawn that shows this. If no columns are to the
 * right of @column, no line is drawn. */
static int draw_end(struct graph *g, int column)
{
	struct line line = {.bytes = 0};
	for (int i = 0; i < column; i++)
		mark(&line, 2 * i, '|');
	for (int i = column + 1; i < g->n_columns; i++)
		mark(&line, 2 * i - 1, '/');
	bool is_last = column == g->n_columns - 1;
	remove_column(g, column);
	return is_last ? 0 : put(g, &line);
}

static int find_column(const struct graph *g, int node)
{
	for (int i = 0; i < g->n_columns; i++)
		if (g->columns[i] == node)
			return i;
	return NONE;
}

/*
 * Return the character to draw in @column, in a line that shows a node. The node is in another
 * column, so @column has only an edge in this line.
 *
 * - Return "/" if the edge is diagonal: the line above has a "/" directly to the right of @column,
 *   and @column moves to the left in the line below.
 * - Otherwise return "|".
 *
 * @removed: the column that ends in the line below, or NONE. If a column ends, it and all columns
 * to its right move to the left in the line below.
 */
static char edge(const struct graph *g, int column, int removed)
{
	int at = 2 * column + 1;
	bool has_come = at < g->last.bytes && g->last.text[at] == '/';
	return has_come && removed != NONE && column >= removed ? '/' : '|';
}

/* Draw the line that shows @node, which is in @column. @removed: the column that ends in the next
 * line, or NONE. */
static int draw_columns(struct graph *g, int node, int column, int removed)
{
	for (int i = 0; i < g->n_columns; i++) {
		int r = buf_addf(g->out, "%c ", i == column ? '*' : edge(g, i, removed));
		if (r < 0)
			return r;
	}
	g->last.bytes = 0;
	return buf_addf(g->out, "%s\n", g->nodes[node].text);
}

static int draw_node(struct graph *g, int node)
{
	int column = find_column(g, node);
	if (column == NONE) {
		if (g->n_columns == GRAPH_COLUMNS_MAX)
			return -E2BIG;
		column = g->n_columns++;
		g->columns[column] = node;
	}
	int parent = g->parents[node], other = parent == NONE ? NONE : find_column(g, parent);
	bool is_moving = parent == NONE || other != NONE;
	int r = draw_columns(g, node, column, is_moving ? MAX(column, other) : NONE);
	if (r < 0)
		return r;
	g->columns[column] = parent;
	if (parent == NONE)
		return draw_end(g, column);
	if (other == NONE)
		return 0;
	return draw_join(g, MAX(column, other), MIN(column, other));
}

int graph_write(struct buf *out, const struct graph_node *nodes, size_t n_nodes)
{
	if (n_nodes > GRAPH_NODES_MAX)
		return -E2BIG;
	struct graph *g = xnew(struct graph);
	int *numbers = calloc(3 * n_nodes + 1, sizeof *numbers);
	int r = numbers ? 0 : -ENOMEM;
	if (r == 0) {
		*g = (struct graph){.out = out,
			.nodes = nodes,
			.n_nodes = (int)n_nodes,
			.parents = numbers,
			.n_children = numbers + n_nodes,
			.order = numbers + 2 * n_nodes};
		r = link_parents(g);
	}
	int n = r == 0 ? sort(g) : r;
	for (int i = 0; n >= 0 && i < n; i++)
		if ((r = draw_node(g, g->order[i])) < 0)
			break;
	free(numbers);
	free(g);
	return n < 0 ? n : r;
}
