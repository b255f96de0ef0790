/* An estimate of the memory that a JSON text needs when it is parsed. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stddef.h>

/* Count the values that need memory: containers, their members and elements. Accepts any bytes;
 * for a text that is not JSON the count is meaningless. */
size_t json_parts(const char *data, size_t bytes);
