/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/utf8.h"

#include <string.h>

const char *json_get_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

int64_t json_get_int(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

bool json_get_bool(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

json_t *json_new_text(const char *text, size_t bytes)
{
	json_t *made = json_stringn(text, bytes);
	if (made)
		return made;
	cleanup_buf struct buf good = BUF_INIT(3 * bytes + 1);
	utf8_repair(&good, text, bytes, NULL);
	return json_need(buf_error(&good) < 0 ? NULL : json_stringn(buf_str(&good), good.bytes));
}

void json_put_new(json_t *object, const char *key, json_t *value)
{
	if (value && json_object_set_new(object, key, value) < 0 && json_is_object(object) &&
		utf8_is_valid(key, strlen(key)))
		xdie("JSON");
}

void json_put_shared(json_t *object, const char *key, const json_t *value)
{
	json_put_new(object, key, json_incref(json_unconst(value)));
}

void json_put_textn(json_t *object, const char *key, const char *text, size_t bytes)
{
	json_put_new(object, key, text ? json_new_text(text, bytes) : NULL);
}

void json_put_text(json_t *object, const char *key, const char *text)
{
	json_put_textn(object, key, text, text ? strlen(text) : 0);
}

void json_put_int(json_t *object, const char *key, int64_t n)
{
	json_put_new(object, key, json_need(json_integer(n)));
}

void json_put_bool(json_t *object, const char *key, bool is)
{
	json_put_new(object, key, json_boolean(is));
}

void json_add_new(json_t *array, json_t *value)
{
	if (value && json_array_append_new(array, value) < 0 && json_is_array(array))
		xdie("JSON");
}

void json_add_shared(json_t *array, const json_t *value)
{
	json_add_new(array, json_incref(json_unconst(value)));
}

void json_add_text(json_t *array, const char *text)
{
	json_add_new(array, json_new_text(text, strlen(text)));
}

size_t json_parts(const char *data, size_t bytes)
{
	size_t n = 0;
	bool in_string = false;
	for (size_t i = 0; i < bytes; i++) {
		char c = data[i];
		/* Skip the character after a backslash, and after "\u" the four digits. If the
		 * digits are missing, the text is not JSON, and the count does not matter. */
		if (in_string && c == '\\')
			i += i + 1 < bytes && data[i + 1] == 'u' ? 5 : 1;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string)
			n += c == ',' || c == '[' || c == '{';
	}
	return n;
}
