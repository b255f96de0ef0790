/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text/observation.h"

#include "agent/answer/hint.h"
#include "agent/answer/refusal.h"
#include "api/text/json.h"
#include "api/text/outcome.h"
#include "api/text/printable.h"
#include "base/attr.h"
#include "base/json.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OVERHEAD_CHARACTERS: room that is reserved for headings and notes. */
enum {
	OVERHEAD_CHARACTERS = 1600,
	RUNNING_CHARACTERS = 4000,
	SECTION_MIN = 200,
	FILES_SHOWN = 20,
	VERDICT_BYTES = 1024,
	QUEUED_TOLD_MS = 500,
	REST_BYTES = 200,
	SHOWN_BYTES = 200,
	VARIABLES_BYTES = 800,
	VARIABLES_SHOWN = 20,
	PLAIN_MAX = 64 << 20,
	TEXT_MAX = 1 << 20,
};

/* Prefix of the MIME types that only the engine uses. */
static const char OWN_TYPES[] = "application/vnd.retort.";

enum section_kind { VALUE, DISPLAY, OUT, ERR, FAILURE, SECTIONS };

struct section {
	/* stream: name of this text in the tool read_output; NULL: the tool cannot read it. */
	const char *title, *stream;
	struct buf text;
	size_t n; /* length in characters */
	size_t share;
	uint64_t lost_bytes; /* bytes that were lost because of the output limit */
};

struct rendering {
	const json_t *record;
	const struct observation_options *options;
	struct section sections[SECTIONS];
	json_t *images;
	struct buf text;
	unsigned n_images, n_seen, n_large;
	struct buf notes;
};

/* A text and its length. The length is needed because the output of a program may contain NUL. */
struct text {
	const char *data;
	size_t bytes;
};

static struct text text_of(const json_t *json)
{
	return (struct text){
		json_is_string(json) ? json_string_value(json) : "", json_string_length(json)};
}

static double number(const json_t *json, const char *group, const char *name)
{
	return json_number_value(json_object_get(json_object_get(json, group), name));
}

static bool is_good(const json_t *record)
{
	const char *status = json_get_text(record, "status");
	return strcmp(status, "ok") == 0 || strcmp(status, "running") == 0;
}

static bool has_exited(const json_t *record)
{
	return json_is_true(json_object_get(record, "exited"));
}

/* ---- the first line of the observation ---- */

static void add_time(struct buf *b, double ms)
{
	if (ms < 1000)
		buf_addf(b, ", %.0f ms", ms);
	else
		buf_addf(b, ", %.1f s", ms / 1000);
}

/* Append the first line of @text, but at most @max_bytes. */
static void add_line(struct buf *b, struct text text, size_t max_bytes)
{
	cleanup_buf struct buf plain = BUF_INIT(PLAIN_MAX);
	const char *end = text.bytes ? memchr(text.data, '\n', text.bytes) : NULL;
	(void)printable_add(&plain, text.data, end ? (size_t)(end - text.data) : text.bytes);
	buf_append(b, buf_str(&plain), utf8_cut(buf_str(&plain), plain.bytes, max_bytes));
}

static void add_failure(struct buf *b, const json_t *record)
{
	const json_t *error = json_object_get(record, "error");
	const json_t *line = json_object_get(error, "line");
	const json_t *status = json_object_get(record, "exit_code");
	const char *signal = json_get_text(record, "signal");
	struct text name = text_of(json_object_get(error, "name"));
	struct text message = text_of(json_object_get(error, "message"));
	if (name.bytes || message.bytes)
		buf_add(b, ", ");
	add_line(b, name, SHOWN_BYTES / 2);
	if (name.bytes && message.bytes && message.data[0] != '\n')
		buf_add(b, ": ");
	add_line(b, message, SHOWN_BYTES);
	/* The message of a SyntaxError contains the line number already: "… (<step 3>, line 1)". */
	if (json_is_integer(line) && !memmem(message.data, message.bytes, ", line ", 7))
		buf_addf(b, " (line %" JSON_INTEGER_FORMAT ")", json_integer_value(line));
	if (signal[0])
		buf_addf(b, ", signal %.20s", signal);
	else if (json_integer_value(status) != 0)
		buf_addf(b, ", exit %" JSON_INTEGER_FORMAT, json_integer_value(status));
}

/* Append what has become of the state of the session, unless the step ended as usual. */
static void add_state(struct buf *b, const json_t *record)
{
	static const struct {
		const char *outcome, *text;
	} rows[] = {
		{"committed", "its changes are kept"},
		{"rolled_back", "rolled back: "},
		{"replayed", "state rebuilt by running the steps before"},
		{"diverged", "state rebuilt, and it may differ: check your variables"},
		{"lost", "state lost: "},
	};
	const json_t *state = json_object_get(record, "state");
	const char *outcome = json_get_text(state, "outcome"),
		   *reason = json_get_text(state, "reason");
	const char *notice = json_get_text(state, "notice"),
		   *undone = json_get_text(state, "undone");
	bool is_plain = strcmp(outcome, "committed") == 0 && is_good(record) && !has_exited(record);
	for (size_t i = 0; i < ARRAY_LEN(rows) && !is_plain; i++)
		if (strcmp(rows[i].outcome, outcome) == 0)
			buf_addf(b, ", %s", undone[0] ? "undone: " : rows[i].text);
	if (strcmp(outcome, "committed") == 0)
		outcome_add_taken_back(b, record);
	else if (strcmp(outcome, "rolled_back") == 0)
		outcome_add_back(b, record);
	else if (strcmp(outcome, "lost") == 0)
		outcome_add_anew(b, record);
	if (strcmp(outcome, "rolled_back") != 0)
		outcome_add_lost(b, record);
	if (notice[0])
		buf_addf(b, "; %.*s", (int)utf8_cut(notice, strlen(notice), SHOWN_BYTES), notice);
	if (reason[0] && !is_plain && strcmp(reason, notice) != 0)
		buf_addf(b, " (%.*s)", (int)utf8_cut(reason, strlen(reason), SHOWN_BYTES), reason);
}

/* Append how long the step had to wait for other steps of its session. */
static void add_queued(struct buf *b, const json_t *record)
{
	double ms = number(record, "usage", "queued_ms");
	if (ms >= QUEUED_TOLD_MS)
		buf_addf(b, ", queued %.1f s before", ms / 1000);
}

/* Append what a running step waits for, and what the model can do with the tool run_wait:
 * - If the step waits for input: send input to @run, which is the run of the step.
 * - If the step waits behind an earlier step, and that earlier step waits for input: send input to
 *   @behind, which is the run of the earlier step, or interrupt @behind. Then wait for @run.
 * - Otherwise: wait for @run. */
static void add_running(struct rendering *r, const char *run, const char *behind)
{
	bool is_reading = strcmp(json_get_text(r->record, "waiting"), "stdin") == 0;
	bool is_behind = strcmp(json_get_text(r->record, "behind_waiting"), "stdin") == 0;
	struct buf *b = &r->text;
	buf_add(b, behind[0] ? "" : " so far");
	buf_add(b, is_reading ? ", waits for input" : "");
	buf_add(b, is_behind ? ", which waits for input" : "");
	if (r->options->has_tools)
		buf_addf(b, ". Call run_wait with run_id \"%.60s\"%s", is_behind ? behind : run,
			is_reading || is_behind ? " and stdin, a line with its \\n" : "");
	if (r->options->has_tools && is_behind)
		buf_addf(b, ", or action \"interrupt\"; then with run_id \"%.60s\"", run);
	buf_add(b, r->options->has_tools ? ".\n" : "\n");
}

static void add_verdict(struct rendering *r)
{
	const json_t *record = r->record;
	struct buf *b = &r->text;
	const char *status = json_get_text(record, "status"), *run = json_get_text(record, "run");
	bool is_running = strcmp(status, "running") == 0;
	const char *behind = json_get_text(record, "behind");
	buf_addf(b, "%.20s: %.20s", status, json_get_text(record, "runtime"));
	if (behind[0])
		buf_addf(b, ", not started: it waits for run %.60s", behind);
	else
		add_time(b, number(record, "usage", "wall_ms"));
	if (is_running) {
		add_running(r, run, behind);
		return;
	}
	if (strcmp(status, "ok") != 0)
		add_failure(b, record);
	else if (has_exited(record))
		buf_add(b, ", ended itself with status 0");
	add_state(b, record);
	if (r->options->is_new)
		buf_addf(b, ", in a new session");
	add_queued(b, record);
	buf_add(b, "\n");
}

/* ---- the sections: value, displays, stdout, stderr, error ---- */

static void take_text(struct section *s, struct text text)
{
	if (text.bytes == 0)
		return;
	if (s->text.bytes > 0 && s->text.data[s->text.bytes - 1] != '\n')
		buf_add(&s->text, "\n");
	(void)printable_add(&s->text, text.data, text.bytes);
}

/* Show a bundle without text/plain, text/markdown and JSON. Show its other texts, such as text/html
 * and SVG images. Of a part that is not text, such as audio/wav, show only the MIME type. */
static void take_others(struct section *s, const json_t *bundle)
{
	const char *mime;
	json_t *part;
	json_object_foreach((json_t *)bundle, mime, part)
	{
		bool is_text = strncmp(mime, "text/", 5) == 0 || strcmp(mime, "image/svg+xml") == 0;
		char named[SHOWN_BYTES];
		struct text text = text_of(part);
		if (strncmp(mime, OWN_TYPES, strlen(OWN_TYPES)) == 0)
			continue;
		if (!is_text)
			text = (struct text){named,
				(size_t)snprintf(named, sizeof named, "[%.100s: no text]", mime)};
		take_text(s, text);
	}
}

static void take_bundle(struct section *s, const json_t *bundle)
{
	json_t *json = json_object_get(bundle, "application/json");
	const json_t *text = json_object_get(bundle, "text/plain");
	text = text ? text : json_object_get(bundle, "text/markdown");
	if (text) {
		take_text(s, text_of(text));
		return;
	}
	if (!json) {
		take_others(s, bundle);
		return;
	}
	char *dump = json_text(json, JSON_ENCODE_ANY | JSON_INDENT(1));
	take_text(s, (struct text){dump, dump ? strlen(dump) : 0});
	free(dump);
}

/* Return whether the first line of the observation contains the whole error. */
static bool is_told(const json_t *error)
{
	struct text message = text_of(json_object_get(error, "message"));
	return json_array_size(json_object_get(error, "traceback")) == 0 &&
		message.bytes <= SHOWN_BYTES && !memchr(message.data, '\n', message.bytes);
}

static void take_traceback(struct section *s, const json_t *error)
{
	size_t i;
	json_t *line;
	json_array_foreach(json_object_get(error, "traceback"), i, line)
	{
		if (json_string_length(line) == 0)
			buf_add(&s->text, "\n\n"); /* end the line, add an empty one */
		take_text(s, text_of(line));
	}
	if (s->text.bytes > 0 || !error)
		return;
	take_text(s, text_of(json_object_get(error, "name")));
	take_text(s, text_of(json_object_get(error, "message")));
}

/* Remove @told from the end of stderr, because another section shows it. */
static void drop_twin(struct rendering *r, const struct buf *told)
{
	struct buf *printed = &r->sections[ERR].text;
	size_t n = told->bytes, end = printed->bytes;
	while (n > 0 && told->data[n - 1] == '\n')
		n--;
	while (end > 0 && printed->data[end - 1] == '\n')
		end--;
	if (n == 0 || end < n || memcmp(printed->data + end - n, told->data, n) != 0 ||
		(end > n && printed->data[end - n - 1] != '\n'))
		return;
	printed->bytes = end - n;
	printed->data[printed->bytes] = '\0';
}

/* Show the error. Python has also printed it to stderr, as a traceback or as the reason of
 * sys.exit("why"), so remove it from stderr. */
static void take_failure(struct rendering *r)
{
	const json_t *error = json_object_get(r->record, "error");
	struct text message = text_of(json_object_get(error, "message"));
	cleanup_buf struct buf reason = BUF_INIT(PLAIN_MAX);
	if (!is_told(error))
		take_traceback(&r->sections[FAILURE], error);
	if (json_array_size(json_object_get(error, "traceback")) > 0)
		drop_twin(r, &r->sections[FAILURE].text);
	else if (strcmp(json_get_text(error, "name"), "SystemExit") == 0 &&
		printable_add(&reason, message.data, message.bytes) == 0)
		drop_twin(r, &reason);
}

static bool take_image(struct rendering *r, const json_t *bundle)
{
	static const char *const types[] = {"image/png", "image/jpeg"};
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		json_t *data = json_object_get(bundle, types[i]);
		size_t bytes = json_string_length(data);
		if (!json_is_string(data))
			continue;
		r->n_seen++;
		if (r->n_images >= OBSERVATION_IMAGES_MAX)
			return true; /* the image is not shown; tell_hidden() reports such images */
		if (bytes > OBSERVATION_IMAGE_BYTES) {
			buf_addf(&r->notes,
				"[image %u, an %s of %zu KiB, is not shown: too large, draw it "
				"smaller]\n",
				r->n_seen, types[i], bytes * 3 / 4 / 1024);
			r->n_large++;
			return true;
		}
		r->n_images++;
		json_add_new(r->images, json_pack("{s:s, s:O}", "mime", types[i], "data", data));
		return true;
	}
	return false;
}

static void tell_hidden(struct rendering *r)
{
	unsigned n_told = r->n_images + r->n_large;
	if (n_told < r->n_seen)
		buf_addf(&r->notes,
			"[of %u images the last %u are not shown: a step shows %d; draw the others in "
			"steps of their own]\n",
			r->n_seen, r->n_seen - n_told, OBSERVATION_IMAGES_MAX);
}

static void collect(struct rendering *r)
{
	const json_t *record = r->record, *cut = json_object_get(record, "truncated");
	const json_t *value = json_object_get(record, "value");
	size_t i;
	json_t *display;
	take_text(&r->sections[OUT], text_of(json_object_get(record, "stdout")));
	take_text(&r->sections[ERR], text_of(json_object_get(record, "stderr")));
	r->sections[OUT].lost_bytes =
		(uint64_t)json_integer_value(json_object_get(cut, "stdout_bytes"));
	r->sections[ERR].lost_bytes =
		(uint64_t)json_integer_value(json_object_get(cut, "stderr_bytes"));
	take_failure(r);
	if (!take_image(r, value))
		take_bundle(&r->sections[VALUE], value);
	json_array_foreach(json_object_get(record, "displays"), i,
		display) if (!take_image(r, display)) take_bundle(&r->sections[DISPLAY], display);
	tell_hidden(r);
}

/* Divide @room: show short sections completely, and let long sections share the rest equally. */
static void share(struct section *sections, size_t room)
{
	bool is_settled[SECTIONS] = {false};
	for (int n_left = SECTIONS; n_left > 0;) {
		size_t each = room / (size_t)n_left;
		int n_settled = 0;
		for (int i = 0; i < SECTIONS; i++)
			if (!is_settled[i] && sections[i].n <= each) {
				is_settled[i] = true;
				sections[i].share = sections[i].n;
				room -= sections[i].n;
				n_settled++;
			}
		n_left -= n_settled;
		if (n_settled > 0)
			continue;
		for (int i = 0; i < SECTIONS; i++)
			if (!is_settled[i])
				sections[i].share = MAX(each, (size_t)SECTION_MIN);
		return;
	}
}

static void add_section(struct rendering *r, const struct section *s)
{
	const char *run = json_get_text(r->record, "run");
	char rest[REST_BYTES] = "";
	struct buf *b = &r->text;
	if (s->text.bytes == 0)
		return;
	bool is_line = s->n <= s->share && !memchr(s->text.data, '\n', s->text.bytes);
	if (r->options->has_tools && run[0] && s->stream)
		snprintf(rest, sizeof rest,
			"read_output {\"run_id\": \"%.60s\", \"stream\": \"%s\"}", run, s->stream);
	buf_addf(b, "%s:%s", s->title, is_line ? " " : "\n");
	(void)printable_cut(b, s->text.data, s->text.bytes, s->share, rest[0] ? rest : NULL);
	if (b->data[b->bytes - 1] != '\n')
		buf_add(b, "\n");
	if (s->lost_bytes > 0)
		buf_addf(b, "[%" PRIu64 " bytes of it were over the output limit and are lost]\n",
			s->lost_bytes);
}

/* ---- the files that the step changed ---- */

static void add_file(struct rendering *r, const json_t *file)
{
	struct buf path = BUF_INIT(PLAIN_MAX);
	const char *name = json_get_text(file, "path");
	(void)utf8_escape_terminal(&path, name, strlen(name), UTF8_ONE_LINE);
	buf_addf(&r->text, "  %.*s (%s", (int)utf8_cut(buf_str(&path), path.bytes, SHOWN_BYTES),
		buf_str(&path), json_get_text(file, "change"));
	if (json_object_get(file, "size"))
		buf_addf(&r->text, ", %" JSON_INTEGER_FORMAT " bytes",
			json_integer_value(json_object_get(file, "size")));
	buf_add(&r->text, ")\n");
	buf_done(&path);
}

/* Append the number of files that are not shown. The model can list them with list_files, except
 * those that were deleted. */
static void add_files_left(struct rendering *r, size_t n, size_t n_gone)
{
	buf_addf(&r->text, "  … and %zu more", n);
	if (n_gone == n)
		buf_add(&r->text, ", deleted");
	else if (n_gone > 0)
		buf_addf(&r->text, ", %zu of them deleted", n_gone);
	buf_add(&r->text, n_gone < n && r->options->has_tools ? ": list_files\n" : "\n");
}

static void add_files(struct rendering *r)
{
	const json_t *files = json_object_get(r->record, "files");
	size_t i, n = json_array_size(files), n_left = 0, n_gone = 0;
	json_t *file;
	size_t room = r->text.bytes + 4 * FILES_SHOWN * 60;
	if (n > 0)
		buf_addf(&r->text, "files:\n");
	json_array_foreach(files, i, file)
	{
		if (i < FILES_SHOWN && r->text.bytes < room) {
			add_file(r, file);
			continue;
		}
		n_left++;
		n_gone += strcmp(json_get_text(file, "change"), "deleted") == 0;
	}
	if (n_left > 0)
		add_files_left(r, n_left, n_gone);
	if (json_is_true(json_object_get(json_object_get(r->record, "truncated"), "files")))
		buf_addf(&r->text, "  [there are more files than were checked]\n");
}

/* ---- the variables that the step set ---- */

static void add_variables(struct rendering *r)
{
	const json_t *rows = json_object_get(r->record, "variables");
	size_t i, n_shown = 0;
	json_t *row;
	cleanup_buf struct buf line = BUF_INIT(PLAIN_MAX);
	json_array_foreach(rows, i, row)
	{
		const char *name = json_get_text(row, "name"), *size = json_get_text(row, "size");
		bool is_new = strcmp(json_get_text(row, "change"), "changed") != 0;
		if (line.bytes > VARIABLES_BYTES || n_shown == VARIABLES_SHOWN)
			break;
		n_shown++;
		buf_addf(&line, "%s%s: %s%s%s%s%s", i > 0 ? ", " : "", name,
			json_get_text(row, "type"), size[0] ? " (" : "", size, size[0] ? ")" : "",
			is_new ? "" : " changed");
	}
	if (n_shown == 0)
		return;
	buf_add(&r->text, "variables: ");
	(void)utf8_escape_terminal(&r->text, buf_str(&line), line.bytes, UTF8_ONE_LINE);
	buf_addf(&r->text, "%s\n", n_shown < json_array_size(rows) ? ", …" : "");
}

/* ---- hints for people, models and programs ---- */

/* Append a hint for clients of MCP only, because it names tools that other readers do not have.
 * Our own agent loop adds its hints itself. */
static void add_hint(struct rendering *r)
{
	const struct hint_about about = {.reader = HINT_MCP, .packages = r->options->packages};
	cleanup_buf struct buf hint = BUF_INIT(HINT_BYTES);
	if (r->options->has_tools && hint_find(&hint, r->record, &about))
		buf_addf(&r->text, "hint: %s\n", buf_str(&hint));
}

/* ---- the whole observation ---- */

static void render_text(struct rendering *r)
{
	static const enum section_kind order[] = {FAILURE, VALUE, DISPLAY, OUT, ERR};
	bool is_empty = r->n_images == 0;
	for (int i = 0; i < SECTIONS; i++) {
		struct buf *text = &r->sections[i].text;
		while (text->bytes > 0 && text->data[text->bytes - 1] == '\n')
			text->data[--text->bytes] = '\0';
		r->sections[i].n = utf8_count(buf_str(text), text->bytes);
		is_empty = is_empty && r->sections[i].n == 0;
	}
	add_verdict(r);
	add_hint(r);
	add_files(r);
	add_variables(r);
	(void)refusal_add(&r->text, r->record, "--net ");
	buf_append(&r->text, buf_str(&r->notes), r->notes.bytes);
	size_t used = utf8_count(buf_str(&r->text), r->text.bytes) + OVERHEAD_CHARACTERS;
	/* A running step is observed again and again, so each observation is shorter. */
	bool is_running = strcmp(json_get_text(r->record, "status"), "running") == 0;
	size_t room = is_running ? RUNNING_CHARACTERS : OBSERVATION_CHARACTERS;
	share(r->sections, used < room ? room - used : 0);
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		add_section(r, &r->sections[order[i]]);
	const char *runtime = json_get_text(r->record, "runtime");
	bool has_values = strcmp(runtime, "python") == 0 || strcmp(runtime, "javascript") == 0;
	if (is_empty && strcmp(json_get_text(r->record, "status"), "ok") == 0)
		buf_addf(&r->text, "no output%s\n",
			has_exited(r->record)
				? ": code after the exit was not run; the session continues"
				: has_values
				? ": print something, or end with an expression, to see it"
				: "");
	if (r->text.bytes > 0 && r->text.data[r->text.bytes - 1] == '\n')
		r->text.data[--r->text.bytes] = '\0';
}

void observation_make(
	const json_t *record, const struct observation_options *options, struct observation *out)
{
	struct rendering r = {.record = record,
		.options = options,
		.images = json_array(),
		.text = BUF_INIT(TEXT_MAX),
		.notes = BUF_INIT(VERDICT_BYTES),
		.sections = {[VALUE] = {"value", "value"},
			[DISPLAY] = {"display", NULL},
			[OUT] = {"stdout", "stdout"},
			[ERR] = {"stderr", "stderr"},
			[FAILURE] = {"error", NULL}}};
	for (int i = 0; i < SECTIONS; i++)
		r.sections[i].text = BUF_INIT(PLAIN_MAX);
	collect(&r);
	render_text(&r);
	*out = (struct observation){.text = r.text,
		.images = r.images,
		.stdout_characters = r.sections[OUT].share,
		.stderr_characters = r.sections[ERR].share};
	for (int i = 0; i < SECTIONS; i++)
		buf_done(&r.sections[i].text);
	buf_done(&r.notes);
}

void observation_done(struct observation *o)
{
	buf_done(&o->text);
	json_decref(o->images);
	o->images = NULL;
}
