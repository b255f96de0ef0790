/* Text of an outsider: repaired, cut and escaped. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/utf8.h"

#include <string.h>

/* Nothing that a terminal obeys; newline and tab only where they were asked for. */
static void check_escaped(const struct buf *b, enum utf8_lines lines)
{
	int32_t c;
	MUST(utf8_is_valid(buf_str(b), b->bytes));
	for (size_t at = 0; at < b->bytes;) {
		at += utf8_decode(b->data + at, b->bytes - at, &c);
		bool is_line = lines == UTF8_KEEP_LINES && (c == '\n' || c == '\t');
		MUST(is_line || c >= 0x20);
		MUST(c < 0x7f || c > 0x9f);
		MUST(c != 0x2028 && c != 0x2029);
		MUST((c < 0x202a || c > 0x202e) && (c < 0x2066 || c > 0x2069));
	}
}

static void check_cuts(const char *text, size_t bytes)
{
	for (size_t max = 0; max <= bytes; max += 1 + bytes / 16) {
		size_t n = utf8_cut(text, bytes, max);
		MUST(n <= max && max - n < UTF8_MAX_BYTES);
		MUST(utf8_is_valid(text, n));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	cleanup_buf struct buf repaired = BUF_INIT(bytes * 3);
	size_t n_replaced = 0, n_steps = 0;
	int32_t c;
	MUST(utf8_repair(&repaired, data, bytes, &n_replaced) == 0);
	MUST(utf8_is_valid(buf_str(&repaired), repaired.bytes));
	MUST(utf8_is_valid(data, bytes) == (n_replaced == 0));
	MUST(utf8_count(data, bytes) == utf8_count(buf_str(&repaired), repaired.bytes));
	for (size_t at = 0; at < bytes; n_steps++) {
		size_t n = utf8_decode(data + at, bytes - at, &c);
		MUST(n >= 1 && n <= UTF8_MAX_BYTES && n <= bytes - at);
		MUST(c == -1 || (c >= 0 && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff)));
		at += n;
	}
	MUST(n_steps == utf8_count(data, bytes));
	check_cuts(buf_str(&repaired), repaired.bytes);
	for (int lines = UTF8_KEEP_LINES; lines <= UTF8_ONE_LINE; lines++) {
		cleanup_buf struct buf escaped = BUF_INIT(bytes * 8);
		MUST(utf8_escape_terminal(&escaped, data, bytes, (enum utf8_lines)lines) == 0);
		check_escaped(&escaped, (enum utf8_lines)lines);
	}
	return 0;
}
