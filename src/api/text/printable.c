/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text/printable.h"

#include "base/utf8.h"

#include <string.h>

enum { ESC = 0x1b, BEL = 0x07, BACKSPACE = 0x08, DEL = 0x7f, HEAD_PCT = 60 };

/* Return the length of the escape sequence at the beginning of @at. Source: ECMA-48. */
static size_t escape_bytes(const char *at, size_t bytes)
{
	size_t n = 2;
	if (bytes < 2)
		return bytes;
	if (at[1] == '[') {
		while (n < bytes && ((unsigned char)at[n] < 0x40 || (unsigned char)at[n] > 0x7e) &&
			(unsigned char)at[n] >= 0x20)
			n++;
		return n < bytes ? n + 1 : n;
	}
	if (!strchr("]PX^_", at[1]))
		return 2;
	while (n < bytes && at[n] != BEL && at[n] != ESC && at[n] != '\n')
		n++;
	if (n + 1 < bytes && at[n] == ESC && at[n + 1] == '\\')
		return n + 2;
	return n < bytes && at[n] == BEL ? n + 1 : n;
}

static bool is_shown(char c)
{
	return (unsigned char)c >= 0x20 ? c != DEL : c == '\n' || c == '\t';
}

/* Append the picture of a control character, such as U+2400 for NUL. BEL, backspace and CR are
 * left out, because terminals execute them. */
static int add_picture(struct buf *out, unsigned char c)
{
	const char picture[] = {'\xe2', '\x90', (char)(0x80 + (c == DEL ? 0x21 : c))};
	bool is_obeyed = c == BEL || c == BACKSPACE || c == '\r';
	return is_obeyed ? 0 : buf_append(out, picture, sizeof picture);
}

int printable_add(struct buf *out, const char *text, size_t bytes)
{
	size_t line = out->bytes; /* offset in @out at which the current line begins */
	int r = 0;
	for (size_t at = 0; at < bytes && r == 0;) {
		size_t n = 0;
		while (at + n < bytes && is_shown(text[at + n])) {
			n++;
			if (text[at + n - 1] == '\n')
				break;
		}
		if (n > 0) {
			r = buf_append(out, text + at, n);
			if (text[at + n - 1] == '\n')
				line = out->bytes;
			at += n;
		} else if (text[at] == ESC) {
			at += escape_bytes(text + at, bytes - at);
		} else {
			/* After a CR, the next characters overwrite the line. But a CR at the
			 * end of a line or of the text overwrites nothing. */
			if (text[at] == '\r' && at + 1 < bytes && text[at + 1] != '\n' &&
				text[at + 1] != '\r' && out->data) {
				out->bytes = line;
				out->data[line] = '\0';
			}
			r = add_picture(out, (unsigned char)text[at]);
			at++;
		}
	}
	return r;
}

/* Return the number of bytes of the first @n characters. */
static size_t head_bytes(const char *text, size_t bytes, size_t n)
{
	int32_t character;
	size_t at = 0;
	for (; n > 0 && at < bytes; n--)
		at += utf8_decode(text + at, bytes - at, &character);
	return at;
}

int printable_cut(struct buf *out, const char *text, size_t bytes, size_t max, const char *rest)
{
	size_t n = utf8_count(text, bytes);
	if (n <= max)
		return buf_append(out, text, bytes);
	size_t n_head = max * HEAD_PCT / 100, head = head_bytes(text, bytes, n_head);
	size_t tail = head_bytes(text, bytes, n - (max - n_head));
	/* Move the cuts to ends of lines, if that removes little more. */
	const char *line = memrchr(text, '\n', head);
	if (line && head - (size_t)(line - text) < head / 4)
		head = (size_t)(line - text);
	const char *next = memchr(text + tail, '\n', bytes - tail);
	if (next && (size_t)(next + 1 - (text + tail)) < (bytes - tail) / 4)
		tail = (size_t)(next + 1 - text);
	size_t n_cut = utf8_count(text + head, tail - head);
	int r = buf_append(out, text, head);
	if (r == 0)
		r = buf_addf(out, "\n[… %zu characters cut%s%s]\n", n_cut, rest ? ": " : "",
			rest ? rest : "");
	return r < 0 ? r : buf_append(out, text + tail, bytes - tail);
}
