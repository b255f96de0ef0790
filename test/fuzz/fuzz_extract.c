/* Answers of a model: the code in them. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "agent/extract.h"

#include <stdlib.h>
#include <string.h>

static void extract(struct extract *e, const char *text, size_t bytes)
{
	struct reply r = {0};
	MUST(reply_add(&r, PART_TEXT, NULL, NULL) == 0);
	MUST(reply_append(&r, 0, text, bytes) == 0);
	MUST(extract_reply(e, &r) == 0);
	MUST(e->kept_bytes <= bytes && e->kind <= EXTRACT_TEXT);
	MUST((e->kind == EXTRACT_CODE) == (e->runtime != NULL));
	reply_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = fuzz_text(data, bytes);
	struct extract e;
	extract(&e, text, strlen(text));
	MUST(e.text.bytes <= strlen(text));
	MUST(e.kind != EXTRACT_TEXT || e.text.bytes > 0);
	extract_done(&e);
	free(text);
	return 0;
}
