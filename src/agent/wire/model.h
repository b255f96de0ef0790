/* Selection of a model: its provider, its address, its wire format and its key.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/failure.h"
#include "agent/wire/format.h"
#include "base/err.h"

#include <stdbool.h>

enum model_kind { MODEL_HTTP, MODEL_EXEC, MODEL_REPLAY };

enum { MODEL_NAME_BYTES = 256, MODEL_BASE_BYTES = 4096 };

/* A provider of models. Its name is in front of the colon in "openai:gpt-5.5". */
struct provider {
	const char *name;
	const struct wire_format *format; /* NULL for MODEL_EXEC and MODEL_REPLAY */
	enum model_kind kind;
	const char *base, *base_variable;
	/* Names of environment variables. The key is in the first of these variables that is set.
	 * If the name of that variable contains "TOKEN", the key is sent as a bearer token. */
	const char *key_variables[3];
	bool is_classic;	/* the server does not know "max_completion_tokens" */
	const char *key_header; /* header for the key; NULL means "Authorization: Bearer" */
	/* Name of an environment variable. In this variable, the user may put additional HTTP
	 * headers for requests to the provider, one per line. NULL if there is no such variable. */
	const char *custom_variable;
	const char *example; /* name of a model of this provider, as a suggestion; or NULL */
	/* The names of this provider's models begin with one of these texts. Ended by NULL. */
	const char *prefixes[6];
};

struct model {
	const struct provider *provider;
	char name[MODEL_NAME_BYTES]; /* the server's name for the model */
	/* The URL without a "/" at its end (MODEL_HTTP), the shell command (MODEL_EXEC), or the
	 * path of the recording (MODEL_REPLAY). */
	char base[MODEL_BASE_BYTES];
	bool is_default; /* `base` is the default of the provider */
};

/* Return the value of an environment variable, or NULL, as getenv() does. Tests use a function
 * of their own. */
typedef char *model_env(const char *name);

/*
 * Parse the name of a model: "provider:model", "provider:model@URL", "URL#model", "exec:PROGRAM" or
 * "replay:FILE". If the name has no URL, the provider's variable in @env may give one.
 * Errors:  ERR_USAGE with a hint.
 */
int model_parse(struct model *out, const char *spec, model_env *env, struct err *err);

/* Write the model as "openai:gpt-5.5", for messages and records. */
void model_show(const struct model *m, char *out, size_t out_bytes);

/*
 * Suggest a model to a user who has named none, but whose environment has the key of a provider.
 * Write the model to @out, as in "openai:gpt-5.5".
 * Returns: the name of the variable with the key; NULL if no such variable is set, and @out is
 * unchanged.
 */
const char *model_guess(model_env *env, char *out, size_t out_bytes);

/* The key for a server. key_done() erases it from memory. */
struct key {
	char text[SECRET_BYTES_MAX + 1]; /* the key, or "" */
	const char *variable; /* name of the variable with the key; NULL if no variable has it */
	bool is_bearer;
};

/* Return whether the host of the URL @base is this host (localhost or a loopback address). */
bool key_is_here(const char *base);

/*
 * Find the key for a model: in the file @file; if that is NULL, in the variables of its provider.
 *
 * The file must belong to the user or to root, and others must not have access to it. A key is sent
 * over http:// only within this host.
 *
 * Returns: 0, also without a key when the provider needs none.
 * Errors:  ERR_AUTH: the provider needs a key;
 * ERR_ACCESS, ERR_NOT_FOUND, ERR_IO: the file cannot be used;
 * ERR_USAGE: the text cannot be a key;
 * ERR_DENIED: the key would be sent unencrypted.
 * No message has any part of the key.
 */
int key_find(
	struct key *out, const struct model *m, const char *file, model_env *env, struct err *err);
void key_done(struct key *k);

/* Set the hint in @err after the server rejected a request because the key is missing or
 * invalid. The hint says where the invalid key came from, or where to put a key. */
void key_advise(const struct key *k, const struct model *m, struct err *err);
