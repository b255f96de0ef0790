/* Count how calls have ended. Arguments and answers are not recorded. SPDX-License-Identifier:
 * Apache-2.0 */
#include "api/gate/gate_count.h"

#include "api/gate/inside.h"

#include <stdlib.h>
#include <string.h>

const char *const gate_ends[GATE_ENDS] = {
	"ok", "ToolError", "ToolDenied", "ToolArgumentError", "ToolLost", "ToolLimit", "cancelled"};
const char *const gate_approvals[GATE_APPROVALS] = {"asked", "allowed", "refused"};

int gate_count_open(struct gate *g, struct err *err)
{
	g->n_ends = calloc(g->servers.n + 1, sizeof *g->n_ends);
	return g->n_ends ? 0 : err_set(err, ERR_NO_MEMORY, "no memory for tools");
}

void gate_count_end(struct gate *g, const struct tool_server *server, const char *end)
{
	size_t row = server ? (size_t)(server - g->servers.server) : g->servers.n;
	for (size_t i = 0; g->n_ends && i < GATE_ENDS; i++)
		g->n_ends[row][i] += strcmp(gate_ends[i], end) == 0;
}

void gate_count_approval(struct gate *g, enum gate_approval what)
{
	g->n_approvals[what]++;
}

const char *gate_counted(const struct gate *g, size_t i, uint64_t n[GATE_ENDS])
{
	if (!g->n_ends || i > g->servers.n)
		return NULL;
	memcpy(n, g->n_ends[i], sizeof g->n_ends[i]);
	return i < g->servers.n ? g->servers.server[i].name : "";
}

void gate_counted_approvals(const struct gate *g, uint64_t n[GATE_APPROVALS])
{
	memcpy(n, g->n_approvals, sizeof g->n_approvals);
}
