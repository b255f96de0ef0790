/* Parts of a program's output: whole characters, within the limit, and none left out.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/text/run_part.h"
#include "base/utf8.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Two bytes say the limit, one how long the word is; then the word and the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char word[256];
	if (bytes < 3)
		return 0;
	size_t limit = 1 + (size_t)data[0] * 256 + data[1],
	       n_word = MIN((size_t)data[2], bytes - 3);
	cleanup_buf struct buf text = BUF_INIT(bytes * 3 + 1);
	MUST(utf8_repair(&text, data + 3 + n_word, bytes - 3 - n_word, NULL) == 0);
	memcpy(word, data + 3, n_word);
	word[n_word] = '\0';
	const char *all = buf_str(&text);
	for (size_t at = 0; at < text.bytes;) {
		struct run_part part;
		MUST(run_part_read(&part, all, text.bytes, at, limit) == 0);
		MUST(part.offset == at && part.next > at && part.next <= text.bytes);
		MUST(part.text.bytes <= MAX(limit, (size_t)UTF8_MAX_BYTES));
		MUST(utf8_is_valid(buf_str(&part.text), part.text.bytes));
		MUST(memcmp(buf_str(&part.text), all + at, part.text.bytes) == 0);
		at = part.next;
		buf_done(&part.text);
	}
	for (size_t at = 0; word[0] && !strchr(word, '\n') && at < text.bytes;) {
		struct run_part part;
		const struct run_part_search search = {
			.word = word, .offset = at, .limit = limit, .is_whole = true};
		MUST(run_part_find(&part, all, text.bytes, &search) == 0);
		MUST(part.next > at && part.next <= text.bytes);
		MUST(part.text.bytes <= limit + RUN_PART_LINE_BYTES + 64);
		MUST((part.n_lines > 0) == (part.text.bytes > 0));
		at = part.next;
		buf_done(&part.text);
	}
	return 0;
}
