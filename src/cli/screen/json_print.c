/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen/json_print.h"

#include "api/text/json.h"
#include "base/buf.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* DEL is one byte, and becomes six */
enum { GROWTH = 6 };

int json_print(FILE *to, const json_t *json, size_t flags)
{
	char *text = json_text(json, flags);
	size_t bytes = text ? strlen(text) : 0;
	cleanup_buf struct buf shown = BUF_INIT(GROWTH * bytes + 1);
	bool is_ready = text && utf8_escape_json(&shown, text, bytes) == 0;
	free(text);
	return !is_ready || fwrite(buf_str(&shown), 1, shown.bytes, to) != shown.bytes ||
		fputc('\n', to) == EOF;
}
