/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/log.h"

#include "api/text/json.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"

#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* http_log_write() writes at most 2 * LINE_BYTES at once. This is less than PIPE_BUF, so a pipe
 * accepts a write completely or not at all. Source: pipe(7). */
enum { LINE_BYTES = 1024, TEXT_BYTES = 128 };

static void put_time(struct buf *out)
{
	struct timespec now;
	struct tm tm;
	char text[32];
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	buf_addf(out, "%s.%03ldZ", text, now.tv_nsec / 1000000);
}

/* Append a word of a log line. Characters that are not printable ASCII become "?", so that a word
 * can neither end the line nor control a terminal. */
static void put_word(struct buf *out, const char *text)
{
	size_t bytes = utf8_cut(text, strlen(text), TEXT_BYTES);
	for (size_t i = 0; i < bytes; i++) {
		char c = text[i] > ' ' && text[i] < 0x7f ? text[i] : '?';
		buf_append(out, &c, 1);
	}
}

static void put_text(struct buf *out, const struct http_log_line *line)
{
	const char *const words[] = {line->caller, line->method, line->path, line->what};
	put_time(out);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		buf_add(out, " ");
		put_word(out, words[i] && *words[i] ? words[i] : "-");
	}
	buf_addf(out, " %u %llums %llu>%llu\n", line->status, (unsigned long long)line->ms,
		(unsigned long long)line->bytes_in, (unsigned long long)line->bytes_out);
}

static void set_text(json_t *object, const char *name, const char *text)
{
	if (text && *text)
		json_put_new(object, name, json_safe_text(text, TEXT_BYTES));
}

static void put_json(struct buf *out, const struct http_log_line *line)
{
	cleanup_buf struct buf when = BUF_INIT(64);
	cleanup_json json_t *object = json_object();
	put_time(&when);
	set_text(object, "time", buf_str(&when));
	set_text(object, "principal", line->caller);
	set_text(object, "method", line->method);
	set_text(object, "path", line->path);
	set_text(object, "operation", line->what);
	json_put_int(object, "status", line->status);
	json_put_int(object, "ms", line->ms);
	json_put_int(object, "bytes_in", line->bytes_in);
	json_put_int(object, "bytes_out", line->bytes_out);
	char *text = json_text(object, JSON_COMPACT);
	if (text)
		buf_addf(out, "%s\n", text);
	free(text);
}

void http_log_write(struct http_log *log, const struct http_log_line *line)
{
	cleanup_buf struct buf out = BUF_INIT(2 * LINE_BYTES);
	struct pollfd p = {.events = POLLOUT};
	if (!log || log->kind == HTTP_LOG_NONE)
		return;
	if (log->n_lost && log->kind == HTTP_LOG_TEXT)
		buf_addf(&out, "lost %llu lines\n", (unsigned long long)log->n_lost);
	else if (log->n_lost)
		buf_addf(&out, "{\"lost\":%llu}\n", (unsigned long long)log->n_lost);
	if (log->kind == HTTP_LOG_TEXT)
		put_text(&out, line);
	else
		put_json(&out, line);
	p.fd = log->fd;
	bool is_written = poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) &&
		write(log->fd, out.data, out.bytes) == (ssize_t)out.bytes;
	log->n_lost = is_written ? 0 : log->n_lost + 1;
}
