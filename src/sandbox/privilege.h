/* The engine parses the output of hostile programs, so it gives up every privilege that it does
 * not need. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * Give up, for good: every capability but two, gaining new ones, and core dumps. The two are
 * CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, which only a process started by root has: root
 * expects `-o DIR` to work for any DIR, and the files of a box belong to another id. An ordinary
 * user's engine has none at all.
 *
 * Call it after the warden was started. Errors: ERR_INTERNAL. Source: capabilities(7).
 */
int privilege_drop(struct err *err);
