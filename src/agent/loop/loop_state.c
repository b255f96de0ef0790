/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/loop_state.h"

#include "agent/loop/inside.h"
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 32 };

/* The word for each state of a loop in a saved state. Candidates are not saved, so LOOP_TRYING
 * and LOOP_ADOPTING are saved as "asking": a resumed loop asks for new candidates. */
static const char *const states[] = {[LOOP_ASKING] = "asking",
	[LOOP_RUNNING] = "running",
	[LOOP_CHECKING] = "checking",
	[LOOP_TRYING] = "asking",
	[LOOP_ADOPTING] = "asking",
	[LOOP_OVER] = "over"};

/* The flags of struct loop that are part of a saved state, with their names in the saved state. */
static const struct {
	const char *name;
	size_t offset;
} flags[] = {
	{"was_lost", offsetof(struct loop, was_lost)},
	{"is_cost_partial", offsetof(struct loop, is_cost_partial)},
	{"no_images", offsetof(struct loop, no_images)},
	{"has_seen", offsetof(struct loop, has_seen)},
	{"is_untold", offsetof(struct loop, is_untold)},
	{"was_sent_back", offsetof(struct loop, was_sent_back)},
	{"is_check_failed", offsetof(struct loop, is_check_failed)},
	{"is_usage_estimated", offsetof(struct loop, usage.is_estimated)},
};

/* The counters of struct loop that are part of a saved state, with their names in the saved
 * state. */
static const struct {
	const char *name;
	size_t offset;
} counts[] = {
	{"input", offsetof(struct loop, usage.input)},
	{"output", offsetof(struct loop, usage.output)},
	{"cached", offsetof(struct loop, usage.cached)},
	{"reasoning", offsetof(struct loop, usage.reasoning)},
	{"context_tokens", offsetof(struct loop, context_tokens)},
	{"scale_pct", offsetof(struct loop, dialog.scale_pct)},
	{"wall_ms", offsetof(struct loop, earlier_ms)},
};

static bool *flag_of(struct loop *l, size_t i)
{
	return (void *)((char *)l + flags[i].offset);
}

static uint64_t *count_of(struct loop *l, size_t i)
{
	return (void *)((char *)l + counts[i].offset);
}

/* ---- writing a state ---- */

static json_t *budget_json(const struct budget *b)
{
	json_t *out = json_object();
	for (int i = 0; i < BUDGET_KINDS; i++)
		json_put_new(out, budget_word((enum budget_kind)i),
			json_pack("{s:I, s:I, s:b}", "limit", (json_int_t)b->limit[i], "used",
				(json_int_t)b->used[i], "is_warned", b->is_warned[i]));
	return out;
}

static json_t *hash_json(uint64_t hash)
{
	char text[NUMBER_BYTES];
	snprintf(text, sizeof text, "%016" PRIx64, hash);
	return json_string(text);
}

static json_t *stuck_json(const struct stuck *s)
{
	json_t *out = json_array();
	/* Write the oldest entry first, because read_stuck() fills the ring in this order. */
	for (size_t i = 0; i < s->n; i++) {
		size_t at = (s->next + STUCK_SEEN_MAX - s->n + i) % STUCK_SEEN_MAX;
		json_add_new(out,
			json_pack(
				"[o, I]", hash_json(s->seen[at].hash), (json_int_t)s->seen[at].n));
	}
	return out;
}

/* Return the numbers that @g remembers from the task and the output of the run, as one text. An
 * array of numbers would need five times the memory. */
static json_t *numbers_json(const struct grounding *g)
{
	size_t n;
	const double *v = grounding_values(g, &n);
	cleanup_buf struct buf text = BUF_INIT((size_t)GROUNDING_NUMBERS_MAX * NUMBER_BYTES);
	for (size_t i = 0; i < n; i++)
		if (buf_addf(&text, "%.17g ", v[i]) < 0)
			return NULL;
	return json_stringn(buf_str(&text), text.bytes);
}

static json_t *exact_json(const struct grounding *g)
{
	size_t n;
	const uint64_t *hashes = grounding_exact(g, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		json_add_new(out, hash_json(hashes[i]));
	return out;
}

static void put_some(json_t *out, struct loop *l)
{
	const char *const texts[] = {l->answer, l->code};
	static const char *const names[] = {"answer", "code"};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i])
			json_put_text(out, names[i], texts[i]);
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		json_put_bool(out, flags[i].name, *flag_of(l, i));
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		json_put_int(out, counts[i].name, *count_of(l, i));
	json_put_int(out, "wall_ms", loop_wall_ms(l));
	json_put_new(out, "cost_usd", json_real(l->cost_usd));
	if (l->bundle)
		json_put_shared(out, "bundle", l->bundle);
	if (l->misses)
		json_put_shared(out, "misses", l->misses);
	if (l->images)
		json_put_shared(out, "next_images", l->images);
	if (l->spent != BUDGET_NONE)
		json_put_text(out, "spent", budget_word(l->spent));
}

json_t *loop_state(struct loop *l)
{
	json_t *numbers = numbers_json(l->grounding);
	json_t *next = json_stringn(buf_str(&l->next), l->next.bytes);
	json_t *out = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:s}",
		"version", LOOP_STATE_VERSION, "state", states[l->state], "dialog",
		dialog_json(&l->dialog, LOOP_STATE_IMAGE_BYTES), "next",
		next ? next : json_string(""), "budget", budget_json(&l->budget), "stuck",
		stuck_json(&l->stuck), "numbers", numbers, "exact", exact_json(l->grounding),
		"steps", (json_int_t)l->n_steps, "last_number", (json_int_t)l->last_number,
		"replies", (json_int_t)l->n_replies, "end",
		l->state == LOOP_OVER ? loop_end_word(l->end) : "");
	if (out)
		put_some(out, l);
	return out;
}

/* ---- reading a saved state ---- */

static int bad(struct err *err, const char *what)
{
	return err_set(err, ERR_DAMAGED, "the saved state is damaged: its %s", what);
}

static int read_count(uint64_t *out, const json_t *value)
{
	json_int_t n = json_integer_value(value);
	if (!json_is_integer(value) || n < 0)
		return -EINVAL;
	*out = (uint64_t)n;
	return 0;
}

static int read_hash(uint64_t *out, const json_t *value)
{
	const char *text = json_string_value(value);
	char *end;
	if (!text || strspn(text, "0123456789abcdef") != 16 || text[16])
		return -EINVAL;
	*out = strtoull(text, &end, 16);
	return 0;
}

static int read_budget(struct budget *out, const json_t *rows)
{
	for (int i = 0; i < BUDGET_KINDS; i++) {
		const json_t *row = json_object_get(rows, budget_word((enum budget_kind)i));
		if (row &&
			(read_count(&out->limit[i], json_object_get(row, "limit")) < 0 ||
				read_count(&out->used[i], json_object_get(row, "used")) < 0))
			return -EINVAL;
		out->is_warned[i] = json_is_true(json_object_get(row, "is_warned"));
	}
	return json_is_object(rows) ? 0 : -EINVAL;
}

static int read_stuck(struct stuck *out, const json_t *rows)
{
	size_t n = json_array_size(rows);
	if (!json_is_array(rows) || n > STUCK_SEEN_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(rows, i);
		uint64_t times;
		if (read_hash(&out->seen[i].hash, json_array_get(row, 0)) < 0 ||
			read_count(&times, json_array_get(row, 1)) < 0 || times > UINT32_MAX)
			return -EINVAL;
		out->seen[i].n = (unsigned)times;
	}
	out->n = n;
	out->next = n % STUCK_SEEN_MAX;
	return 0;
}

static int read_numbers(struct grounding *g, const json_t *text, const json_t *exact)
{
	const char *at = json_string_value(text);
	size_t i;
	json_t *hash;
	uint64_t value;
	int r = at && json_is_array(exact) ? 0 : -EINVAL;
	while (r == 0 && *at) {
		char *end;
		double number = strtod(at, &end);
		r = end == at || *end != ' ' || !(number >= 0) ? -EINVAL
							       : grounding_remember(g, number);
		at = end + 1;
	}
	json_array_foreach(exact, i, hash)
	{
		if (r == 0)
			r = read_hash(&value, hash);
		if (r == 0)
			r = grounding_remember_exact(g, value);
	}
	return r;
}

/* Read the number of the last step. A state that an earlier version saved does not have this
 * number; then @n_steps is used. */
static int read_last_number(uint64_t *out, uint64_t n_steps, const json_t *state)
{
	const json_t *last = json_object_get(state, "last_number");
	*out = n_steps;
	return last ? read_count(out, last) : 0;
}

static int read_flags(struct loop *l, const json_t *state)
{
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		*flag_of(l, i) = json_is_true(json_object_get(state, flags[i].name));
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (read_count(count_of(l, i), json_object_get(state, counts[i].name)) < 0)
			return -EINVAL;
	uint64_t n_steps, n_replies, last;
	if (read_count(&n_steps, json_object_get(state, "steps")) < 0 ||
		read_count(&n_replies, json_object_get(state, "replies")) < 0 ||
		read_last_number(&last, n_steps, state) < 0 || n_steps > UINT32_MAX ||
		last > UINT32_MAX - LOOP_CANDIDATES_MAX || n_replies > UINT32_MAX ||
		l->dialog.scale_pct < 100 || l->dialog.scale_pct > 1000)
		return -EINVAL;
	const json_t *cost = json_object_get(state, "cost_usd");
	l->cost_usd = json_number_value(cost);
	if (!json_is_number(cost) || !(l->cost_usd >= 0))
		return -EINVAL;
	l->n_steps = (unsigned)n_steps;
	l->n_replies = (unsigned)n_replies;
	l->last_number = (unsigned)last;
	return 0;
}

/* Copy the text member @name of @state to *@out. If it is missing, do nothing. */
static int read_text(char **out, const json_t *state, const char *name)
{
	const json_t *text = json_object_get(state, name);
	if (text && !json_is_string(text))
		return -EINVAL;
	char *copy = text ? strdup(json_string_value(text)) : NULL;
	if (text && !copy)
		return -ENOMEM;
	if (!text)
		return 0;
	free(*out);
	*out = copy;
	return 0;
}

static int read_answer(struct loop *l, const json_t *state)
{
	json_t *bundle = json_object_get(state, "bundle"),
	       *misses = json_object_get(state, "misses");
	json_t *images = json_object_get(state, "next_images"), *miss;
	const json_t *next = json_object_get(state, "next");
	size_t i;
	int r = read_text(&l->answer, state, "answer");
	if (r == 0)
		r = read_text(&l->code, state, "code");
	json_array_foreach(misses, i, miss) if (!json_is_string(miss)) r = -EINVAL;
	if ((bundle && !json_is_object(bundle)) || (misses && !json_is_array(misses)) ||
		(images && !dialog_is_images(images)) || !json_is_string(next))
		r = -EINVAL;
	if (r < 0)
		return r;
	l->bundle = json_incref(bundle);
	l->misses = json_incref(misses);
	l->images = json_incref(images);
	return buf_append(&l->next, json_string_value(next), json_string_length(next));
}

static int read_state(struct loop *l, const json_t *state)
{
	const char *word = json_string_value(json_object_get(state, "state"));
	const char *end = json_string_value(json_object_get(state, "end"));
	const char *spent = json_string_value(json_object_get(state, "spent"));
	int found = -EINVAL, ended = end && !*end ? LOOP_OK : -EINVAL;
	for (size_t i = 0; word && i < ARRAY_LEN(states); i++)
		if (found < 0 && strcmp(states[i], word) == 0)
			found = (int)i;
	for (int i = 0; end && i < LOOP_ENDS_; i++)
		if (strcmp(loop_end_word((enum loop_end)i), end) == 0)
			ended = i;
	if (found < 0 || ended < 0)
		return -EINVAL;
	l->state = (enum loop_state)found;
	l->end = (enum loop_end)ended;
	for (int i = 0; spent && i < BUDGET_KINDS; i++)
		if (strcmp(budget_word((enum budget_kind)i), spent) == 0)
			l->spent = (enum budget_kind)i;
	return 0;
}

static int check_version(const json_t *state, struct err *err)
{
	const json_t *version = json_object_get(state, "version");
	json_int_t n = json_integer_value(version);
	if (!json_is_integer(version) || n < 1)
		return err_set(err, ERR_DAMAGED, "the saved state has no version");
	if (n <= LOOP_STATE_VERSION)
		return 0;
	return err_fail(err, ERR_USAGE, "use the newer retort that saved it",
		"the saved state has version %" JSON_INTEGER_FORMAT
		", but this retort reads only up to %d",
		n, LOOP_STATE_VERSION);
}

int loop_restore(struct loop *l, const json_t *state, struct err *err)
{
	int r = check_version(state, err);
	if (r < 0)
		return r;
	if (read_state(l, state) < 0)
		return bad(err, "state and end");
	if ((r = dialog_read(&l->dialog, json_object_get(state, "dialog"))) == -EINVAL)
		return bad(err, "messages");
	if (r == 0 && (r = read_flags(l, state)) == -EINVAL)
		return bad(err, "counts");
	if (r == 0 && (r = read_budget(&l->budget, json_object_get(state, "budget"))) == -EINVAL)
		return bad(err, "budgets");
	if (r == 0 && (r = read_stuck(&l->stuck, json_object_get(state, "stuck"))) == -EINVAL)
		return bad(err, "earlier steps");
	if (r == 0 &&
		(r = read_numbers(l->grounding, json_object_get(state, "numbers"),
			 json_object_get(state, "exact"))) == -EINVAL)
		return bad(err, "numbers");
	if (r == 0 && (r = read_answer(l, state)) == -EINVAL)
		return bad(err, "answer and texts");
	return r < 0 ? err_set(err, ERR_NO_MEMORY, "no memory for a task") : 0;
}
