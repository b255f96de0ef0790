/* Options of `retort agent` and the parameters of agent.run behind them: the same bounds and
 * defaults. SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd.h"

#include "agent/loop/loop.h"
#include "api/operation/operation.h"
#include "base/num.h"

#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In place of those of src/cli/main.c. */
const struct cmd *const cmd_table[] = {&cmd_agent, NULL};
const struct cmd cmd_root = {.name = "retort"};

int cmd_unknown(const char *name, struct err *err)
{
	return err_set(err, ERR_USAGE, "%s", name);
}

static const struct param *find_param(const char *name)
{
	const struct operation *op = operation_find("agent.run");
	for (size_t i = 0; i < op->n_params; i++)
		if (strcmp(op->params[i].name, name) == 0)
			return &op->params[i];
	return NULL;
}

static bool is_number(const struct opt *opt)
{
	return opt->type == OPT_COUNT || opt->type == OPT_MS;
}

static uint64_t top(uint64_t max)
{
	return max ? max : INT64_MAX;
}

/* The default of an option; "100 with --context …" is 100. */
static uint64_t default_of(const struct opt *opt)
{
	struct err err;
	uint64_t value = 0;
	char text[32];
	if (!opt->fallback)
		return 0;
	snprintf(text, sizeof text, "%.*s", (int)strcspn(opt->fallback, " "), opt->fallback);
	CHECK_INT(opt->type == OPT_MS ? num_parse_ms(text, NUM_ANY, &value, &err)
				      : num_parse_count(text, NUM_ANY, &value, &err),
		0);
	return value;
}

TEST(each_option_has_its_parameter)
{
	size_t n = 0;
	for (size_t i = 0; i < cmd_agent.n_opts; i++) {
		const struct opt *opt = &cmd_agent.opts[i];
		if (!opt->param || strcmp(opt->param, "tools") == 0)
			continue;
		const struct param *param = find_param(opt->param);
		CHECK(param != NULL);
		n++;
		if (!param || !is_number(opt))
			continue;
		CHECK_INT(param->type, PARAM_COUNT);
		CHECK_INT(opt->min, param->min);
		CHECK_INT(top(opt->max), top(param->max));
		CHECK_INT(
			default_of(opt), param->fallback ? strtoull(param->fallback, NULL, 10) : 0);
	}
	CHECK_INT(n, 12);
}

TEST(the_loop_has_the_defaults_of_the_parameters)
{
	const struct budget budget = budget_default();
	for (int i = 0; i < BUDGET_KINDS; i++) {
		char name[32];
		snprintf(name, sizeof name, "max_%s", budget_word((enum budget_kind)i));
		const struct param *param = find_param(name);
		CHECK(param != NULL);
		CHECK_INT(budget.limit[i],
			param && param->fallback ? strtoull(param->fallback, NULL, 10) : 0);
	}
	const struct param *context = find_param("context_tokens");
	CHECK(context && atoi(context->fallback) == LOOP_CONTEXT_TOKENS);
}
