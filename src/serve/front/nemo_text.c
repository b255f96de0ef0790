/*
 * What a cell of NeMo-Skills prints. In the original, IPython runs it, so that the value of the
 * last expression and the traceback are on stdout, and nobody sees file names of cells. Source:
 * github.com/NVIDIA-NeMo/Skills, nemo_skills/code_execution/local_sandbox.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/front/nemo.h"

#include "base/ascii.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "serve/front/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 64 << 20, ESC = 0x1b };

enum nemo_verbosity nemo_verbosity_of(const char *word)
{
	static const struct {
		const char *word;
		enum nemo_verbosity verbosity;
	} words[] = {{"Minimal", NEMO_MINIMAL}, {"Plain", NEMO_PLAIN}, {"Context", NEMO_FULL},
		{"Verbose", NEMO_FULL}};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].verbosity;
	return NEMO_VERBOSITY_UNKNOWN;
}

/* ---- making a text tidy ---- */

static bool is_in(char c, char first, char last)
{
	return c >= first && c <= last;
}

/* Return the length of the escape sequence at @at; 0 if there is none. The original removes the
 * same ones: "ESC [ parameters intermediates final", and ESC with one of "@" to "Z", "-" and "_".
 */
static size_t escape_bytes(const char *at, size_t bytes)
{
	size_t n = 2;
	if (bytes < 2 || at[0] != ESC)
		return 0;
	if (at[1] != '[')
		return is_in(at[1], '@', 'Z') || at[1] == '-' || at[1] == '_' ? 2 : 0;
	while (n < bytes && is_in(at[n], '0', '?'))
		n++;
	while (n < bytes && is_in(at[n], ' ', '/'))
		n++;
	return n < bytes && is_in(at[n], '@', '~') ? n + 1 : 0;
}

/* Return @text without escape sequences, without empty lines at its beginning, and without white
 * space at its end but for one newline. */
static json_t *tidy(const char *text, size_t bytes)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
	const char *from = text, *at = text, *end = text + bytes;
	while (at < end && (at = memchr(at, ESC, (size_t)(end - at)))) {
		size_t n = escape_bytes(at, (size_t)(end - at));
		if (n > 0) {
			buf_append(&out, from, (size_t)(at - from));
			from = at + n;
		}
		at += n > 0 ? n : 1;
	}
	buf_append(&out, from, (size_t)(end - from));
	if (buf_error(&out) < 0)
		return NULL;
	buf_consume(&out, strspn(buf_str(&out), "\n"));
	while (out.bytes > 0 && ascii_is_space(out.data[out.bytes - 1]))
		buf_cut(&out, out.bytes - 1);
	if (out.bytes > 0)
		buf_add(&out, "\n");
	return buf_error(&out) < 0 ? NULL : json_stringn(buf_str(&out), out.bytes);
}

static json_t *finish(const struct buf *text, enum nemo_verbosity verbosity)
{
	if (buf_error(text) < 0)
		return NULL;
	return verbosity == NEMO_FULL ? json_stringn(buf_str(text), text->bytes)
				      : tidy(buf_str(text), text->bytes);
}

/* ---- tracebacks ---- */

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Append the lines of a traceback as IPython's mode "Plain" has them: without the lines that name a
 * cell, and without the marks under the lines of frames. The mark of a syntax error stays. */
static void add_plain(struct buf *out, const json_t *lines)
{
	static const char cell[] = "  File \"<step", indent[] = "    ";
	bool is_frame = false;
	const json_t *line;
	size_t i;
	json_array_foreach(lines, i, line)
	{
		const char *text = json_string_value(line);
		if (!text)
			continue;
		if (!begins_with(text, indent))
			is_frame = begins_with(text, "  File ") && strstr(text, ", in ");
		bool is_mark = is_frame && text[strspn(text, " ~^")] == '\0';
		if (is_mark || begins_with(text, cell))
			continue;
		buf_append(out, text, json_string_length(line));
		buf_add(out, "\n");
	}
}

static void add_lines(struct buf *out, const json_t *lines)
{
	const json_t *line;
	size_t i;
	json_array_foreach(lines, i, line)
	{
		buf_append(out, json_string_value(line), json_string_length(line));
		buf_add(out, "\n");
	}
}

static void add_traceback(struct buf *out, const json_t *error, enum nemo_verbosity verbosity)
{
	const json_t *lines = json_object_get(error, "traceback");
	const char *first = json_string_value(json_array_get(lines, 0));
	const char *name = json_get_text(error, "name"), *message = json_get_text(error, "message");
	bool is_exit = strcmp(name, "SystemExit") == 0;
	if (is_exit)
		buf_add(out, "An exception has occurred, use %tb to see the full traceback.\n");
	if (is_exit || (verbosity == NEMO_MINIMAL && first && begins_with(first, "Traceback")))
		buf_addf(out, "%s%s%s\n", name, message[0] ? ": " : "", message);
	else if (verbosity == NEMO_FULL)
		add_lines(out, lines);
	else
		add_plain(out, lines);
}

/* ---- the streams of a cell ---- */

/* Append the text of a value or a display on lines of its own, as IPython shows it: a text of
 * several lines stands below its prompt, of which the newline remains. */
static void add_shown(struct buf *out, const json_t *shown)
{
	const json_t *text = json_object_get(shown, "text/plain");
	if (!json_is_string(text) || json_object_get(shown, "image/png"))
		return;
	if (out->bytes > 0 && buf_str(out)[out->bytes - 1] != '\n')
		buf_add(out, "\n");
	if (memchr(json_string_value(text), '\n', json_string_length(text)))
		buf_add(out, "\n");
	buf_append(out, json_string_value(text), json_string_length(text));
	buf_add(out, "\n");
}

json_t *nemo_cell_stdout(const json_t *record, enum nemo_verbosity verbosity)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
	const json_t *text = json_object_get(record, "stdout"), *display;
	size_t i;
	buf_append(&out, json_string_value(text), json_string_length(text));
	json_array_foreach(json_object_get(record, "displays"), i, display)
		add_shown(&out, display);
	add_shown(&out, json_object_get(record, "value"));
	if (strcmp(json_get_text(record, "status"), "error") == 0)
		add_traceback(&out, json_object_get(record, "error"), verbosity);
	return finish(&out, verbosity);
}

/* Append why the engine has ended a cell. */
static void add_reason(struct buf *out, const json_t *record, const json_t *timeout)
{
	const char *status = json_get_text(record, "status");
	const char *message = json_get_text(json_object_get(record, "error"), "message");
	char late[NEMO_LATE_BYTES];
	if (strcmp(status, "timeout") == 0) {
		nemo_late(late, timeout);
		buf_add(out, late);
	} else if (strcmp(status, "ok") != 0 && strcmp(status, "error") != 0) {
		buf_addf(out, "\n%s\n", message);
	}
}

json_t *nemo_cell_stderr(const json_t *record, const json_t *timeout, enum nemo_verbosity verbosity)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
	buf_append(&out, json_get_text(record, "stderr"), front_stderr_bytes(record));
	add_reason(&out, record, timeout);
	return finish(&out, verbosity);
}

/* ---- other texts ---- */

json_t *nemo_cut(json_t *text, size_t max)
{
	static const char mark[] = "<output cut>";
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES + sizeof mark);
	const char *data = json_string_value(text);
	size_t bytes = json_string_length(text), at = 0;
	int32_t character;
	if (bytes <= max)
		return text;
	for (; max > 0 && at < bytes; max--)
		at += utf8_decode(data + at, bytes - at, &character);
	if (at == bytes)
		return text;
	buf_append(&out, data, at);
	buf_add(&out, mark);
	json_decref(text);
	return buf_error(&out) < 0 ? NULL : json_stringn(buf_str(&out), out.bytes);
}

void nemo_late(char out[NEMO_LATE_BYTES], const json_t *timeout)
{
	enum { DECIMALS_MAX = 9, NUMBER_BYTES = 48 };
	char number[NUMBER_BYTES];
	double value = json_number_value(timeout);
	int decimals = 1;
	if (json_is_integer(timeout)) {
		snprintf(number, sizeof number, "%lld", (long long)json_integer_value(timeout));
	} else {
		do
			snprintf(number, sizeof number, "%.*f", decimals, value);
		while (++decimals <= DECIMALS_MAX && strtod(number, NULL) != value);
	}
	snprintf(out, NEMO_LATE_BYTES, "Execution timed out after %s seconds\n", number);
}
