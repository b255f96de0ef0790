/* What a model wrote: its code is found, and its numbers are those of the text, whatever it is.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "agent/answer/block.h"
#include "agent/answer/extract.h"
#include "agent/answer/grounding.h"
#include "base/attr.h"

#include <stdlib.h>
#include <string.h>

static void check_code(const char *text, size_t bytes)
{
	struct extract found;
	extract_code(text, bytes, &found);
	MUST(found.end <= bytes && found.code_at + found.code_bytes <= bytes);
	MUST(found.kind == EXTRACT_CODE || (found.code_bytes == 0 && !found.is_closed));
	MUST(found.kind != EXTRACT_CODE || found.code_at + found.code_bytes <= found.end);
	MUST(!extract_is_whole(text, bytes) || (found.kind == EXTRACT_CODE && found.is_closed));
	cleanup_buf struct buf code = BUF_INIT(bytes + 1);
	MUST(extract_write(&code, text, &found) == 0 && code.bytes <= found.code_bytes);
}

/* A text is grounded in itself; in nothing, all its numbers are missed, in their order. */
static void check_numbers(const char *text, size_t bytes)
{
	struct grounding_miss miss[64];
	struct grounding *g = grounding_new();
	MUST(g);
	size_t n = grounding_check(g, text, bytes, miss, ARRAY_LEN(miss));
	for (size_t i = 0; i < MIN(n, ARRAY_LEN(miss)); i++) {
		MUST(miss[i].bytes > 0 && miss[i].at + miss[i].bytes <= bytes);
		MUST(i == 0 || miss[i].at >= miss[i - 1].at + miss[i - 1].bytes);
	}
	MUST(grounding_add(g, text, bytes) == 0);
	MUST(grounding_check(g, text, bytes, miss, ARRAY_LEN(miss)) == 0);
	grounding_free(g);
}

/* Whatever a text calls, it is a text afterwards, and a block stays the block it was. */
static void check_calls(const char *data, size_t bytes)
{
	struct extract before, after;
	struct reply reply = {0};
	bool is_other;
	size_t n = strnlen(data, bytes);
	MUST(reply_add(&reply, PART_TEXT, NULL, NULL) == 0);
	MUST(reply_append(&reply, 0, data, n) == 0);
	MUST(reply_add(&reply, PART_TOOL_CALL, "c", n > 0 && data[0] == 'p' ? "python" : "f") == 1);
	MUST(reply_append(&reply, 1, data, n) == 0);
	char *text = block_text(&reply, &is_other);
	MUST(text);
	extract_code(data, n, &before);
	extract_code(text, strlen(text), &after);
	if (before.kind == EXTRACT_CODE && !before.is_bare)
		MUST(after.code_at == before.code_at && after.code_bytes == before.code_bytes);
	free(text);
	reply_done(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	check_code((const char *)data, bytes);
	check_numbers((const char *)data, bytes);
	check_calls((const char *)data, bytes);
	return 0;
}
