/* JSON-RPC 2.0 over HTTP: POST /rpc. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/http/http.h"

#define RPC_HTTP_PATH "/rpc"

/*
 * Respond to one request: 200 with the result or the operation's error, 400 for a malformed
 * request, 202 for a notification. A client that accepts text/event-stream receives the events of
 * its step, followed by the response. If the client disconnects, its step is interrupted, unless
 * the step has `detach`.
 * @arg: unused.
 */
void rpc_http_start(void *arg, struct http_exchange *x);
