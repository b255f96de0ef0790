/* Messages of the Model Context Protocol as a hostile client writes them, one per line, to a server
 * whose tools need no engine. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "unit/serve/mcp_bench.h"

#include <string.h>

enum { LINES_MAX = 256 };

/* Whatever is said is a request, a notification or an answer; or, once, several answers. */
static void check_message(const json_t *message)
{
	size_t i;
	json_t *one;
	if (json_is_array(message)) {
		MUST(json_array_size(message) > 0);
		json_array_foreach(message, i, one)
		{
			MUST(json_is_object(one));
			check_message(one);
		}
		return;
	}
	const char *version = json_string_value(json_object_get(message, "jsonrpc"));
	MUST(version && strcmp(version, "2.0") == 0);
	bool is_answer = !json_object_get(message, "method");
	bool has_result = json_object_get(message, "result") != NULL;
	bool has_error = json_object_get(message, "error") != NULL;
	if (is_answer)
		MUST(has_result != has_error && json_object_get(message, "id"));
	else
		MUST(!has_result && !has_error);
	if (has_error)
		MUST(json_is_string(json_object_get(json_object_get(message, "error"), "message")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct mcp_bench b;
	mcp_bench_open(&b);
	const char *at = (const char *)data, *end = at + bytes;
	for (int n = 0; at < end && n < LINES_MAX; n++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t length = stop ? (size_t)(stop - at) : (size_t)(end - at);
		unsigned before = mcp_peer_n_calls(b.peer);
		int last = b.n_last;
		/* Every answer that is owed comes now or is still under way. */
		unsigned owed = mcp_bench_say(&b, at, length);
		MUST(owed <= 1);
		MUST(mcp_peer_n_calls(b.peer) <= MCP_CALLS_MAX);
		if (owed == 1 && mcp_peer_n_calls(b.peer) <= before)
			MUST(b.n_last > last);
		if (b.n_kept > 1)
			mcp_bench_release(&b);
		if (n % 7 == 0)
			mcp_changed(b.server, MCP_TOOL);
		at += length + 1;
	}
	size_t i;
	json_t *message;
	json_array_foreach(b.said, i, message) check_message(message);
	mcp_bench_done(&b);
	MUST(b.n_kept == 0);
	return 0;
}
