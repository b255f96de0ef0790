/* Configurations of servers of tools. SPDX-License-Identifier: Apache-2.0 */
#include "tool/servers.h"

#include "t.h"

#include <stdio.h>
#include <string.h>

static const char *env(const char *name)
{
	return strcmp(name, "TOKEN") == 0 ? "s3cret" : strcmp(name, "EMPTY") == 0 ? "" : NULL;
}

static int read(struct tool_servers *out, const char *text, struct err *err)
{
	*err = (struct err){0};
	*out = (struct tool_servers){0};
	return servers_read(out, text, strlen(text), "mcp.json", env, err);
}

TEST(the_three_forms_say_the_same)
{
	static const char *const texts[] = {
		"{\"mcpServers\": {\"n\": {\"command\": \"x\", \"args\": [\"a\", \"b\"], \"env\": "
		"{\"K\": \"v\"}, \"cwd\": \"/d\", \"timeout\": 5000}}}",
		" {\"inputs\": [], \"servers\": {\"n\": {\"type\": \"stdio\", \"command\": \"x\", "
		"\"args\": [\"a\", \"b\"], \"env\": {\"K\": \"v\"}, \"cwd\": \"/d\", "
		"\"timeout\": 5000, \"dev\": {\"watch\": \"x\"}, \"envFile\": \"y\"}}}",
		"model = \"o\" # c\n[projects.\"/a b\"]\nlevel = 2026-01-02\n[mcp_servers.n]\n"
		"command = 'x'\nargs = [ # many\n \"a\",\n 'b',\n]\ncwd = \"/\\u0064\"\n"
		"env = { K = \"v\" }\ntool_timeout_sec = 5.0\nstartup_timeout_sec = 10\n"
		"[[hooks]]\na.b = 1\n[[hooks]]\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct tool_servers s;
		struct err err;
		if (!CHECK_INT(read(&s, texts[i], &err), 0)) {
			fprintf(stderr, "%s\n", err.msg);
			continue;
		}
		CHECK_INT(s.n, 1);
		const struct tool_server *one = &s.server[0];
		CHECK_STR(one->name, "n");
		CHECK_STR(one->command, "x");
		CHECK_INT(one->args.n, 2);
		CHECK_STR(one->args.item[1], "b");
		CHECK(one->args.item[2] == NULL);
		CHECK_STR(one->env.item[0].name, "K");
		CHECK_STR(one->env.item[0].value, "v");
		CHECK_STR(one->cwd, "/d");
		CHECK_INT(one->timeout_ms, 5000);
		CHECK_INT(one->protocol, SERVER_AUTO);
		CHECK(!one->is_trusted);
		servers_done(&s);
	}
}

TEST(members_of_others_are_left_to_them)
{
	struct tool_servers s;
	struct err err;
	int r = read(&s,
		"{\"mcpServers\": {\"n\": {\"command\": \"x\", \"description\": \"d\", \"version\": 1, "
		"\"gallery\": true, \"autoApprove\": [], \"alwaysAllow\": [], \"env_vars\": [], "
		"\"env_http_headers\": {}, \"required\": true, \"oauth\": {}, \"tools\": {}, "
		"\"name\": \"x\", \"icon\": \"y\", \"sandboxEnabled\": true}}}",
		&err);
	if (!CHECK_INT(r, 0))
		fprintf(stderr, "%s\n", err.msg);
	servers_done(&s);
}

TEST(variables_are_filled_in)
{
	struct tool_servers s;
	struct err err;
	CHECK_INT(
		read(&s,
			"{\"mcpServers\": {\"n\": {\"url\": \"http://h/${NONE:-a:-b}\", \"headers\": "
			"{\"A\": \"Bearer ${TOKEN}\", \"B\": \"${EMPTY}|${EMPTY:-e}|${env:TOKEN}\", "
			"\"C\": \"$TOKEN\"}}}}",
			&err),
		0);
	CHECK_STR(s.server[0].url, "http://h/a:-b");
	CHECK_STR(s.server[0].headers.item[0].value, "Bearer s3cret");
	CHECK_STR(s.server[0].headers.item[1].value, "|e|s3cret");
	CHECK_STR(s.server[0].headers.item[2].value, "$TOKEN");
	servers_done(&s);
}

TEST(what_is_switched_off_is_not_there)
{
	struct tool_servers s;
	struct err err;
	CHECK_INT(read(&s,
			  "[mcp_servers.a]\nenabled = false\n[mcp_servers.b]\nurl = \"http://h\"\n"
			  "bearer_token_env_var = \"TOKEN\"\nhttp_headers.x = \"y\"\n",
			  &err),
		0);
	CHECK_INT(s.n, 1);
	CHECK_INT(s.server[0].headers.n, 2);
	CHECK_STR(s.server[0].headers.item[1].value, "Bearer s3cret");
	servers_done(&s);
}

TEST(mistakes_have_a_place)
{
#define IN(text) "{\"mcpServers\": {\"n\": {" text "}}}"
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"{\"mcpServers\": ", "mcp.json:1:"},
		{"{}", "no \"mcpServers\""},
		{"", "no \"mcpServers\""},
		{"{\"mcpServers\": []}", "no \"mcpServers\""},
		{"{\"mcpServers\": {\"n\": 1}}", "n: an object is needed"},
		{"{\"mcpServers\": {\"\": {}}}", "1 to 64 bytes"},
		{"{\"mcpServers\": {\"a\\u001b\": {}}}", "control character"},
		{IN(""), "n: a command or a url is needed"},
		{IN("\"command\": \"x\", \"url\": \"http://h\""), "not both"},
		{IN("\"url\": \"file:///etc/passwd\""), "n.url: an address of http"},
		{IN("\"command\": 1"), "n.command: a text is needed"},
		{IN("\"command\": \"\""), "n.command: it is empty"},
		{IN("\"command\": \"a\\u0000b\""), "mcp.json:1:"},
		{IN("\"command\": \"x\", \"args\": \"a\""), "n.args: an array"},
		{IN("\"command\": \"x\", \"args\": [1]"), "n.args: a text is needed"},
		{IN("\"command\": \"x\", \"env\": {\"A=B\": \"c\"}"), "n.env: not a name"},
		{IN("\"command\": \"x\", \"alow\": [\"a\"]"), "n.alow: unknown member"},
		{IN("\"command\": \"x\", \"timeout\": 0"), "n.timeout: a time"},
		{IN("\"command\": \"x\", \"timeout\": 1e99"), "n.timeout: a time"},
		{IN("\"command\": \"x\", \"protocol\": \"2025\""), "auto, legacy or modern"},
		{IN("\"command\": \"x\", \"trust\": \"yes\""), "n.trust: true or false"},
		{IN("\"type\": \"sse\", \"url\": \"http://h\""), "n.type: stdio or http"},
		{IN("\"command\": \"${NONE}\""), "n.command: the variable NONE is not set"},
		{IN("\"command\": \"${input:key}\""), "only variables can be filled in"},
		{IN("\"command\": \"${NONE\""), "${ without }"},
		{IN("\"command\": \"${}\""), "without the name"},
		{"[mcp_servers.n]\ncommand = \"x", "mcp.json:2: a string without an end"},
		{"[mcp_servers.n]\ncommand = \"\"\"x\"\"\"", "multi-line strings"},
		{"[mcp_servers.n]\ncommand = \"x\"\ncommand = \"y\"",
			"mcp.json:3: this key exists"},
		{"[mcp_servers.n]\ncommand = x", "mcp.json:2: an invalid value"},
		{"[mcp_servers.n\ncommand = \"x\"", "mcp.json:1: ] was expected"},
		{"[mcp_servers.n]\ncommand \"x\"", "= was expected"},
		{"[mcp_servers.n]\ncommand = \"x\" y", "unexpected text after the value"},
		{"a = [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", "too deep"},
		{"a = 1\n[a.b]", "this key is not a table"},
		{"a = \"\\q\"", "an unknown escape"},
		{"a = \"\\ud800\"", "a \\u"},
		{"a = \"\\u006g\"", "a \\u"},
		{"a = \"\\u00\x16\x11\"", "a \\u"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tool_servers s;
		struct err err;
		int r = read(&s, rows[i].text, &err);
		CHECK(r < 0);
		CHECK(s.n == 0 && !s.shelf.pieces);
		CHECK_HAS(err.msg, rows[i].says);
		CHECK_HAS(err.msg, "mcp.json");
	}
}

TEST(patterns_decide_which_tools_there_are)
{
	static const struct {
		const char *pattern, *text;
		bool fits;
	} rows[] = {
		{"*", "", true},
		{"*", "abc", true},
		{"a*c", "abbc", true},
		{"a*c", "abcd", false},
		{"?", "a", true},
		{"?", "", false},
		{"read_*", "read_file", true},
		{"read_*", "write_file", false},
		{"*a*b*", "xaxbx", true},
		{"", "", true},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(servers_glob(rows[i].pattern, rows[i].text), rows[i].fits);
	struct tool_servers s;
	struct err err;
	CHECK_INT(read(&s,
			  IN("\"command\": \"x\", \"allow\": [\"read_*\", \"list\"], \"deny\": "
			     "[\"*_secret\"]"),
			  &err),
		0);
	CHECK(servers_allows(s.server, "read_file"));
	CHECK(servers_allows(s.server, "list"));
	CHECK(!servers_allows(s.server, "list_all"));
	CHECK(!servers_allows(s.server, "read_secret"));
	servers_done(&s);
}
