/*
 * Secrets: values that a box never sees.
 *
 * In the environment of a box, a random text stands for the value: its placeholder. In a request to
 * the secret's host, the gateway puts the value where the placeholder is: in the values of headers,
 * also inside of "Authorization: Basic", and in the query or the body if the secret says so. Pure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "gateway/rule/rule.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	SECRETS_MAX = 16,
	SECRET_NAME_BYTES = 65,
	SECRET_PREFIX_BYTES = 33,
	SECRET_RANDOM_BYTES = 32, /* letters of a placeholder behind its prefix */
	SECRET_PLACEHOLDER_BYTES = SECRET_PREFIX_BYTES + SECRET_RANDOM_BYTES,
	/* A shorter value could stand in an answer by chance, and would be blotted out there. */
	SECRET_VALUE_MIN = 8,
	SECRET_VALUE_MAX = 8192
};

/* Where else than in headers the placeholder is replaced. */
enum { SECRET_IN_QUERY = 1 << 0, SECRET_IN_BODY = 1 << 1 };

struct secret {
	char name[SECRET_NAME_BYTES]; /* of the environment variable */
	char host[RULE_HOST_BYTES];   /* as rule_name() makes it */
	uint16_t port;
	unsigned places;
	char placeholder[SECRET_PLACEHOLDER_BYTES];
	char *value; /* NULL: not known. Owned by the struct secrets. */
};

struct secrets {
	struct secret v[SECRETS_MAX];
	size_t n;
};

/* Check the name of an environment variable: letters, digits and "_", no digit first. Errors:
 * ERR_USAGE; also for names that change how programs run (PATH, HOME, LD_…, PYTHON…, NODE_…). */
int secret_check_name(const char *name, struct err *err);
/* Check a value: SECRET_VALUE_MIN to SECRET_VALUE_MAX bytes, of printable ASCII. Errors: ERR_USAGE,
 * which names the secret @name and never shows the value. */
int secret_check_value(const char *name, const char *value, size_t bytes, struct err *err);
/* Read HOST[:PORT][,query][,body][,like=PREFIX] into @out, and PREFIX into @prefix; "" if there is
 * none. The port is RULE_PORT_HTTPS if none is given. PREFIX has letters, digits, "-", "_" and ".".
 * Errors: ERR_USAGE. */
int secret_read_place(
	struct secret *out, char prefix[SECRET_PREFIX_BYTES], const char *text, struct err *err);
/* Write the place of @s as secret_read_place() reads it, without a prefix. */
enum { SECRET_PLACE_BYTES = RULE_HOST_BYTES + 32 };
void secret_write_place(const struct secret *s, char out[SECRET_PLACE_BYTES]);
/* Return whether @text is a placeholder as one is made: an optional prefix, and
 * SECRET_RANDOM_BYTES letters and digits in lower case. */
bool secret_is_placeholder(const char *text);

/* Return the secret @name, or NULL. */
struct secret *secrets_find(struct secrets *all, const char *name);
/* Copy all; without the values if @has_values is false. Owns: the caller ends @out. */
void secrets_copy(struct secrets *out, const struct secrets *from, bool has_values);
/* Set the value of @s to a copy. */
void secret_set_value(struct secret *s, const char *value);
/* Wipe and free the values. */
void secrets_done(struct secrets *all);
