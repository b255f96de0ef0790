/* Configurations of servers, as somebody else's repository may have them. SPDX-License-Identifier:
 * Apache-2.0 */
#include "fuzz.h"

#include "tool/servers.h"

#include <string.h>

static const char *env(const char *name)
{
	MUST(name[0]);
	return strcmp(name, "HOME") == 0 ? "/home/u" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tool_servers s = {0};
	struct err err = {0};
	int r = servers_read(&s, (const char *)data, bytes, "f", env, &err);
	if (r < 0) {
		MUST(s.n == 0 && err.msg[0]);
		return 0;
	}
	MUST(s.n <= SERVERS_MAX);
	for (size_t i = 0; i < s.n; i++) {
		const struct tool_server *one = &s.server[i];
		MUST(one->name && strlen(one->name) <= SERVER_NAME_BYTES);
		MUST(!one->command != !one->url);
		MUST(one->timeout_ms > 0 && one->args.n <= SERVER_LIST_MAX);
		for (size_t k = 0; k < one->headers.n; k++)
			MUST(strlen(one->headers.item[k].value) <= SERVER_TEXT_BYTES);
		(void)servers_allows(one, "read_file");
	}
	servers_done(&s);
	return 0;
}
