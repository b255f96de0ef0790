/* Error messages name operations and parameters as JSON-RPC does. Replace these names by the names
 * that the reader of the message knows, such as commands or MCP tools.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Who reads a message. Errors name operations and parameters in backquotes: "`file.list` lists
 * them". Only clients of JSON-RPC get these names unchanged. */
enum wording { WORDING_COMMANDS, WORDING_REPL, WORDING_MCP, WORDING_END_ };

/* Replace the names in the message and the hint of @err by the names that @reader knows:
 * "`file.list` lists them" becomes "`retort session files` lists them". */
void wording_apply(struct err *err, enum wording reader);
