/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text/tool_json.h"

#include "base/utf8.h"
#include "tool/stub.h"

#include <string.h>

enum { SIGNATURE_BYTES = 64 << 10, LINE_BYTES = 200 };

static json_t *signature(const struct catalog_tool *t, enum identifier_language language)
{
	cleanup_buf struct buf text = BUF_INIT(SIGNATURE_BYTES);
	(void)stub_signature(&text, language, t);
	return json_stringn(buf_str(&text), utf8_cut(buf_str(&text), text.bytes, SIGNATURE_BYTES));
}

json_t *tool_json_short(const struct catalog_tool *t, bool is_whole)
{
	size_t bytes = is_whole ? strlen(t->text) : strcspn(t->text, "\n");
	if (!is_whole)
		bytes = utf8_cut(t->text, bytes, LINE_BYTES);
	bool has_more;
	json_t *params = stub_params(t, &has_more);
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:s%, s:o, s:b}", "name", t->name, "tool",
		t->tool, "id", t->id, "js_id", t->js_id, "signature",
		signature(t, IDENTIFIER_PYTHON), "js_signature",
		signature(t, IDENTIFIER_JAVASCRIPT), "doc", t->text, bytes, "params", params,
		"extra", has_more);
}

json_t *tool_json(const struct catalog_tool *t)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:b, s:b, s:b, s:O, s:O*}", "name", t->name,
		"server", t->server->config->name, "description", t->text, "signature",
		signature(t, IDENTIFIER_PYTHON), "js_signature",
		signature(t, IDENTIFIER_JAVASCRIPT), "read_only", t->is_read_only, "destructive",
		t->is_destructive, "open_world", t->is_open_world, "input_schema", t->schema,
		"output_schema", t->output);
}
