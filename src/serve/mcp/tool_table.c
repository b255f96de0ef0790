/* The names, parameters and descriptions of retort's tools. A model reads all of them with every
 * request, so their length is limited by MCP_TOOLS_TOKENS_MAX. SPDX-License-Identifier:
 * Apache-2.0 */
#include "serve/mcp/tool_table.h"

#include "base/attr.h"

#include <string.h>

enum {
	CODE_BYTES = 16 << 20,
	NAME_BYTES = 128,
	PATH_BYTES = 4095,
	RUN_BYTES = 64,
	GREP_BYTES = 1000,
	READ_MAX_BYTES = 16 << 20,
	PLAN_BYTES = 1 << 20,
	REQUEST_BYTES = 64 << 10,
	COMMAND_BYTES = 64 << 10,
	PROCESS_BYTES = 64,
	COMMAND_MAX_MS = 24 * 3600 * 1000,
};

#define ROWS(rows) .params = (rows), .n_params = ARRAY_LEN(rows)

#define SESSION                                                                                    \
	{                                                                                          \
		"session", PARAM_TEXT, false, 1, NAME_BYTES, .fallback = "default",                \
							     .help = "name or id"                  \
	}
#define RUN_ID                                                                                     \
	{                                                                                          \
		"run_id", PARAM_TEXT, true, 1, RUN_BYTES, .help = "of run_code"                    \
	}
#define WAIT                                                                                       \
	{                                                                                          \
		"wait_ms", PARAM_COUNT, false, 0, MCP_WAIT_MAX_MS, .fallback = "45000",            \
								   .help = "then returns "         \
									   "running"               \
	}
#define FILE_PATH                                                                                  \
	{                                                                                          \
		"path", PARAM_TEXT, true, 1, PATH_BYTES, .help = "in the workspace"                \
	}

static const struct param run_code_rows[] = {
	{"code", PARAM_DATA, true, 0, CODE_BYTES, .help = "source"},
	{"runtime", PARAM_CHOICE, .choices = "python|javascript|sql|shell",
		.help = "default: the session's, or python", PARAM_OF_LANGUAGE},
	{"session", PARAM_TEXT, false, 1, NAME_BYTES, .fallback = "default",
		.help = "a new name: a new session"},
	{"timeout_ms", PARAM_COUNT, false, 100, 600000, .help = "default: the session's, 30000"},
	WAIT,
	{"interactive", PARAM_FLAG, .help = "stdin for run_wait"},
	{"reset", PARAM_FLAG, .help = "empty the session first"},
};

static const struct param run_wait_rows[] = {
	RUN_ID,
	WAIT,
	{"stdin", PARAM_DATA, false, 0, CODE_BYTES, .help = "if interactive"},
	{"action", PARAM_CHOICE, .choices = "wait|interrupt|kill", .fallback = "wait",
		.help = "kill: at once"},
};

static const struct param read_output_rows[] = {
	RUN_ID,
	{"stream", PARAM_CHOICE, .choices = "stdout|stderr|value|code", .fallback = "stdout",
		.help = "which"},
	{"offset", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0", .help = "first byte"},
	{"limit", PARAM_COUNT, false, 1, MCP_READ_BYTES, .fallback = "10000", .help = "bytes"},
	{"grep", PARAM_TEXT, false, 1, GREP_BYTES, .help = "lines with this text"},
};

static const struct param read_file_rows[] = {
	FILE_PATH,
	{"offset", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0", .help = "first byte"},
	{"limit", PARAM_COUNT, false, 1, MCP_READ_BYTES, .fallback = "10000", .help = "bytes"},
	SESSION,
};

static const struct param write_file_rows[] = {
	FILE_PATH,
	{"content", PARAM_DATA, true, .help = "all of it"},
	{"encoding", PARAM_CHOICE, .choices = "utf-8|base64", .fallback = "utf-8",
		.help = "of content"},
	SESSION,
};

static const struct param list_files_rows[] = {
	{"path", PARAM_TEXT, false, 1, PATH_BYTES, .fallback = ".", .help = "directory"},
	SESSION,
};

static const struct param sessions_rows[] = {
	{"action", PARAM_CHOICE, true, .choices = "list|log|undo|branch|reset|close",
		.help = "undo: last step; branch: copy to name"},
	SESSION,
	{"name", PARAM_TEXT, false, 1, NAME_BYTES, .help = "of the branch"},
	{"force", PARAM_FLAG, .help = "branch: end processes"},
	{"keep", PARAM_FLAG, .help = "or leave them"},
};

static const struct param search_tools_rows[] = {
	{"query", PARAM_TEXT, true, 1, GREP_BYTES, .help = "what the tool is for"},
	{"detail", PARAM_CHOICE, .choices = "names|signatures|full", .fallback = "signatures",
		.help = "full: with schemas"},
	{"limit", PARAM_COUNT, false, 1, 100, .fallback = "10", .help = "tools"},
};

static const struct param run_command_rows[] = {
	{"command", PARAM_TEXT, true, 1, COMMAND_BYTES, .help = "line for /bin/sh"},
	{"session", PARAM_TEXT, false, 1, NAME_BYTES, .fallback = "default",
		.help = "as in run_code"},
	{"cwd", PARAM_TEXT, false, 1, PATH_BYTES, .help = "default: the workspace"},
	{"timeout_ms", PARAM_COUNT, false, 1, COMMAND_MAX_MS,
		.help = "then it is ended; default: 600000, in the background never"},
	{"wait_ms", PARAM_COUNT, false, 0, MCP_WAIT_MAX_MS,
		.help = "then returns running; default: 45000, in the background 1000"},
	{"background", PARAM_FLAG, .help = "for servers"},
	{"interactive", PARAM_FLAG, .help = "keep stdin open for process_output"},
};

static const struct param process_output_rows[] = {
	{"process", PARAM_TEXT, false, 1, PROCESS_BYTES,
		.help = "of run_command; default: list all"},
	SESSION,
	{"wait_ms", PARAM_COUNT, false, 0, MCP_WAIT_MAX_MS, .fallback = "1000",
		.help = "how long to wait for its end"},
	{"stdin", PARAM_DATA, false, 0, CODE_BYTES, .help = "for an interactive program"},
	{"end", PARAM_FLAG, .help = "close stdin"},
	{"signal", PARAM_CHOICE, .choices = "INT|TERM|KILL", .help = "to it and its children"},
	{"stream", PARAM_CHOICE, .choices = "stdout|stderr", .help = "only this, from offset"},
	{"offset", PARAM_COUNT, false, 0, INT64_MAX, .help = "first byte"},
};

static const struct param plan_rows[] = {
	{"plan", PARAM_TEXT, true, 0, PLAN_BYTES, .help = "source"},
	{"request", PARAM_TEXT, false, 0, REQUEST_BYTES, .help = "the user's own words"},
};

const struct mcp_tool mcp_tool_table[] = {
	{"run_code", "Run code",
		"Run code in a sandbox: Python with numpy, pandas, matplotlib where installed; "
		"JavaScript, SQL (SQLite), shell. Variables and files stay in the session from call to "
		"call. As in Jupyter, the last value is shown; plots come as images. A step that "
		"crashes, times out or runs out of memory is rolled back. No network. A long run "
		"returns running: call run_wait.",
		ROWS(run_code_rows), MCP_TIER_MINIMAL, MCP_RUNS_CODE, mcp_run_code},
	{"run_wait", "Wait for a run", "Wait for running code, give it input, or stop it.",
		ROWS(run_wait_rows), MCP_TIER_MINIMAL, MCP_RUNS_CODE, mcp_run_wait},
	{"read_output", "Read output", "Read or search output that a result cut.",
		ROWS(read_output_rows), MCP_TIER_MINIMAL, MCP_READ_ONLY | MCP_IDEMPOTENT,
		mcp_read_output},
	{"read_file", "Read a file", "Read a file of a session; images are shown.",
		ROWS(read_file_rows), MCP_TIER_STANDARD, MCP_READ_ONLY | MCP_IDEMPOTENT,
		mcp_read_file},
	{"write_file", "Write a file", "Write a file of a session.", ROWS(write_file_rows),
		MCP_TIER_STANDARD, MCP_IDEMPOTENT, mcp_write_file},
	{"list_files", "List files", "List files of a session, not links.", ROWS(list_files_rows),
		MCP_TIER_STANDARD, MCP_READ_ONLY | MCP_IDEMPOTENT, mcp_list_files},
	{"sessions", "Sessions", "List sessions and steps, undo, branch, reset.",
		ROWS(sessions_rows), MCP_TIER_STANDARD, 0, mcp_sessions},
	{"search_tools", "Search tools",
		"Find tools for run_code: import retort; retort.tools.SERVER.TOOL(name=value)",
		ROWS(search_tools_rows), MCP_TIER_MINIMAL,
		MCP_ON_TOOLS | MCP_READ_ONLY | MCP_IDEMPOTENT, mcp_search_tools},
	{"run_command", "Run a command",
		"Run a program in the session's box, beside run_code and on the same files: tests, "
		"git, a server. A new shell each time, so cd and variables do not last. A long "
		"command returns running: call process_output.",
		ROWS(run_command_rows), MCP_TIER_MINIMAL, MCP_ON_COMMANDS | MCP_RUNS_CODE,
		mcp_run_command},
	{"process_output", "Output of a process",
		"Output so far of a command that runs or has ended; wait for it, give it input, stop "
		"it.",
		ROWS(process_output_rows), MCP_TIER_MINIMAL, MCP_ON_COMMANDS | MCP_RUNS_CODE,
		mcp_process_output},
	{"check_plan", "Check a plan", "Check a plan against the policy without running it.",
		ROWS(plan_rows), MCP_TIER_STANDARD, MCP_ON_PLANS | MCP_READ_ONLY | MCP_IDEMPOTENT,
		mcp_check_plan},
	{"run_plan", "Run a plan", "Run a plan if nothing in it is denied; a person may be asked.",
		ROWS(plan_rows), MCP_TIER_STANDARD, MCP_ON_PLANS | MCP_WORLD, mcp_run_plan},
};

const size_t mcp_tool_n = ARRAY_LEN(mcp_tool_table);

const struct mcp_tool *mcp_tool_find(const char *name)
{
	for (size_t i = 0; i < mcp_tool_n; i++)
		if (strcmp(mcp_tool_table[i].name, name) == 0)
			return &mcp_tool_table[i];
	return NULL;
}
