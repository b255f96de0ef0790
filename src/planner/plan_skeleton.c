/* Write a policy to be filled in, with a rule for every tool: `retort plan policy`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan_check.h"

#include "planner/plan_tools.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 16 << 20, SKELETON_MAX_BYTES = 4 << 20 };

static const char head[] =
	"# Replace each ? by your decision; `retort plan check` names those that are left.\n"
	"# control(allow = trusted): who, what, where, how much; only from the user or a trusted tool.\n"
	"# payload(): content, from anywhere. docs/use/plan.md describes the other words.\n"
	"trust(user, policy) # ? also tool(\"NAME\"): tools whose results nobody else can write\n";

static const char *effect_of(const struct tool *tool)
{
	return tool->is_read_only      ? "read"
		: tool->is_destructive ? "destructive"
		: tool->is_open_world  ? "external"
				       : "write";
}

static bool lists_objects(const struct tool *tool)
{
	const struct tool_type *t = tool->result;
	return t && t->shape == TOOL_LIST && t->item && t->item->shape == TOOL_DICT;
}

static int add_rule(struct buf *out, const struct tool *tool)
{
	bool is_read = tool->is_read_only;
	int rc = buf_addf(out, "\nrule(\"%s\", effect = %s", tool->name, effect_of(tool));
	if (rc == 0 && (!is_read || lists_objects(tool)))
		rc = buf_addf(out, ",%s\n",
			is_read ? "" : " # ? read, write, external, destructive, payment");
	if (rc == 0 && is_read && lists_objects(tool))
		rc = buf_add(out,
			"     # result = each(origin = \"?\", readers = [\"?\"]), # ? owner of an item\n");
	for (uint32_t i = 0; i < tool->n_params && rc == 0 && !is_read; i++)
		rc = buf_addf(out, "     # %s = ?, # control(allow = trusted) or payload()\n",
			tool->param[i].name);
	return rc ? rc : buf_add(out, ")\n");
}

int plan_skeleton(const struct plan_request *req, struct buf *out, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(FILE_BYTES);
	*out = BUF_INIT(SKELETON_MAX_BYTES);
	if (!req->tools_path) {
		(void)err_set(err, ERR_USAGE, "plan: the list of tools is missing");
		return err_hint(err, "name a file with the tools and their schemas: --tools FILE");
	}
	struct plan_tools *opened;
	int rc = plan_read(req->tools_path, &text, err);
	if (rc < 0)
		return rc;
	const struct plan_tools_config config = {.text = buf_str(&text),
		.name = req->tools_path,
		.may_start = true,
		.has_signals = req->has_signals,
		.needs_all = true};
	rc = plan_tools_open(&opened, &config, err);
	if (rc < 0)
		return rc;
	const struct tool_set *tools = plan_tools_provider(opened)->tools;
	rc = buf_add(out, head);
	for (size_t i = 0; i < tools->n && rc == 0; i++)
		rc = add_rule(out, &tools->tool[i]);
	plan_tools_close(opened);
	return rc < 0 ? err_set(err, ERR_LIMIT, "plan: the policy is too large") : PLAN_OK;
}
