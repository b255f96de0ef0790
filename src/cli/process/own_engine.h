/* An engine that belongs to one command and ends with it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/service.h"
#include "cli/host/client.h"

#include <sys/types.h>

/*
 * Start an engine in a child process, and connect @client with it. The engine is not in this
 * process, so that it enforces limits and reads output while we wait for a reader of ours; and
 * signals of the terminal do not reach it. It ends when the connection does, also if this process
 * is killed. Returns: the pid of the child, for own_engine_end(); or negative errno. Errors: those
 * of service_open().
 */
pid_t own_engine_start(const struct service_config *config, struct client *client, struct err *err);

/* Disconnect. Blocks: until the engine has ended, and its boxes with it. */
void own_engine_end(pid_t pid, struct client *client);
