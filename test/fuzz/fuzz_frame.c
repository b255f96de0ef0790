/* Frames: the same ones, whether bytes come at once or one by one. SPDX-License-Identifier:
 * Apache-2.0 */
#include "fuzz.h"

#include "runtime/frame.h"

#include <stdbool.h>

struct seen {
	size_t n, bytes;
	uint64_t sum;
	bool is_broken;
};

static void parse_some(struct buf *in, struct seen *seen)
{
	struct frame frame;
	struct err err = {0};
	ssize_t n = 0;
	while (!seen->is_broken && (n = frame_parse(in, &frame, &err)) > 0) {
		MUST((size_t)n <= in->bytes);
		MUST(frame.bytes + FRAME_HEAD_BYTES == (size_t)n);
		MUST(frame.bytes < FRAME_MAX_BYTES);
		for (size_t i = 0; i < frame.bytes; i++)
			seen->sum = seen->sum * 31 + (unsigned char)frame.data[i];
		seen->sum = seen->sum * 31 + frame.type;
		seen->n++;
		seen->bytes += (size_t)n;
		buf_consume(in, (size_t)n);
	}
	MUST(n >= 0 || err.code == ERR_PROTOCOL);
	seen->is_broken |= n < 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	cleanup_buf struct buf whole = BUF_INIT(bytes), slow = BUF_INIT(bytes);
	struct seen at_once = {0}, one_by_one = {0};
	MUST(buf_append(&whole, data, bytes) == 0);
	parse_some(&whole, &at_once);
	for (size_t i = 0; i < bytes && !one_by_one.is_broken; i++) {
		MUST(buf_append(&slow, data + i, 1) == 0);
		parse_some(&slow, &one_by_one);
	}
	MUST(at_once.n == one_by_one.n && at_once.bytes == one_by_one.bytes);
	MUST(at_once.sum == one_by_one.sum && at_once.is_broken == one_by_one.is_broken);
	return 0;
}
