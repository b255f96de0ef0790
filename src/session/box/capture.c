/*
 * Keeps the output of one stream in bounded memory.
 *
 * With a limit of 1 MiB, the head keeps the first 512 KiB of output and the tail the last 512 KiB.
 * The tail is a ring buffer. Bytes that are overwritten in it are only counted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/box/capture.h"

#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

void capture_init(struct capture *c, uint64_t limit_bytes)
{
	*c = (struct capture){.limit_bytes = limit_bytes,
		.head = BUF_INIT(limit_bytes - limit_bytes / 2),
		.tail = BUF_INIT(limit_bytes / 2)};
}

void capture_done(struct capture *c)
{
	buf_done(&c->head);
	buf_done(&c->tail);
}

static int tail_add(struct capture *c, const char *data, size_t bytes)
{
	size_t room = c->tail.max_bytes;
	if (bytes > room) {
		data += bytes - room;
		bytes = room;
	}
	size_t n = MIN(bytes, room - c->tail.bytes);
	if (n > 0 && buf_append(&c->tail, data, n) < 0)
		return -ENOMEM;
	data += n;
	bytes -= n;
	while (bytes > 0) {
		n = MIN(bytes, room - c->tail_at);
		memcpy(c->tail.data + c->tail_at, data, n);
		c->tail_at = (c->tail_at + n) % room;
		data += n;
		bytes -= n;
	}
	return 0;
}

int64_t capture_add(struct capture *c, const char *data, size_t bytes)
{
	size_t n = MIN(bytes, c->head.max_bytes - c->head.bytes);
	if (n > 0 && buf_append(&c->head, data, n) < 0)
		return -ENOMEM;
	if (bytes > n && c->tail.max_bytes > 0 && tail_add(c, data + n, bytes - n) < 0)
		return -ENOMEM;
	c->total_bytes += bytes;
	return (int64_t)n;
}

uint64_t capture_cut_bytes(const struct capture *c)
{
	return c->total_bytes - c->head.bytes - c->tail.bytes;
}

const char *capture_at(const struct capture *c, uint64_t *offset, size_t *bytes)
{
	uint64_t tail_offset = c->total_bytes - c->tail.bytes;
	if (*offset < c->head.bytes) {
		*bytes = (size_t)(c->head.bytes - *offset);
		return c->head.data + *offset;
	}
	*offset = MAX(*offset, tail_offset);
	*bytes = 0;
	if (*offset >= c->total_bytes)
		return "";
	/* The tail is a ring: its oldest byte is at @tail_at. */
	size_t at = (c->tail_at + (size_t)(*offset - tail_offset)) % c->tail.bytes;
	*bytes = MIN(c->tail.bytes - at, (size_t)(c->total_bytes - *offset));
	return c->tail.data + at;
}

size_t capture_read(const struct capture *c, uint64_t *offset, char *out, size_t room)
{
	size_t n, rest = 0;
	const char *data = capture_at(c, offset, &n);
	n = MIN(n, room);
	memcpy(out, data, n);
	/* In the ring, the bytes that follow its last one are at its start. */
	if (*offset >= c->head.bytes && *offset < c->total_bytes)
		rest = MIN(room, (size_t)(c->total_bytes - *offset)) - n;
	if (rest > 0)
		memcpy(out + n, c->tail.data, rest);
	return n + rest;
}

static uint64_t json_cost(const struct buf *b)
{
	const char *at = b->data;
	uint64_t cost = 0;
	for (size_t left = b->bytes; left > 0;) {
		int32_t c = (unsigned char)*at;
		size_t n = c < 0x80 ? 1 : utf8_decode(at, left, &c);
		bool is_control = c >= 0 && c < 0x20 && c != '\n' && c != '\t' && c != '\r';
		cost += c < 0 ? 3 : is_control ? 6 : n;
		at += n;
		left -= n;
	}
	return cost;
}

void capture_settle(struct capture *c)
{
	struct capture less;
	uint64_t most = MAX(c->limit_bytes + c->limit_bytes / 4, (uint64_t)CAPTURE_DEAR_BYTES);
	if (c->head.bytes + c->tail.bytes <= most / 6)
		return;
	uint64_t cost = json_cost(&c->head) + json_cost(&c->tail);
	if (cost <= most)
		return;
	cleanup_buf struct buf tail = BUF_INIT(c->limit_bytes);
	capture_init(&less, c->limit_bytes * most / cost);
	if (capture_tail(c, &tail) < 0 || capture_add(&less, c->head.data, c->head.bytes) < 0 ||
		capture_add(&less, buf_str(&tail), tail.bytes) < 0) {
		capture_done(&less);
		return;
	}
	less.total_bytes = c->total_bytes;
	capture_done(c);
	*c = less;
}

int capture_tail(const struct capture *c, struct buf *out)
{
	if (c->tail.bytes == 0)
		return 0;
	int r = buf_append(out, c->tail.data + c->tail_at, c->tail.bytes - c->tail_at);
	return r < 0 ? r : buf_append(out, c->tail.data, c->tail_at);
}

/* Return how many bytes at the start of the tail may belong to a character whose first byte was
 * dropped. */
static size_t orphan_bytes(const struct capture *c)
{
	size_t n = 0;
	while (n < MIN(c->tail.bytes, (size_t)UTF8_MAX_BYTES - 1)) {
		size_t at = (c->tail_at + n) % c->tail.bytes;
		if (((unsigned char)c->tail.data[at] & 0xc0) != 0x80)
			break;
		n++;
	}
	return n;
}

int capture_text(const struct capture *c, struct buf *out, bool *invalid)
{
	cleanup_buf struct buf raw = BUF_INIT(c->limit_bytes + 64);
	size_t n_replaced = 0;
	uint64_t cut = capture_cut_bytes(c);
	int r = buf_append(&raw, c->head.data, c->head.bytes);
	if (r == 0 && cut > 0)
		r = buf_addf(&raw, "\n[... %" PRIu64 " bytes cut ...]\n", cut);
	if (r == 0)
		r = capture_tail(c, &raw);
	if (r == 0)
		r = utf8_repair(out, buf_str(&raw), raw.bytes, &n_replaced);
	/*
	 * Set *@invalid only if the program itself has written bytes that are not UTF-8.
	 * If the middle of the output was dropped, the cut may have split two characters: one at
	 * the end of the head and one at the start of the tail. utf8_repair() replaces the rest of
	 * these characters, but the program's output was valid.
	 */
	if (n_replaced > (cut > 0 ? 1 + orphan_bytes(c) : 0))
		*invalid = true;
	return r;
}
