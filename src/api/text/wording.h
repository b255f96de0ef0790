/* What an operation or a parameter is called where somebody reads of it. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

/* JSON-RPC needs no words of its own: errors name operations and parameters, in backquotes, as in
 * "`file.list` lists them". */
enum wording { WORDING_COMMANDS, WORDING_REPL, WORDING_MCP, WORDING_END_ };

/* Put the names that @reader knows into message and hint: "`retort session files` lists them". */
void wording_apply(struct err *err, enum wording reader);
