/* SPDX-License-Identifier: Apache-2.0 */
#include "session/net/network_json.h"

#include "base/json.h"

json_t *network_row_json(const struct gateway_row *row)
{
	json_t *out = json_need(json_object());
	json_put_text(out, "name", row->name);
	if (row->port)
		json_put_int(out, "port", row->port);
	json_put_text(out, "verdict", gateway_verdict_word(row->verdict));
	if (row->reason[0])
		json_put_text(out, "reason", row->reason);
	json_put_int(out, "count", (int64_t)row->n);
	json_put_int(out, "bytes_in", (int64_t)row->bytes_in);
	json_put_int(out, "bytes_out", (int64_t)row->bytes_out);
	return out;
}

json_t *network_rows_json(const struct gateway_row *rows, size_t n, uint64_t n_more)
{
	json_t *all = json_need(json_array());
	for (size_t i = 0; i < n; i++)
		json_add_new(all, network_row_json(&rows[i]));
	if (n_more > 0) {
		json_t *more = json_need(json_object());
		json_put_int(more, "more", (int64_t)n_more);
		json_add_new(all, more);
	}
	return all;
}
