/* How large a JSON text becomes when it is parsed. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Count what costs memory then: members, elements, containers. Any bytes will do; a text that is no
 * JSON has some number, too. */
size_t json_parts(const char *data, size_t bytes);
