/* What programs asked of the network, as JSON. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gateway/gateway.h"

#include <jansson.h>

/* Make {"name", "port"?, "verdict", "reason"?, "count", "bytes_in", "bytes_out"}. Owns: the caller
 * decrefs the result. */
json_t *network_row_json(const struct gateway_row *row);
/* Make an array of rows. If @n_more is not 0, its last element is {"more": @n_more}. Owns: the
 * caller decrefs the result. */
json_t *network_rows_json(const struct gateway_row *rows, size_t n, uint64_t n_more);
