/* Forms with a few fields that a server asks a person to fill in (elicitation).
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

enum { FORM_FIELDS_MAX = 50, FORM_TEXT_BYTES = 2000 };

/*
 * Return the fields of a form, {name: schema}. @params are the parameters of the request
 * "elicitation/create", by which a server sends a form. The result is borrowed from @params.
 * Returns: NULL if @params contain no form, or a form with more than FORM_FIELDS_MAX fields.
 */
const json_t *form_fields(const json_t *params);

/* form_ask() appends the server's message; form_ask_field() appends the prompt for one field. Each
 * is one line without characters that control a terminal. */
int form_ask(struct buf *out, const char *server, const json_t *params);
int form_ask_field(struct buf *out, const char *name, const json_t *field);

/*
 * Parse the text that a person entered for a field. "" selects the field's default value.
 * Returns: 1 with the value in *@out, which the caller decrefs; 0 if the text is "" and the field
 *          has no default value; -EINVAL if the value does not fit the field.
 */
int form_read(const json_t *field, const char *text, json_t **out, struct err *err);

/* Add the default values of fields that @content lacks, and check @content. Returns: 0; -EINVAL if
 * a field is missing or does not fit. */
int form_complete(const json_t *params, json_t *content, struct err *err);
