/* The log of requests: one line per request, without the request's content.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#define HTTP_LOG_CHOICES "none|text|json"
enum http_log_kind { HTTP_LOG_NONE, HTTP_LOG_TEXT, HTTP_LOG_JSON };

struct http_log {
	enum http_log_kind kind;
	int fd;
	uint64_t n_lost; /* number of lines that were dropped because @fd was full */
};

/* The entry for a request. The texts come from outside; NULL: unknown. */
struct http_log_line {
	const char *caller, *method, *path, *what;
	unsigned status; /* 0: the client disconnected before a response */
	uint64_t ms, bytes_in, bytes_out;
};

/* Write a line. If the reader is too slow, lines are dropped and their number is logged later; the
 * engine never waits. @log may be NULL. */
void http_log_write(struct http_log *log, const struct http_log_line *line);
