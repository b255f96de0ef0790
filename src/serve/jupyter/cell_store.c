/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/cell_store.h"

#include "api/text/json.h"
#include "base/json.h"
#include "serve/jupyter/notebook.h"

#include <stdlib.h>
#include <string.h>

void cell_store_done(struct cell_store *s)
{
	buf_done(&s->text);
	json_decref(s->outputs);
	json_decref(s->displays);
	s->outputs = s->displays = NULL;
}

void cell_store_begin(struct cell_store *s)
{
	json_decref(s->outputs);
	s->outputs = json_need(json_array());
	if (!s->displays)
		s->displays = json_need(json_object());
	buf_clear(&s->text);
	s->stream = NULL;
	s->is_clearing = false;
}

/* ---- display data ---- */

/* application/json, and application/geo+json and the like. */
static bool is_json_type(const char *mime)
{
	size_t bytes = strlen(mime);
	return strcmp(mime, "application/json") == 0 ||
		(strncmp(mime, "application/", 12) == 0 && bytes > 17 &&
			strcmp(mime + bytes - 5, "+json") == 0);
}

/* Return whether files have data of this type as lines. Source: nbformat. */
static bool has_lines(const char *mime)
{
	return strncmp(mime, "text/", 5) == 0 || strcmp(mime, "application/javascript") == 0 ||
		strcmp(mime, "image/svg+xml") == 0;
}

static json_t *text_of(const json_t *value)
{
	char *text = json_is_string(value) ? NULL : json_text(value, JSON_ENCODE_ANY);
	json_t *out = text ? json_new_text(text, strlen(text)) : json_incref(json_unconst(value));
	free(text);
	return out;
}

static json_t *data_for_file(const json_t *data)
{
	json_t *out = json_need(json_object());
	const char *mime;
	json_t *value;
	json_object_foreach(json_unconst(data), mime, value)
	{
		if (is_json_type(mime)) {
			json_put_shared(out, mime, value);
			continue;
		}
		json_t *text = text_of(value);
		if (has_lines(mime))
			json_put_new(out, mime,
				notebook_lines(json_string_value(text), json_string_length(text)));
		else
			json_put_shared(out, mime, text);
		json_decref(text);
	}
	return out;
}

/* ---- applying outputs ---- */

static void end_text(struct cell_store *s)
{
	if (s->stream)
		json_add_new(s->outputs,
			json_pack("{s:s, s:s, s:o}", "output_type", "stream", "name", s->stream,
				"text", notebook_lines(buf_str(&s->text), s->text.bytes)));
	s->stream = NULL;
	buf_clear(&s->text);
}

static void add_text(struct cell_store *s, const json_t *output)
{
	const json_t *text = json_object_get(output, "text");
	const char *name =
		strcmp(json_get_text(output, "name"), "stderr") == 0 ? "stderr" : "stdout";
	if (s->stream && strcmp(s->stream, name) != 0)
		end_text(s);
	s->stream = name;
	(void)buf_try(&s->text, json_string_value(text), json_string_length(text));
}

static void clear(struct cell_store *s)
{
	(void)json_array_clear(s->outputs);
	buf_clear(&s->text);
	s->stream = NULL;
	s->is_clearing = false;
}

static const char *display_id(const json_t *output)
{
	return json_get_text(json_object_get(output, "transient"), "display_id");
}

static void update(struct cell_store *s, const json_t *output)
{
	const char *id = display_id(output);
	cleanup_json json_t *data = data_for_file(json_object_get(output, "data"));
	json_t *shown;
	size_t i;
	json_array_foreach(json_object_get(s->displays, id), i, shown)
		json_put_shared(shown, "data", data);
}

static void add_display(struct cell_store *s, const json_t *output)
{
	const char *id = display_id(output);
	json_t *stored = json_copy(json_unconst(output));
	json_put_new(stored, "data", data_for_file(json_object_get(output, "data")));
	(void)json_object_del(stored, "transient");
	end_text(s);
	json_add_new(s->outputs, stored);
	if (!id[0])
		return;
	if (!json_object_get(s->displays, id))
		json_put_new(s->displays, id, json_array());
	json_add_shared(json_object_get(s->displays, id), stored);
}

static void apply(struct cell_store *s, const json_t *output)
{
	const char *type = json_get_text(output, "output_type");
	if (strcmp(type, "clear_output") == 0) {
		s->is_clearing = true;
		if (!json_get_bool(output, "wait"))
			clear(s);
		return;
	}
	if (strcmp(type, "update_display_data") == 0) {
		update(s, output);
		return;
	}
	if (s->is_clearing)
		clear(s);
	if (strcmp(type, "stream") == 0) {
		add_text(s, output);
	} else if (json_object_get(output, "data")) {
		add_display(s, output);
	} else {
		end_text(s);
		json_add_shared(s->outputs, output);
	}
}

void cell_store_add(struct cell_store *s, json_t *outputs)
{
	const json_t *output;
	size_t i;
	json_array_foreach(outputs, i, output) apply(s, output);
	json_decref(outputs);
}

json_t *cell_store_end(struct cell_store *s)
{
	end_text(s);
	return take_ptr(s->outputs);
}
