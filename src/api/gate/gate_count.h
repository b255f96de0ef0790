/* Counters of how the calls of a gate have ended since it was opened. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct gate;
struct tool_server;

enum { GATE_ENDS = 7 };
/* Requests for approval, and decisions. */
enum gate_approval { GATE_ASKED, GATE_ALLOWED, GATE_REFUSED, GATE_APPROVALS };

/* How a call ended, as in the log: "ok", the name of its error, "cancelled". */
extern const char *const gate_ends[GATE_ENDS];
/* ORDER enum gate_approval, as events say it. */
extern const char *const gate_approvals[GATE_APPROVALS];

/*
 * Get the numbers of calls of server @i, by how they ended. The index behind the last server, with
 * the name "", is for calls that the engine answers itself, and for calls with unknown names.
 * Returns: the server's name, borrowed; NULL when @i is too large; @n is then unchanged.
 */
const char *gate_counted(const struct gate *g, size_t i, uint64_t n[GATE_ENDS]);
void gate_counted_approvals(const struct gate *g, uint64_t n[GATE_APPROVALS]);

/* Open the counters of a gate whose servers are known. Errors: ERR_NO_MEMORY. */
int gate_count_open(struct gate *g, struct err *err);
/* Count a call. @server: NULL for a name without a server; @end: one of gate_ends. */
void gate_count_end(struct gate *g, const struct tool_server *server, const char *end);
void gate_count_approval(struct gate *g, enum gate_approval what);
