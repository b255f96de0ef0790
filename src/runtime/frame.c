/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/frame.h"

#include <errno.h>

ssize_t frame_parse(const struct buf *in, struct frame *out, struct err *err)
{
	const unsigned char *head = (const unsigned char *)in->data;
	if (in->bytes < FRAME_HEAD_BYTES - 1)
		return 0;
	uint32_t length = (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 |
		(uint32_t)head[2] << 8 | head[3];
	if (length == 0 || length > FRAME_MAX_BYTES)
		return err_set(
			err, ERR_PROTOCOL, "frame of %u bytes, limit %d", length, FRAME_MAX_BYTES);
	size_t whole = (size_t)length + FRAME_HEAD_BYTES - 1;
	if (in->bytes < whole)
		return 0;
	*out = (struct frame){
		.type = head[4], .data = in->data + FRAME_HEAD_BYTES, .bytes = length - 1};
	return (ssize_t)whole;
}

int frame_write(struct buf *out, enum frame_type type, const void *data, size_t bytes)
{
	if (bytes >= FRAME_MAX_BYTES)
		return -E2BIG;
	uint32_t length = (uint32_t)bytes + 1;
	const unsigned char head[FRAME_HEAD_BYTES] = {(unsigned char)(length >> 24),
		(unsigned char)(length >> 16), (unsigned char)(length >> 8), (unsigned char)length,
		(unsigned char)type};
	if (!buf_reserve(out, bytes + sizeof head))
		return -E2BIG;
	buf_append(out, head, sizeof head);
	buf_append(out, data, bytes);
	return buf_error(out);
}
