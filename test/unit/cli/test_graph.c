/* Trees of steps, drawn; tables. SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen/graph.h"

#include "cli/screen/table.h"
#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "c<b b<a a": each with its parent, newest first. */
static char *draw(const char *text)
{
	char *copy = strdup(text), *rest = NULL;
	struct graph_node nodes[64];
	size_t n = 0;
	struct buf out = BUF_INIT(1 << 16);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *arrow = strchr(word, '<');
		if (arrow)
			*arrow = '\0';
		nodes[n++] = (struct graph_node){
			.id = word, .parent = arrow ? arrow + 1 : NULL, .text = word};
	}
	CHECK_INT(graph_write(&out, nodes, n), 0);
	free(copy);
	return buf_take(&out);
}

static void check(const char *text, const char *want)
{
	char *got = draw(text);
	CHECK_STR(got ? got : "", want);
	free(got);
}

TEST(a_line)
{
	check("c<b b<a a", "* c\n* b\n* a\n");
	check("a", "* a\n");
	check("", "");
}

TEST(a_fork)
{
	check("d<b c<b b<a a",
		"* d\n"
		"| * c\n"
		"|/\n"
		"* b\n"
		"* a\n");
	check("e<c d<b c<a b<a a",
		"* e\n"
		"| * d\n"
		"* | c\n"
		"| * b\n"
		"|/\n"
		"* a\n");
}

TEST(many_heads_of_one_step)
{
	check("d<a c<a b<a a",
		"* d\n"
		"| * c\n"
		"|/\n"
		"| * b\n"
		"|/\n"
		"* a\n");
}

TEST(a_column_crosses_others)
{
	check("d<a c<b2 e<a b2<b b<a a",
		"* d\n"
		"| * c\n"
		"| | * e\n"
		"| |/\n"
		"|/|\n"
		"| * b2\n"
		"| * b\n"
		"|/\n"
		"* a\n");
	check("x<a y<b z<c w<a c b a",
		"* x\n"
		"| * y\n"
		"| | * z\n"
		"| | | * w\n"
		"| |_|/\n"
		"|/| |\n"
		"| | * c\n"
		"| * b\n"
		"* a\n");
	check("p<a q<b r<c s<a t<d d c b a",
		"* p\n"
		"| * q\n"
		"| | * r\n"
		"| | | * s\n"
		"| |_|/\n"
		"|/| |\n"
		"| | | * t\n"
		"| | | * d\n"
		"| | * c\n"
		"| * b\n"
		"* a\n");
}

TEST(columns_behind_one_that_ends_move_up)
{
	check("x<r y<s r z<s s",
		"* x\n"
		"| * y\n"
		"* | r\n"
		" /\n"
		"| * z\n"
		"|/\n"
		"* s\n");
}

/* As git 2.39 draws them with --date-order: the line above led the edge here, and it goes on. */
TEST(an_edge_goes_on_beside_a_node)
{
	check("6<2 5<3 4<1 3<1 2<1 1<0 0",
		"* 6\n"
		"| * 5\n"
		"| | * 4\n"
		"| * | 3\n"
		"| |/\n"
		"* / 2\n"
		"|/\n"
		"* 1\n"
		"* 0\n");
	check("5<1 4 3<0 2<0 1<0 0",
		"* 5\n"
		"| * 4\n"
		"| * 3\n"
		"| | * 2\n"
		"| |/\n"
		"* / 1\n"
		"|/\n"
		"* 0\n");
}

TEST(a_parent_comes_after_its_children_whatever_the_order)
{
	check("a b<a c<b", "* c\n* b\n* a\n");
	check("a b<a x c<a", "* b\n| * x\n| * c\n|/\n* a\n");
}

TEST(hostile_nodes)
{
	/* A parent nobody knows; a circle; an id twice. */
	check("b<zz a", "* b\n* a\n");
	check("a<b b<a c", "* c\n");
	check("a<a c", "* c\n");
	char *got = draw("a a b<a");
	CHECK(got && strlen(got) > 0);
	free(got);
}

TEST(more_columns_than_there_is_room_for)
{
	enum { N = GRAPH_COLUMNS_MAX + 1 };
	static struct graph_node nodes[2 * N];
	static char ids[2 * N][12];
	for (int i = 0; i < N; i++) {
		snprintf(ids[i], sizeof ids[i], "x%d", i);
		snprintf(ids[N + i], sizeof ids[i], "y%d", i);
		nodes[i] = (struct graph_node){ids[i], ids[N + i], ""};
		nodes[N + i] = (struct graph_node){ids[N + i], NULL, ""};
	}
	cleanup_buf struct buf out = BUF_INIT(64 << 20);
	CHECK_INT(graph_write(&out, nodes, ARRAY_LEN(nodes)), -E2BIG);
	cleanup_buf struct buf tiny = BUF_INIT(2);
	CHECK_INT(graph_write(&tiny, nodes, 1), -E2BIG);
}

TEST(a_long_history_is_quick)
{
	enum { N = 100000 };
	struct graph_node *nodes = calloc(N, sizeof *nodes);
	char(*ids)[12] = calloc(N, sizeof *ids);
	cleanup_buf struct buf out = BUF_INIT(64 << 20);
	for (int i = 0; i < N; i++) {
		snprintf(ids[i], sizeof ids[i], "%d", i);
		/* Oldest first: the worst order. */
		nodes[i] = (struct graph_node){ids[i], i > 0 ? ids[i - 1] : NULL, "t"};
	}
	CHECK_INT(graph_write(&out, nodes, N), 0);
	CHECK_INT(out.bytes, 4 * N);
	free(nodes);
	free(ids);
}

TEST(tables_are_aligned)
{
	static const char *const cells[] = {"ID", "NAME", "CODE", "s-1", "é", "x = 1", "s-100",
		NULL, "\033[31mred", "s", "n", ""};
	cleanup_buf struct buf out = BUF_INIT(1000);
	CHECK_INT(table_write(&out, cells, 3, 4, 0), 0);
	CHECK_STR(buf_str(&out),
		"ID     NAME  CODE\n"
		"s-1    é     x = 1\n"
		"s-100        \\x1b[31mred\n"
		"s      n\n");
}

TEST(the_last_column_is_cut)
{
	static const char *const cells[] = {"a", "éééééééééééééééééééé"};
	cleanup_buf struct buf out = BUF_INIT(1000);
	CHECK_INT(table_write(&out, cells, 2, 1, 15), 0);
	CHECK_STR(buf_str(&out), "a  ééééééééééé…\n");
	cleanup_buf struct buf tiny = BUF_INIT(2);
	CHECK_INT(table_write(&tiny, cells, 2, 1, 0), -E2BIG);
}
