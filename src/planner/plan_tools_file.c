/* Recognise and read a file of tools, for the engine, the command line and the planner process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan_tools.h"

#include "base/attr.h"

#include <errno.h>
#include <string.h>

/* Return whether @text is a list of servers. Such a list has a member or table with one of the
 * `names`, and no member "tools". */
bool plan_tools_lists_servers(const char *text)
{
	static const char *const names[] = {"mcpServers", "servers", "mcp_servers"};
	bool is_list = false, is_likely = false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		is_likely |= strstr(text, names[i]) != NULL;
	if (!is_likely)
		return false;
	if (text[strspn(text, " \t\r\n")] != '{')
		return strstr(text, "[mcp_servers") != NULL;
	json_t *root = json_loads(text, 0, NULL);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		is_list |= json_object_get(root, names[i]) != NULL;
	is_list = is_list && !json_object_get(root, "tools");
	json_decref(root);
	return is_list;
}

int plan_tools_refuse_servers(const char *name, struct err *err)
{
	(void)err_set(err, ERR_DENIED, "tools: %.100s: callers may not name servers here", name);
	return err_hint(err, "the engine uses the servers that it was started with");
}

int plan_tools_read(const char *text, const char *name, struct fixture **out, struct err *err)
{
	int r = fixture_read(text, strlen(text), name, out, err);
	if (r == -EINVAL && !err->hint[0])
		(void)err_hint(err,
			"write tools with prepared answers as {\"tools\": …}, servers as {\"mcpServers\": …}");
	return r;
}
