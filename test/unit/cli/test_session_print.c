/* Lists and trees of sessions on stdout. SPDX-License-Identifier: Apache-2.0 */
#include "cli/session/session_print.h"

#include "t.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEADS = 1000 };

/* What session_print_graph() prints. */
static void print_graph(const json_t *graph, char *out, size_t bytes)
{
	FILE *file = tmpfile();
	(void)fflush(stdout);
	int before = dup(STDOUT_FILENO);
	CHECK(file && dup2(fileno(file), STDOUT_FILENO) >= 0);
	CHECK_INT(session_print_graph(graph, true), 0);
	(void)fflush(stdout);
	CHECK(dup2(before, STDOUT_FILENO) >= 0);
	(void)close(before);
	rewind(file);
	out[fread(out, 1, bytes - 1, file)] = '\0';
	(void)fclose(file);
}

TEST(a_step_with_many_heads_still_shows_its_code)
{
	char text[1 << 16];
	json_t *heads = json_array();
	for (int i = 0; i < HEADS; i++)
		(void)json_array_append_new(heads,
			json_pack("{s:s, s:o}", "head", "1", "name", json_sprintf("branch-%d", i)));
	json_t *graph = json_pack("{s:[{s:s, s:n, s:s, s:s}], s:o}", "steps", "step", "1", "parent",
		"code", "the_code()", "status", "error", "heads", heads);
	print_graph(graph, text, sizeof text);
	json_decref(graph);
	CHECK_HAS(text, "branch-0\033[0m, ");
	CHECK_HAS(text, "\033[0m and ");
	CHECK_HAS(text, " more) \033[31m[error]\033[0m the_code()\n");
}
