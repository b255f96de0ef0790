/*
 * What the front "open-terminal" says of its operations, as OpenAPI. Open WebUI makes the tools of
 * models from it: their names are the operation ids.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/openterminal/inside.h"

#include <string.h>

enum value_type { TEXT, NUMBER, COUNT, FLAG, TEXTS, MAP, CHANGES };

/* A value of an operation: of its query or its path; of its body. */
struct value {
	const char *name;
	enum value_type type;
	bool is_needed;
	const char *help;
	double min, max;      /* if not 0 */
	const char *fallback; /* JSON, or NULL */
};

struct api {
	const char *method, *path, *id, *summary, *help;
	struct value query[8]; /* ends with the first one without a name */
	struct value body[4];
};

#define OUTPUT_VALUES                                                                              \
	{"wait", NUMBER, false,                                                                    \
		"Seconds to wait for the end of the command. If it ends in time, all of its "      \
		"output is in the answer. Leave it out to get the answer at once.",                \
		0, 300, NULL},                                                                     \
	{                                                                                          \
		"tail", COUNT, false, "Give only the last lines of the output, so many.", 1, 0,    \
			NULL                                                                       \
	}

static const struct value change_values[] = {
	{"target", TEXT, true,
		"The text to replace, exactly as it is in the file, with its spaces.", 0, 0, NULL},
	{"replacement", TEXT, true, "The text to put in its place.", 0, 0, NULL},
	{"start_line", COUNT, false, "First line in which to look, from 1.", 1, 0, NULL},
	{"end_line", COUNT, false, "Last line in which to look.", 1, 0, NULL},
	{"allow_multiple", FLAG, false,
		"Replace the text wherever it is. Otherwise it is an error if it is there more than "
		"once.",
		0, 0, "false"},
	{.name = NULL},
};

static const struct api apis[] = {
	{"get", "/files/list", "list_files", "List a directory",
		"List the files and directories in a directory, with their sizes and times.",
		{{"directory", TEXT, false, "The directory.", 0, 0, "\".\""}}, {}},
	{"get", "/files/read", "read_file", "Read a file",
		"Read a text file, or some of its lines. An image is given as it is. To show a file "
		"to the user, use display_file.",
		{{"path", TEXT, true, "The file.", 0, 0, NULL},
			{"start_line", COUNT, false, "First line to give, from 1.", 1, 0, NULL},
			{"end_line", COUNT, false, "Last line to give.", 1, 0, NULL}},
		{}},
	{"get", "/files/display", "display_file", "Show a file to the user",
		"Open a file in the user's view of files. Its content is not given to you: that is "
		"what read_file is for.",
		{{"path", TEXT, true, "Absolute path of the file.", 0, 0, NULL}}, {}},
	{"post", "/files/write", "write_file", "Write a file",
		"Write a text file, in place of what it had. Missing directories are made.", {},
		{{"path", TEXT, true, "The file.", 0, 0, NULL},
			{"content", TEXT, true, "Its new content.", 0, 0, NULL}}},
	{"post", "/files/replace", "replace_file_content", "Change parts of a file",
		"Replace texts in a file by others, one after the other. If one is not found, the "
		"file stays as it was.",
		{},
		{{"path", TEXT, true, "The file.", 0, 0, NULL},
			{"replacements", CHANGES, true, "What to replace by what.", 0, 0, NULL}}},
	{"get", "/files/grep", "grep_search", "Search in files",
		"Search the text files of a directory, or one file, for lines with a pattern.",
		{{"query", TEXT, true, "A regular expression as in Python, or a text.", 0, 0, NULL},
			{"path", TEXT, false, "Directory or file to search.", 0, 0, "\".\""},
			{"regex", FLAG, false, "false: the query is a text, not an expression.", 0,
				0, "true"},
			{"case_insensitive", FLAG, false, "Take a and A as the same.", 0, 0,
				"false"},
			{"include", TEXTS, false,
				"Search only files whose names match one of these, such as *.py.",
				0, 0, NULL},
			{"match_per_line", FLAG, false,
				"false: give the names of the files only, not the lines.", 0, 0,
				"true"},
			{"max_results", COUNT, false, "How many results to give at most.", 1, 500,
				"50"}},
		{}},
	{"get", "/files/glob", "glob_search", "Find files by a pattern",
		"Find files and directories below a directory whose names or paths match a pattern.",
		{{"pattern", TEXT, true, "A pattern, such as *.py.", 0, 0, NULL},
			{"path", TEXT, false, "Directory to search.", 0, 0, "\".\""},
			{"exclude", TEXTS, false, "Leave out what matches one of these.", 0, 0,
				NULL},
			{"type", TEXT, false, "file, directory or any.", 0, 0, "\"any\""},
			{"max_results", COUNT, false, "How many results to give at most.", 1, 500,
				"50"}},
		{}},
	{"get", "/files/search", "search_files", "Find files by a part of the name",
		"Find files and directories whose names contain a text, the best ones first.",
		{{"query", TEXT, false, "A part of the name.", 0, 0, "\"\""},
			{"path", TEXT, false, "Directory to search.", 0, 0, "\".\""},
			{"limit", COUNT, false, "How many results to give at most.", 1, 100, "20"},
			{"type", TEXT, false, "file, directory or any.", 0, 0, "\"any\""},
			{"show_hidden", FLAG, false, "Also those that begin with a dot.", 0, 0,
				"false"}},
		{}},
	{"get", "/files/matches", "match_files", "Find files by name or content",
		"Find files and directories whose names, paths or contents have a text, the best ones "
		"first.",
		{{"query", TEXT, true, "The text.", 0, 0, NULL},
			{"path", TEXT, false, "Directory to search.", 0, 0, "\".\""},
			{"show_hidden", FLAG, false, "Also those that begin with a dot.", 0, 0,
				"false"},
			{"offset", COUNT, false, "How many results to pass over.", 0, 0, "0"},
			{"limit", COUNT, false, "How many results to give at most.", 1, 100,
				"100"}},
		{}},
	{"get", "/execute", "list_processes", "List commands",
		"List the commands that were started in this chat, and whether they still run.", {},
		{}},
	{"post", "/execute", "run_command", "Run a command",
		"Run a command of the shell, in a box with Linux of the user's own. It runs on in the "
		"background: the answer has its id, for get_process_status.",
		{OUTPUT_VALUES},
		{{"command", TEXT, true, "The command, for /bin/sh: with pipes, && and so on.", 0,
			 0, NULL},
			{"cwd", TEXT, false, "Directory in which it runs.", 0, 0, NULL},
			{"env", MAP, false, "Environment variables to add.", 0, 0, NULL}}},
	{"get", "/execute/{process_id}/status", "get_process_status", "Follow a command",
		"Tell whether a command still runs, how it has ended, and what it has printed since "
		"an offset. Reading takes nothing away.",
		{{"process_id", TEXT, true, "The id that run_command gave.", 0, 0, NULL},
			OUTPUT_VALUES,
			{"offset", COUNT, false,
				"Where to begin: the next_offset of the last answer, so that only what is "
				"new is given.",
				0, 0, "0"}},
		{}},
	{"post", "/execute/{process_id}/input", "send_process_input", "Type into a command",
		"Write text to the input of a command that runs. End a line with a newline. Ctrl-C "
		"is \\x03.",
		{{"process_id", TEXT, true, "The id that run_command gave.", 0, 0, NULL}},
		{{"input", TEXT, true, "What to type.", 0, 0, NULL}}},
	{"delete", "/execute/{process_id}", "kill_process", "End a command",
		"End a command that runs: with SIGTERM, or with SIGKILL.",
		{{"process_id", TEXT, true, "The id that run_command gave.", 0, 0, NULL},
			{"force", FLAG, false, "SIGKILL, which no program can ignore.", 0, 0,
				"false"}},
		{}},
	{"get", "/api/terminals/user/output", "read_user_terminal", "Read the user's terminal",
		"Give what the user's open terminal has shown last. Look at it before you type: a "
		"program may be running in it.",
		{}, {}},
	{"post", "/api/terminals/user/input", "send_user_terminal_input",
		"Type into the user's terminal",
		"Type text into the user's open terminal, as it is. A newline at its end makes it a "
		"command. What comes of it is not waited for.",
		{}, {{"input", TEXT, true, "What to type.", 0, 0, NULL}}},
};

static json_t *object_schema(const struct value *values);

static json_t *schema(const struct value *v)
{
	static const char *const types[] = {[TEXT] = "string",
		[NUMBER] = "number",
		[COUNT] = "integer",
		[FLAG] = "boolean",
		[TEXTS] = "array",
		[MAP] = "object",
		[CHANGES] = "array"};
	json_t *out = json_need(json_pack("{s:s}", "type", types[v->type]));
	if (v->type == TEXTS)
		json_put_new(out, "items", json_pack("{s:s}", "type", "string"));
	if (v->type == CHANGES)
		json_put_new(out, "items", object_schema(change_values));
	if (v->type == MAP)
		json_put_new(out, "additionalProperties", json_pack("{s:s}", "type", "string"));
	if (v->max > 0 || (v->min > 0 && v->type != NUMBER))
		json_put_int(out, "minimum", (int64_t)v->min);
	if (v->max > 0)
		json_put_int(out, "maximum", (int64_t)v->max);
	if (v->fallback)
		json_put_new(out, "default", json_loads(v->fallback, JSON_DECODE_ANY, NULL));
	return out;
}

/* Return the schema of an object with @values, the last of which has no name. */
static json_t *object_schema(const struct value *values)
{
	json_t *properties = json_need(json_object()), *needed = json_need(json_array());
	for (const struct value *v = values; v->name; v++) {
		json_t *one = schema(v);
		json_put_text(one, "description", v->help);
		json_put_new(properties, v->name, one);
		if (v->is_needed)
			json_add_text(needed, v->name);
	}
	return json_need(json_pack(
		"{s:s, s:o, s:o}", "type", "object", "properties", properties, "required", needed));
}

static json_t *parameters(const struct api *a)
{
	json_t *all = json_need(json_array());
	for (size_t i = 0; i < ARRAY_LEN(a->query) && a->query[i].name; i++) {
		const struct value *v = &a->query[i];
		bool is_path = strstr(a->path, "{") && i == 0;
		json_add_new(all,
			json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", v->name, "in",
				is_path ? "path" : "query", "required", v->is_needed, "description",
				v->help, "schema", schema(v)));
	}
	return all;
}

static json_t *operation_json(const struct api *a)
{
	json_t *out = json_need(json_pack("{s:s, s:s, s:s, s:o, s:{s:{s:s, s:{s:{s:{}}}}}}",
		"operationId", a->id, "summary", a->summary, "description", a->help, "parameters",
		parameters(a), "responses", "200", "description", "Successful Response", "content",
		"application/json", "schema"));
	if (a->body[0].name)
		json_put_new(out, "requestBody",
			json_pack("{s:b, s:{s:{s:o}}}", "required", 1, "content",
				"application/json", "schema", object_schema(a->body)));
	return out;
}

void ot_start_openapi(struct front_call *c)
{
	json_t *paths = json_need(json_object());
	for (size_t i = 0; i < ARRAY_LEN(apis); i++) {
		json_t *path = json_object_get(paths, apis[i].path);
		if (!path) {
			path = json_need(json_object());
			json_put_new(paths, apis[i].path, path);
		}
		json_put_new(path, apis[i].method, operation_json(&apis[i]));
	}
	front_answer(c, 200,
		json_pack("{s:s, s:{s:s, s:s, s:s}, s:o}", "openapi", "3.1.0", "info", "title",
			"Open Terminal", "description", "Boxes of retort, one for each user.",
			"version", c->context->version, "paths", paths));
}
