/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text/wording.h"

#include "base/buf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * The words that each kind of reader knows for an operation or parameter. A message has the name of
 * an operation or parameter in backquotes, as JSON-RPC spells it. An argument may follow the name
 * in the backquotes: "`session.log s-1234` shows it". A row says what replaces such a text.
 *
 * operation  The name in JSON-RPC, such as "session.log".
 * name       The name that the reader knows, such as "%log" in the repl. NULL: the reader gets the
 *            text in backquotes unchanged.
 * named      The replacement for a name with an argument. "%s" in it stands for the argument. NULL:
 *            the reader gets `name` and then the argument, except that a reader in the repl gets
 *            `name` without the argument.
 */
static const struct {
	const char *operation, *name[WORDING_END_], *named[WORDING_END_];
} rows[] = {
	{"all", {"--all"}, {NULL}},
	{"file.list", {"retort session files", "%files", "list_files"}, {NULL}},
	{"file.write", {"retort session files --put", "%put", "write_file"}, {NULL}},
	{"force", {"--force", "--force", "force: true"}, {NULL}},
	{"input", {[WORDING_MCP] = "interactive: true"}, {NULL}},
	{"keep", {"--keep"}, {NULL}},
	{"keep_processes", {"--keep-processes", "--keep-processes", "keep: true"}, {NULL}},
	{"limits.memory_bytes", {"--memory", "--memory"}, {NULL}},
	{"older_ms", {"--older-than"}, {NULL}},
	{"port.close", {"retort port --close"}, {NULL}},
	{"port.list", {"retort port"}, {NULL}},
	{"process.get", {"retort ps", [WORDING_MCP] = "process_output"}, {NULL}},
	{"process.list", {"retort ps", [WORDING_MCP] = "process_output without process"}, {NULL}},
	{"recursive", {"--recursive"}, {NULL}},
	{"runtime", {"-r", "%runtime"}, {NULL}},
	{"session.create", {"retort session new"}, {NULL}},
	{"session.list", {"retort session ls", "%switch", "sessions {\"action\": \"list\"}"},
		{NULL}},
	{"session.log", {"retort session log", "%log", "sessions {\"action\": \"log\"}"},
		{[WORDING_REPL] = "%log all",
			[WORDING_MCP] = "sessions {\"action\": \"log\", \"session\": \"%s\"}"}},
	{"session.export", {"retort session export"}, {NULL}},
	{"session.prune", {"retort session prune"}, {NULL}},
	{"session.undo", {"retort session undo", "%undo"}, {NULL}},
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
 * Append what the reader gets in place of the name of an operation or parameter:
 * - @name, if the message has no argument behind the name of the operation;
 * - @name and the argument, if there is an argument and @named is NULL;
 * - @named with the argument in place of "%s", if there is an argument and @named is not NULL.
 * @behind: the argument with the space before it, such as " s-1234". @bytes: the length of @behind;
 * 0 if there is no argument, or if the reader does not get it.
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

/*
 * Append what @reader gets in place of one text that a message has in backquotes.
 * @at, @bytes: the text between the backquotes, such as "session.log s-1234".
 * - If no row has a name for @reader, append the text unchanged, in backquotes.
 * - If @reader is WORDING_REPL, append the replacement without backquotes: %log all.
 * - Otherwise append the replacement in backquotes: `retort session log s-1234`.
 */
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
