/* SPDX-License-Identifier: Apache-2.0 */
#include "api/agent/models.h"

#include "agent/wire/model.h"

#include <stdlib.h>
#include <string.h>

int models_choose(const struct models *m, const char *param, const char *spec, const char **out,
	struct err *err)
{
	const char *fallback = m ? m->fallback : NULL;
	if (!spec && !fallback)
		return err_fail(err, ERR_DENIED,
			"start the engine with a model: retort serve --model anthropic:NAME",
			"the engine was started without a model");
	if (spec && !(m && m->may_name) && !(fallback && strcmp(spec, fallback) == 0))
		return err_fail(err, ERR_DENIED,
			fallback ? "leave the parameter out: the engine was started with a model"
				 : "start the engine with a model: retort serve --model",
			"%s: %.100s: callers may not name models here", param, spec);
	*out = spec ? spec : fallback;
	return 0;
}

int models_check(const char *spec, const char *key_file, struct err *err)
{
	struct model model;
	struct key key = {0};
	int r = spec ? model_parse(&model, spec, getenv, err) : 0;
	if (r == 0 && spec && key_file)
		r = key_find(&key, &model, key_file, getenv, err);
	key_done(&key);
	return r;
}

const char *models_guess(char *out, size_t out_bytes)
{
	return model_guess(getenv, out, out_bytes);
}
