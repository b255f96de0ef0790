/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/price.h"

#include "base/attr.h"
#include "base/json.h"

#include <math.h>
#include <string.h>

#define MILLION 1e6

static const struct {
	const char *name;
	size_t offset;
	bool is_needed;
} rows[] = {
	{"input", offsetof(struct price, input), true},
	{"cached", offsetof(struct price, cached), false},
	{"output", offsetof(struct price, output), true},
};

static int check_one(const char *model, const json_t *price, struct err *err)
{
	const char *name;
	json_t *value;
	if (!json_is_object(price))
		return err_set(err, ERR_USAGE, "the price of %.80s is not an object", model);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].is_needed && !json_object_get(price, rows[i].name))
			return err_set(err, ERR_USAGE, "the price of %.80s: \"%s\" is missing",
				model, rows[i].name);
	json_object_foreach(json_unconst(price), name, value)
	{
		bool is_known = false;
		for (size_t i = 0; i < ARRAY_LEN(rows); i++)
			is_known = is_known || strcmp(name, rows[i].name) == 0;
		double usd = json_number_value(value);
		if (!is_known)
			return err_set(err, ERR_USAGE,
				"the price of %.80s: \"%.40s\" is not a known member", model, name);
		if (!json_is_number(value) || !isfinite(usd) || usd < 0 || usd > MILLION)
			return err_set(err, ERR_USAGE,
				"the price of %.80s: \"%s\" is not a number from 0 to a million",
				model, name);
	}
	return 0;
}

int price_check(const json_t *table, struct err *err)
{
	const char *model;
	json_t *price;
	int r = json_is_object(table) ? 0 : err_set(err, ERR_USAGE, "the prices are not an object");
	json_object_foreach(json_unconst(table), model, price)
	{
		if (r == 0)
			r = check_one(model, price, err);
	}
	if (r < 0)
		return err_hint(err,
			"write {\"openai:NAME\": {\"input\": 1.25, \"cached\": 0.125, \"output\": "
			"10}}, in USD per million tokens");
	return 0;
}

/* Find the longest pattern in @table, such as "ollama:*", that matches @model. Returns: the
 * price that belongs to the pattern; NULL if none matches. */
static const json_t *find_pattern(const json_t *table, const char *model)
{
	const json_t *found = NULL;
	size_t longest = 0;
	const char *key;
	json_t *price;
	json_object_foreach(json_unconst(table), key, price)
	{
		size_t n = strlen(key);
		bool is_pattern = n > 0 && key[n - 1] == '*';
		if (!is_pattern || n < longest || strncmp(key, model, n - 1) != 0)
			continue;
		longest = n;
		found = price;
	}
	return found;
}

bool price_find(struct price *out, const json_t *table, const char *model)
{
	const char *colon = strchr(model, ':');
	const json_t *found = json_object_get(table, model);
	if (!found && colon)
		found = json_object_get(table, colon + 1);
	if (!found)
		found = find_pattern(table, model);
	if (!found)
		return false;
	out->input = json_number_value(json_object_get(found, "input"));
	out->output = json_number_value(json_object_get(found, "output"));
	const json_t *cached = json_object_get(found, "cached");
	out->cached = cached ? json_number_value(cached) : out->input;
	return true;
}

double price_of(const struct price *p, const struct wire_usage *usage)
{
	uint64_t cached = MIN(usage->cached, usage->input);
	return ((double)(usage->input - cached) * p->input + (double)cached * p->cached +
		       (double)usage->output * p->output) /
		MILLION;
}
