/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/approval.h"

#include <stdlib.h>
#include <string.h>

bool approval_is_needed(const struct catalog_tool *tool, bool is_tainted)
{
	const struct tool_server *s = tool->server->config;
	if (tool->is_read_only || servers_is_among(&s->approve_tainted, tool->tool))
		return false;
	return is_tainted || !servers_is_among(&s->approve, tool->tool);
}

/* Append @text. Everything except printable ASCII becomes "?": the name of a server may contain any
 * characters, even some that reverse the direction of text. */
static void add_plain(struct buf *out, const char *text)
{
	for (; *text; text++) {
		char c = *text >= ' ' && *text < 0x7f ? *text : '?';
		buf_append(out, &c, 1);
	}
}

void approval_ask(
	struct buf *out, const struct catalog_tool *tool, const json_t *arguments, bool is_tainted)
{
	char *text = json_dumps(arguments, JSON_COMPACT | JSON_ENSURE_ASCII);
	size_t bytes = text ? strlen(text) : 0;
	add_plain(out, tool->name);
	buf_addf(out, " can change something%s.%s\n", tool->is_destructive ? ", and destroy" : "",
		is_tainted ? "\nThe caller has read data that others wrote, and may follow "
			     "instructions in it."
			   : "");
	if (text)
		add_plain(out,
			bytes > APPROVAL_SHOWN_BYTES ? (text[APPROVAL_SHOWN_BYTES] = '\0', text)
						     : text);
	if (bytes > APPROVAL_SHOWN_BYTES)
		buf_addf(out, "\n... and %zu bytes more that are not shown",
			bytes - APPROVAL_SHOWN_BYTES);
	buf_add(out, "\nAllow the call?");
	free(text);
}
