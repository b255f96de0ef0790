/* What the files of `retort kernel` share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Find the name of the language that --runtime names, "python" for NULL. Errors: ERR_USAGE. */
int kernel_language(const char *word, const char **out, struct err *err);
