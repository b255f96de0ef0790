/* The models that callers of an engine may use, as the engine's operator decides.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* The models that callers may use. The name of a model can make the engine start a program, read
 * a file, or send a key from its environment to a server. So callers get the engine's own model,
 * if it has one. They may choose another model only if `may_name` is set. All texts are
 * borrowed, and must outlive the engine. */
struct models {
	const char *fallback; /* name of the engine's own model, for model_parse(); or NULL */
	const char *key_file; /* file with the API key; NULL: the key is in the environment */
	const json_t *prices; /* prices of models, for price_check(); NULL: unknown */
	/* Callers may choose a model, because every caller is the user of this process. */
	bool may_name;
};

enum { MODEL_GUESS_BYTES = 300 };

/* Guess a model from the environment of this process, by model_guess(). */
const char *models_guess(char *out, size_t out_bytes);

/*
 * Check that @spec is the name of a model, and that @key_file contains its API key, without a
 * request to the server. @spec NULL: check nothing. @key_file NULL: do not check the key.
 * Errors: those of model_parse(), key_find().
 */
int models_check(const char *spec, const char *key_file, struct err *err);

/*
 * Choose the model for a caller. *@out becomes @spec or, if @spec is NULL, the engine's own model.
 * @param: name of the parameter that contains @spec, for messages. @m NULL: the engine has no
 * models.
 * Errors: ERR_DENIED: the caller may not choose @spec; or @spec is NULL, and the engine has no
 * model of its own.
 */
int models_choose(const struct models *m, const char *param, const char *spec, const char **out,
	struct err *err);
