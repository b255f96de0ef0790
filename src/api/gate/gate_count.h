/* Counters of a gate: how its calls have ended, and what approvals it asked for and got.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct gate;
struct tool_server;

enum { GATE_ENDS = 7 };
/* The events that the gate counts about approvals: it asked somebody to approve a call, the call
 * was then allowed, or the call was then refused. */
enum gate_approval { GATE_ASKED, GATE_ALLOWED, GATE_REFUSED, GATE_APPROVALS };

/* How a call ended, in the words of the log and of the metrics: "ok", the name of an error, or
 * "cancelled". */
extern const char *const gate_ends[GATE_ENDS];
/* The words that metrics use for the values of enum gate_approval: "asked", "allowed", "refused".
 * ORDER: as in enum gate_approval. */
extern const char *const gate_approvals[GATE_APPROVALS];

/*
 * Get how many calls of one server have ended, separately for each way to end.
 * @i: the index of the server. If @i is the number of servers, get the counts of the calls that
 * belong to no server: calls that the engine answers itself, and calls that name no known
 * server.
 * @n: n[k] becomes the number of calls that ended with the word gate_ends[k].
 * Returns: the name of the server, borrowed. "" if @i is the number of servers. NULL if @i is
 * larger; @n is then unchanged.
 */
const char *gate_counted(const struct gate *g, size_t i, uint64_t n[GATE_ENDS]);
void gate_counted_approvals(const struct gate *g, uint64_t n[GATE_APPROVALS]);

/* Create the counters, after the servers of the gate are known. Errors: ERR_NO_MEMORY. */
int gate_count_open(struct gate *g, struct err *err);
/* Count a call that has ended. @server: the server that the call names; NULL if there is no such
 * server. @end: one of gate_ends. */
void gate_count_end(struct gate *g, const struct tool_server *server, const char *end);
void gate_count_approval(struct gate *g, enum gate_approval what);
