/* The engine parses the output of hostile programs, so it gives up every privilege that it does
 * not need. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * Give up core dumps, all capabilities but two, and the chance to gain new ones, all for good. The
 * two capabilities are CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH. Only an engine that root started
 * keeps them: root expects `-o DIR` to work for any DIR, and the files of a box belong to another
 * id. An ordinary user's engine keeps no capability.
 *
 * Call this after the warden was started. Errors: ERR_INTERNAL. Source: capabilities(7).
 */
int privilege_drop(struct err *err);
