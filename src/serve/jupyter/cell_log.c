/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/cell_log.h"

#include "base/attr.h"
#include "base/json.h"

#include <string.h>

enum { SESSION = 1 /* the number of this run of the kernel in history replies */ };

static const struct logged_cell *cell_at(const struct cell_log *log, size_t i)
{
	return &log->cells[(log->first + i) % CELL_LOG_CELLS];
}

static void forget_first(struct cell_log *log)
{
	struct logged_cell *cell = &log->cells[log->first];
	log->bytes -= json_string_length(cell->code) + json_string_length(cell->value);
	json_decref(take_ptr(cell->code));
	json_decref(take_ptr(cell->value));
	log->first = (log->first + 1) % CELL_LOG_CELLS;
	log->n--;
}

void cell_log_done(struct cell_log *log)
{
	while (log->n > 0)
		forget_first(log);
}

static void make_room(struct cell_log *log)
{
	while (log->n > 1 && log->bytes > CELL_LOG_BYTES)
		forget_first(log);
}

void cell_log_add(struct cell_log *log, int64_t count, const json_t *code)
{
	if (log->n == CELL_LOG_CELLS)
		forget_first(log);
	log->cells[(log->first + log->n) % CELL_LOG_CELLS] =
		(struct logged_cell){.count = count, .code = json_incref(json_unconst(code))};
	log->n++;
	log->bytes += json_string_length(code);
	make_room(log);
}

void cell_log_set_value(struct cell_log *log, const json_t *value)
{
	size_t bytes = json_string_length(value);
	if (log->n == 0 || !json_is_string(value) || bytes > CELL_LOG_VALUE_BYTES)
		return;
	struct logged_cell *cell = &log->cells[(log->first + log->n - 1) % CELL_LOG_CELLS];
	if (cell->value)
		return;
	cell->value = json_incref(json_unconst(value));
	log->bytes += bytes;
	make_room(log);
}

/* ---- history requests ---- */

bool cell_log_is_like(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;
	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			from = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			/* let the last star stand for one character more */
			pattern = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
	return pattern[strspn(pattern, "*")] == '\0';
}

/* A history request, read. */
struct wanted {
	const char *pattern; /* NULL: any */
	int64_t start, stop; /* numbers of cells; stop is not included */
	size_t n;	     /* the last n of them */
	bool is_unique, has_output;
};

static struct wanted read_request(const json_t *request)
{
	const char *type = json_get_text(request, "hist_access_type");
	struct wanted w = {
		.stop = INT64_MAX, .n = SIZE_MAX, .has_output = json_get_bool(request, "output")};
	const json_t *n = json_object_get(request, "n"), *stop = json_object_get(request, "stop");
	bool is_range = strcmp(type, "range") == 0;
	if (!is_range && json_is_integer(n))
		w.n = (size_t)MAX(json_integer_value(n), 0);
	if (strcmp(type, "search") == 0) {
		w.pattern = json_get_text(request, "pattern");
		w.pattern = w.pattern[0] ? w.pattern : "*";
		w.is_unique = json_get_bool(request, "unique");
	}
	if (is_range) {
		int64_t session = json_get_int(request, "session");
		w.start = json_get_int(request, "start");
		w.stop = json_is_integer(stop) ? json_integer_value(stop) : INT64_MAX;
		/* 0: this session. Others are those of earlier kernels, which are not kept. */
		w.n = session == 0 || session == SESSION ? SIZE_MAX : 0;
	}
	return w;
}

static bool is_wanted(const struct cell_log *log, size_t i, const struct wanted *w)
{
	const struct logged_cell *cell = cell_at(log, i);
	if (cell->count < w->start || cell->count >= w->stop)
		return false;
	if (w->pattern && !cell_log_is_like(w->pattern, json_string_value(cell->code)))
		return false;
	for (size_t k = i + 1; w->is_unique && k < log->n; k++)
		if (json_equal(cell_at(log, k)->code, cell->code))
			return false;
	return true;
}

static json_t *row_json(const struct logged_cell *cell, bool has_output)
{
	json_t *shown = json_incref(cell->code);
	if (has_output)
		shown = json_pack("[o, O?]", shown, cell->value);
	return json_need(json_pack("[i, I, o]", SESSION, (json_int_t)cell->count, shown));
}

json_t *cell_log_answer(const struct cell_log *log, const json_t *request)
{
	const struct wanted w = read_request(request);
	json_t *rows = json_need(json_array());
	size_t n = 0;
	for (size_t i = log->n; i > 0 && n < w.n; i--)
		if (is_wanted(log, i - 1, &w)) {
			json_t *row = row_json(cell_at(log, i - 1), w.has_output);
			(void)json_array_insert_new(rows, 0, row);
			n++;
		}
	return json_need(json_pack("{s:s, s:o}", "status", "ok", "history", rows));
}
