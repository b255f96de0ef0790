/* Read the budget of an agent, and find the prices of its models. SPDX-License-Identifier:
 * Apache-2.0 */
#include "api/agent/agent_call.h"

#include "api/agent/models.h"

#include <stdio.h>

/*
 * Find the price of the model of @wire.
 * Returns: 1 if the price is known, 0 if not.
 * Errors: ERR_USAGE: the price is unknown, but the call has a limit on cost (max_cost_usd).
 */
static int find_price(
	const struct agent_call *a, const struct wire *wire, struct price *out, struct err *err)
{
	const struct models *models = a->call->context->models;
	if (price_find(out, models ? models->prices : NULL, wire_name(wire)))
		return 1;
	if (json_number_value(param_get(a->params, "max_cost_usd")) <= 0)
		return 0;
	return err_fail(err, ERR_USAGE,
		"add its price to \"prices\" in the engine's config.json, or to a file for --prices",
		"max_cost_usd: the price of %.100s is not known", wire_name(wire));
}

int agent_find_prices(struct agent_call *a, struct err *err)
{
	int r = find_price(a, a->wire, &a->price, err), query = 0;
	if (r >= 0 && a->query.queries)
		query = find_price(
			a, a->query.wire ? a->query.wire : a->wire, &a->query_price, err);
	a->has_price = r > 0;
	a->has_query_price = query > 0;
	return MIN(r, query);
}

void agent_take_budget(const struct agent_call *a, struct budget *out, struct loop_past *past)
{
	*out = budget_default();
	for (int i = 0; i < BUDGET_KINDS; i++) {
		char name[32];
		snprintf(name, sizeof name, "max_%s", budget_word((enum budget_kind)i));
		if (i != BUDGET_COST)
			out->limit[i] = param_count(a->params, name, out->limit[i]);
		past->is_given[i] = param_get(a->call->params, name) != NULL;
	}
	double usd = json_number_value(param_get(a->params, "max_cost_usd"));
	out->limit[BUDGET_COST] = (uint64_t)(usd * BUDGET_UNITS_PER_USD);
}
