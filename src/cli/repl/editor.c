/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/repl/editor.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "cli/screen/table.h"
#include "cli/screen/term.h"

#include <ctype.h>
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

enum {
	HISTORY_LINES = 1000,
	LINE_MAX_BYTES = 16 << 20,
	READ_BYTES = 4096,
	SHOWN_NAMES = 60,
	SHOWN_COLUMNS = 8,
	CTRL_D = 4
};

struct editor {
	struct editor_config config;
	EditLine *el; /* state of libedit; NULL: stdin or stdout is not a terminal */
	History *history;
	const char *prompt;
	/* Error of `wait` or read() while libedit waited for a character; 0: none. */
	int failure;
	/* Number of unread bytes that were typed before we took the terminal. */
	int n_early;
	bool is_reading, is_ended;
	bool has_ahead;
	/* First byte of the next character. It was read already if `has_ahead`. */
	char ahead;
	/* From a pipe: input that is not a complete line yet. From a terminal: input that was
	 * typed for a program, but not read by it. */
	struct buf in;
	size_t n_lines;
};

static char *prompt_of(EditLine *el)
{
	struct editor *e = NULL;
	(void)el_get(el, EL_CLIENTDATA, &e);
	return (char *)(uintptr_t)e->prompt;
}

static int next_byte(struct editor *e, char *out)
{
	ssize_t n;
	if (e->has_ahead) {
		e->has_ahead = false;
		*out = e->ahead;
		return 1;
	}
	if (e->el && e->in.bytes > 0) {
		*out = *buf_str(&e->in);
		buf_consume(&e->in, 1);
		return 1;
	}
	do {
		e->failure = e->config.wait(e->config.arg, STDIN_FILENO);
		if (e->failure < 0)
			return -1;
		n = read(STDIN_FILENO, out, 1);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	/* In raw mode, Ctrl-D is read as a byte. So if the input is at its end, the terminal was
	 * closed. */
	if (n <= 0)
		e->failure = n < 0 ? -errno : -EIO;
	/* A Ctrl-D that was typed in line mode, before we took the terminal, is read as a NUL. */
	if (n == 1 && e->n_early > 0 && e->n_early-- > 0 && *out == '\0')
		*out = CTRL_D;
	return (int)n;
}

/* Return the number of bytes in the UTF-8 character that begins with @first; 1 for an invalid
 * byte. */
static size_t char_bytes(unsigned char first)
{
	return first < 0xc2 || first > 0xf4 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Read one character for libedit. The event loop runs until the character is there. */
static int next_char(EditLine *el, wchar_t *out)
{
	struct editor *e = NULL;
	char bytes[UTF8_MAX_BYTES];
	int32_t c = -1;
	(void)el_get(el, EL_CLIENTDATA, &e);
	for (size_t n = 0; n == 0 || n < char_bytes((unsigned char)bytes[0]); n++) {
		int r = next_byte(e, &bytes[n]);
		if (r <= 0)
			return r;
		/* The character is incomplete, so this byte begins the next one: keep it for the
		 * next call. */
		if (n > 0 && ((unsigned char)bytes[n] & 0xc0) != 0x80) {
			e->has_ahead = true;
			e->ahead = bytes[n];
			break;
		}
		(void)utf8_decode(bytes, n + 1, &c);
	}
	*out = c >= 0 ? (wchar_t)c : UTF8_REPLACEMENT;
	return 1;
}

/* ---- completing names with Tab ---- */

static bool is_part(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

const char *editor_addition(const char *text, const char *name)
{
	size_t n_text = strlen(text), n_name = strlen(name);
	for (size_t n = MIN(n_text, n_name); n > 0; n--) {
		const char *at = text + n_text - n;
		/* A name can begin at the start of @text or after a character that is not part
		 * of names. It can also begin after a "$": in a shell, "$" is not part of the
		 * name. */
		bool is_start = n == n_text || !is_part(at[-1]) || at[-1] == '$';
		if (is_start && strncmp(at, name, n) == 0)
			return name + n;
	}
	/* After a dot, a blank or another character that is not part of a name, any name may
	 * follow. */
	return n_text > 0 && !is_part(text[n_text - 1]) ? name : NULL;
}

/* Return how many bytes all additions to @text have in common at their beginning. *@first: set
 * to the first addition; NULL if no name adds to @text. */
static size_t common_bytes(const char *text, const json_t *names, const char **first)
{
	size_t n = 0;
	*first = NULL;
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		const char *more = name ? editor_addition(text, name) : NULL;
		if (!more)
			continue;
		if (!*first) {
			*first = more;
			n = strlen(more);
		}
		size_t same = 0;
		while (same < n && more[same] == (*first)[same])
			same++;
		n = same;
	}
	return *first ? utf8_cut(*first, n, n) : 0;
}

/* Show the completions of @text in columns, at most SHOWN_NAMES of them. */
static void show_names(const char *text, const json_t *names)
{
	const char *cells[SHOWN_NAMES];
	cleanup_buf struct buf out = BUF_INIT(1 << 16);
	size_t n_cells = 0, widest = 0, i = 0;
	for (; i < json_array_size(names) && n_cells < SHOWN_NAMES; i++) {
		const char *name = json_string_value(json_array_get(names, i));
		if (!name || !editor_addition(text, name))
			continue;
		cells[n_cells++] = name;
		widest = MAX(widest, strlen(name));
	}
	size_t n_columns = (size_t)term_columns(STDOUT_FILENO) / (widest + 2);
	n_columns = MIN(MAX(n_columns, (size_t)1), (size_t)SHOWN_COLUMNS);
	size_t n_rest = n_cells % n_columns;
	(void)table_write(&out, cells, n_columns, n_cells / n_columns, 0);
	if (n_rest > 0)
		(void)table_write(&out, cells + n_cells - n_rest, n_rest, 1, 0);
	printf("\n%s%s", buf_str(&out), i < json_array_size(names) ? "…\n" : "");
	(void)fflush(stdout);
}

static unsigned char insert(EditLine *el, const char *text, size_t bytes)
{
	char copy[256];
	size_t n = utf8_cut(text, bytes, sizeof copy - 1);
	memcpy(copy, text, n);
	copy[n] = '\0';
	return n > 0 && el_insertstr(el, copy) == 0 ? CC_REFRESH : CC_ERROR;
}

static unsigned char on_tab(EditLine *el, int c)
{
	struct editor *e = NULL;
	(void)c;
	(void)el_get(el, EL_CLIENTDATA, &e);
	const LineInfo *info = el_line(el);
	size_t bytes = (size_t)(info->cursor - info->buffer);
	char *text = strndup(info->buffer, bytes);
	unsigned char result = CC_ERROR;
	const char *more;
	/* At the start of a line, Tab indents instead of completing. */
	if (text && strspn(text, " \t") == bytes)
		result = insert(el, "    ", 4);
	else if (text) {
		json_t *found = e->config.complete(e->config.arg, text);
		const json_t *names = json_object_get(found, "names");
		size_t n = common_bytes(text, names, &more);
		if (n > 0)
			result = insert(el, more, n);
		else if (more && json_array_size(names) > 1) {
			show_names(text, names);
			result = CC_REDISPLAY;
		}
		json_decref(found);
	}
	free(text);
	return result;
}

/* ---- pasted text ---- */

/* Bracketed paste: the terminal sends marks around pasted text. All pasted lines become one
 * statement, and a pasted tab does not complete. Source: xterm's ctlseqs, "Bracketed Paste
 * Mode". */
static const char paste_on[] = "\033[?2004h", paste_off[] = "\033[?2004l";
static const char paste_begin[] = "\\e[200~", paste_end[] = "\033[201~";

/* Convert pasted line ends to "\n", and NULs to spaces. Remove line ends at the end of the text,
 * so that the user's own Enter ends the statement. */
static void plain_paste(struct buf *text)
{
	char *at = text->data;
	for (size_t i = 0; i < text->bytes; i++)
		at[i] = at[i] == '\r' ? '\n' : at[i] ? at[i] : ' ';
	while (text->bytes > 0 && at[text->bytes - 1] == '\n')
		at[--text->bytes] = '\0';
}

static unsigned char on_paste(EditLine *el, int c)
{
	struct editor *e = NULL;
	cleanup_buf struct buf text = BUF_INIT(LINE_MAX_BYTES);
	const size_t n_end = sizeof paste_end - 1;
	char byte;
	(void)c;
	(void)el_get(el, EL_CLIENTDATA, &e);
	while (text.bytes < n_end || memcmp(text.data + text.bytes - n_end, paste_end, n_end) != 0)
		if (next_byte(e, &byte) <= 0 || buf_append(&text, &byte, 1) < 0)
			return CC_ERROR;
	text.bytes -= n_end;
	text.data[text.bytes] = '\0';
	plain_paste(&text);
	return text.bytes > 0 && el_insertstr(el, buf_str(&text)) == 0 ? CC_REFRESH : CC_ERROR;
}

/* ---- opening and closing the editor ---- */

/* Keep the terminal raw between two lines, because the user may type ahead. In line mode, the
 * kernel would turn Ctrl-D into a NUL, and would handle backspace and Tab itself. Raw mode
 * stores these bytes unchanged for the next line. They are echoed only when they are read. */
static void hold_terminal(struct editor *e)
{
	(void)el_set(e->el, EL_SETTY, "-x", "-icanon", "-echo", NULL);
}

static void count_early(struct editor *e)
{
	if (ioctl(STDIN_FILENO, FIONREAD, &e->n_early) < 0)
		e->n_early = 0;
}

static int open_terminal(struct editor *e, struct err *err)
{
	HistEvent event;
	/* libedit requires a locale with multibyte characters. Set only LC_CTYPE; the other
	 * categories keep their values. */
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		(void)setlocale(LC_CTYPE, "");
	e->el = el_init("retort", stdin, stdout, stderr);
	e->history = history_init();
	if (!e->el || !e->history)
		return err_set(err, ERR_NO_MEMORY, "no line editing");
	(void)el_set(e->el, EL_CLIENTDATA, e);
	(void)el_set(e->el, EL_EDITOR, "emacs");
	(void)el_set(e->el, EL_PROMPT, prompt_of);
	(void)el_set(e->el, EL_SIGNAL, 0);
	(void)el_set(e->el, EL_GETCFN, next_char);
	(void)el_set(e->el, EL_HIST, history, e->history);
	(void)el_set(e->el, EL_ADDFN, "retort-complete", "complete a name", on_tab);
	(void)el_set(e->el, EL_BIND, "\t", "retort-complete", NULL);
	(void)el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
	(void)el_set(e->el, EL_ADDFN, "retort-paste", "take what is pasted", on_paste);
	(void)el_set(e->el, EL_BIND, paste_begin, "retort-paste", NULL);
	hold_terminal(e);
	count_early(e);
	(void)history(e->history, &event, H_SETSIZE, HISTORY_LINES);
	(void)history(e->history, &event, H_SETUNIQUE, 1);
	if (e->config.history)
		(void)history(e->history, &event, H_LOAD, e->config.history);
	return 0;
}

int editor_open(struct editor **out, const struct editor_config *config, struct err *err)
{
	struct editor *e = xnew(struct editor);
	*out = NULL;
	e->config = *config;
	e->in = BUF_INIT(LINE_MAX_BYTES);
	e->prompt = "";
	int r = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? open_terminal(e, err) : 0;
	if (r < 0)
		editor_close(e);
	else
		*out = e;
	return r;
}

void editor_close(struct editor *e)
{
	HistEvent event;
	if (!e)
		return;
	if (e->history && e->config.history) {
		mode_t before = umask(0077);
		(void)history(e->history, &event, H_SAVE, e->config.history);
		(void)umask(before);
	}
	if (e->el)
		el_end(e->el);
	if (e->history)
		history_end(e->history);
	buf_done(&e->in);
	free(e);
}

bool editor_is_terminal(const struct editor *e)
{
	return e->el != NULL;
}

void editor_resume(struct editor *e)
{
	if (!e->el)
		return;
	if (!e->is_reading) {
		hold_terminal(e);
		return;
	}
	/* libedit believes that the terminal is unchanged, so make it set up the terminal again. */
	(void)el_set(e->el, EL_PREP_TERM, 0);
	(void)el_set(e->el, EL_PREP_TERM, 1);
	el_resize(e->el);
	(void)el_set(e->el, EL_REFRESH);
}

void editor_resize(struct editor *e)
{
	if (e->el && e->is_reading)
		el_resize(e->el);
}

void editor_type(struct editor *e, const char *text, size_t bytes)
{
	if (e->el)
		(void)buf_try(&e->in, text, bytes);
}

size_t editor_line(const struct editor *e)
{
	return e->n_lines;
}

void editor_remember(struct editor *e, const char *text)
{
	HistEvent event;
	if (e->history && text[strspn(text, " \t\n")])
		(void)history(e->history, &event, H_ENTER, text);
}

/* ---- reading a line ---- */

static int read_terminal(struct editor *e, const char *prompt, char **line)
{
	int n = 0;
	e->prompt = prompt;
	e->failure = 0;
	el_resize(e->el);
	e->is_reading = true;
	fputs(paste_on, stdout);
	(void)fflush(stdout);
	const char *text = el_gets(e->el, &n);
	fputs(paste_off, stdout);
	(void)fflush(stdout);
	e->is_reading = false;
	if (e->failure < 0) {
		/* Drop the typed line, and start the next one at the left margin. */
		el_reset(e->el);
		fputs(e->failure == -EINTR ? "^C\n" : "\n", stdout);
		(void)fflush(stdout);
		return e->failure;
	}
	if (!text || n <= 0) {
		fputs("\n", stdout);
		return 0;
	}
	/* A statement from the history may have several lines, so remove only the line ends at
	 * its end. */
	size_t bytes = strlen(text);
	while (bytes > 0 && strchr("\r\n", text[bytes - 1]))
		bytes--;
	*line = strndup(text, bytes);
	return *line ? 1 : -ENOMEM;
}

/* Remove the first @bytes of the input and the line end after them. Return them as a line. */
static int take_line(struct editor *e, size_t bytes, char **line)
{
	const char *data = buf_str(&e->in);
	e->n_lines++;
	if (memchr(data, '\0', bytes))
		return -EILSEQ;
	*line = strndup(data, bytes);
	buf_consume(&e->in, bytes + 1);
	return *line ? 1 : -ENOMEM;
}

static int read_pipe(struct editor *e, char **line)
{
	for (;;) {
		const char *data = buf_str(&e->in);
		const char *end = memchr(data, '\n', e->in.bytes);
		if (end || (e->is_ended && e->in.bytes > 0))
			return take_line(e, end ? (size_t)(end - data) : e->in.bytes, line);
		if (e->is_ended)
			return 0;
		int r = e->config.wait(e->config.arg, STDIN_FILENO);
		char *at = buf_reserve(&e->in, READ_BYTES);
		if (r < 0 || !at)
			return r < 0 ? r : -E2BIG;
		ssize_t n = read(STDIN_FILENO, at, READ_BYTES);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		e->is_ended = n == 0;
		buf_grown(&e->in, n > 0 ? (size_t)n : 0);
	}
}

int editor_read(struct editor *e, const char *prompt, char **line)
{
	return e->el ? read_terminal(e, prompt, line) : read_pipe(e, line);
}
