/* A terminal of a session, over a WebSocket. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/http/http.h"

/*
 * Handler of the route TERMINAL_PATH: attach to a process that has a terminal.
 *
 * GET /terminal/SESSION/PROCESS?rows=R&cols=C&offset=N, with the headers of a WebSocket. The size
 * is that of the client's window, and N the first byte of the output that it wants (default: all
 * that is kept). Binary messages are what is typed, and what is printed. Text messages are JSON:
 *
 *     client   {"type": "resize", "rows": R, "cols": C}   {"type": "signal", "signal": "INT"}
 *     server   {"type": "attached", "process", "pid"}     {"type": "cut", "bytes": N}
 *              {"type": "exit", as `process.get`}          {"type": "error", "code", "message",
 * "hint"}
 *
 * When the process has ended, the server closes with code 1000. A client that closes detaches.
 * Errors: 400: the process has no terminal; 404; 426: not a WebSocket.
 */
#define TERMINAL_PATH	  "/terminal/"
#define TERMINAL_PROTOCOL "retort.terminal"
void terminal_start(void *arg, struct http_exchange *x);
