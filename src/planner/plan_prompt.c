/* Write the questions to a person about a call or a value, with all values and their origins.
 * SPDX-License-Identifier: Apache-2.0 */
#include "planner/inside.h"

#include "base/utf8.h"
#include "plan/builtin/json.h"
#include "plan/check/check_print.h"

#include <errno.h>
#include <string.h>

enum { SHOWN_MAX_BYTES = 4000 };

static int add_value(struct run *r, struct buf *out, struct val value)
{
	struct text t = {.h = &r->c.p.heap};
	if (json_write(&t, value, &JSON_CANONICAL) < 0 || text_add(&t, "", 1) < 0)
		return -ENOMEM;
	size_t bytes = strlen(t.data), shown = utf8_cut(t.data, bytes, SHOWN_MAX_BYTES);
	int rc = utf8_escape_terminal(out, t.data, shown, UTF8_ONE_LINE);
	if (rc == 0 && shown < bytes)
		rc = buf_addf(out, " … and %zu bytes more", bytes - shown);
	text_done(&t);
	return rc;
}

static int add_from(struct run *r, struct buf *out, uint32_t label)
{
	int rc = buf_add(out, "\n    from: ");
	return rc ? rc : print_label(out, r->c.labels, label);
}

static bool is_open(const struct policy_answer *answer, size_t n, uint32_t param)
{
	for (size_t i = 0; i < n; i++)
		if (answer[i].check >= CHECK_ALLOW && answer[i].param == param &&
			answer[i].proof != POLICY_PROVED)
			return true;
	return false;
}

int run_prompt_call(struct run *r, const struct plan_call *call, const struct policy_answer *answer,
	size_t n, struct buf *out)
{
	uint32_t line, column;
	source_place(&r->c.p.src, call->at, &line, &column);
	int rc = buf_addf(out, "call %.200s? (line %u)", call->tool->name, line);
	for (size_t i = 0; i < n && rc == 0; i++)
		if (answer[i].check == CHECK_WHEN && answer[i].proof != POLICY_PROVED) {
			rc = buf_add(out, "\n  ! data decided that this tool is called");
			rc = rc ? rc : add_from(r, out, call->guard);
		}
	/* Put "!" before the arguments about which the policy asks. */
	for (uint32_t i = 0; i < call->tool->n_params && rc == 0; i++) {
		if (!call->arg[i].is_given)
			continue;
		rc = buf_addf(out, "\n  %s%.80s: ", is_open(answer, n, i) ? "! " : "",
			call->tool->param[i].name);
		rc = rc ? rc : add_value(r, out, call->arg[i].value);
		rc = rc ? rc : add_from(r, out, call->arg[i].label);
	}
	return rc;
}

int run_prompt_value(struct run *r, const struct plan_call *call, struct buf *out)
{
	const struct str *why = call->text.str;
	int rc = utf8_escape_terminal(out, why->data, why->n_bytes, UTF8_ONE_LINE);
	rc = rc ? rc : buf_add(out, "\n  ");
	rc = rc ? rc : add_value(r, out, call->value);
	return rc ? rc : add_from(r, out, call->label);
}
