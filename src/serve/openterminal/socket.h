/* The WebSockets of the front "open-terminal", for box.c. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/openterminal/inside.h"

/* To be called every second: disconnect clients that have not shown a token in time, or all. */
void ot_look_sockets(struct ot *o, bool is_stopping);
