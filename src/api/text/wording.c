/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text/wording.h"

#include "base/buf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * How each kind of reader knows an operation or parameter. Messages contain the names of JSON-RPC
 * in backquotes, and an argument may follow the name: "`session.log s-1234` shows it".
 *
 * operation  The name in JSON-RPC, such as "session.log".
 * name       The reader's name, such as "%log" in the repl. NULL: the reader gets the text in the
 *            backquotes unchanged.
 * named      The text that replaces name and argument if there is an argument; "%s" in this text
 *            stands for the argument. NULL: the reader gets `name` and then the argument. A reader
 *            in the repl gets `name` only.
 */
static const struct {
	const char *operation, *name[WORDING_END_], *named[WORDING_END_];
} rows[] = {
	{"all", {"--all"}, {NULL}},
	{"file.list", {"retort session files", "%files", "list_files"}, {NULL}},
	{"file.write", {"retort session files --put", "%put", "write_file"}, {NULL}},
	{"force", {"--force", "--force", "force: true"}, {NULL}},
	{"keep", {"--keep"}, {NULL}},
	{"limits.memory_bytes", {"--memory", "--memory"}, {NULL}},
	{"older_ms", {"--older-than"}, {NULL}},
	{"recursive", {"--recursive"}, {NULL}},
	{"runtime", {"-r", "%runtime"}, {NULL}},
	{"session.list", {"retort session ls", "%switch", "sessions {\"action\": \"list\"}"},
		{NULL}},
	{"session.log", {"retort session log", "%log", "sessions {\"action\": \"log\"}"},
		{[WORDING_REPL] = "%log all",
			[WORDING_MCP] = "sessions {\"action\": \"log\", \"session\": \"%s\"}"}},
	{"session.export", {"retort session export"}, {NULL}},
	{"session.prune", {"retort session prune"}, {NULL}},
	{"stdin_open", {[WORDING_MCP] = "interactive: true"}, {NULL}},
	{"step.run", {"retort session exec", [WORDING_MCP] = "run_code"}, {NULL}},
	{"step.input", {[WORDING_MCP] = "run_wait with stdin"},
		{[WORDING_MCP] = "run_wait {\"run_id\": \"%s\", \"stdin\": \"LINE\\n\"}"}},
	{"step.interrupt", {[WORDING_MCP] = "run_wait with action interrupt"},
		{[WORDING_MCP] = "run_wait {\"run_id\": \"%s\", \"action\": \"interrupt\"}"}},
	{"tool.list", {"retort tools list", [WORDING_MCP] = "search_tools"},
		{[WORDING_MCP] = "search_tools {\"query\": \"%s\"}"}},
};

/*
 * Append the reader's text for an operation or parameter:
 * - without an argument: @name;
 * - with an argument, and @named NULL: @name and the argument;
 * - with an argument otherwise: @named, in which the argument replaces "%s".
 * @behind: the argument with the space before it, such as " s-1234". @bytes: the length of @behind;
 * 0 if there is no argument.
 */
static void add_named(
	struct buf *out, const char *name, const char *named, const char *behind, int bytes)
{
	const char *gap = named ? strstr(named, "%s") : NULL;
	if (bytes == 0 || !named)
		buf_addf(out, "%s%.*s", name, bytes, behind);
	else if (gap)
		buf_addf(out, "%.*s%.*s%s", (int)(gap - named), named, bytes - 1, behind + 1,
			gap + strlen("%s"));
	else
		buf_add(out, named);
}

/* Append what @reader gets for one text in backquotes. @at, @bytes: the text without the
 * backquotes, such as "session.log s-1234". What replaces the text is put in backquotes again, but
 * not in the repl: "%log all". A text that has no row for @reader stays unchanged. */
static void add_name(struct buf *out, const char *at, size_t bytes, enum wording reader)
{
	const char *quote = reader == WORDING_REPL ? "" : "`";
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].operation);
		const char *name = rows[i].name[reader];
		bool is_it = name && n <= bytes && strncmp(at, rows[i].operation, n) == 0 &&
			(n == bytes || at[n] == ' ');
		if (!is_it)
			continue;
		int behind =
			reader == WORDING_REPL && !rows[i].named[reader] ? 0 : (int)(bytes - n);
		buf_add(out, quote);
		add_named(out, name, rows[i].named[reader], at + n, behind);
		buf_add(out, quote);
		return;
	}
	buf_addf(out, "`%.*s`", (int)bytes, at);
}

static void apply(char *text, size_t max_bytes, enum wording reader)
{
	cleanup_buf struct buf out = BUF_INIT(4 * ERR_HINT_BYTES);
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, "`");
		const char *end = at[n] ? strchr(at + n + 1, '`') : NULL;
		if (!end)
			n = strlen(at);
		buf_append(&out, at, n);
		at += n;
		if (end) {
			add_name(&out, at + 1, (size_t)(end - at - 1), reader);
			at = end + 1;
		}
	}
	if (buf_error(&out) == 0 && out.bytes < max_bytes)
		memcpy(text, buf_str(&out), out.bytes + 1);
}

void wording_apply(struct err *err, enum wording reader)
{
	if (strchr(err->msg, '`'))
		apply(err->msg, sizeof err->msg, reader);
	if (strchr(err->hint, '`'))
		apply(err->hint, sizeof err->hint, reader);
}
