/* Files of tools: any text is tools that keep to their schemas, or an error.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "tool/fixture.h"

#include <stdlib.h>
#include <string.h>

enum { OUT_BYTES = 4 << 20 };

static void check_type(const struct tool_type *type, uint32_t depth)
{
	if (!type)
		return;
	MUST(depth <= TOOL_TYPE_DEPTH_MAX && type->shape <= TOOL_DICT);
	MUST(type->kind.rank != KIND_HANDLE || type->name || type->kind.type == 0);
	check_type(type->item, depth + 1);
	for (uint32_t i = 0; i < type->n_fields; i++) {
		MUST(type->field[i].name);
		check_type(type->field[i].type, depth + 1);
	}
}

static void call(const struct tool_provider *p, const struct tool *tool, const char *arguments)
{
	struct buf out = BUF_INIT(OUT_BYTES);
	struct err err = {0};
	int r = p->call(p->ctx, tool, arguments, &out, &err);
	MUST(r == TOOL_RESULT || r == TOOL_ERROR || err.msg[0]);
	buf_done(&out);
}

static void ask(const struct tool_provider *p, const char *text)
{
	const struct tool_question question = {text, "null", "null"};
	struct buf out = BUF_INIT(OUT_BYTES);
	struct err err = {0};
	int r = p->ask(p->ctx, &question, &out, &err);
	MUST(r == TOOL_RESULT || r == TOOL_ERROR || err.msg[0]);
	buf_done(&out);
}

/* A file, a NUL, arguments of each tool. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *part;
	struct fixture *f = NULL;
	struct err err = {0};
	size_t n = fuzz_part(&data, &bytes, &part);
	char *arguments = fuzz_text(data, bytes);
	if (fixture_read((const char *)part, n, "f", &f, &err) < 0) {
		MUST(!f && err.msg[0]);
		free(arguments);
		return 0;
	}
	const struct tool_provider *p = fixture_provider(f);
	for (size_t i = 0; i < p->tools->n; i++) {
		const struct tool *tool = &p->tools->tool[i];
		MUST(tool->name && tool_find(p->tools, tool->name) == tool);
		MUST(tool->n_params <= TOOL_PARAMS_MAX);
		for (uint32_t k = 0; k < tool->n_params; k++)
			check_type(tool->param[k].type, 1);
		check_type(tool->result, 0);
		call(p, tool, arguments);
	}
	ask(p, arguments);
	fixture_free(f);
	free(arguments);
	return 0;
}
