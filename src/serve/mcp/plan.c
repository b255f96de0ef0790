/* The tools check_plan and run_plan. If a plan has flows for which the policy demands approval, a
 * person is asked before it runs. SPDX-License-Identifier: Apache-2.0 */
#include "api/text/printable.h"
#include "serve/mcp/ask.h"
#include "serve/mcp/job.h"
#include "serve/mcp/result.h"
#include "serve/mcp/tool_table.h"

#include "base/attr.h"
#include "base/json.h"

#include <string.h>

/* TEXT_MAX suffices for what a plan prints: at most 1 MiB, of which printable_add() turns each byte
 * into at most three. */
enum { TEXT_MAX = 4 << 20, FLOWS_MAX = 40, DIAGNOSTICS_MAX = 20, SHOWN_CHARACTERS = 7000 };

static const char approve_key[] = "approve";

static const char *member(const json_t *json, const char *name)
{
	return param_text(json, name, "");
}

static json_int_t count(const json_t *json, const char *name)
{
	return json_integer_value(json_object_get(json, name));
}

/* ---- writing a plan's report as text ---- */

/* Append where a value comes from: ", from web.get (line 1), then line 2". */
static void add_path(struct buf *out, const json_t *path)
{
	size_t i, n = json_array_size(path);
	json_t *step;
	for (i = 0; i + 1 < n; i++) {
		step = json_array_get(path, i);
		const char *tool = member(step, "tool");
		buf_addf(out, "%s%s%sline %" JSON_INTEGER_FORMAT "%s", i ? ", then " : ", from ",
			tool, tool[0] ? " (" : "", count(step, "line"), tool[0] ? ")" : "");
	}
}

static bool is_open(const json_t *finding)
{
	return strcmp(member(finding, "proof"), "proved") != 0;
}

static bool is_asked(const json_t *finding)
{
	return is_open(finding) && strcmp(member(finding, "otherwise"), "ask") == 0;
}

static void add_finding(struct buf *out, const json_t *call, const json_t *finding)
{
	const char *parameter = member(finding, "parameter");
	bool is_refuted = strcmp(member(finding, "proof"), "refuted") == 0;
	const char *verdict = is_asked(finding) ? "a person is asked"
		: is_refuted			? "denied"
						: "decided when it runs";
	buf_addf(out, "line %" JSON_INTEGER_FORMAT ": %s%s%s: %s (%s)", count(call, "line"),
		member(call, "tool"), parameter[0] ? ", " : "", parameter, verdict,
		member(finding, "code"));
	add_path(out, json_object_get(finding, "path"));
	buf_add(out, "\n");
}

/* List the flows that the check has not proved to be allowed. @only_asked: only those about which a
 * person is asked. */
static void add_flows(struct buf *out, const json_t *report, bool only_asked)
{
	size_t i, j, n = 0;
	json_t *call, *finding;
	json_array_foreach(json_object_get(report, "calls"), i, call) json_array_foreach(
		json_object_get(call, "findings"), j,
		finding) if ((only_asked ? is_asked(finding) : is_open(finding)) && n++ < FLOWS_MAX)
		add_finding(out, call, finding);
	if (n > FLOWS_MAX)
		buf_addf(out, "… and %zu more\n", n - FLOWS_MAX);
}

static void add_diagnostics(struct buf *out, const json_t *report)
{
	size_t i;
	json_t *d;
	json_array_foreach(json_object_get(report, "diagnostics"), i, d)
	{
		/* The hint of a diagnostic is the member "fix" in reports of plan.check, and
		 * "hint" in reports of plan.run. */
		const char *fix = param_text(d, "fix", member(d, "hint"));
		if (i >= DIAGNOSTICS_MAX)
			break;
		buf_addf(out, "%s:%" JSON_INTEGER_FORMAT ":%" JSON_INTEGER_FORMAT ": %s: %s%s%s\n",
			member(d, "file"), count(d, "line"), count(d, "column"), member(d, "code"),
			member(d, "message"), fix[0] ? ": " : "", fix);
	}
}

static void give_report(struct mcp_job *job, const json_t *report)
{
	cleanup_buf struct buf all = BUF_INIT(TEXT_MAX), plain = BUF_INIT(TEXT_MAX),
			       out = BUF_INIT(TEXT_MAX);
	const char *status = member(report, "status");
	const json_t *printed = json_object_get(report, "stdout");
	bool is_good = strcmp(status, "ok") == 0;
	buf_addf(&all, "%s\n", status);
	add_diagnostics(&all, report);
	add_flows(&all, report, false);
	(void)printable_add(&plain, json_string_value(printed), json_string_length(printed));
	if (plain.bytes > 0)
		buf_add(&all, "stdout:\n");
	buf_append(&all, buf_str(&plain), plain.bytes);
	(void)printable_cut(&out, buf_str(&all), all.bytes, SHOWN_CHARACTERS, NULL);
	json_t *result = mcp_result_text(buf_str(&out), out.bytes);
	json_put_bool(result, "isError", !is_good);
	mcp_job_give(job, result);
}

/* ---- the tool check_plan ---- */

static json_t *plan_params(const struct mcp_job *job)
{
	const struct mcp_tools_config *config = mcp_tools_config(job->tools);
	json_t *params = json_pack("{s:s, s:s*}", "plan", param_text(job->arguments, "plan", ""),
		"policy", config->policy);
	const char *request = param_text(job->arguments, "request", NULL);
	if (request)
		json_put_text(params, "request", request);
	return params;
}

static void on_report(struct mcp_job *job, const json_t *report, const struct err *err)
{
	if (report)
		give_report(job, report);
	else
		mcp_job_refuse(job, err);
}

void mcp_check_plan(struct mcp_call *call)
{
	struct mcp_job *job = mcp_job_of_tool(call);
	if (job)
		mcp_job_do(job, "plan.check", plan_params(job), on_report);
}

/* ---- the tool run_plan ---- */

/* Return the names of the tools for whose calls the person must be asked. */
static json_t *asked_tools(const json_t *report)
{
	json_t *names = json_object(), *call, *finding, *list = json_array(), *value;
	const char *name;
	size_t i, j;
	json_array_foreach(json_object_get(report, "calls"), i, call) json_array_foreach(
		json_object_get(call, "findings"), j, finding) if (is_asked(finding))(void)
		json_object_set_new(names, member(call, "tool"), json_true());
	json_object_foreach(names, name, value)(void)
		json_array_append_new(list, json_string(name));
	json_decref(names);
	return list;
}

static void run(struct mcp_job *job, json_t *approved)
{
	json_t *params = plan_params(job);
	json_put_new(params, "approve", approved);
	mcp_job_do(job, "plan.run", params, on_report);
}

static void refuse(struct mcp_job *job, const json_t *report, const char *why)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_MAX);
	buf_addf(&out, "not run: %s\n", why);
	add_flows(&out, report, true);
	json_t *result = mcp_result_text(buf_str(&out), out.bytes);
	json_put_bool(result, "isError", true);
	mcp_job_give(job, result);
}

static void ask(struct mcp_job *job, const json_t *report, json_t *names)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
	buf_add(&text, "The policy of a plan asks you to allow this:\n");
	add_flows(&text, report, true);
	json_t *question = mcp_approval_question(mcp_text(buf_str(&text), text.bytes),
		"Let the plan call these tools with these values");
	mcp_job_ask(job, json_pack("{s:o}", approve_key, question), names);
}

/* Return whether the person has allowed calls of exactly the tools @names. */
static bool is_approved(const struct mcp_job *job, const json_t *names)
{
	const json_t *answer = json_object_get(mcp_call_answers(job->call), approve_key);
	return mcp_approval_is_given(answer) && json_equal(mcp_call_state(job->call), names);
}

static void on_checked(struct mcp_job *job, const json_t *report, const struct err *err)
{
	if (!report || strcmp(member(report, "status"), "ok") != 0) {
		on_report(job, report, err);
		return;
	}
	cleanup_json json_t *names = asked_tools(report);
	bool is_answered = json_object_get(mcp_call_answers(job->call), approve_key) != NULL;
	if (json_array_size(names) == 0 || is_approved(job, names))
		run(job, json_incref(names));
	else if (is_answered)
		refuse(job, report, "the person did not allow it");
	else if (mcp_call_can(job->call, "elicitation"))
		ask(job, report, json_incref(names));
	else
		refuse(job, report,
			"a person has to allow it, and this client cannot ask a person");
}

void mcp_run_plan(struct mcp_call *call)
{
	struct mcp_job *job = mcp_job_of_tool(call);
	if (!job)
		return;
	mcp_job_beat(job);
	mcp_job_do(job, "plan.check", plan_params(job), on_checked);
}
