/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/repl/answer.h"

#include "cli/screen/term.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 4096, CTRL_D = 4 };

void answer_end(struct answer *a)
{
	ear_close(take_ptr(a->ear));
	if (a->has_lines)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &a->before);
	a->has_lines = false;
}

static void put(struct answer *a, json_t *params)
{
	/* Stop watching the terminal. If the program wants another line, answer_event() gets
	 * another event and watches the terminal again. */
	ear_close(take_ptr(a->ear));
	operation_tell(service_context(a->service), "step.input", params);
}

/* Send the first complete line in `typed` to the program. Returns: false if no complete line was
 * typed, or it is not UTF-8. */
static bool give_line(struct answer *a)
{
	const char *data = buf_str(&a->typed);
	size_t n = strcspn(data, "\n\004");
	if (n == a->typed.bytes)
		return false;
	n += data[n] == '\n';
	json_t *text = json_stringn(data, n);
	if (!text)
		fputs("retort: not UTF-8: type it again\n", stderr);
	if (n > 0 && text)
		put(a, json_pack("{s:s, s:O}", "run", a->run, "text", text));
	else if (text)
		put(a, json_pack("{s:s, s:b}", "run", a->run, "end", 1));
	json_decref(text);
	buf_consume(&a->typed, n > 0 ? n : 1);
	return text != NULL;
}

/* Read what was typed. A CR, which ends a line in raw mode, becomes "\n". Ctrl-D arrives as a
 * NUL byte or as the end of the input, and becomes CTRL_D. */
static void on_typed(void *arg)
{
	struct answer *a = arg;
	char keys[READ_BYTES];
	ssize_t n = read(STDIN_FILENO, keys, sizeof keys);
	if (n < 0)
		return;
	for (ssize_t i = 0; i < n; i++)
		keys[i] = keys[i] == '\r' ? '\n' : keys[i] ? keys[i] : CTRL_D;
	if (buf_append(&a->typed, n > 0 ? keys : "\004", n > 0 ? (size_t)n : 1) < 0)
		buf_clear(&a->typed);
	(void)give_line(a);
}

void answer_event(struct answer *a, const json_t *event)
{
	const char *name = json_string_value(json_object_get(event, "event"));
	const char *run = json_string_value(json_object_get(event, "run"));
	struct err err;
	if (!name || !run || strcmp(name, "stdin") != 0 || a->ear)
		return;
	snprintf(a->run, sizeof a->run, "%s", run);
	if (give_line(a))
		return;
	a->has_lines = a->has_lines || term_take_lines(STDIN_FILENO, TCSADRAIN, &a->before);
	if (a->has_lines)
		(void)ear_open(&a->ear, service_loop(a->service), STDIN_FILENO, on_typed, a, &err);
}
