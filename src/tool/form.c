/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/form.h"

#include "base/json.h"
#include "base/utf8.h"
#include "tool/fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const json_t *schema_of(const json_t *params)
{
	return json_object_get(params, "requestedSchema");
}

const json_t *form_fields(const json_t *params)
{
	const char *mode = json_string_value(json_object_get(params, "mode"));
	const json_t *fields = json_object_get(schema_of(params), "properties");
	bool is_form = (!mode || strcmp(mode, "form") == 0) && json_is_object(fields) &&
		json_object_size(fields) <= FORM_FIELDS_MAX;
	return is_form ? fields : NULL;
}

/* ---- writing the texts that a person is shown ---- */

static void add_clean(struct buf *out, const char *text)
{
	size_t bytes = utf8_cut(text, strlen(text), FORM_TEXT_BYTES);
	(void)utf8_escape_terminal(out, text, bytes, UTF8_ONE_LINE);
}

static void add_json(struct buf *out, const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	if (text)
		add_clean(out, text);
	else
		buf_fail(out, -ENOMEM);
	free(text);
}

int form_ask(struct buf *out, const char *server, const json_t *params)
{
	buf_addf(out, "%s asks: ", server);
	add_clean(out, json_get_text(params, "message"));
	return buf_error(out);
}

int form_ask_field(struct buf *out, const char *name, const json_t *field)
{
	const char *title = json_string_value(json_object_get(field, "title"));
	const char *type = json_string_value(json_object_get(field, "type"));
	const json_t *choices = json_object_get(field, "enum");
	const json_t *fallback = json_object_get(field, "default");
	add_clean(out, title ? title : name);
	buf_add(out, " (");
	if (choices)
		add_json(out, choices);
	else
		add_clean(out, type ? type : "string");
	buf_add(out, ")");
	if (fallback) {
		buf_add(out, " [");
		add_json(out, fallback);
		buf_add(out, "]");
	}
	buf_add(out, ": ");
	return buf_error(out);
}

/* ---- reading what a person has entered ---- */

int form_read(const json_t *field, const char *text, json_t **out, struct err *err)
{
	const char *type = json_string_value(json_object_get(field, "type"));
	const json_t *fallback = json_object_get(field, "default");
	bool is_text = !type || strcmp(type, "string") == 0;
	if (!*text) {
		*out = json_incref(json_unconst(fallback));
		return fallback != NULL;
	}
	*out = is_text ? json_string(text)
		       : json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	if (*out && fit_check(field, *out, err) == 0)
		return 1;
	if (!*out)
		(void)err_set(err, ERR_USAGE, "it is not of type %s", is_text ? "text" : type);
	json_decref(*out);
	*out = NULL;
	return -EINVAL;
}

int form_complete(const json_t *params, json_t *content, struct err *err)
{
	const char *name;
	json_t *field;
	json_object_foreach(json_unconst(form_fields(params)), name, field)
	{
		json_t *fallback = json_object_get(field, "default");
		if (fallback && !json_object_get(content, name))
			json_put_shared(content, name, fallback);
	}
	return fit_check(schema_of(params), content, err);
}
