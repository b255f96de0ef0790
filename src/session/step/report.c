/*
 * Checks frames of a driver and copies them into a record.
 *
 * The program in the box can write to the driver's channel, so a frame is treated like input from
 * an attacker. The frame's size and its number of JSON values are checked before it is parsed. Then
 * every member is checked, and only known members are copied, cut to a limited length. A frame of
 * the wrong shape violates the protocol and ends the step. A frame with too much content (displays,
 * MIME types, lines of a traceback) is cut, and the record says so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/step/report.h"

#include "base/attr.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

enum { MIME_BYTES_MAX = 128, TRACEBACK_LINES_MAX = 1000 };

/*
 * ERROR_NAME_BYTES limits an error's name, ERROR_TEXT_BYTES its message and each line of its
 * traceback, TRACEBACK_BYTES all lines together. Drivers have smaller limits and mark what they
 * cut.
 */
enum { ERROR_NAME_BYTES = 1 << 10, ERROR_TEXT_BYTES = 64 << 10, TRACEBACK_BYTES = 1 << 20 };

static json_t *parse(const char *data, size_t bytes, struct err *err)
{
	json_error_t error;
	if (json_parts(data, bytes) > REPORT_PARTS_MAX) {
		err_set(err, ERR_PROTOCOL, "a report of more than %d parts", REPORT_PARTS_MAX);
		return NULL;
	}
	json_t *json = json_loadb(data, bytes, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
	if (!json)
		err_set(err, ERR_PROTOCOL, "a report that is not JSON: %.100s", error.text);
	else if (!json_is_object(json)) {
		err_set(err, ERR_PROTOCOL, "a report that is not an object");
		json_release(&json);
		json = NULL;
	}
	return json;
}

static bool is_mime(const char *text)
{
	size_t n = strlen(text);
	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return n > 0 && n <= MIME_BYTES_MAX;
}

/*
 * Copy the representations of a value, by MIME type. Invalid types and those beyond
 * REPORT_MIMES_MAX are omitted, and a line in the plain text says how many. They do not violate the
 * protocol, because the program chooses the types. Returns: a new reference.
 */
static json_t *copy_mimes(json_t *data)
{
	static const char text[] = "text/plain";
	json_t *out = json_need(json_object()), *value, *plain = json_object_get(data, text);
	const char *key, *before = json_string_value(plain);
	size_t n_cut = 0;
	if (plain)
		(void)json_object_set(out, text, plain);
	json_object_foreach(data, key, value)
	{
		if (is_mime(key) && json_object_size(out) < REPORT_MIMES_MAX)
			(void)json_object_set(out, key, value);
		else
			n_cut += !json_object_get(out, key);
	}
	if (n_cut > 0)
		json_put_new(out, text,
			json_sprintf("%s%s[... %zu types cut ...]", before ? before : "",
				before ? "\n" : "", n_cut));
	return out;
}

static int check_error(const json_t *error, struct err *err)
{
	const json_t *line = json_object_get(error, "line");
	const json_t *traceback = json_object_get(error, "traceback");
	if (!json_is_string(json_object_get(error, "name")) ||
		!json_is_string(json_object_get(error, "message")) ||
		(line && !json_is_integer(line)) || (traceback && !json_is_array(traceback)))
		return err_set(err, ERR_PROTOCOL, "an error of the wrong shape");
	for (size_t i = 0; i < json_array_size(traceback); i++)
		if (!json_is_string(json_array_get(traceback, i)))
			return err_set(err, ERR_PROTOCOL, "a traceback of the wrong shape");
	return 0;
}

/* Return a new reference to @text or, if it is longer than @max_bytes, to a text that is cut
 * there and says so. */
static json_t *cut_text(json_t *text, size_t max_bytes)
{
	size_t bytes = json_string_length(text);
	cleanup_buf struct buf out = BUF_INIT(max_bytes + 64);
	if (bytes <= max_bytes)
		return json_incref(text);
	size_t n = utf8_cut(json_string_value(text), bytes, max_bytes);
	buf_append(&out, json_string_value(text), n);
	buf_addf(&out, " [... %zu bytes cut ...]", bytes - n);
	return json_stringn(buf_str(&out), out.bytes);
}

/*
 * A traceback that is too long is cut in the middle: some lines at its start and some lines at its
 * end are kept. Each of the two ends may take half of the traceback's limits of lines and bytes.
 * Count the lines to keep at one end. @at: index of the outermost line of this end. @step: 1 for
 * the start of the traceback, whose lines are counted forwards. -1 for the end of the traceback,
 * whose lines are counted backwards.
 * Returns: the number of lines to keep at this end, at most @n_max.
 */
static size_t fitting(const json_t *lines, size_t at, int step, size_t n_max)
{
	size_t bytes = 0, n = 0;
	for (; n < n_max && n < TRACEBACK_LINES_MAX / 2; n++, at += (size_t)step) {
		bytes += MIN(
			json_string_length(json_array_get(lines, at)), (size_t)ERROR_TEXT_BYTES);
		if (bytes > TRACEBACK_BYTES / 2)
			break;
	}
	return n;
}

/* Copy a traceback. If it is too long, it is cut in the middle, because its start has the first
 * calls and its end has the place of the error. */
static json_t *cut_lines(const json_t *lines)
{
	json_t *out = json_need(json_array());
	size_t n = json_array_size(lines);
	size_t n_head = fitting(lines, 0, 1, n);
	size_t n_tail = fitting(lines, n - 1, -1, n - n_head);
	for (size_t i = 0; i < n; i++) {
		if (i == n_head && n_head + n_tail < n) {
			json_add_new(
				out, json_sprintf("[... %zu lines cut ...]", n - n_head - n_tail));
			i = n - n_tail;
		}
		if (i < n)
			json_add_new(out, cut_text(json_array_get(lines, i), ERROR_TEXT_BYTES));
	}
	return out;
}

/* Copy the known members of an error, cut to their limits. */
static json_t *copy_error(const json_t *error)
{
	json_t *copy = json_need(json_object()), *line = json_object_get(error, "line");
	json_t *traceback = json_object_get(error, "traceback");
	json_put_new(copy, "name", cut_text(json_object_get(error, "name"), ERROR_NAME_BYTES));
	json_put_new(
		copy, "message", cut_text(json_object_get(error, "message"), ERROR_TEXT_BYTES));
	json_put_shared(copy, "line", line);
	json_put_new(copy, "traceback", traceback ? cut_lines(traceback) : NULL);
	return copy;
}

static bool is_short(const json_t *text)
{
	return json_is_string(text) && json_string_length(text) <= REPORT_NAME_BYTES;
}

/* Copy the list of variables. Invalid entries are omitted, because the result is valid without
 * them. */
static json_t *copy_variables(const json_t *result)
{
	static const char *const members[] = {"name", "type", "size", "change"};
	const json_t *rows = json_object_get(result, "variables");
	json_t *out = json_is_array(rows) ? json_need(json_array()) : NULL;
	for (size_t i = 0; i < json_array_size(rows) && i < REPORT_VARIABLES_MAX; i++) {
		json_t *row = json_array_get(rows, i), *copy = json_need(json_object());
		for (size_t k = 0; k < ARRAY_LEN(members); k++)
			if (is_short(json_object_get(row, members[k])))
				(void)json_object_set(
					copy, members[k], json_object_get(row, members[k]));
		if (json_object_get(copy, "name") && json_object_get(copy, "type"))
			(void)json_array_append(out, copy);
		json_decref(copy);
	}
	return out;
}

/* Return what the runtime undid by itself after an error, in the driver's word: "step", "part"
 * (of the step) or "transaction". NULL if the result has none of these words. */
static const char *undone_of(const json_t *result)
{
	static const char *const words[] = {"step", "part", "transaction"};
	const char *undone = json_get_text(result, "undone");
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i], undone) == 0)
			return words[i];
	return NULL;
}

static int check_result(const json_t *result, struct err *err)
{
	const char *status = json_get_text(result, "status");
	const json_t *exit_code = json_object_get(result, "exit_code");
	const json_t *value = json_object_get(result, "value");
	const json_t *error = json_object_get(result, "error");
	if (strcmp(status, "ok") != 0 && strcmp(status, "error") != 0)
		return err_set(err, ERR_PROTOCOL, "a result without a status");
	json_int_t code = json_integer_value(exit_code);
	if (!json_is_integer(exit_code) || code < 0 || code > 255)
		return err_set(err, ERR_PROTOCOL, "a result without an exit code of 0 to 255");
	if (value && !json_is_object(value))
		return err_set(err, ERR_PROTOCOL, "a value that is not an object");
	return error ? check_error(error, err) : 0;
}

/* Find out to which step @result belongs. Returns: 1 for @step; 0 for an earlier step;
 * negative errno if its id is invalid. */
static int is_of(const json_t *result, uint64_t step, struct err *err)
{
	const char *text = json_string_value(json_object_get(result, "id"));
	uint64_t id;
	struct err none;
	if (!text || num_parse_count(text, (struct num_range){1, step}, &id, &none) < 0)
		return err_set(err, ERR_PROTOCOL, "a result of an unknown step");
	return id == step;
}

int report_result(const char *data, size_t bytes, uint64_t step, struct record *record,
	struct step_end *end, struct err *err)
{
	cleanup_json json_t *result = parse(data, bytes, err);
	int r = result ? check_result(result, err) : -EPROTO;
	if (r == 0)
		r = is_of(result, step, err);
	if (r > 0) {
		const json_t *error = json_object_get(result, "error");
		json_t *value = json_object_get(result, "value");
		record->result_bytes = bytes;
		record->value = value ? copy_mimes(value) : NULL;
		record->error = error ? copy_error(error) : NULL;
		record->variables = copy_variables(result);
		record->undone = undone_of(result);
		end->has_result = true;
		end->is_error = strcmp(json_get_text(result, "status"), "error") == 0;
		end->is_exit = json_get_bool(result, "exited");
		end->exit_code = (int)json_get_int(result, "exit_code");
	}
	return r;
}

/* Return what a page does with a display: {"clear", "wait"} or {"display_id", "update"}. NULL: it
 * shows the display below the others. */
static json_t *about_display(const json_t *display)
{
	const json_t *id = json_object_get(display, "display_id");
	if (json_get_bool(display, "clear"))
		return json_pack("{s:b, s:b}", "clear", 1, "wait", json_get_bool(display, "wait"));
	if (!json_is_string(id) || json_string_length(id) > REPORT_NAME_BYTES)
		return NULL;
	return json_pack("{s:O, s:b}", "display_id", json_unconst(id), "update",
		json_get_bool(display, "update"));
}

int report_display(const char *data, size_t bytes, struct record *record, const json_t **out,
	json_t **about, struct err *err)
{
	*about = NULL;
	size_t n_parts = json_parts(data, bytes);
	if (json_array_size(record->displays) >= REPORT_DISPLAYS_MAX ||
		record->displays_bytes + bytes > record->limits.value[LIMIT_output_bytes] ||
		record->n_display_parts + n_parts > REPORT_PARTS_MAX) {
		record->n_displays_cut++;
		return 0;
	}
	cleanup_json json_t *display = parse(data, bytes, err);
	if (!display)
		return -EPROTO;
	json_t *types = json_object_get(display, "data");
	int r = 1;
	if (json_get_bool(display, "clear")) {
		if (record->n_clears++ >= REPORT_CLEARS_MAX)
			return 0;
		*about = about_display(display);
		*out = NULL;
	} else if (json_is_object(types)) {
		*about = about_display(display);
		json_t *mimes = copy_mimes(types);
		json_add_new(record->displays, mimes);
		record->displays_bytes += bytes;
		record->n_display_parts += n_parts;
		*out = mimes;
	} else {
		r = err_set(err, ERR_PROTOCOL, "a display that is not an object");
	}
	return r;
}
