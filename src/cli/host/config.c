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

static bool is_known(const struct opt_set *set, const char *name)
{
	for (size_t i = 0; i < set->n_opts; i++)
		if (strcmp(set->opts[i].name, name) == 0)
			return !(set->opts[i].flags & OPT_NO_CONFIG);
	return false;
}

/* Return a value as the command line would contain it: true becomes "true". The text is never
 * freed, because options point to it. */
static const char *as_text(const json_t *value)
{
	char text[32];
	if (json_is_string(value))
		return strdup(json_string_value(value));
	if (json_is_boolean(value))
		return json_is_true(value) ? "true" : "false";
	if (json_is_integer(value))
		snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		snprintf(text, sizeof text, "%g", json_real_value(value));
	else
		return NULL;
	return strdup(text);
}

static int apply_one(struct opt_set *set, const char *name, const json_t *value, struct err *err)
{
	const char *text = as_text(value);
	if (!text)
		return err_set(err, ERR_USAGE,
			"\"%.60s\" is neither text, number nor true or false", name);
	return opt_apply(set, name, text, OPT_FROM_CONFIG, err);
}

static int apply_member(struct opt_set *set, const char *name, const json_t *value, struct err *err)
{
	if (!json_is_array(value))
		return apply_one(set, name, value, err);
	for (size_t i = 0; i < json_array_size(value); i++) {
		int r = apply_one(set, name, json_array_get(value, i), err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int apply_object(struct opt_set *set, const json_t *object, struct err *err)
{
	const char *name;
	json_t *value;
	json_object_foreach(json_unconst(object), name, value)
	{
		int r = is_known(set, name) ? apply_member(set, name, value, err) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int no_profile(const char *profile, struct err *err)
{
	err_set(err, ERR_NOT_FOUND, "no profile \"%.60s\"", profile);
	return err_hint(err,
		"write {\"profiles\": {\"%.60s\": {\"memory\": \"2g\"}}} into "
		"~/.config/retort/config.json",
		profile);
}

static int apply_config(
	struct opt_set *set, const json_t *config, const char *profile, struct err *err)
{
	int r = apply_object(set, config, err);
	if (r < 0 || !profile)
		return r;
	const json_t *found = json_object_get(json_object_get(config, "profiles"), profile);
	return json_is_object(found) ? apply_object(set, found, err) : no_profile(profile, err);
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

int config_apply(struct opt_set *set, const char *profile, struct err *err)
{
	char path[PATH_MAX];
	json_t *config = NULL;
	int r = load(path, &config, err);
	if (r <= 0)
		return r == 0 && profile ? no_profile(profile, err) : r;
	r = apply_config(set, config, profile, err);
	json_decref(config);
	return r < 0 ? err_wrap(err, "%s", path) : 0;
}
