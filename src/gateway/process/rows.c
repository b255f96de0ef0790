/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/rows.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const struct gateway_row *a, const struct gateway_row *b)
{
	return a->port == b->port && a->verdict == b->verdict && strcmp(a->name, b->name) == 0 &&
		strcmp(a->reason, b->reason) == 0;
}

const struct gateway_row *rows_add(struct rows *rows, const struct gateway_row *row)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct gateway_row *old = &rows->v[i];
		if (!is_same(old, row))
			continue;
		old->n += row->n;
		old->bytes_in += row->bytes_in;
		old->bytes_out += row->bytes_out;
		return NULL;
	}
	if (!rows->v)
		rows->v = calloc(GATEWAY_ROWS_MAX, sizeof *rows->v);
	/* All others may fill only a part: they must not hide connections. */
	bool is_connection = row->port != 0 && row->verdict == GATEWAY_ALLOWED;
	bool is_full = rows->n == GATEWAY_ROWS_MAX ||
		(!is_connection && rows->n_others == ROWS_OTHERS_MAX);
	if (!rows->v || is_full) {
		rows->n_more += row->n;
		return NULL;
	}
	rows->n_others += !is_connection;
	rows->v[rows->n] = *row;
	return &rows->v[rows->n++];
}

void rows_clear(struct rows *rows)
{
	free(rows->v);
	*rows = (struct rows){0};
}
