/* What a server asks a person: a form of a few fields. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

enum { FORM_FIELDS_MAX = 50, FORM_TEXT_BYTES = 2000 };

/*
 * The fields of an elicitation's params: {name: schema}, borrowed.
 * Returns: NULL: it is no form of at most FORM_FIELDS_MAX fields.
 */
const json_t *form_fields(const json_t *params);

/* Append the question, or what is asked for a field, in one line that is safe to show. */
int form_ask(struct buf *out, const char *server, const json_t *params);
int form_ask_field(struct buf *out, const char *name, const json_t *field);

/*
 * What a person wrote for a field; "" is its default, or nothing.
 * Returns: 1 and *@out, whose reference is the caller's; 0: nothing; -EINVAL: it does not fit.
 */
int form_read(const json_t *field, const char *text, json_t **out, struct err *err);

/* Fill in what was not said, and check. Returns: 0, -EINVAL: something is needed or does not fit.
 */
int form_complete(const json_t *params, json_t *content, struct err *err);
