/* Names of operations and parameters for each kind of reader. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"

/* Kinds of readers. Errors name operations and parameters in backquotes, as in "`file.list` lists
 * them". Clients of JSON-RPC get these names unchanged. */
enum wording { WORDING_COMMANDS, WORDING_REPL, WORDING_MCP, WORDING_END_ };

/* Replace names in message and hint by those that @reader knows: "`retort session files` lists
 * them". */
void wording_apply(struct err *err, enum wording reader);
