/* JSON-RPC 2.0 over HTTP: POST /rpc. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/http/http.h"

#define RPC_HTTP_PATH "/rpc"

/*
 * Handle one JSON-RPC request. The status of the response is 200 with the operation's result or
 * error, 400 for a malformed request, and 202 for a notification.
 * If the header Accept allows text/event-stream, the client receives the events of its step as they
 * occur, and then the response as the last event. If the client disconnects, its step is
 * interrupted, except a step with the parameter `detach`.
 * @arg is unused.
 */
void rpc_http_start(void *arg, struct http_exchange *x);
