/* The log of HTTP requests. It has one line per request, without the request's content.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#define HTTP_LOG_CHOICES "none|text|json"
enum http_log_kind { HTTP_LOG_NONE, HTTP_LOG_TEXT, HTTP_LOG_JSON };

struct http_log {
	enum http_log_kind kind;
	int fd;
	uint64_t n_lost; /* number of dropped lines that the log does not mention yet */
};

/* The log entry for one request. Its texts come from clients. A text is NULL if it is unknown. */
struct http_log_line {
	const char *caller, *method, *path, *what;
	unsigned status; /* status of the response; 0 if the client disconnected before one */
	uint64_t ms, bytes_in, bytes_out;
};

/* Write a line. If whoever reads the log is too slow, lines are dropped, and a later line says how
 * many; the engine never waits. @log may be NULL. */
void http_log_write(struct http_log *log, const struct http_log_line *line);
