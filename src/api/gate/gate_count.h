/* What became of the calls of a gate since it was opened. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct gate;
struct tool_server;

enum { GATE_ENDS = 7 };
/* What people are asked of calls, and say. */
enum gate_approval { GATE_ASKED, GATE_ALLOWED, GATE_REFUSED, GATE_APPROVALS };

/* How a call ends, as the log says it: "ok", the name of its error, "cancelled". */
extern const char *const gate_ends[GATE_ENDS];
/* ORDER enum gate_approval, as events say it. */
extern const char *const gate_approvals[GATE_APPROVALS];

/*
 * The calls of one server, by how they ended; behind the last server, as "", those that the engine
 * answers itself, and those of names that no server has.
 * Returns: the server's name, borrowed; NULL: there is no @i, and @n is as it was.
 */
const char *gate_counted(const struct gate *g, size_t i, uint64_t n[GATE_ENDS]);
void gate_counted_approvals(const struct gate *g, uint64_t n[GATE_APPROVALS]);

/* Of the gate, which knows its servers by then. Errors: ERR_NO_MEMORY. */
int gate_count_open(struct gate *g, struct err *err);
/* Count a call. @server is NULL for a name that no server has; @end: one of gate_ends. */
void gate_count_end(struct gate *g, const struct tool_server *server, const char *end);
void gate_count_approval(struct gate *g, enum gate_approval what);
