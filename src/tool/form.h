/* Forms of a few fields that a server asks a person to fill in (elicitation).
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

enum { FORM_FIELDS_MAX = 50, FORM_TEXT_BYTES = 2000 };

/*
 * Return the fields of an elicitation's params: {name: schema}, borrowed.
 * Returns: NULL unless it is a form of at most FORM_FIELDS_MAX fields.
 */
const json_t *form_fields(const json_t *params);

/* Append the server's message; append the prompt for one field. Each is one line that is safe to
 * show. */
int form_ask(struct buf *out, const char *server, const json_t *params);
int form_ask_field(struct buf *out, const char *name, const json_t *field);

/*
 * Parse what a person wrote for a field. "" stands for the default value, if the field has one.
 * Returns: 1 and *@out, whose reference the caller owns; 0: no value; -EINVAL: invalid.
 */
int form_read(const json_t *field, const char *text, json_t **out, struct err *err);

/* Fill in the default values of missing fields, and validate. Returns: 0; -EINVAL: a field is
 * missing or invalid. */
int form_complete(const json_t *params, json_t *content, struct err *err);
