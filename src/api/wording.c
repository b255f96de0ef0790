/* SPDX-License-Identifier: Apache-2.0 */
#include "api/wording.h"

#include "base/buf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What has no name for a reader keeps the operation's. */
static const struct {
	const char *operation, *name[WORDING_END_];
} rows[] = {
	{"file.list", {"retort session files", "%files", "list_files"}},
	{"session.list", {"retort session ls", "%switch", "sessions"}},
	{"session.log", {"retort session log", "%log", "sessions"}},
	{"session.export", {"retort session export"}},
	{"tool.list", {"retort tools list", [WORDING_MCP] = "search_tools"}},
};

/* In the repl a command is no text to quote: "%log lists them". */
static int add_name(struct buf *out, const char *at, size_t bytes, enum wording reader)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].operation);
		const char *name = rows[i].name[reader];
		bool is_it = name && n <= bytes && strncmp(at, rows[i].operation, n) == 0 &&
			(n == bytes || at[n] == ' ');
		if (is_it && reader == WORDING_REPL)
			return buf_addf(out, "%s", name);
		if (is_it)
			return buf_addf(out, "`%s%.*s`", name, (int)(bytes - n), at + n);
	}
	return buf_addf(out, "`%.*s`", (int)bytes, at);
}

static void apply(char *text, size_t max_bytes, enum wording reader)
{
	cleanup_buf struct buf out = BUF_INIT(4 * ERR_HINT_BYTES);
	int r = 0;
	for (const char *at = text; r == 0 && *at;) {
		size_t n = strcspn(at, "`");
		const char *end = at[n] ? strchr(at + n + 1, '`') : NULL;
		if (!end)
			n = strlen(at);
		r = buf_append(&out, at, n);
		at += n;
		if (r == 0 && end) {
			r = add_name(&out, at + 1, (size_t)(end - at - 1), reader);
			at = end + 1;
		}
	}
	if (r == 0 && out.bytes < max_bytes)
		memcpy(text, buf_str(&out), out.bytes + 1);
}

void wording_apply(struct err *err, enum wording reader)
{
	if (strchr(err->msg, '`'))
		apply(err->msg, sizeof err->msg, reader);
	if (strchr(err->hint, '`'))
		apply(err->hint, sizeof err->hint, reader);
}
