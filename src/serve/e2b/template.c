/*
 * Templates, as clients of E2B ask for them, and what sandboxes of retort do not have.
 *
 * Templates are those of retort, and E2B's names for a plain box. Templates are built by retort's
 * own ways, since the builds of E2B run an image of another machine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "api/operation/principal.h"
#include "base/num.h"

#include <string.h>

#define NO_ID "00000000-0000-0000-0000-000000000000"

static json_t *template_json(const struct front_call *c, const char *name, uint64_t made_ms)
{
	char date[E2B_DATE_BYTES];
	e2b_date(date, made_ms);
	json_t *out = json_need(json_pack("{s:s, s:s, s:b, s:[s], s:[s], s:s, s:s, s:n, s:n, s:i, "
					  "s:i, s:s, s:s}",
		"templateID", name, "buildID", NO_ID, "public", (int)e2b_is_plain(name), "aliases",
		name, "names", name, "createdAt", date, "updatedAt", date, "createdBy",
		"lastSpawnedAt", "spawnCount", 0, "buildCount", 1, "envdVersion", E2B_ENVD_VERSION,
		"buildStatus", "ready"));
	e2b_put_limits(c->state, out);
	return out;
}

/* ---- lists ---- */

static void on_listed(struct front_call *c, const json_t *result, const struct err *err)
{
	static const char *const plain[] = {"base", "code-interpreter-v1"};
	json_t *all = json_need(json_array()), *row;
	size_t i;
	if (!result) {
		json_decref(all);
		front_fail(c, err);
		return;
	}
	for (i = 0; i < ARRAY_LEN(plain); i++)
		json_add_new(all, template_json(c, plain[i], 0));
	json_array_foreach(json_object_get(result, "built"), i, row) json_add_new(all,
		template_json(
			c, json_get_text(row, "name"), (uint64_t)json_get_int(row, "made_ms")));
	front_answer(c, 200, all);
}

void e2b_start_templates(struct front_call *c)
{
	front_operate(c, "template.list", json_object(), on_listed);
}

/* ---- one ---- */

static void refuse_template(struct front_call *c, const char *name)
{
	e2b_refuse(c, 404, "template '%.200s' not found", name);
}

static void answer_template(struct front_call *c, const char *name, uint64_t made_ms)
{
	if (json_get_bool(c->kept, "alias")) {
		front_answer(c, 200,
			json_pack("{s:s, s:b}", "templateID", name, "public",
				(int)e2b_is_plain(name)));
		return;
	}
	json_t *out = template_json(c, name, made_ms);
	json_put_new(out, "builds", json_array());
	front_answer(c, 200, out);
}

static void on_found(struct front_call *c, const json_t *result, const struct err *err)
{
	const char *name = json_get_text(c->kept, "name");
	if (result)
		answer_template(c, name, (uint64_t)json_get_int(result, "made_ms"));
	else if (err->code == ERR_NOT_FOUND || err->code == ERR_USAGE)
		refuse_template(c, name);
	else
		front_fail(c, err);
}

void e2b_start_template(struct front_call *c)
{
	static const char aliases[] = "aliases/";
	char path[E2B_PATH_BYTES], name[E2B_NAME_BYTES];
	bool is_well = e2b_read_path(c, "/templates/", path);
	bool is_alias = is_well && strncmp(path, aliases, sizeof aliases - 1) == 0;
	const char *given = is_alias ? path + sizeof aliases - 1 : path;
	const struct e2b_snapshot *snapshot = is_well ? e2b_find_snapshot(c, given) : NULL;
	bool is_name = is_well && e2b_read_template(name, given);
	c->kept = json_need(
		json_pack("{s:b, s:s}", "alias", (int)is_alias, "name", is_name ? name : ""));
	if (is_name && e2b_is_plain(name))
		answer_template(c, name, 0);
	else if (snapshot)
		answer_template(c, json_string_value(snapshot->id), snapshot->made_ms);
	else if (is_well && !is_alias && strchr(path, '/'))
		e2b_start_unsupported(c);
	else if (is_name)
		front_operate(c, "template.get", json_pack("{s:s}", "name", name), on_found);
	else
		refuse_template(c, is_well ? given : "");
}

/* Templates of retort are removed by retort's own ways: only a snapshot is the client's. */
void e2b_start_template_end(struct front_call *c)
{
	char path[E2B_PATH_BYTES];
	bool is_well = e2b_read_path(c, "/templates/", path);
	struct e2b_snapshot *s = is_well ? e2b_find_snapshot(c, path) : NULL;
	if (s)
		e2b_end_snapshot(s, c);
	else
		refuse_template(c, is_well ? path : "");
}

/* ---- the rest ---- */

void e2b_start_teams(struct front_call *c)
{
	const struct principal *p = c->context->principal;
	front_answer(c, 200,
		json_pack("[{s:s, s:s, s:s, s:b}]", "teamID", NO_ID, "name",
			p ? principal_name(p) : "retort", "apiKey", "", "isDefault", 1));
}

void e2b_start_unsupported(struct front_call *c)
{
	const char *target = c->x ? http_target(c->x) : "";
	size_t n = strcspn(target, "?");
	const char *volumes = strstr(target, "/volumes"), *secrets = strstr(target, "/secrets");
	if (volumes && volumes < target + n)
		e2b_refuse(c, 501,
			"volumes are not supported: write files into the sandbox, or "
			"make a snapshot of it");
	else if (secrets && secrets < target + n)
		e2b_refuse(c, 501, "secrets are not supported: give envVars");
	else
		e2b_refuse(c, 501,
			"templates are not built through this API: the operator or you "
			"make them with `retort template build`, or make a snapshot of "
			"a sandbox");
}
