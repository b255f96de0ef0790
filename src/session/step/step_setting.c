/* SPDX-License-Identifier: Apache-2.0 */
#include "session/step/step_setting.h"

#include "base/json.h"

#include <string.h>

#define LETTERS	 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define NAME_SET LETTERS "0123456789_"

static bool is_text(const json_t *value)
{
	const char *text = json_string_value(value);
	return text && strlen(text) == json_string_length(value);
}

json_t *step_setting_pick(const json_t *from)
{
	const json_t *env = json_object_get(from, "env"), *scope = json_object_get(from, "scope"),
		     *cwd = json_object_get(from, "cwd");
	json_t *out = json_need(json_object());
	if (json_object_size(env) > 0)
		json_put_shared(out, "env", env);
	if (is_text(scope))
		json_put_shared(out, "scope", scope);
	if (is_text(cwd))
		json_put_shared(out, "cwd", cwd);
	if (json_is_true(json_object_get(from, "fresh_scope")))
		json_put_bool(out, "fresh_scope", true);
	if (json_object_size(out) > 0)
		return out;
	json_decref(out);
	return NULL;
}

/* ---- checking a setting ---- */

/* A shell can export only variables whose names are identifiers. */
static bool is_shell_name(const char *name)
{
	return strchr("0123456789", name[0]) == NULL && strspn(name, NAME_SET) == strlen(name);
}

static int check_variables(const json_t *env, const struct runtime *runtime, struct err *err)
{
	const char *name;
	json_t *value;
	size_t bytes = 0;
	if (json_object_size(env) > STEP_VARIABLES_MAX)
		return err_fail(err, ERR_USAGE, "pass data in a file",
			"env: %zu variables, limit %d", json_object_size(env), STEP_VARIABLES_MAX);
	json_object_foreach(json_unconst(env), name, value)
	{
		if (!*name || strchr(name, '=') || !is_text(value))
			return err_fail(err, ERR_USAGE, "name it without =, and not empty",
				"env: \"%.60s\" is not a valid name", name);
		if (runtime == &runtime_shell && !is_shell_name(name))
			return err_fail(err, ERR_USAGE, "use letters, digits and _",
				"env: a shell has no variable \"%.60s\"", name);
		bytes += strlen(name) + json_string_length(value);
	}
	if (bytes > STEP_VARIABLES_BYTES)
		return err_fail(err, ERR_USAGE, "pass data in a file", "env: %zu bytes, limit %d",
			bytes, STEP_VARIABLES_BYTES);
	return 0;
}

static int check_scope(
	const char *scope, const struct runtime *runtime, bool is_script, struct err *err)
{
	if (!runtime->has_scopes)
		return err_fail(err, ERR_USAGE,
			"python and javascript have scopes; for others, make a second session",
			"scope: steps of %s all use the session's own variables", runtime->name);
	if (is_script)
		return err_fail(err, ERR_USAGE, "leave out one of them",
			"scope: a script has variables of its own anyway");
	if (strlen(scope) > STEP_SCOPE_BYTES || !*scope ||
		strspn(scope, NAME_SET ".-") != strlen(scope))
		return err_fail(err, ERR_USAGE, "1 to 63 letters, digits, dots, dashes and _",
			"scope: \"%.63s\" is not a valid name", scope);
	return 0;
}

int step_setting_check(
	const json_t *setting, const struct runtime *runtime, bool is_script, struct err *err)
{
	const json_t *env = json_object_get(setting, "env");
	const char *scope = json_string_value(json_object_get(setting, "scope"));
	bool is_fresh = json_object_get(setting, "fresh_scope") != NULL;
	if (env && !runtime->has_environment)
		return err_fail(err, ERR_USAGE, "leave it out",
			"env: %s has no environment variables", runtime->name);
	if (!scope && (is_fresh || json_object_get(setting, "cwd")))
		return err_fail(err, ERR_USAGE, "name the scope, too", "%s: given without scope",
			is_fresh ? "fresh_scope" : "cwd");
	int r = check_variables(env, runtime, err);
	return r == 0 && scope ? check_scope(scope, runtime, is_script, err) : r;
}
