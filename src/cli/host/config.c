/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/config.h"

#include "base/attr.h"
#include "base/json.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The flags of rows that the configuration may not set. */
enum { NOT_HERE = OPT_NO_ENV | OPT_NO_CONFIG };

static bool config_path(char out[PATH_MAX])
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	int n = -1;
	if (config && config[0] == '/')
		n = snprintf(out, PATH_MAX, "%s/retort/config.json", config);
	else if (home && home[0] == '/')
		n = snprintf(out, PATH_MAX, "%s/.config/retort/config.json", home);
	return n > 0 && n < PATH_MAX;
}

/* Return a text, number or boolean as the command line would contain it: true becomes "true". The
 * text is never freed, because options point to it. Returns: NULL if there is no memory. */
static const char *as_text(const json_t *value)
{
	char text[32];
	if (json_is_string(value))
		return strdup(json_string_value(value));
	if (json_is_boolean(value))
		return json_is_true(value) ? "true" : "false";
	if (json_is_integer(value))
		snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else
		snprintf(text, sizeof text, "%g", json_real_value(value));
	return strdup(text);
}

/* Set the option of @row, or only check the value if the command does not have the option. */
static int apply_one(
	struct opt_set *set, const struct opt *row, const json_t *value, struct err *err)
{
	if (!json_is_string(value) && !json_is_boolean(value) && !json_is_number(value))
		return err_fail(err, ERR_USAGE, "write the value as on the command line",
			"\"%.60s\" is neither text, number nor true or false", row->name);
	if (!set)
		return 0;
	const char *text = as_text(value);
	if (!text)
		return err_set(err, ERR_NO_MEMORY, "configuration: no memory");
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the option keeps the text */
	return opt_apply(set, row->name, text, OPT_FROM_CONFIG, err);
}

static int apply_value(
	struct opt_set *set, const struct opt *row, const json_t *value, struct err *err)
{
	if (!json_is_array(value))
		return apply_one(set, row, value, err);
	if (row->type != OPT_LIST)
		return err_fail(err, ERR_USAGE, "write one value, without [ and ]",
			"\"%.60s\" has a list, but takes one value", row->name);
	int r = 0;
	for (size_t i = 0; r == 0 && i < json_array_size(value); i++)
		r = apply_one(set, row, json_array_get(value, i), err);
	return r;
}

static int fail_elsewhere(const struct opt *row, struct err *err)
{
	char variable[64];
	if (row->flags & OPT_NO_ENV)
		return err_fail(err, ERR_USAGE, "leave it out",
			"%s in the configuration: only on the command line", row->name);
	opt_env_name(row, variable, sizeof variable);
	(void)err_set(err, ERR_USAGE, "%s in the configuration: it cannot be set here", row->name);
	return err_hint(err, "write --%s, or set %s", row->name, variable);
}

/* Return the row @name of the command that runs, if the command takes it from here. */
static const struct opt *find_own(const struct opt_set *set, const char *name)
{
	for (size_t i = 0; i < set->n_opts; i++)
		if (strcmp(set->opts[i].name, name) == 0 && !(set->opts[i].flags & NOT_HERE))
			return &set->opts[i];
	return NULL;
}

/* Apply the member called @near->word. @near: what it may be a misspelling of. */
static int apply_member(
	const struct config_use *use, const json_t *value, struct word_near *near, struct err *err)
{
	const struct opt *own = find_own(use->set, near->word);
	const struct opt *row = own ? own : use->find(near->word, near);
	if (!row)
		return err_unknown(err, ERR_USAGE, near,
			"the names are those of options: `retort help run` lists them",
			"unknown setting \"%.60s\"", near->word);
	if (row->flags & NOT_HERE)
		return fail_elsewhere(row, err);
	return apply_value(own ? use->set : NULL, row, value, err);
}

/* Apply the members of @object, except those that do not stand for an option: @others, NULL at the
 * end. */
static int apply_object(const struct config_use *use, const json_t *object,
	const char *const *others, struct err *err)
{
	const char *name;
	json_t *value;
	json_object_foreach(json_unconst(object), name, value)
	{
		struct word_near near = {.word = name, .before = "\"", .after = "\""};
		bool is_other = false;
		for (const char *const *other = others; *other; other++) {
			word_near_try(&near, *other);
			is_other |= strcmp(*other, name) == 0;
		}
		int r = is_other ? 0 : apply_member(use, value, &near, err);
		if (is_other && !json_is_object(value))
			r = err_fail(err, ERR_USAGE, "write {\"NAME\": …}",
				"\"%s\" is not an object", name);
		if (r < 0)
			return r;
	}
	return 0;
}

/* @path: the file, if it does not exist; "" if its place is not known either; NULL if it exists,
 * and the message begins with its name. */
static int no_profile(const char *profile, const char *path, struct err *err)
{
	(void)err_set(err, ERR_NOT_FOUND, "no profile \"%.60s\"", profile);
	if (path && !*path)
		return err_hint(err, "set HOME or XDG_CONFIG_HOME, below which profiles are");
	return err_hint(err, "write {\"profiles\": {\"%.60s\": {\"memory\": \"2g\"}}} into %s",
		profile, path ? path : "that file");
}

static int apply_profile(
	const struct config_use *use, const json_t *profiles, const char *profile, struct err *err)
{
	static const char *const others[] = {NULL};
	const json_t *found = json_object_get(profiles, profile);
	int r = json_is_object(found)
		? apply_object(use, found, others, err)
		: err_fail(err, ERR_USAGE, "write {\"memory\": \"2g\"}", "not an object");
	return r < 0 ? err_wrap(err, "profile \"%.60s\"", profile) : 0;
}

/* Load the configuration file. Returns: 1; 0 if the file does not exist; or negative errno. */
static int load(char path[PATH_MAX], json_t **out, struct err *err)
{
	json_error_t error;
	if (!config_path(path) || access(path, F_OK) < 0)
		return 0;
	json_t *config = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!config || !json_is_object(config)) {
		err_set(err, ERR_USAGE, "%s:%d: %s", path, config ? 1 : error.line,
			config ? "not an object" : error.text);
		json_decref(config);
		return err_hint(err, "write {\"memory\": \"2g\"}, or remove the file");
	}
	*out = config;
	return 1;
}

int config_member(const char *name, json_t **out, struct err *err)
{
	char path[PATH_MAX];
	json_t *config = NULL;
	int r = load(path, &config, err);
	if (r > 0)
		*out = json_incref(json_object_get(config, name));
	json_decref(config);
	return MIN(r, 0);
}

int config_apply(const struct config_use *use, const char *profile, struct err *err)
{
	static const char *const others[] = {"profiles", "prices", NULL};
	char path[PATH_MAX] = "";
	json_t *config = NULL;
	int r = load(path, &config, err);
	if (r < 0)
		return r;
	const json_t *profiles = json_object_get(config, "profiles");
	r = config ? apply_object(use, config, others, err) : 0;
	if (r == 0 && profile && json_object_get(profiles, profile))
		r = apply_profile(use, profiles, profile, err);
	else if (r == 0 && profile)
		r = no_profile(profile, config ? NULL : path, err);
	if (r < 0 && config)
		(void)err_wrap(err, "%s", path);
	json_decref(config);
	return r;
}
