/* Searches of the front "open-terminal", which a program of the box does (tool.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/openterminal/inside.h"

#include <string.h>

enum { RESULTS_MAX = 500 };

/* Answer with what the program has found; @members of it are passed on. */
static void on_found(struct front_call *c, const json_t *answer, const struct err *err)
{
	bool is_grep = json_object_get(c->kept, "grep") != NULL;
	const char *wrong = json_get_text(answer, "error");
	if (!answer) {
		front_fail(c, err);
		return;
	}
	if (json_get_bool(answer, "missing")) {
		ot_refuse(c, 404, is_grep ? "Search path not found" : "Search directory not found");
		return;
	}
	if (wrong[0]) {
		ot_refuse(c, 400, "%s", wrong);
		return;
	}
	json_t *out = json_need(json_copy(json_object_get(c->kept, "said")));
	(void)json_object_update(out, json_unconst(answer));
	front_answer(c, 200, out);
}

/* Return the values @name of the query. Owns: the caller decrefs. */
static json_t *list_of(const struct front_call *c, const char *name)
{
	json_t *all = json_object_get(json_object_get(c->kept, "query"), name);
	return all ? json_incref(all) : json_need(json_array());
}

static void grep(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	bool is_regex = true, is_fold = false, is_per_line = true;
	double max = 50;
	const char *query = ot_query(c, "query");
	if (!query) {
		ot_invalid(c, "query", "query", "Field required");
		return;
	}
	if (!ot_query_path(c, "path", ".", path) || !ot_query_flag(c, "regex", &is_regex) ||
		!ot_query_flag(c, "case_insensitive", &is_fold) ||
		!ot_query_flag(c, "match_per_line", &is_per_line) ||
		!ot_query_number(c, "max_results", 1, RESULTS_MAX, &max))
		return;
	json_put_bool(c->kept, "grep", true);
	json_put_new(
		c->kept, "said", json_need(json_pack("{s:s, s:s}", "query", query, "path", path)));
	ot_run_tool(c,
		json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:o, s:i}", "op", "grep", "query", query,
			"path", path, "regex", is_regex, "fold", is_fold, "per_line", is_per_line,
			"include", list_of(c, "include"), "max", (int)max),
		on_found);
}

void ot_start_grep(struct front_call *c)
{
	ot_enter(c, grep);
}

/* Return the value "type" of the query. Returns: NULL, and the request was answered, if it is
 * wrong. */
static const char *type_of(struct front_call *c)
{
	const char *type = ot_query(c, "type");
	if (!type)
		return "any";
	if (strcmp(type, "any") == 0 || strcmp(type, "file") == 0 || strcmp(type, "directory") == 0)
		return type;
	ot_invalid(c, "query", "type", "Input should be 'file', 'directory' or 'any'");
	return NULL;
}

static void glob(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	double max = 50;
	const char *pattern = ot_query(c, "pattern"), *type;
	if (!pattern) {
		ot_invalid(c, "query", "pattern", "Field required");
		return;
	}
	if (!ot_query_path(c, "path", ".", path) || !(type = type_of(c)) ||
		!ot_query_number(c, "max_results", 1, RESULTS_MAX, &max))
		return;
	json_put_new(c->kept, "said",
		json_need(json_pack("{s:s, s:s}", "pattern", pattern, "path", path)));
	ot_run_tool(c,
		json_pack("{s:s, s:s, s:s, s:s, s:o, s:i}", "op", "glob", "pattern", pattern,
			"path", path, "type", type, "exclude", list_of(c, "exclude"), "max",
			(int)max),
		on_found);
}

void ot_start_glob(struct front_call *c)
{
	ot_enter(c, glob);
}

static void search(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	double max = 20;
	bool is_hidden = false;
	const char *query = ot_query(c, "query"), *type;
	if (!ot_query_path(c, "path", ".", path) || !(type = type_of(c)) ||
		!ot_query_flag(c, "show_hidden", &is_hidden) ||
		!ot_query_number(c, "limit", 1, 100, &max))
		return;
	json_put_new(c->kept, "said", json_need(json_object()));
	ot_run_tool(c,
		json_pack("{s:s, s:s, s:s, s:s, s:b, s:i}", "op", "search", "query",
			query ? query : "", "path", path, "type", type, "hidden", is_hidden, "max",
			(int)max),
		on_found);
}

void ot_start_search(struct front_call *c)
{
	ot_enter(c, search);
}

static void matches(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	double max = 100, offset = 0;
	bool is_hidden = false;
	const char *query = ot_query(c, "query");
	if (!query) {
		ot_invalid(c, "query", "query", "Field required");
		return;
	}
	if (query[strspn(query, " \t\n")] == '\0') {
		ot_refuse(c, 400, "Query must not be blank");
		return;
	}
	if (!ot_query_path(c, "path", ".", path) || !ot_query_flag(c, "show_hidden", &is_hidden) ||
		!ot_query_number(c, "limit", 1, 100, &max) ||
		!ot_query_number(c, "offset", 0, INT32_MAX / 2, &offset))
		return;
	json_put_new(c->kept, "said", json_need(json_object()));
	ot_run_tool(c,
		json_pack("{s:s, s:s, s:s, s:b, s:i, s:i}", "op", "matches", "query", query, "path",
			path, "hidden", is_hidden, "max", (int)max, "offset", (int)offset),
		on_found);
}

void ot_start_matches(struct front_call *c)
{
	ot_enter(c, matches);
}
