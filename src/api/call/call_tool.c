/* Operations on the tools of configured servers. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/inside.h"
#include "api/gate/gate.h"
#include "api/operation/calls.h"
#include "api/operation/principal.h"

#include <string.h>

enum { QUERY_BYTES = 1000, APPROVAL_BYTES = 64 };

/* ---- handling the answers of the gate ---- */

static void take_error(const json_t *error, struct err *err)
{
	static const struct {
		const char *name;
		enum err_code code;
	} rows[] = {{"ToolDenied", ERR_DENIED}, {"ToolArgumentError", ERR_USAGE},
		{"ToolLimit", ERR_QUOTA}};
	const char *name = param_text(error, "name", "");
	enum err_code code = ERR_UNREACHABLE;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			code = rows[i].code;
	(void)err_set(err, code, "%s", param_text(error, "message", ""));
	(void)err_hint(err, "%s", param_text(error, "hint", ""));
}

/* Convert an answer of the gate to the result of the operation. If a tool reports that it
 * failed, tool.call gives this as a result, not as an error. */
static json_t *result_of(const struct operation_call *call, json_t *answer, struct err *err)
{
	const json_t *error = json_object_get(answer, "error");
	bool is_call = strcmp(call->op->name, "tool.call") == 0;
	bool is_tools = strcmp(param_text(error, "name", ""), "ToolError") == 0;
	if (error && !(is_call && is_tools)) {
		take_error(error, err);
		return NULL;
	}
	json_t *value =
		error ? json_object_get(error, "message") : json_object_get(answer, "value");
	if (!is_call)
		return json_incref(value);
	return json_pack("{s:s, s:b, s:O}", "tool", param_text(call->params, "name", ""),
		"is_error", error != NULL, "value", value);
}

static void on_answer(void *arg, json_t *answer, bool is_untrusted)
{
	struct operation_call *call = arg;
	struct err err = {0};
	(void)is_untrusted;
	json_t *result = result_of(call, answer, &err);
	if (!result && err.code == ERR_NONE)
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for an answer");
	json_decref(answer);
	call_give(call, result, &err);
}

static void on_cancel(struct operation_call *call)
{
	struct err err = {0};
	gate_cancel(call->gate_call);
	(void)err_set(&err, ERR_INTERRUPTED, "the call was given up");
	call_fail(call, &err);
}

/* ---- the operations tool.list and tool.call ---- */

static void pass(struct operation_call *call, const char *name, const json_t *arguments)
{
	const struct operation_context *context = call->context;
	const struct principal *p = context->principal;
	struct err err = {0};
	if (!context->gate) {
		(void)err_set(&err, ERR_INTERNAL, "an engine without a gate");
		call_fail(call, &err);
		return;
	}
	const struct gate_request request = {.session = "",
		.owner = p ? principal_name(p) : "",
		.name = name,
		.arguments = arguments,
		.is_approved = param_flag(call->params, "approve"),
		.arg = call,
		.answer = on_answer};
	struct gate_call *started = gate_start(context->gate, &request);
	/* If gate_start() returns NULL, it has answered the call already, and @call is freed. */
	if (!started)
		return;
	call->gate_call = started;
	call->cancel = on_cancel;
}

static void start_list(struct operation_call *call)
{
	json_t *none = json_object();
	pass(call, GATE_LIST_ALL, call->params ? call->params : none);
	json_decref(none);
}

/* Return whether the name is reserved for calls from boxes, so that tool.call may not use it. */
static bool is_ours(const char *name)
{
	return strncmp(name, "retort.", 7) == 0;
}

static void start_call(struct operation_call *call)
{
	const char *name = param_text(call->params, "name", "");
	const json_t *arguments = param_get(call->params, "arguments");
	json_t *none = json_object();
	struct err err = {0};
	if (is_ours(name)) {
		err_fail(&err, ERR_USAGE, "`tool.list` lists tools",
			"name: %.100s is for code in boxes", name);
		call_fail(call, &err);
	} else {
		pass(call, name, arguments ? arguments : none);
	}
	json_decref(none);
}

/* ---- the operation tool.approve ---- */

static struct gate_call *find_asking(const struct operation_call *call, struct err *err)
{
	const struct operation_context *context = call->context;
	const char *id = param_text(call->params, "approval", "");
	struct gate_call *asking = context->gate ? gate_asking(context->gate, id) : NULL;
	struct err unseen;
	json_t *session =
		asking ? registry_get(context->registry, gate_call_session(asking), &unseen) : NULL;
	if (session) {
		json_decref(session);
		return asking;
	}
	err_fail(err, ERR_NOT_FOUND, "the call was decided already, or the step is over",
		"no call waits for approval %.64s", id);
	return NULL;
}

static void start_approve(struct operation_call *call)
{
	struct err err = {0};
	struct gate_call *asking = find_asking(call, &err);
	bool is_for_session = strcmp(param_text(call->params, "scope", ""), "session") == 0;
	if (asking && is_for_session && !gate_call_is_connection(asking)) {
		err_fail(&err, ERR_USAGE,
			"allow each call, or name the tool in the server's \"approve\"",
			"scope: calls of tools are allowed one by one");
		asking = NULL;
	}
	json_t *result = asking ? json_pack("{s:s}", "tool", gate_call_name(asking)) : NULL;
	if (asking)
		gate_approve(asking,
			!param_flag(call->params, "allow") ? GATE_REFUSE
				: is_for_session	   ? GATE_ALLOW_SESSION
							   : GATE_ALLOW);
	call_give(call, result, &err);
}

/* ---- rows of the table of operations ---- */

static const struct param list_rows[] = {
	{"query", PARAM_TEXT, false, 1, QUERY_BYTES,
		.help = "words to search for: best matches come first (default: all tools, by "
			"name)"},
	{"limit", PARAM_COUNT, false, 1, GATE_LIST_MAX, .fallback = "100", .help = "tools at most"},
};
static const struct param call_rows[] = {
	{"name", PARAM_TEXT, NEEDED, .min = 1, .max = TOOL_NAME_MAX,
		.help = "name of the tool: server.tool"},
	{"arguments", PARAM_OBJECT, .help = "arguments by name, as in the tool's schema"},
	{"approve", PARAM_FLAG, .fallback = "false",
		.help = "call the tool even if it may change something (default: such calls are "
			"denied, unless the server's configuration allows them)"},
};
static const struct param approve_rows[] = {
	{"approval", PARAM_TEXT, NEEDED, .min = 1, .max = APPROVAL_BYTES,
		.help = "id of the question, from an event tool.approval or the record of a "
			"running step"},
	{"allow", PARAM_FLAG, NEEDED, .help = "allow the call, or refuse it"},
	{"scope", PARAM_CHOICE, .choices = "once|session", .fallback = "once",
		.help = "how long to allow a connection; once: until the step ends"},
};

static const struct param tool_rows[] = {
	GIVES("name", PARAM_TEXT, "name of the tool: server.tool"),
	GIVES("server", PARAM_TEXT, "the server's name"),
	GIVES("description", PARAM_TEXT, "the server's description of the tool"),
	GIVES("signature", PARAM_TEXT, "signature of the function in Python"),
	GIVES("js_signature", PARAM_TEXT, "signature of the function in JavaScript"),
	GIVES("read_only", PARAM_FLAG, "the server says that the tool changes nothing"),
	GIVES("destructive", PARAM_FLAG,
		"the tool may destroy data; false only if a trusted server says so"),
	GIVES("open_world", PARAM_FLAG,
		"results may be written by others; false only if a trusted server says so"),
	GIVES("input_schema", PARAM_OBJECT, "JSON Schema of the arguments"),
	MAY_GIVE("output_schema", PARAM_OBJECT, "JSON Schema of the result"),
};
static const struct param server_rows[] = {
	GIVES("name", PARAM_TEXT, "name of the server in the configuration"),
	GIVES("n_tools", PARAM_COUNT, "number of tools known"),
	MAY_GIVE("error", PARAM_TEXT, "why the server's tools are not known"),
};
static const struct param listed_rows[] = {
	{"tools", PARAM_OBJECTS, NEEDED, FIELDS(tool_rows), .help = "the tools"},
	{"servers", PARAM_OBJECTS, NEEDED, FIELDS(server_rows), .help = "the configured servers"},
};
static const struct param called_rows[] = {
	GIVES("tool", PARAM_TEXT, "name of the called tool"),
	GIVES("is_error", PARAM_FLAG, "the tool failed: value says why"),
	{"value", PARAM_ANY, NEEDED, .is_nullable = true, .help = "result of the tool"},
};
static const struct param approved_rows[] = {
	GIVES("tool", PARAM_TEXT, "name of the tool"),
};

static const struct operation rows[] = {
	{"tool.list", "List or search the tools of the configured servers", ROWS(list_rows),
		RESULT(listed_rows), .label = OPERATION_PROGRAM,
		.limits = "A server that has not answered after 10 s is listed without tools.",
		.errors = "denied|quota|unreachable",
		.example = "{'query': 'add numbers', 'limit': 1}",
		.answer = "{'tools': [{'name': 'demo.add', 'read_only': true}], "
			  "'servers': [{'name': 'demo'}]}",
		.start = start_list},
	{"tool.call", "Call a tool of a configured server", ROWS(call_rows), RESULT(called_rows),
		.label = OPERATION_PROGRAM,
		.limits = "The server's configuration limits calls per minute and the time of a "
			  "call.",
		.errors = "denied|quota|unreachable",
		.example = "{'name': 'demo.add', 'arguments': {'a': 20, 'b': 22}}",
		.answer = "{'tool': 'demo.add', 'is_error': false, 'value': {'sum': 42}}",
		.start = start_call},
	{"tool.approve", "Allow or refuse a tool call or connection that waits for approval",
		ROWS(approve_rows), RESULT(approved_rows), .label = OPERATION_CALLER,
		.errors = "not_found",
		.example = "{'approval': 'a-zvn2hxq5c4d7k3tq6mwyp2abfe', 'allow': true}",
		.answer = "{'tool': 'demo.echo'}", .start = start_approve},
};

const struct operation_family tool_family = FAMILY(rows);
