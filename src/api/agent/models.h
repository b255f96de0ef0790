/* The models that callers of an engine may use, as its operator decides. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* The name of a model can start a program, read a file, or send a key from the engine's environment
 * to a server. Therefore callers may not choose it: they get the model that the engine was started
 * with, if any. Texts are borrowed, and outlive the engine. */
struct models {
	const char *fallback; /* model of the engine, for model_parse(); or NULL */
	const char *key_file; /* file of the model's key; NULL: the environment */
	const json_t *prices; /* prices of models, for price_check(); NULL: unknown */
	bool may_name; /* the caller is the user who started this process, and may choose any model
			*/
};

enum { MODEL_GUESS_BYTES = 300 };

/* Call model_guess() with the environment of this process. */
const char *models_guess(char *out, size_t out_bytes);

/* Check without asking the server: is @spec (may be NULL) the name of a model, and @key_file (NULL:
 * the environment) a file with its key? Errors: ERR_USAGE, and those of key_find(), except for a
 * key that is missing in the environment. */
int models_check(const char *spec, const char *key_file, struct err *err);

/* Choose the model for a caller that gives @spec (may be NULL) as the parameter @param. @m NULL:
 * models are not available. Errors: ERR_DENIED. */
int models_choose(const struct models *m, const char *param, const char *spec, const char **out,
	struct err *err);
