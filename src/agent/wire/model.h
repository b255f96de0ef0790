/* Selection of a model: its provider, its address, its wire format and its key.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/failure.h"
#include "agent/wire/format.h"
#include "base/err.h"

#include <stdbool.h>

enum model_kind { MODEL_HTTP, MODEL_EXEC, MODEL_REPLAY };

enum { MODEL_NAME_BYTES = 256, MODEL_BASE_BYTES = 4096 };

/* A provider, whose name may precede the colon of a model. */
struct provider {
	const char *name;
	const struct wire_format *format; /* NULL: the provider is not reached over HTTP */
	enum model_kind kind;
	const char *base, *base_variable;
	const char *key_variables[3]; /* the first variable that is set has the key; "…TOKEN" is
					 always sent as a bearer token */
	bool is_classic;	      /* the server knows "max_tokens" only */
	const char *key_header;	      /* header of the key; NULL: "Authorization: Bearer" */
	const char *custom_variable;  /* variable with additional headers, one per line */
	const char *example;	      /* name of one of its models; NULL: unknown */
	const char *prefixes[6];      /* prefixes of the names of its models; the last is NULL */
};

struct model {
	const struct provider *provider;
	char name[MODEL_NAME_BYTES]; /* the server's name for the model */
	char base[MODEL_BASE_BYTES]; /* the URL without a final "/"; or the program; or the file */
	bool is_default;	     /* the base is the provider's default */
};

/* Look up a variable: getenv(), or a function of a test. */
typedef char *model_env(const char *name);

/*
 * Read "wire:model", "wire:model@base", "URL#model", "exec:PROGRAM", "replay:FILE".
 * @env: the environment, for a base that is not in @spec.
 * Errors:  ERR_USAGE with a hint.
 */
int model_parse(struct model *out, const char *spec, model_env *env, struct err *err);

/* Write the model as "openai:gpt-5.5", for messages and records. */
void model_show(const struct model *m, char *out, size_t out_bytes);

/*
 * Suggest a model to a user who has a provider's key in the environment but named no model. @out:
 * "openai:gpt-5.5".
 * Returns: the name of the variable that has the key; NULL: no such variable is set, and @out is
 * unchanged.
 */
const char *model_guess(model_env *env, char *out, size_t out_bytes);

/* A key. key_done() wipes it. */
struct key {
	char text[SECRET_BYTES_MAX + 1]; /* the key's text; "": no key */
	const char *variable; /* variable that has the key; NULL: the key comes from a file, or no
				 key exists */
	bool is_bearer;
};

/* Does the URL @base have a loopback host? */
bool key_is_here(const char *base);

/*
 * Find the key of a model: in @file (may be NULL), else in the variables of its provider.
 *
 * The file must belong to the user or root, and be readable by nobody else. A key is sent over
 * http:// only within this host.
 *
 * Returns: 0, also without a key when the provider needs none.
 * Errors:  ERR_AUTH: the provider needs a key; ERR_ACCESS, ERR_NOT_FOUND: the file; ERR_USAGE: the
 * text cannot be a key; ERR_DENIED: it would be sent unencrypted. No message has any part of the
 * key.
 */
int key_find(
	struct key *out, const struct model *m, const char *file, model_env *env, struct err *err);
void key_done(struct key *k);

/* Set a hint in @err after the server rejected the key: which key that was, and where to set it. */
void key_advise(const struct key *k, const struct model *m, struct err *err);
