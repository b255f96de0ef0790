/* Which models callers of an engine may use: what its runner says. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * A model's name can be a program to start, a file to read, and a server that is sent a key of the
 * engine's environment. So who is no more than a caller gets the one that the engine was started
 * with, or none. Texts are borrowed, and outlive the engine.
 */
struct models {
	const char *fallback; /* as model_parse() reads it; NULL: there is none */
	const char *key_file; /* NULL: the environment */
	const json_t *prices; /* as price_check() wants them; NULL: there are none */
	bool may_name;	      /* the caller is the runner of this process, and may name any */
};

enum { MODEL_GUESS_BYTES = 300 };

/* As model_guess(), of this process's environment. */
const char *models_guess(char *out, size_t out_bytes);

/*
 * Can @spec (NULL: none) name a model, and is @key_file (NULL: the environment) a file with its
 * key? Asks nobody.
 * Errors:  ERR_USAGE, and those of key_find(), but for a key that the environment has not.
 */
int models_check(const char *spec, const char *key_file, struct err *err);

/*
 * Which model is asked when a caller says @spec (may be NULL) as the parameter @param. @m may be
 * NULL: there is none.
 * Errors:  ERR_DENIED.
 */
int models_choose(const struct models *m, const char *param, const char *spec, const char **out,
	struct err *err);
