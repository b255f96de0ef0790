/* SPDX-License-Identifier: Apache-2.0 */
#include "api/agent/models.h"

#include "agent/wire/model.h"

#include <stdlib.h>
#include <string.h>

int models_choose(const struct models *m, const char *param, const char *spec, const char **out,
	struct err *err)
{
	const char *fallback = m ? m->fallback : NULL;
	if (!spec && !fallback) {
		(void)err_set(err, ERR_DENIED, "the engine was started without a model");
		return err_hint(err, "start it with one: retort serve --model anthropic:NAME");
	}
	if (spec && !(m && m->may_name) && !(fallback && strcmp(spec, fallback) == 0)) {
		(void)err_set(err, ERR_DENIED, "%s: %.100s: callers may not name models here",
			param, spec);
		return err_hint(err,
			fallback ? "leave it out: the engine was started with one"
				 : "start the engine with one: retort serve --model");
	}
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
