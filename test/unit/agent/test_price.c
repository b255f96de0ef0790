/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/price.h"
#include "t.h"

#include <stdio.h>
#include <string.h>

static json_t *load(const char *text)
{
	json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
	CHECK(json != NULL);
	return json;
}

TEST(what_is_no_table_is_refused)
{
	static const struct {
		const char *table, *why;
	} rows[] = {
		{"[]", "not an object"},
		{"{\"m\": 1}", "m is not an object"},
		{"{\"m\": {\"input\": 1}}", "\"output\" is missing"},
		{"{\"m\": {\"output\": 1}}", "\"input\" is missing"},
		{"{\"m\": {\"input\": 1, \"output\": -1}}", "\"output\" is not a number"},
		{"{\"m\": {\"input\": \"1\", \"output\": 1}}", "\"input\" is not a number"},
		{"{\"m\": {\"input\": 1e300, \"output\": 1}}", "\"input\" is not a number"},
		{"{\"m\": {\"input\": 1, \"output\": 1, \"chached\": 1}}",
			"\"chached\" is not a known member"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err err = {0};
		json_t *table = load(rows[i].table);
		CHECK(price_check(table, &err) < 0);
		CHECK_INT(err.code, ERR_USAGE);
		CHECK_HAS(err.msg, rows[i].why);
		CHECK(err.hint[0] != '\0');
		json_decref(table);
	}
}

/* By the input's price, which tells them apart; 0: there is none. */
TEST(the_nearest_name_counts)
{
	static const struct {
		const char *model;
		double input;
	} rows[] = {
		{"openai:big", 1},
		{"other:big", 2},
		{"url:big", 2},
		{"openai:big-2", 3},
		{"openai:small", 4},
		{"ollama:any", 5},
		{"exec:ls", 0},
		{"big", 2},
		{"", 0},
	};
	struct err err;
	json_t *table =
		load("{\"openai:big\": {\"input\": 1, \"output\": 0}, \"big\": {\"input\": 2, "
		     "\"output\": 0}, \"openai:*\": {\"input\": 4, \"output\": 0}, "
		     "\"openai:big-*\": {\"input\": 3, \"output\": 0}, \"o*\": {\"input\": 5, "
		     "\"output\": 0}}");
	CHECK_INT(price_check(table, &err), 0);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct price p = {0};
		CHECK_INT(price_find(&p, table, rows[i].model), rows[i].input > 0);
		if (!CHECK(p.input == rows[i].input)) /* NOLINT: as it was written */
			printf("# %s\n", rows[i].model);
	}
	CHECK(!price_find(&(struct price){0}, NULL, "openai:big"));
	json_decref(table);
}

static int micro(const struct price *p, uint64_t input, uint64_t cached, uint64_t output)
{
	const struct wire_usage usage = {.input = input, .cached = cached, .output = output};
	return (int)(price_of(p, &usage) * 1e6 + 0.5);
}

TEST(tokens_are_charged)
{
	const struct price p = {.input = 2, .cached = 0.5, .output = 10};
	CHECK_INT(micro(&p, 1000, 0, 0), 2000);
	CHECK_INT(micro(&p, 1000, 1000, 0), 500);
	CHECK_INT(micro(&p, 1000, 400, 100), 1200 + 200 + 1000);
	CHECK_INT(micro(&p, 10, 1000, 0), 5); /* more cached than read: not charged for more */
}
