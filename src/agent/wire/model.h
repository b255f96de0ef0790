/* Which model, where, by which wire, and with which key. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/failure.h"
#include "agent/wire/format.h"
#include "base/err.h"

#include <stdbool.h>

enum model_kind { MODEL_HTTP, MODEL_EXEC, MODEL_REPLAY };

enum { MODEL_NAME_BYTES = 256, MODEL_BASE_BYTES = 4096 };

/* One whose name can stand before the colon. */
struct provider {
	const char *name;
	const struct wire_format *format; /* NULL: no HTTP */
	enum model_kind kind;
	const char *base, *base_variable;
	const char *key_variables[3]; /* the first that is set; "…TOKEN" is always a bearer's */
	bool is_classic;	      /* knows "max_tokens" only */
	const char *key_header;	      /* NULL: "Authorization: Bearer" */
	const char *custom_variable;  /* more headers, a line each */
	const char *example;	      /* a model of it; NULL: not known */
	const char *prefixes[6];      /* how the names of its models begin; the last is NULL */
};

struct model {
	const struct provider *provider;
	char name[MODEL_NAME_BYTES]; /* as the server knows it */
	char base[MODEL_BASE_BYTES]; /* a URL without the last "/"; the program; the file */
	bool is_default;	     /* the base is the provider's own */
};

/* getenv(), or a table of a test. */
typedef char *model_env(const char *name);

/*
 * Read "wire:model", "wire:model@base", "URL#model", "exec:PROGRAM", "replay:FILE".
 * @env: where bases are looked up that @spec does not say.
 * Errors:  ERR_USAGE with a hint.
 */
int model_parse(struct model *out, const char *spec, model_env *env, struct err *err);

/* "openai:gpt-5.5": for messages and records. */
void model_show(const struct model *m, char *out, size_t out_bytes);

/*
 * Which model could be meant by somebody who has a provider's key and names none?
 * @out: "openai:gpt-5.5".
 * Returns: the name of the variable that has the key; NULL: there is none, and @out is untouched.
 */
const char *model_guess(model_env *env, char *out, size_t out_bytes);

/* A key; key_done() wipes it. */
struct key {
	char text[SECRET_BYTES_MAX + 1]; /* "": none */
	const char *variable;		 /* where it was found; NULL: in a file, or there is none */
	bool is_bearer;
};

/* Is @base, a URL, on this host? */
bool key_is_here(const char *base);

/*
 * Find the key of a model: in @file (may be NULL), else in the variables of its provider.
 *
 * A file must be the user's own and closed to everybody else. A key goes over http:// only within
 * this host.
 *
 * Returns: 0, also when there is none and none is needed.
 * Errors:  ERR_AUTH: one is needed; ERR_ACCESS, ERR_NOT_FOUND: the file; ERR_USAGE: it is no key,
 *          ERR_DENIED: it would go in the clear. No message has any part of the key.
 */
int key_find(
	struct key *out, const struct model *m, const char *file, model_env *env, struct err *err);
void key_done(struct key *k);

/* The server did not take it: say in the hint of @err which one that was, and where to set it. */
void key_advise(const struct key *k, const struct model *m, struct err *err);
