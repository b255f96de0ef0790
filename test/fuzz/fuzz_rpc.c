/* JSON-RPC messages as a hostile client writes them, and parameters of every operation.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "api/operation/operation.h"
#include "base/utf8.h"
#include "serve/rpc.h"

#include <string.h>

/* Whatever is answered is one line of UTF-8. */
static void check_line(const struct buf *out)
{
	MUST(out->bytes > 0 && out->data[out->bytes - 1] == '\n');
	MUST(memchr(out->data, '\n', out->bytes) == out->data + out->bytes - 1);
	MUST(utf8_is_valid(out->data, out->bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct rpc_request q;
	struct err err = {0};
	cleanup_buf struct buf out = BUF_INIT(64 << 20);
	int r = rpc_parse((const char *)data, bytes, &q, &err);
	MUST(r == 0 || r == RPC_PARSE || r == RPC_INVALID);
	MUST((r == 0) == (q.method != NULL));
	if (r < 0) {
		MUST(err.msg[0] && err.hint[0]);
		MUST(rpc_put_error(&out, q.id, r, &err) == 0);
		check_line(&out);
	} else {
		MUST(rpc_put_result(&out, q.id, q.params) == 0);
		check_line(&out);
	}
	const struct operation *op;
	for (size_t i = 0; r == 0 && (op = operation_at(i)); i++) {
		if (param_check(op->params, op->n_params, q.params, &err) == 0)
			continue;
		MUST(err.code == ERR_USAGE && err.msg[0] && err.hint[0]);
		buf_clear(&out);
		MUST(rpc_put_error(&out, q.id, 0, &err) == 0);
		check_line(&out);
	}
	rpc_request_done(&q);
	return 0;
}
