/* What a program has printed. SPDX-License-Identifier: Apache-2.0 */
#include "api/text/printed.h"

#include "api/text/json.h"
#include "base/buf.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

enum { STDOUT_BYTES = 64 << 20 };

/* Append a value of a table as sqlite3 prints it. */
static void add_cell(struct buf *out, const json_t *cell)
{
	char *text = json_is_string(cell) || json_is_null(cell) ? NULL
								: json_text(cell, JSON_ENCODE_ANY);
	if (json_is_string(cell))
		buf_append(out, json_string_value(cell), json_string_length(cell));
	else if (text)
		buf_add(out, text);
	free(text);
}

/* Append the rows of a display of SQL, one per line. */
static void add_rows(struct buf *out, const json_t *display)
{
	const json_t *rows = json_object_get(json_object_get(display, "application/json"), "rows");
	const json_t *row, *cell;
	size_t i, j;
	json_array_foreach(rows, i, row)
	{
		json_array_foreach(row, j, cell)
		{
			buf_add(out, j ? "|" : "");
			add_cell(out, cell);
		}
		buf_add(out, "\n");
	}
}

json_t *printed_stdout(const json_t *record)
{
	cleanup_buf struct buf out = BUF_INIT(STDOUT_BYTES);
	const json_t *text = json_object_get(record, "stdout"), *display;
	size_t i;
	if (strcmp(json_get_text(record, "runtime"), "sql") != 0)
		return json_incref(json_unconst(text));
	buf_append(&out, json_string_value(text), json_string_length(text));
	json_array_foreach(json_object_get(record, "displays"), i, display) add_rows(&out, display);
	add_rows(&out, json_object_get(record, "value"));
	return json_new_text(buf_str(&out), out.bytes);
}
