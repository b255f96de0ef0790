/* What programs of a box asked for and what became of it, in rows. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "gateway/gateway.h"

enum { ROWS_OTHERS_MAX = GATEWAY_ROWS_MAX / 2 };

struct rows {
	struct gateway_row *v; /* GATEWAY_ROWS_MAX of them, or NULL */
	size_t n;
	size_t n_others; /* those of names, and of what was refused or failed: ROWS_OTHERS_MAX */
	uint64_t n_more; /* what had no room */
};

/*
 * Add @row to the row of the same name, port, verdict and reason. A reason with other bytes than
 * printable ASCII must not be given.
 * Returns: the row if it is new; NULL if it is not, or if there is no room.
 */
const struct gateway_row *rows_add(struct rows *rows, const struct gateway_row *row);

/* Remove all rows, and free their memory. */
void rows_clear(struct rows *rows);
