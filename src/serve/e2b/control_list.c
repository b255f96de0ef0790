/*
 * Lists of sandboxes and snapshots, in pages.
 *
 * Rows are in the order of their time and id. X-Next-Token is the place of the last row of a page,
 * "MS.ID", so rows that come or go between two pages move no others.
 *
 * The filter for metadata is a query in a query: each of its keys and values is escaped, then
 * joined by "=" and "&", which is escaped again, and once more in the URL.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/alloc.h"
#include "base/num.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAGE_MAX = 100, TOKEN_BYTES = 64, QUERY_BYTES = 64 << 10 };

/* What a list is asked for. */
struct listing {
	json_t *metadata; /* object of texts */
	const char *template;
	const char *states; /* "running,paused" */
	uint64_t after_ms;
	uint64_t limit;
	bool is_rising;
	bool has_place; /* rows beyond this place: */
	uint64_t place_ms;
	char place[E2B_ID_BYTES];
};

/* A row of a list. */
struct list_row {
	uint64_t ms;
	const char *id;
	const void *of;
};

/* ---- reading ---- */

/* Take the escapes out of a copy of @text, a "+" being a space. Returns: false: it is not text. */
static bool unescape(char *text)
{
	for (char *at = text; *at; at++)
		if (*at == '+')
			*at = ' ';
	return e2b_unescape(text) && utf8_is_valid(text, strlen(text));
}

/* Read the filter, of which the outer escapes are gone. Returns: NULL: it is none. */
static json_t *read_metadata(const char *text)
{
	json_t *out = json_need(json_object());
	char *copy = xstrdup(text), *rest = copy, *pair;
	bool is_well = unescape(copy);
	while (is_well && (pair = strsep(&rest, "&"))) {
		char *value = strchr(pair, '=');
		if (value)
			*value++ = '\0';
		is_well = unescape(pair) && (!value || unescape(value));
		if (is_well && pair[0])
			json_put_text(out, pair, value ? value : "");
	}
	free(copy);
	if (is_well)
		return out;
	json_decref(out);
	return NULL;
}

/* Read a time as RFC 3339 has it. */
static bool read_date(uint64_t *ms, const char *text)
{
	struct tm at = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &at);
	unsigned hours = 0, minutes = 0, part = 0;
	int n = 0;
	if (!rest)
		return false;
	if (*rest == '.') {
		for (unsigned unit = 100; *++rest >= '0' && *rest <= '9'; unit /= 10)
			part += unit * (unsigned)(*rest - '0');
	}
	char sign = *rest;
	if (*rest && strchr("+- ", *rest)) {
		if (sscanf(rest + 1, "%2u:%2u%n", &hours, &minutes, &n) != 2)
			return false;
		rest += 1 + n;
	} else if (*rest == 'Z' || *rest == 'z') {
		rest++;
	}
	int64_t seconds = timegm(&at), shift = (hours * 60 + minutes) * INT64_C(60);
	seconds += sign == '-' ? shift : -shift;
	*ms = seconds > 0 ? (uint64_t)seconds * 1000 + part : 0;
	return *rest == '\0';
}

static bool read_place(struct listing *l, const char *text)
{
	char *end;
	l->has_place = true;
	l->place_ms = strtoull(text, &end, 10);
	if (end == text || *end != '.' || strlen(end + 1) >= sizeof l->place)
		return false;
	snprintf(l->place, sizeof l->place, "%s", end + 1);
	return true;
}

static bool are_states(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, ",");
		if (!(n == 7 && strncmp(text, "running", n) == 0) &&
			!(n == 6 && strncmp(text, "paused", n) == 0))
			return false;
		text += n + (text[n] == ',');
	}
	return true;
}

/* Return what is wrong with the query; NULL: nothing. */
static const char *read_listing(struct front_call *c, struct listing *l)
{
	const char *metadata = e2b_query(c, "metadata"), *limit = e2b_query(c, "limit");
	const char *after = e2b_query(c, "startedAfter"), *order = e2b_query(c, "order");
	const char *place = e2b_query(c, "nextToken"), *states = e2b_query(c, "state");
	struct err err;
	l->limit = PAGE_MAX;
	l->template = e2b_query(c, "template");
	l->states = states && states[0] ? states : NULL;
	l->is_rising = order && strcmp(order, "asc") == 0;
	if (metadata &&
		(strlen(metadata) > QUERY_BYTES || !(l->metadata = read_metadata(metadata))))
		return "metadata must be KEY=VALUE&KEY=VALUE, escaped";
	if (l->states && !are_states(l->states))
		return "state must be running, paused, or both with a comma";
	if (after && !read_date(&l->after_ms, after))
		return "startedAfter must be a time such as 2030-01-31T12:00:00Z";
	if (order && order[0] && !l->is_rising && strcmp(order, "desc") != 0)
		return "order must be asc or desc";
	if (limit && num_parse_count(limit, (struct num_range){1, PAGE_MAX}, &l->limit, &err) < 0)
		return "limit must be a number from 1 to 100";
	if (place && place[0] && !read_place(l, place))
		return "nextToken must be the X-Next-Token of an answer";
	return NULL;
}

/* ---- choosing ---- */

static bool has_state(const struct e2b_sandbox *s, const char *states)
{
	return !states || strstr(states, s->phase == E2B_PAUSED ? "paused" : "running");
}

static bool fits(const struct e2b_sandbox *s, const struct listing *l)
{
	const char *key;
	json_t *value;
	char name[E2B_NAME_BYTES];
	const char *template = json_string_value(s->template);
	if (s->started_ms < l->after_ms || !has_state(s, l->states))
		return false;
	if (l->template && strcmp(template, l->template) != 0 &&
		!(e2b_read_template(name, template) && strcmp(name, l->template) == 0))
		return false;
	json_object_foreach(l->metadata, key, value)
	{
		if (!json_equal(json_object_get(s->metadata, key), value))
			return false;
	}
	return true;
}

static int compare(uint64_t a_ms, const char *a, uint64_t b_ms, const char *b)
{
	return a_ms != b_ms ? (a_ms < b_ms ? -1 : 1) : strcmp(a, b);
}

static int by_place(const void *a_, const void *b_)
{
	const struct list_row *a = a_, *b = b_;
	return compare(a->ms, a->id, b->ms, b->id);
}

/* Sort the rows, and answer with a page of them. @json makes one. */
static void answer_page(struct front_call *c, const struct listing *l, struct list_row *rows,
	size_t n, json_t *(*json)(const struct front_call *c, const void *of))
{
	char token[TOKEN_BYTES];
	const struct list_row *last = NULL;
	json_t *out = json_need(json_array());
	if (n > 0)
		qsort(rows, n, sizeof *rows, by_place);
	for (size_t i = 0; i < n; i++) {
		const struct list_row *row = &rows[l->is_rising ? i : n - 1 - i];
		int at = l->has_place ? compare(row->ms, row->id, l->place_ms, l->place) : 1;
		if (l->has_place && (l->is_rising ? at <= 0 : at >= 0))
			continue;
		if (json_array_size(out) == l->limit) {
			snprintf(token, sizeof token, "%llu.%s", (unsigned long long)last->ms,
				last->id);
			(void)http_set_header(c->x, "X-Next-Token", token);
			break;
		}
		json_add_new(out, json(c, row->of));
		last = row;
	}
	front_answer(c, 200, out);
}

/* ---- sandboxes ---- */

static json_t *listed_json(const struct front_call *c, const void *of)
{
	static const char *const secrets[] = {"envdAccessToken", "trafficAccessToken"};
	json_t *out = e2b_detail_json(of);
	for (size_t i = 0; i < ARRAY_LEN(secrets); i++)
		(void)json_object_del(out, secrets[i]);
	e2b_put_limits(c->state, out);
	return out;
}

static void list_sandboxes(struct front_call *c, const char *usual_states)
{
	struct listing l = {0};
	const char *wrong = read_listing(c, &l);
	const struct e2b *e = e2b_of(c);
	char running[24];
	size_t n = 0, n_running = 0;
	if (wrong) {
		e2b_refuse(c, 400, "%s", wrong);
		json_decref(l.metadata);
		return;
	}
	l.states = l.states ? l.states : usual_states;
	struct list_row *rows = xcalloc(e->n_sandboxes + 1, sizeof *rows);
	for (const struct e2b_sandbox *s = e->sandboxes; s; s = s->next) {
		if (e2b_find_own(c, s->id) != s || !fits(s, &l))
			continue;
		n_running += s->phase == E2B_RUNNING;
		rows[n++] = (struct list_row){s->started_ms, s->id, s};
	}
	snprintf(running, sizeof running, "%zu", n_running);
	(void)http_set_header(c->x, "X-Total-Running", running);
	json_decref(l.metadata);
	answer_page(c, &l, rows, n, listed_json);
	free(rows);
}

void e2b_start_list(struct front_call *c)
{
	list_sandboxes(c, NULL);
}

void e2b_start_old_list(struct front_call *c)
{
	list_sandboxes(c, "running");
}

/* ---- snapshots ---- */

static json_t *snapshot_json(const struct front_call *c, const void *of)
{
	(void)c;
	return e2b_snapshot_json(of);
}

void e2b_start_snapshots(struct front_call *c)
{
	struct listing l = {0};
	const char *wrong = read_listing(c, &l);
	const char *origin = e2b_query(c, "sandboxID"), *name = e2b_query(c, "name");
	const struct e2b *e = e2b_of(c);
	const struct e2b_snapshot *named = name ? e2b_find_snapshot(c, name) : NULL;
	size_t n = 0;
	json_decref(l.metadata);
	if (wrong) {
		e2b_refuse(c, 400, "%s", wrong);
		return;
	}
	struct list_row *rows = xcalloc(e->n_snapshots + 1, sizeof *rows);
	for (const struct e2b_snapshot *s = e->snapshots; s; s = s->next)
		if (s->context->principal == c->context->principal && (!name || s == named) &&
			(!origin || strcmp(json_string_value(s->origin), origin) == 0))
			rows[n++] = (struct list_row){s->made_ms, s->session, s};
	answer_page(c, &l, rows, n, snapshot_json);
	free(rows);
}
